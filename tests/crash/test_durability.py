"""Power cuts: what each step of a write has made outlives one before the next step begins."""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.engine import Engine
from omnigraph.engine.export import MANIFEST, export
from omnigraph.engine.export_parts import export_parts
from omnigraph.engine.requests import Export
from omnigraph.engine.settings import Settings
from omnigraph.engine.travel import view_for
from omnigraph.store.durability import MAX_DURABLE_DIRECTORIES, Disk, Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.objects import DiskObjects
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
        self.lost[point] = self.losing()

    def losing(self) -> set[Path]:
        """What a power cut would take now, or tear."""
        new = set(self._place.rglob("*")) - self._before
        files = {path for path in new if path.is_file() and not {*path.parts} & EXPENDABLE}
        above = {parent for file in files for parent in file.parents} & new
        unnamed = {p for p in files | above if p.name not in self._names[p.parent.stat().st_ino]}
        unwritten = {file for file in files if file.stat().st_ino not in self._bytes}
        return unnamed | unwritten


def watch_syncs(
    monkeypatch: pytest.MonkeyPatch,
    note: Callable[[int], None],
    before: Callable[[], None] = lambda: None,
) -> None:
    sync = os.fsync

    def watched(descriptor: int) -> None:
        before()
        sync(descriptor)
        note(descriptor)

    monkeypatch.setattr(os, "fsync", watched)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_step_is_durable_before_the_next_begins(
    tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    SCENARIOS[scenario].graph(tmp_path)
    watch = Watch(tmp_path)
    watch_syncs(monkeypatch, watch.note)
    SCENARIOS[scenario].write(GraphStore.open(str(tmp_path)), watch)
    assert watch.lost.keys() == set(Failpoint)
    # What tasks wrote for each other lies beside the data until the load is over.
    lost = {path for paths in watch.lost.values() for path in paths}
    assert not {path for path in lost if path.exists() or path.parent.name != "data"}


def export_to(target: Path, store: GraphStore, *, is_in_parts: bool) -> None:
    """Parts are written by tasks of this process: whoever runs a task, it does the same."""
    engine = Engine.over(store, Settings())
    request = Export.of(target, format="parquet")
    if not is_in_parts:
        export(engine, request)
        return
    with view_for(engine, request) as view:
        export_parts(engine, request, view, view.catalog.entities)


@pytest.mark.parametrize("is_in_parts", [False, True])
def test_an_export_is_durable_before_its_manifest_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_in_parts: bool
) -> None:
    SCENARIOS["a load"].graph(tmp_path / "g")
    store = GraphStore.open(str(tmp_path / "g"))
    watch, target = Watch(tmp_path), tmp_path / "new" / "export"
    torn: list[Path] = []

    def look() -> None:
        for manifest in tmp_path.rglob(MANIFEST):
            inside = {path for path in watch.losing() if manifest.parent in path.parents}
            torn.extend(inside - {manifest})

    watch_syncs(monkeypatch, watch.note, before=look)
    export_to(target, store, is_in_parts=is_in_parts)
    assert [*target.rglob("*.parquet")] and not torn and not watch.losing()


@pytest.mark.parametrize("is_in_parts", [False, True])
def test_an_export_of_a_relaxed_graph_waits_for_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_in_parts: bool
) -> None:
    SCENARIOS["a load"].graph(tmp_path / "g")
    store = GraphStore.open(str(tmp_path / "g"), durability=Durability.RELAXED)
    synced: list[int] = []
    watch_syncs(monkeypatch, synced.append)
    export_to(tmp_path / "export", store, is_in_parts=is_in_parts)
    assert (tmp_path / "export" / MANIFEST).is_file() and not synced


def test_a_folder_that_is_made_again_is_durable_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = DiskObjects(tmp_path)
    objects.put("folder/inner/first", b"1")
    objects.delete("folder/inner/first")
    objects.forget_folder("folder")
    watch = Watch(tmp_path)
    watch_syncs(monkeypatch, watch.note)
    objects.put("folder/inner/second", b"2")
    assert not watch.losing()


def test_what_is_known_of_folders_stays_small_however_many_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, synced = Disk(tmp_path), list[int]()
    watch_syncs(monkeypatch, synced.append)
    folders = [tmp_path / str(number) for number in range(MAX_DURABLE_DIRECTORIES + 1)]
    for folder in folders:
        folder.mkdir()
    for folder in folders:
        disk.sync_name(folder / "file")
    before = len(synced)
    disk.sync_name(folders[-1] / "file")
    assert len(synced) == before + 1, "its name in the folder above was synced before"
    disk.sync_name(folders[0] / "file")
    assert len(synced) == before + 3, "it was let go, so its name is synced again"
