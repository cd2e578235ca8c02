"""The manifest's compare-and-swap, raced by real processes, and its shape as history grows."""

import gc
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.base.clock import SystemClock
from omnigraph.base.ids import MAIN, CommitId, TableKey
from omnigraph.store.datasets.files import version_file
from omnigraph.store.layout import MANIFEST
from omnigraph.store.limits import StoreLimits
from omnigraph.store.manifest import (
    CommitRow,
    Manifest,
    ManifestMoved,
    ManifestState,
    TableEntry,
)
from omnigraph.store.transactions import DatasetRef
from tests import processes
from tests.store_contract.builders import datasets_at

PERSON = TableKey("node:Person")
HOT = 8
FEW = StoreLimits(commits_per_cold_fragment=HOT)
FULL = HOT - 1
FIRST = CommitRow(CommitId("first"), 0, (), "{}")


def make_manifest(place: Path | str) -> Manifest:
    datasets = datasets_at(place)
    Manifest.create(datasets, MAIN, {PERSON: entry(version=1, seq=0)}, FIRST)
    return manifest_at(place)


def manifest_at(place: Path | str, limits: StoreLimits = FEW) -> Manifest:
    return Manifest(datasets_at(place), limits=limits)


def entry(*, version: int, seq: int) -> TableEntry:
    return TableEntry(DatasetRef("nodes/p", None, version), row_count=0, seq=seq)


def publish_next(
    manifest: Manifest,
    state: ManifestState,
    commit_id: str,
    *,
    merged: Sequence[CommitRow] = (),
) -> ManifestState:
    seq = state.recent[-1].seq + 1
    row = CommitRow(CommitId(commit_id), seq, (state.head,), "{}")
    return manifest.replace(
        state,
        name=MAIN,
        tables={PERSON: entry(version=seq + 1, seq=seq)},
        commit=row,
        merged=merged,
        fencing=state.fencing,
    )


def race(place: str, publishes: int) -> list[str]:
    """Publish until `publishes` have landed; give the ids that were acknowledged."""
    manifest, clock = manifest_at(place), SystemClock()
    acknowledged: list[str] = []
    while len(acknowledged) < publishes:
        commit_id = clock.ulid()
        try:
            publish_next(manifest, manifest.newest(None), commit_id)
        except ManifestMoved:
            continue
        acknowledged.append(commit_id)
    return acknowledged


RACERS = 4


@pytest.mark.parametrize(("place", "publishes"), [("disk", 25), ("s3", 4)], indirect=["place"])
def test_racing_processes_lose_no_publish_and_fork_no_history(place: str, publishes: int) -> None:
    manifest = make_manifest(place)
    with processes.pool(RACERS) as pool:
        racers = [pool.submit(race, place, publishes) for _ in range(RACERS)]
        acknowledged = {commit for racer in racers for commit in racer.result()}
    line = manifest.commits(manifest.newest(None))
    assert {row.id for row in line} == acknowledged | {FIRST.id}
    assert [row.seq for row in line] == list(range(RACERS * publishes + 1))
    assert all(after.parents == (before.id,) for before, after in itertools.pairwise(line))


def test_a_stale_state_can_not_be_replaced(place: str) -> None:
    manifest = make_manifest(place)
    stale = manifest.newest(None)
    publish_next(manifest, stale, "second")
    with pytest.raises(ManifestMoved):
        publish_next(manifest, stale, "other")
    with pytest.raises(ManifestMoved):
        manifest.renumber(stale, name=MAIN, fencing=1)
    assert [row.id for row in manifest.commits(manifest.newest(None))] == ["first", "second"]


def test_a_new_owners_number_changes_nothing_else_and_keeps_the_state_before_from_landing(
    place: str,
) -> None:
    manifest = make_manifest(place)
    before = publish_next(manifest, manifest.newest(None), "second")
    numbered = manifest.renumber(before, name=MAIN, fencing=7)
    assert numbered == replace(before, version=before.version + 1, hot=numbered.hot, fencing=7)
    with pytest.raises(ManifestMoved):
        publish_next(manifest, before, "late")
    assert publish_next(manifest, numbered, "third").fencing == 7


def forget(manifest: Manifest, *versions: int) -> None:
    """Remove versions of main, as is done to old ones."""
    datasets = manifest._datasets
    for version in versions:
        datasets._objects.delete(version_file(MANIFEST, None, version))


class Clocks:
    """The two clocks that a manifest looks at, as they were when it was read and then set."""

    def __init__(self) -> None:
        self.wall_s = self.monotonic_s = 0.0

    def time_ns(self) -> int:
        return time.time_ns() + int(self.wall_s * 1e9)

    def monotonic_ns(self) -> int:
        return time.monotonic_ns() + int(self.monotonic_s * 1e9)


@pytest.mark.parametrize(
    ("wall_s", "monotonic_s"),
    [(70, 70), (10, 70), (-3600, 70), (70, 0)],
    ids=["right", "set back a little", "set back far", "asleep"],
)
def test_no_old_head_is_served_whatever_clocks_do_while_versions_come_and_go(
    place: str, monkeypatch: pytest.MonkeyPatch, wall_s: float, monotonic_s: float
) -> None:
    clocks = Clocks()
    monkeypatch.setattr("omnigraph.store.freshness.time", clocks)
    manifest, reader = make_manifest(place), manifest_at(place)
    state = seen = reader.newest(None)
    for number in range(3):
        state = publish_next(manifest, state, f"c{number}")
    forget(manifest, *range(seen.version + 1, state.version))
    clocks.wall_s, clocks.monotonic_s = wall_s, monotonic_s
    assert reader.newest(None).head == "c2"


