"""Compaction and indexes: other files for the same rows, and no answer that shows it."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import StorageFailed
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.read.changes.diff import changes_between
from omnigraph.store.arrow import table_schema
from omnigraph.store.branching import create_branch
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import WRITTEN_AT, Dataset, Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.indexes import MAX_INDEX_SEGMENTS
from omnigraph.store.limits import StoreLimits
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.statistics import gather
from omnigraph.store.transactions import CreateIndex, DatasetRef, Rewrite
from omnigraph.write.upkeep import Indexing, Optimizing
from omnigraph.write.work import CommitNote, Replay, Target, Work
from omnigraph.write.writer import UPKEEP_ACTOR, write
from tests.buckets import location_of
from tests.crash.faulty import store_of
from tests.store_contract.builders import (
    KNOWS,
    PERSON,
    changes,
    contents,
    id_of,
    knows,
    make_store,
    open_store,
    people,
    put,
    rows_of,
    staged_edit,
    staged_index,
)

WORK = BranchName("work")


def tidy(
    store: GraphStore, upkeep: type[Optimizing | Indexing], branch: str = MAIN
) -> CommitId | None:
    kind = CommitKind.OPTIMIZE if upkeep is Optimizing else CommitKind.INDEX
    to = Target(BranchName(branch))
    return id_of(write(store, upkeep(store), to=to, note=CommitNote(kind)))


# One dataset --------------------------------------------------------------------------------------


def land(
    datasets: Datasets, ref: DatasetRef, operation: Rewrite | CreateIndex | None
) -> DatasetRef:
    return ref if operation is None else datasets.land(datasets.stage(ref, operation, {}))


def compact(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    return land(
        datasets, ref, datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True)
    )


def index(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    return land(datasets, ref, staged_index(datasets, ref))


NAMES = [f"n{i}" for i in range(6)]
EDIT = st.tuples(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3)), st.sampled_from(NAMES))
STEPS = st.lists(st.sampled_from([compact, index]) | EDIT, min_size=3, max_size=10)


@given(steps=STEPS)
@settings(max_examples=30)
def test_look_ups_agree_with_a_dictionary_through_edits_compactions_and_indexes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object]
) -> None:
    datasets = Datasets(location_of(tmp_path_factory.mktemp("graph")), Durability.RELAXED)
    ref, model = datasets.create("nodes/p", table_schema(PERSON)), dict[str, int]()
    for step in steps:
        if isinstance(step, tuple):
            upserts, gone = step
            deletes = [gone] if gone not in upserts else []
            update, counts = staged_edit(datasets, ref, people(**upserts), deletes)
            if counts.inserted + counts.updated + counts.deleted:
                ref = datasets.land(datasets.stage(ref, update, {}))
            model = {k: v for k, v in {**model, **upserts}.items() if k not in deletes}
        else:
            assert callable(step)
            ref = step(datasets, ref)
        dataset = datasets.open(ref)
        assert dataset.row_count == len(model)
        for name in NAMES:
            [*found] = dataset.rows_of(pa.array([name]), ["age"])["age"].to_pylist()
            assert found == ([model[name]] if name in model else [])
        for age in range(4):
            # An index over a column whose values change: entries of old values must not count.
            same = dataset.scan(["id"], predicate=pc.field("age") == age)["id"].to_pylist()
            assert sorted(same) == sorted(k for k, v in model.items() if v == age)


@given(ids=st.sets(st.text(st.characters(codec="utf-8")) | st.text("'\\\"%_\0\n;-"), min_size=1))
@settings(max_examples=25)
def test_any_text_is_found_as_an_id_with_an_index_or_without(
    tmp_path_factory: pytest.TempPathFactory, ids: set[str]
) -> None:
    datasets = Datasets(location_of(tmp_path_factory.mktemp("graph")), Durability.RELAXED)
    rows = [{"id": id_, "name": id_, "age": 1} for id_ in sorted(ids)]
    bare = datasets.create("nodes/p", table_schema(PERSON), rows_of(PERSON, rows))
    for ref in (bare, index(datasets, bare)):
        dataset = datasets.open(ref)
        assert set(dataset.rows_of(pa.array(sorted(ids)))["id"].to_pylist()) == ids
        for id_ in ids:
            assert dataset.rows_of(pa.array([id_]))["id"].to_pylist() == [id_]
            assert dataset.rows_of(pa.array([f"{id_}'"]))["id"].to_pylist() == sorted(
                ids & {f"{id_}'"}
            )
        assert dataset.rows_of(pa.array([], pa.string())).num_rows == 0


def scattered(datasets: Datasets, count: int = 6) -> DatasetRef:
    ref = datasets.create("nodes/p", table_schema(PERSON))
    for number in range(count):
        rows = people(**{f"p{number}": number, "ada": number})
        update, _ = staged_edit(datasets, ref, rows)
        ref = datasets.land(datasets.stage(ref, update, {}))
    return ref


@pytest.fixture
def datasets(tmp_path: Path) -> Datasets:
    return Datasets(location_of(tmp_path), Durability.RELAXED)


def test_a_compaction_is_one_version_that_keeps_row_ids_and_who_wrote_them(
    datasets: Datasets,
) -> None:
    before = scattered(datasets)
    after = compact(datasets, before)
    assert after.version == before.version + 1
    assert len(datasets.open(before).fragment_ids) == 6
    assert len(datasets.open(after).fragment_ids) == 1
    columns = ["id", "age", WRITTEN_AT]
    old, new = (datasets.open(r).scan(columns, with_row_id=True) for r in (before, after))
    assert old.sort_by("id") == new.sort_by("id")
    assert len(set(old[WRITTEN_AT].to_pylist())) > 1
    assert datasets.stage_compaction(after, fewer_than_rows=1_000, drops_deleted=True) is None


def test_an_index_answers_look_ups_and_says_for_how_many_rows(datasets: Datasets) -> None:
    bare = datasets.open(scattered(datasets))
    indexed = datasets.open(index(datasets, bare.ref))
    assert (bare.indexed_rows, indexed.indexed_rows) == ({}, {"id": 7, "age": 7})

    def plan(dataset: Dataset) -> str:
        among = pc.is_in(pc.field("id"), value_set=pa.array(["ada", "p1"]))
        return str(dataset._handle.scanner(filter=among).explain_plan())

    assert "ScalarIndexQuery" in plan(indexed)
    assert "ScalarIndexQuery" not in plan(bare)


def test_what_is_written_later_is_covered_by_a_further_segment_until_there_are_too_many(
    datasets: Datasets,
) -> None:
    ref = index(datasets, scattered(datasets, count=1))
    for number in range(2 * MAX_INDEX_SEGMENTS):
        rows = people(**{f"late{number}": number})
        update, _ = staged_edit(datasets, ref, rows)
        ref = datasets.land(datasets.stage(ref, update, {}))
        covered = datasets.open(ref).indexed_rows["id"]
        assert covered == datasets.open(ref).row_count - 1
        ref = index(datasets, ref)
        assert datasets.open(ref).indexed_rows["id"] == datasets.open(ref).row_count
        segments = len(datasets.open(ref)._indexes()["id_btree"].segments)
        assert segments <= MAX_INDEX_SEGMENTS
    assert staged_index(datasets, ref) is None


def test_an_empty_table_needs_neither(datasets: Datasets) -> None:
    ref = datasets.create("nodes/p", table_schema(PERSON))
    assert staged_index(datasets, ref) is None
    assert datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True) is None


# A graph ------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    store = make_store(tmp_path / "g")
    for number in range(4):
        edges = knows("ada-ada") if number == 0 else None
        put(store, changes(people=people(ada=number, **{f"p{number}": 1}), knows=edges))
    return store


def test_upkeep_is_a_commit_that_changes_no_row(store: GraphStore) -> None:
    before, held = contents(store), store.snapshot()
    assert tidy(store, Optimizing)
    optimized, *_ = store.history().line()
    assert optimized.kind is CommitKind.OPTIMIZE
    assert [c.key for c in optimized.changes] == ["edge:Knows", "node:Person"]
    assert all(c.inserted == c.updated == c.deleted == 0 for c in optimized.changes)
    # People are compacted, then indexed: two versions, of which a commit names the second.
    was = {key: table.ref.version for key, table in held.tables.items()}
    assert [c.ref.version - was[c.key] for c in optimized.changes] == [1, 2]
    assert contents(store) == contents(open_store(str(store.root))) == before
    assert not changes_between(held, store.snapshot()).tables
    statistics = gather(store.snapshot()).tables
    assert statistics[PERSON.table_key].fragments == 1
    assert statistics[PERSON.table_key].indexed_rows == {"id": 5}
    assert statistics[KNOWS.table_key].indexed_rows == {"id": 1, "src": 1, "dst": 1}
    assert tidy(store, Optimizing) is None
    assert tidy(store, Indexing) is None


def test_a_branch_tidies_what_it_wrote_and_forks_nothing_for_it(store: GraphStore) -> None:
    create_branch(store, WORK)
    assert tidy(store, Optimizing, WORK) is None
    for number in range(3):
        put(store, changes(people=people(ada=10 + number)), branch=WORK)
    before = contents(store, WORK)
    assert tidy(store, Optimizing, WORK)
    assert contents(store, WORK) == before
    assert store.snapshot(WORK).tables[KNOWS.table_key] == store.snapshot().tables[KNOWS.table_key]
    assert gather(store.snapshot()).tables[PERSON.table_key].fragments == 4


def test_a_branch_made_before_an_upkeep_goes_on_from_what_it_saw(store: GraphStore) -> None:
    tidy(store, Indexing)
    create_branch(store, WORK)
    tidy(store, Optimizing)
    put(store, changes(people=people(eve=1), gone=["p0"]), branch=WORK)
    assert contents(store, WORK)[0] == {"ada": 3, "p1": 1, "p2": 1, "p3": 1, "eve": 1}
    assert tidy(store, Indexing, WORK)
    assert contents(store, WORK)[0] == {"ada": 3, "p1": 1, "p2": 1, "p3": 1, "eve": 1}


def test_an_upkeep_stands_in_no_writers_way(store: GraphStore) -> None:
    other, head = open_store(str(store.root)), store.snapshot().commit.id

    seen: list[CommitKind] = []

    def meanwhile(snapshot: Snapshot) -> Work:
        prepared = Replay(changes(people=people(ada=50), gone=["p1"])).prepare(snapshot)
        if not seen:
            tidy(other, Optimizing)
        seen.append(snapshot.commit.kind)
        return prepared

    assert put(store, meanwhile, if_commit=head)
    # The rows lie elsewhere now: it was prepared again, although what it found is still true.
    assert seen == [CommitKind.MUTATION, CommitKind.OPTIMIZE]
    assert contents(store)[0] == {"ada": 50, "p0": 1, "p2": 1, "p3": 1}


# While writing ------------------------------------------------------------------------------------

FEW = StoreLimits(max_small_fragments=12)


def test_a_writer_compacts_a_table_that_it_has_scattered_too_far(tmp_path: Path) -> None:
    store = make_store(tmp_path, limits=FEW)
    expected, head = {}, None
    for number in range(FEW.max_small_fragments + 6):
        expected[f"p{number}"] = number
        head = put(store, changes(people=people(**{f"p{number}": number})), if_commit=head)
    assert contents(store)[0] == expected
    assert gather(store.snapshot()).tables[PERSON.table_key].fragments < FEW.max_small_fragments
    [tidied] = [c for c in store.history().line() if c.kind is CommitKind.OPTIMIZE]
    assert (tidied.actor, [c.key for c in tidied.changes]) == (UPKEEP_ACTOR, ["node:Person"])


class NoRoomToCompact(Datasets):
    def stage_compaction(
        self,
        ref: DatasetRef,
        *,
        fewer_than_rows: int,
        drops_deleted: bool,
        without: Collection[str] = (),
    ) -> Rewrite | None:
        raise StorageFailed(doing="compact", path=ref.path, reason="no space left on device")


def test_a_write_stands_even_if_the_compaction_after_it_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = make_store(tmp_path, limits=FEW)
    for number in range(FEW.max_small_fragments):
        assert put(store, changes(people=people(**{f"many{number}": 1})))
    assert caplog.text == ""
    unable = NoRoomToCompact(location_of(tmp_path), Durability.RELAXED)
    store = store_of(tmp_path, datasets=unable, limits=FEW)
    for number in range(3):
        assert put(store, changes(people=people(**{f"p{number}": 1})))
    assert "stays scattered: compact" in caplog.text
    assert len(contents(store)[0]) == FEW.max_small_fragments + 3
