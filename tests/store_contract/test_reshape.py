"""Other columns for the rows of a dataset, on a disk and in a bucket."""

import json

import pyarrow as pa
import pytest

from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import ROW_ID, ColumnFill, DatasetRef, Datasets, LandingRefused
from omnigraph.store.transactions import Append, Operation, Reshape, StagedTransaction
from tests.store_contract.builders import PERSON, datasets_at, people, staged_edit, staged_index

PATH = "nodes/people"
SCHEMA = table_schema(PERSON)


@pytest.fixture
def datasets(place: str) -> Datasets:
    return datasets_at(place)


@pytest.fixture
def ref(datasets: Datasets) -> DatasetRef:
    """Two files of rows, one row of the first deleted, and an index over all of them."""
    ref = datasets.create(PATH, SCHEMA, people(ada=1, bob=2, cid=3))
    ref = landed(datasets, ref, staged_edit(datasets, ref, people(dan=4), ["bob"])[0])
    index = staged_index(datasets, ref)
    assert index is not None
    return landed(datasets, ref, index)


def landed(datasets: Datasets, ref: DatasetRef, operation: Operation | None) -> DatasetRef:
    """The next version, as a note that was written down and read again makes it."""
    assert operation is not None
    staged = datasets.stage(ref, operation, {})
    return datasets.land(StagedTransaction.from_json(json.loads(json.dumps(staged.to_json()))))


def doubled() -> ColumnFill:
    return ColumnFill("twice", "age", lambda ages: pa.array([2 * a for a in ages.to_pylist()]))


def with_columns(*fields: pa.Field, without: tuple[str, ...] = ()) -> pa.Schema:
    return pa.schema([*(f for f in SCHEMA if f.name not in without), *fields])


def rows_at(datasets: Datasets, ref: DatasetRef) -> dict[str, dict[str, object]]:
    dataset = datasets.open(ref)
    return {
        row["id"]: row for row in dataset.scan(dataset.column_names, with_row_id=True).to_pylist()
    }


def test_columns_come_and_go_and_every_row_stays(datasets: Datasets, ref: DatasetRef) -> None:
    before = rows_at(datasets, ref)
    assert set(before) == {"ada", "cid", "dan"}
    wanted = with_columns(
        pa.field("twice", pa.int64()), pa.field("tags", pa.list_(pa.string())), without=("name",)
    )
    reshape = datasets.stage_reshape(ref, wanted, [doubled()])
    assert reshape is not None and len(reshape.files) == 2
    after = landed(datasets, ref, reshape)
    opened = datasets.open(after)
    assert opened.column_names == wanted.names
    assert datasets.stage_reshape(after, wanted, []) is None
    for name, row in rows_at(datasets, after).items():
        age = before[name]["age"]
        assert isinstance(age, int)
        assert row[ROW_ID] == before[name][ROW_ID] and row["age"] == age
        assert (row["twice"], row["tags"]) == (2 * age, None)
    assert set(rows_at(datasets, after)) == set(before) == set(rows_at(datasets, ref))
    assert opened.indexed_rows == {"id": 3, "age": 3}
    assert rows_at(datasets, ref) == before


def test_nulls_take_no_file_and_a_column_that_goes_takes_its_index(
    datasets: Datasets, ref: DatasetRef
) -> None:
    reshape = datasets.stage_reshape(ref, with_columns(without=("age",)), [])
    assert isinstance(reshape, Reshape) and not reshape.files
    after = landed(datasets, ref, reshape)
    assert datasets.open(after).indexed_rows == {"id": 3}


def test_a_column_of_an_old_name_has_none_of_the_old_values(
    datasets: Datasets, ref: DatasetRef
) -> None:
    """The number of a field that only files still have is not given again."""
    without = landed(datasets, ref, datasets.stage_reshape(ref, with_columns(without=("age",)), []))
    again = landed(datasets, without, datasets.stage_reshape(without, SCHEMA, []))
    assert {row["age"] for row in rows_at(datasets, again).values()} == {None}
    fill = ColumnFill("twice", "name", lambda names: pa.array([7] * len(names)))
    wanted = with_columns(pa.field("twice", pa.int64()), without=("age",))
    filled = landed(datasets, again, datasets.stage_reshape(again, wanted, [fill]))
    assert {row["twice"] for row in rows_at(datasets, filled).values()} == {7}


def test_it_lands_on_the_version_that_it_was_made_for_or_not_at_all(
    datasets: Datasets, ref: DatasetRef
) -> None:
    """Lance itself would let rows come between."""
    reshape = datasets.stage_reshape(ref, with_columns(pa.field("new", pa.int64())), [])
    assert reshape is not None
    more = landed(datasets, ref, Append(datasets.stage_rows(ref, people(eve=5))))
    with pytest.raises(LandingRefused):
        landed(datasets, ref, reshape)
    assert datasets.open(more).column_names == SCHEMA.names


def test_it_takes_rows_and_compactions_afterwards(datasets: Datasets, ref: DatasetRef) -> None:
    wanted = with_columns(pa.field("twice", pa.int64()))
    after = landed(datasets, ref, datasets.stage_reshape(ref, wanted, [doubled()]))
    rows = people(eve=5).append_column("twice", pa.array([11], pa.int64()))
    after = landed(datasets, after, staged_edit(datasets, after, rows, ["cid"])[0])
    before = len(datasets.open(after).fragment_ids)
    compaction = datasets.stage_compaction(after, fewer_than_rows=1000, drops_deleted=True)
    after = landed(datasets, after, compaction)
    found = {name: row["twice"] for name, row in rows_at(datasets, after).items()}
    assert found == {"ada": 2, "dan": 8, "eve": 11}
    assert before > len(datasets.open(after).fragment_ids) == 1
