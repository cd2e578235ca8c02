"""Power cuts: what each step of a write has made outlives one before the next step begins."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from omnigraph.base.failpoints import Failpoint
from omnigraph.store.graph_store import GraphStore
from tests.crash.dying import SCENARIOS

# Nothing is read from these after a crash: Lance keeps a copy of a transaction in the version that
# it made, and finds the newest version without a hint. A lock is the kernel's, not the file's.
EXPENDABLE = {"_transactions", "__locks", "latest_version_hint.json"}


class Watch:
    """Knows what has reached the disk, and at each failpoint looks for what has not."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._bytes: set[int] = set()
        self._names: defaultdict[int, set[str]] = defaultdict(set)
        self._before = set(place.rglob("*"))
        self.lost: dict[Failpoint, set[Path]] = {}

    def note(self, descriptor: int) -> None:
        """Something was synced: of a directory, the names that it holds now."""
        inode, found = os.fstat(descriptor).st_ino, Path(f"/proc/self/fd/{descriptor}").resolve()
        if found.is_dir():
            self._names[inode] |= {entry.name for entry in found.iterdir()}
        else:
            self._bytes.add(inode)

    def reach(self, point: Failpoint) -> None:
        new = set(self._place.rglob("*")) - self._before
        files = {path for path in new if path.is_file() and not {*path.parts} & EXPENDABLE}
        above = {parent for file in files for parent in file.parents} & new
        unnamed = {p for p in files | above if p.name not in self._names[p.parent.stat().st_ino]}
        unwritten = {file for file in files if file.stat().st_ino not in self._bytes}
        self.lost[point] = unnamed | unwritten


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_step_is_durable_before_the_next_begins(
    tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    SCENARIOS[scenario].graph(tmp_path)
    watch, sync = Watch(tmp_path), os.fsync

    def watched(descriptor: int) -> None:
        sync(descriptor)
        watch.note(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    SCENARIOS[scenario].write(GraphStore.open(str(tmp_path)), watch)
    assert watch.lost.keys() == set(Failpoint)
    # What tasks wrote for each other lies beside the data until the load is over.
    lost = {path for paths in watch.lost.values() for path in paths}
    assert not {path for path in lost if path.exists() or path.parent.name != "data"}
