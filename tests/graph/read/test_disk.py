"""Adjacency and ids on disk: another process starts warm, and no file there changes an answer."""

import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables import disk
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache, Kept
from omnigraph.read.topology import build
from tests.graph.read.town import Town

FRIENDS = "match { $a: Person  $a knows $b } return { $a.email as a, $b.email as b } order { a, b }"


KEEP_ALL = ReadLimits(min_disk_entry_bytes=0)


def beside(town: Town, place: Path) -> Town:
    """A reader in another process, as far as caches go."""
    other = Town(town.snapshot)
    other.cache = RuntimeCache(disk=DiskCache(place, KEEP_ALL))
    return other


def files(place: Path) -> list[Path]:
    return sorted(file for file in place.rglob("*") if file.is_file())


def test_a_second_process_builds_nothing(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "cache"
    answer = beside(town, place).ask(FRIENDS)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    written = files(place)
    assert written

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was there to be mapped")

    monkeypatch.setattr(build, "adjacency", never)
    assert beside(town, place).ask(FRIENDS) == answer
    assert files(place) == written


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no note", "note", "stray"])
def test_what_is_damaged_is_built_again(town: Town, tmp_path: Path, damage: str) -> None:
    place = tmp_path / "cache"
    answer = beside(town, place).ask(FRIENDS)
    for file in files(place):
        match damage:
            case "cut":
                file.write_bytes(file.read_bytes()[:-3])
            case "changed" if file.suffix == ".npy":
                data = bytearray(file.read_bytes())
                data[-1] ^= 0xFF
                file.write_bytes(data)
            case "empty":
                file.write_bytes(b"")
            case "no note" if file.name == "note.json":
                file.unlink()
            case "note" if file.name == "note.json":
                file.write_text('{"format": 1, "origin": {"refs": [["x"]]}, "sums": {}}')
            case "stray":
                (file.parent.parent / "stray").write_text("not an entry")
            case _:
                pass
    assert beside(town, place).ask(FRIENDS) == answer
    assert beside(town, place).ask(FRIENDS) == answer


def test_another_graph_with_the_same_versions_is_not_taken_for_this_one(
    town: Town, tmp_path: Path
) -> None:
    place = tmp_path / "cache"
    beside(town, place).ask(FRIENDS)
    for note in place.rglob("note.json"):
        text = note.read_text()
        start = text.index('"contents": ["') + len('"contents": ["')
        note.write_text(text[:start] + "0" * 64 + text[start + 64 :])
    assert beside(town, place).ask(FRIENDS) == town.ask(FRIENDS)


def test_what_was_used_longest_ago_makes_room(tmp_path: Path) -> None:
    kept = DiskCache(tmp_path, replace(KEEP_ALL, max_disk_bytes=2_500))
    for name in ("a", "b", "c"):
        kept.keep(name, Kept(name, {"numbers": np.arange(100)}))
    assert kept.last("a") is None
    found = kept.last("c")
    assert found is not None and found.arrays["numbers"].tolist() == list(range(100))


def test_a_directory_that_can_not_be_written_is_no_error(town: Town, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert beside(town, blocked / "cache").ask(FRIENDS) == town.ask(FRIENDS)
    gone = tmp_path / "gone"
    reader = beside(town, gone)
    reader.ask(FRIENDS)
    shutil.rmtree(gone)
    assert reader.ask(FRIENDS) == town.ask(FRIENDS)


def test_a_cache_that_fails_is_done_without_and_said_once(
    town: Town, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reader = beside(town, tmp_path / ("x" * 300))  # a name that no file system takes
    with caplog.at_level(logging.WARNING):
        assert reader.ask(FRIENDS) == town.ask(FRIENDS)
        assert reader.ask("match { $a: Person  $b knows $a } return { $a.email }")
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "kept" in caplog.text


AS_ANOTHER_USER = """
import mmap, os, sys
import numpy as np
from pathlib import Path
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables import disk
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
kept = disk.DiskCache(Path(sys.argv[1]), ReadLimits(min_disk_entry_bytes=0))
kept.keep("other", disk.Kept("other", {"numbers": np.arange(3)}))
found = kept.last("known")
print(kept.has("known"), None if found is None else found.arrays["numbers"].tolist())
"""


@pytest.mark.parametrize(
    ("mode", "answer"), [(0o000, "False None"), (0o555, "True [0, 1]"), (0o444, "False None")]
)
def test_a_directory_of_another_user_gives_what_it_can(mode: int, answer: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        place = Path(root) / "cache"
        DiskCache(place, KEEP_ALL).keep("known", Kept("known", {"numbers": np.arange(2)}))
        inside = [path for path in place.rglob("*") if path.is_dir()]
        try:
            for directory in [*inside, place]:
                directory.chmod(0o555 if directory != place else mode)
            command = [sys.executable, "-c", AS_ANOTHER_USER, str(place)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            for directory in [place, *inside]:
                directory.chmod(0o755)
    assert done.stdout.strip() == answer, done.stderr


def test_what_a_process_left_unfinished_goes_when_it_is_old(tmp_path: Path) -> None:
    kept = DiskCache(tmp_path, KEEP_ALL)
    old, young = tmp_path / "unfinished-old", tmp_path / "unfinished-young"
    for place in (old, young):
        place.mkdir()
        (place / "numbers.npy").write_bytes(b"half")
    then = time.time() - 2 * disk.UNFINISHED_S
    os.utime(old, (then, then))
    kept.keep("a", Kept("a", {"numbers": np.arange(3)}))
    assert not old.exists() and young.exists()
    assert kept.last("a") is not None