@pytest.mark.parametrize(
    ("place", "before"), [("disk", 0), ("disk", FULL), ("s3", 0)], indirect=["place"]
)
def test_a_swap_that_comes_so_late_that_nothing_tells_of_the_others_is_no_head(
    place: str, before: int
) -> None:
    manifest = make_manifest(place)
    state = manifest.newest(None)
    for number in range(before):
        state = publish_next(manifest, state, f"b{number}")
    stale = state
    for number in range(4):
        state = publish_next(manifest, state, f"c{number}")
    line = [row.id for row in manifest.commits(state)]
    forget(manifest, *range(stale.version + 1, state.version))

    with pytest.raises(ManifestMoved):
        publish_next(manifest_at(place), stale, "late")

    for reader in (manifest, manifest_at(place)):
        seen = reader.newest(None)
        assert (seen.head, seen.version) == ("c3", state.version + 1)
        assert len(seen.late_fragments) == (2 if before == FULL else 1)
        assert [row.id for row in reader.commits(seen)] == line
    after = publish_next(manifest, manifest.newest(None), "next")
    assert after == manifest_at(place).newest(None)
    assert (after.head, after.late_fragments) == ("next", ())
    assert [row.id for row in manifest.commits(after)] == [*line, "next"]


def test_what_a_read_projects_does_not_grow_with_history(tmp_path: Path) -> None:
    manifest = make_manifest(tmp_path)
    state = manifest.newest(None)
    for number in range(2 * HOT + 5):
        state = publish_next(manifest, state, f"c{number:03}")
        assert len(state.recent) <= HOT
    assert len(state.cold) == 2
    assert manifest.newest(None) == state
    assert state.tables[PERSON].ref.version == 2 * HOT + 6
    assert len(manifest.commits(state)) == 2 * HOT + 6


def test_commits_in_memory_are_bounded_however_long_the_history_is(tmp_path: Path) -> None:
    make_manifest(tmp_path)
    limit = 5 * HOT
    manifest = manifest_at(tmp_path, replace(FEW, max_kept_commits=limit))
    state = manifest.newest(None)
    counts = []
    for number in range(12 * HOT):
        state = publish_next(manifest, state, f"c{number:03}")
        if number % HOT == 0:
            assert len(manifest.commits(state)) == number + 2
            gc.collect()
            counts.append(sum(isinstance(each, CommitRow) for each in gc.get_objects()))
    assert len(state.cold) > limit / HOT, "the history is longer than the limit"
    assert counts[-1] == counts[-3], "the history has grown since, and memory has not"


def test_commits_that_came_with_merges_are_no_part_of_the_line_and_make_few_fragments(
    tmp_path: Path,
) -> None:
    manifest = make_manifest(tmp_path)
    state, brought = manifest.newest(None), set[str]()
    for number in range(2 * HOT + 5):
        # One or two at a time, and once more than a hot fragment has room for.
        count = HOT + 1 if number == 10 else 1 + number % 2
        merged = [CommitRow(CommitId(f"s{number}.{n}"), n, (), "{}") for n in range(count)]
        state = publish_next(manifest, state, f"c{number:03}", merged=merged)
        brought |= {row.id for row in merged}
        assert max(len(state.recent), len(state.merged)) <= HOT
        assert state == manifest_at(tmp_path).newest(None)
    for reader in (manifest, manifest_at(tmp_path)):
        found = [row.id for row in reader.commits(state)]
        assert [id_ for id_ in found if id_ not in brought] == [
            FIRST.id,
            *(f"c{number:03}" for number in range(2 * HOT + 5)),
        ]
        assert len(found) == len({*found}) and brought < {*found}
    assert len(state.cold) <= 2 + len(brought) // HOT


def test_a_version_stays_that_was_the_newest_a_moment_ago_however_old_it_is(
    tmp_path: Path,
) -> None:
    manifest = make_manifest(tmp_path)
    state = manifest.newest(None)
    for number in range(HOT - 2):
        state = publish_next(manifest, state, f"c{number:03}")
    for file in (tmp_path / MANIFEST / "_versions").glob("*.manifest"):
        os.utime(file, (0, 0))
    reader = datasets_at(tmp_path).open_newest(MANIFEST, None)
    before = reader.scan([])
    while not state.cold:
        state = publish_next(manifest, state, f"d{len(state.recent):03}")
    numbers, there = range(1, state.version + 1), datasets_at(tmp_path)
    kept = [number for number in numbers if there.has_version(DatasetRef(MANIFEST, None, number))]
    assert kept == [*range(reader.ref.version, state.version + 1)]
    assert datasets_at(tmp_path).open(reader.ref).scan([]) == before


def test_cleaning_up_old_versions_takes_nothing_from_branches_or_history(tmp_path: Path) -> None:
    make_manifest(tmp_path)
    manifest = manifest_at(tmp_path, replace(FEW, keep_versions_s=0))
    datasets = datasets_at(tmp_path)
    state = manifest.newest(None)
    expected: dict[str | None, ManifestState] = {}
    for number in range(3 * HOT):
        state = publish_next(manifest, state, f"m{number:03}")
        if number in (5, 3 * HOT - 4):
            fork = datasets.fork(DatasetRef(MANIFEST, None, state.version), f"b.{number}")
            expected[fork.branch] = manifest.newest(fork.branch)
    branch = manifest.newest("b.5")
    for number in range(HOT + 10):
        branch = publish_next(manifest, branch, f"b{number:03}")
    expected |= {"b.5": branch, None: state}
    fresh = manifest_at(tmp_path)
    for name, seen in expected.items():
        assert fresh.newest(name) == seen
        line = fresh.commits(fresh.newest(name))
        assert [row.seq for row in line] == list(range(len(line)))
    versions = tmp_path / MANIFEST / "_versions"
    assert len(list(versions.glob("*.manifest"))) < HOT
