"""Adjacency and ids on disk: another process starts warm, and no file there changes an answer."""

import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from omnigraph.read import tables
from omnigraph.read.topology import build, disk
from omnigraph.read.topology.cache import RuntimeCache
from omnigraph.read.topology.disk import DiskCache, Kept
from tests.graph.read.town import Town

FRIENDS = "match { $a: Person  $a knows $b } return { $a.email as a, $b.email as b } order { a, b }"


@pytest.fixture(autouse=True)
def everything_is_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LEAST_KEPT_BYTES", 0)
    monkeypatch.setattr(tables, "LEAST_KEPT_BYTES", 0)


def beside(town: Town, place: Path) -> Town:
    """A reader in another process, as far as caches go."""
    other = Town(town.snapshot)
    other.cache = RuntimeCache(disk=DiskCache(place))
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
    kept = DiskCache(tmp_path, limit_bytes=2_500)
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
