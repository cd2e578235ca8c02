"""What one dataset promises, on real Lance: edits, landing, forks, and the guards around them."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import StorageFailed
from omnigraph.base.ids import TypeId, TypeName
from omnigraph.base.types import ListOf, Scalar, VectorOf
from omnigraph.lang.schema.catalog import NodeType
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import (
    Datasets,
    LandingRefused,
    TableHome,
    discard_fragments,
    read_fragment_columns,
    row_ids_beside,
    row_set,
    with_row_ids,
    write_fragments,
    write_scratch,
)
from omnigraph.store.datasets.lance_values import failures
from omnigraph.store.datasets.reading import TAKEN_ONE_BY_ONE
from omnigraph.store.transactions import (
    Append,
    DatasetRef,
    Overwrite,
    Restore,
    StagedTransaction,
    Update,
)
from tests.store_contract.builders import PERSON, datasets_at, people, property_, staged_edit


@pytest.fixture
def datasets(place: str) -> Datasets:
    return datasets_at(place)


def create(datasets: Datasets, rows: pa.Table | None = None) -> DatasetRef:
    return datasets.create("nodes/p", table_schema(PERSON), rows)


def edit(
    datasets: Datasets, ref: DatasetRef, rows: pa.Table, gone: list[str] | None = None
) -> DatasetRef:
    update, _ = staged_edit(datasets, ref, rows, gone or [])
    return datasets.land(datasets.stage(ref, update, {}))


def row_ids(datasets: Datasets, ref: DatasetRef) -> dict[str, int]:
    table = datasets.open(ref).scan(["id"], with_row_id=True)
    return dict(zip(table["id"].to_pylist(), table["_rowid"].to_pylist(), strict=True))


def content(datasets: Datasets, ref: DatasetRef) -> dict[str, int]:
    table = datasets.open(ref).scan(["id", "age"])
    return dict(zip(table["id"].to_pylist(), table["age"].to_pylist(), strict=True))


NAMES = st.sampled_from([f"n{i}" for i in range(8)])
EDITS = st.lists(
    st.tuples(st.dictionaries(NAMES, st.integers(0, 99)), st.sets(NAMES)), min_size=1, max_size=4
)


@given(edits=EDITS)
@settings(max_examples=15, deadline=None)
def test_edits_add_up_to_what_a_dictionary_says(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[dict[str, int], set[str]]]
) -> None:
    datasets = datasets_at(str(tmp_path_factory.mktemp("graph")))
    ref, model = create(datasets), dict[str, int]()
    for upserts, deletes in edits:
        gone = deletes - upserts.keys()
        update, counts = staged_edit(datasets, ref, people(**upserts), sorted(gone))
        assert counts.inserted == len(upserts.keys() - model.keys())
        assert counts.updated == len(upserts.keys() & model.keys())
        assert counts.deleted == len(gone & model.keys())
        if update == Update():
            continue
        ref = datasets.land(datasets.stage(ref, update, {}))
        model = {**{k: v for k, v in model.items() if k not in gone}, **upserts}
        assert content(datasets, ref) == model
        assert datasets.open(ref).row_count == len(model)


def test_a_replaced_row_keeps_its_row_id_and_a_new_one_gets_its_own(datasets: Datasets) -> None:
    first = create(datasets, people(ada=1, bob=2, eve=3))
    second = edit(datasets, first, people(zoe=9, eve=30, ada=10), gone=["bob"])
    before, after = row_ids(datasets, first), row_ids(datasets, second)
    assert (after["ada"], after["eve"]) == (before["ada"], before["eve"])
    assert after["zoe"] not in before.values()
    assert content(datasets, second) == {"ada": 10, "eve": 30, "zoe": 9}


def test_long_lists_of_ids_are_found_as_short_ones_are(datasets: Datasets) -> None:
    many = {f"p{i}": i for i in range(1_500)}
    first = create(datasets, people(**many))
    second = edit(datasets, first, people(**dict.fromkeys(many, 7)))
    assert row_ids(datasets, second) == row_ids(datasets, first)
    assert set(content(datasets, second).values()) == {7}


def test_rows_are_read_and_left_out_by_row_id_wherever_they_lie(datasets: Datasets) -> None:
    first = create(datasets, people(ada=1, bob=2, eve=3, ida=4))
    # Ada moves to another fragment, and bob's place is left empty.
    dataset = datasets.open(edit(datasets, first, people(ada=10), gone=["bob"]))
    ids = row_ids(datasets, dataset.ref)
    some = row_set(np.array([ids["ada"], ids["ida"]], np.uint64))
    rows = dataset.rows_at(some, ["id", "age"]).to_pylist()
    assert {row["id"]: (row["age"], row["_rowid"]) for row in rows} == {
        "ada": (10, ids["ada"]),
        "ida": (4, ids["ida"]),
    }
    assert dataset.scan(["id"], without=some)["id"].to_pylist() == ["eve"]
    old = dataset.fragment_ids[:1]
    assert dataset.scan(["id"], without=some, fragment_ids=old)["id"].to_pylist() == ["eve"]
    none = row_set(np.array([], np.uint64))
    assert dataset.rows_at(none, ["id"]).num_rows == 0
    assert dataset.scan(["id"], without=none).num_rows == 3


def test_rows_in_files_take_the_place_of_those_at_addresses(datasets: Datasets) -> None:
    first = create(datasets, people(ada=1, bob=2, eve=3))
    found = datasets.open(first).rows_of(pa.array(["eve", "ada"]))
    new = people(**dict.fromkeys(found["id"].to_pylist(), 9), zoe=4)
    fragments = with_row_ids(datasets.stage_rows(first, new), found["_rowid"].to_numpy())
    update = datasets.stage_replacement(first, fragments, found["_rowaddr"].to_numpy())
    second = datasets.land(datasets.stage(first, update, {}))
    assert content(datasets, second) == {"ada": 9, "bob": 2, "eve": 9, "zoe": 4}
    before, after = row_ids(datasets, first), row_ids(datasets, second)
    assert {name: after[name] for name in before} == before


def test_scratch_files_hold_every_column_and_are_no_part_of_the_table(datasets: Datasets) -> None:
    picture = property_(9, "picture", Scalar.BLOB)
    album = NodeType(TypeId(8), TypeName("Album"), (picture,), key=())
    schema = table_schema(album)
    ref = datasets.create("nodes/album", schema)
    location = datasets.location(ref.path, ref.branch)
    rows = pa.table([["a", "b"], [b"p" * 70_000, None]], schema=schema)
    scratch = write_scratch(location, iter(rows.to_batches()), schema)
    read = read_fragment_columns(location, [scratch], schema.names)
    assert read.cast(schema).equals(rows)
    assert datasets.open_newest(ref.path, ref.branch).row_count == 0
    discard_fragments(location, [scratch])
    with pytest.raises(StorageFailed):
        read_fragment_columns(location, [scratch], schema.names)


def test_a_staged_change_is_invisible_until_it_lands(datasets: Datasets) -> None:
    ref = create(datasets, people(ada=1))
    update, _ = staged_edit(datasets, ref, people(ada=2))
    assert datasets.newest_version("nodes/p", None) == ref.version
    landed = datasets.land(datasets.stage(ref, update, {}))
    assert landed.version == ref.version + 1
    assert content(datasets, ref) == {"ada": 1}
    assert content(datasets, landed) == {"ada": 2}


def test_a_transaction_lands_after_a_journey_through_json(datasets: Datasets) -> None:
    ref = create(datasets, people(ada=1, bob=2))
    update, _ = staged_edit(datasets, ref, people(ada=5), ["bob"])
    staged = datasets.stage(ref, update, {"operation_id": "x"})
    travelled = StagedTransaction.from_json(json.loads(json.dumps(staged.to_json())))
    assert travelled == staged
    assert content(datasets, datasets.land(travelled)) == {"ada": 5}


@pytest.mark.parametrize(
    "operation", [Append(("{}",)), Overwrite(()), Update((1,), ("{}",), ()), Restore(3)]
)
def test_every_operation_reads_back_from_json(
    operation: Append | Overwrite | Update | Restore,
) -> None:
    staged = StagedTransaction(DatasetRef("nodes/p", None, 1), operation, "u", {"a": "b"})
    assert StagedTransaction.from_json(json.loads(json.dumps(staged.to_json()))) == staged


def test_a_second_append_from_one_version_is_refused_and_not_rebased(datasets: Datasets) -> None:
    ref = create(datasets)
    first, second = (
        datasets.stage(ref, Append(datasets.stage_rows(ref, rows)), {})
        for rows in (people(ada=1), people(bob=2))
    )
    landed = datasets.land(first)
    with pytest.raises(LandingRefused):
        datasets.land(second)
    assert content(datasets, landed) == {"ada": 1}
    assert datasets.newest_version("nodes/p", None) == landed.version


def test_landing_twice_is_refused(datasets: Datasets) -> None:
    ref = create(datasets)
    staged = datasets.stage(ref, Append(datasets.stage_rows(ref, people(ada=1))), {})
    datasets.land(staged)
    with pytest.raises(LandingRefused):
        datasets.land(staged)


def test_notes_tell_whose_transaction_made_each_version(datasets: Datasets) -> None:
    ref = create(datasets)
    staged = datasets.stage(ref, Append(datasets.stage_rows(ref, people(ada=1))), {})
    landed = datasets.land(staged)
    datasets.land(datasets.stage(landed, Restore(ref.version), {}))
    first, second = datasets.origins_after(ref)
    assert (first.version, first.uuid, first.restores) == (2, staged.uuid, None)
    assert (second.version, second.restores) == (3, 1)


def test_files_can_be_read_and_discarded_before_any_version_names_them(datasets: Datasets) -> None:
    ref = create(datasets, people(ada=1))
    location = datasets.location(ref.path, ref.branch)
    rows = people(bob=2, eve=3)
    home = TableHome(location, ref.version)
    fragments = write_fragments(home, iter(rows.to_batches()), rows.schema)
    read = read_fragment_columns(location, fragments, ["age", "id"])
    assert read.to_pydict() == {"age": [2, 3], "id": ["bob", "eve"]}
    assert content(datasets, ref) == {"ada": 1}
    append = datasets.stage(ref, Append(tuple(fragments)), {})
    assert datasets.has_files_of(append)
    discard_fragments(location, fragments)
    assert not datasets.has_files_of(append)


def test_no_batches_give_no_fragments(datasets: Datasets) -> None:
    ref = create(datasets)
    location = datasets.location(ref.path, ref.branch)
    home = TableHome(location, ref.version)
    assert write_fragments(home, iter([]), table_schema(PERSON)) == []


def test_a_table_can_be_overwritten_with_nothing(datasets: Datasets) -> None:
    ref = create(datasets, people(ada=1))
    emptied = datasets.land(datasets.stage(ref, Overwrite(()), {}))
    assert datasets.open(emptied).row_count == 0
    assert datasets.open(ref).row_count == 1


def test_a_fork_reads_its_source_and_writes_apart_from_it(datasets: Datasets) -> None:
    source = create(datasets, people(ada=1, bob=2))
    fork = datasets.fork(source, "work/a.01.02")
    ours = edit(datasets, fork, people(ada=10), gone=["bob"])
    theirs = edit(datasets, source, people(ada=20))
    assert content(datasets, ours) == {"ada": 10}
    assert content(datasets, theirs) == {"ada": 20, "bob": 2}
    assert datasets.has_fork("nodes/p", "work/a.01.02")
    assert not datasets.has_fork("nodes/p", "work/a.01.03")


def test_version_numbers_compare_where_one_version_was_made_from_the_other(
    datasets: Datasets,
) -> None:
    first = create(datasets, people(ada=1))
    second = edit(datasets, first, people(ada=2))
    work = datasets.fork(second, "work.01")
    third, worked = edit(datasets, second, people(ada=3)), edit(datasets, work, people(ada=4))
    of_work = edit(datasets, datasets.fork(worked, "more.02"), people(ada=5))
    elsewhere = datasets.create("nodes/q", table_schema(PERSON), people(ada=1))
    made_from = {
        first: {first},
        second: {first, second},
        third: {first, second, third},
        worked: {first, second, work, worked},
        of_work: {first, second, work, worked, of_work},
        elsewhere: {elsewhere},
    }
    known = set().union(*made_from.values())
    for later, earlier in made_from.items():
        assert {ref for ref in known if datasets.parting(later, ref) == ref} == earlier, later
    for one, other in ((third, of_work), (of_work, third)):
        assert datasets.parting(one, other) == second
    datasets.delete_fork("nodes/p", "more.02")
    assert datasets.parting(of_work, first) is None


def test_a_fragment_is_known_by_its_files_on_whatever_line_it_is_read(datasets: Datasets) -> None:
    source = create(datasets, people(ada=1, bob=2, cid=3))
    fork = datasets.fork(source, "work.01")
    (here,), (there,) = (datasets.open(ref).fragments for ref in (source, fork))
    assert here == there
    none = table_schema(PERSON).empty_table()
    gone = [
        edit(datasets, source, none, gone=["ada"]),
        edit(datasets, fork, none, gone=["bob"]),
    ]
    one, other = (datasets.open(ref).fragments[0] for ref in gone)
    # As many rows are left, of the same file: other ones.
    assert (one.files, one.rows) == (other.files, other.rows) == (here.files, 2)
    assert one.deletions != other.deletions
    for (a, b), names in ((gone, ["bob"]), (gone[::-1], ["ada"]), ([gone[0], source], [])):
        here_, there_ = datasets.open(a), datasets.open(b)
        row_ids, moved = row_ids_beside(here_, there_, since=source.version)
        assert here_.rows_at(row_set(row_ids), ["id"])["id"].to_pylist() == names
        assert not len(moved)


def test_a_row_that_was_only_moved_is_told_apart_on_any_line(datasets: Datasets) -> None:
    first = create(datasets, people(ada=1, bob=2))
    source = edit(datasets, first, people(cid=3, dan=4))
    fork = datasets.fork(source, "work.01")
    rewrite = datasets.stage_compaction(fork, fewer_than_rows=100, drops_deleted=True)
    assert rewrite is not None
    fork = datasets.land(datasets.stage(fork, rewrite, {}))
    fork, source = edit(datasets, fork, people(ada=5)), edit(datasets, source, people(bob=6))
    here, there = datasets.open(fork), datasets.open(source)
    for one, other, written, old in (
        (here, there, ["ada"], ["bob", "cid", "dan"]),
        (there, here, ["bob"], ["ada", "cid", "dan"]),
    ):
        parting = datasets.parting(one.ref, other.ref)
        assert parting is not None
        found = row_ids_beside(one, other, since=parting.version)
        names = [sorted(one.rows_at(row_set(ids), ["id"])["id"].to_pylist()) for ids in found]
        assert names == [written, old]


def test_files_written_beside_the_source_can_be_adopted_by_a_fork(datasets: Datasets) -> None:
    wide = NodeType(TypeId(1), TypeName("Photo"), (property_(2, "image", Scalar.BLOB),), key=())
    source = datasets.create("nodes/photo", table_schema(wide))
    rows = pa.table(
        {"id": ["small", "large"], "image": [b"x", b"y" * 300_000]}, schema=table_schema(wide)
    )
    written_at = datasets.location(source.path, None)
    batches = iter(rows.to_batches())
    home = TableHome(written_at, source.version)
    fragments = tuple(write_fragments(home, batches, rows.schema))
    fork = datasets.fork(source, "b.01.02")
    datasets.adopt(fragments, written_at=written_at, ref=fork)
    landed = datasets.land(datasets.stage(fork, Append(fragments), {}))
    # The originals may be swept away as unused.
    discard_fragments(written_at, fragments)
    assert datasets.open(landed).scan(["id", "image"]).to_pydict() == rows.to_pydict()


def test_every_type_of_property_survives_a_round_trip(datasets: Datasets) -> None:
    types = [*Scalar, VectorOf(3), ListOf(Scalar.STRING), ListOf(Scalar.F64)]
    entity = NodeType(
        TypeId(1),
        TypeName("Wide"),
        tuple(property_(n, f"p{n:02}", type_) for n, type_ in enumerate(types, start=2)),
    )
    schema = table_schema(entity)
    empty = {field.name: None for field in schema if field.name != "id"}
    ref = datasets.create(
        "nodes/wide", schema, pa.Table.from_pylist([{"id": "x", **empty}], schema)
    )
    read = datasets.open(ref).scan(schema.names)
    assert read.cast(schema).to_pylist() == [{"id": "x", **empty}]
    assert [f.type for f in read.schema] == [f.type for f in schema]


@pytest.mark.parametrize("count", [3, 2 * TAKEN_ONE_BY_ONE])
def test_rows_are_taken_by_their_place_among_those_that_are_left(
    datasets: Datasets, count: int
) -> None:
    ref = create(datasets, people(**{f"p{n}": n for n in range(60)}))
    ref = edit(datasets, ref, people(p7=70, new=1), gone=["p0", "p1", "p30"])
    dataset = datasets.open(ref)
    places = np.random.default_rng(count).integers(0, dataset.row_count, count)
    columns = ["age", "id"]
    assert dataset.take(places, columns).equals(dataset.scan(columns).take(places))


def test_a_scan_takes_a_predicate_and_names_rows_on_request(datasets: Datasets) -> None:
    ref = create(datasets, people(ada=1, bob=2))
    found = datasets.open(ref).scan(
        ["name"], predicate=pc.field("age") > 1, with_row_id=True, with_row_address=True
    )
    assert found.to_pylist() == [{"name": "bob", "_rowid": 1, "_rowaddr": 1}]


def test_a_reader_falls_back_from_a_torn_version_and_recovery_may_remove_it(
    tmp_path: Path,
) -> None:
    datasets = datasets_at(str(tmp_path))
    first = create(datasets, people(ada=1))
    torn = edit(datasets, first, people(ada=2))
    file = tmp_path / "nodes/p/_versions" / f"{2**64 - 1 - torn.version:020}.manifest"
    os.truncate(file, 0)
    after_the_cut = datasets_at(str(tmp_path))
    assert content(after_the_cut, after_the_cut.open_newest("nodes/p", None).ref) == {"ada": 1}
    assert not after_the_cut.drop_torn("nodes/p", None, first.version)
    assert after_the_cut.drop_torn("nodes/p", None, torn.version)
    again = edit(after_the_cut, first, people(ada=3))
    assert again == torn
    assert content(after_the_cut, again) == {"ada": 3}


def test_a_missing_dataset_is_a_storage_failure(datasets: Datasets) -> None:
    with pytest.raises(StorageFailed, match=r"open .*nodes/none failed"):
        datasets.open(DatasetRef("nodes/none", None, 1))


def test_an_interruption_that_lance_tells_as_an_error_of_its_own_stays_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt), failures("read", "nodes/a"):
        raise OSError("External error: KeyboardInterrupt, /src/stream.rs:1")


def test_a_sample_of_what_was_written_has_rows_that_were_deleted_since(datasets: Datasets) -> None:
    ages = {f"p{n}": n for n in range(10)}
    ref = create(datasets, people(**ages))
    written = datasets.open(ref)
    (first,) = written.fragments
    assert (first.rows, first.written_rows) == (10, 10)
    later = datasets.open(edit(datasets, ref, people(p3=99, new=1), ["p6", "p9"]))
    (kept, added) = later.fragments
    assert (kept.rows, kept.written_rows, added.written_rows) == (7, 10, 2)
    for dataset in (written, later):
        sample = dataset.sample_written("id", [first.id], step_rows=3)
        assert sample.to_pylist() == ["p0", "p3", "p6", "p9"]
    both = later.sample_written("id", [kept.id, added.id], step_rows=5)
    assert both.to_pylist()[:2] == ["p0", "p5"] and len(both) == 3
    assert later.sample_written("id", [kept.id], step_rows=100).to_pylist() == ["p0"]
