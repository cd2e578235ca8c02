"""What an index finds for any text or value: never less than is there, with an index or without."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.types import EnumOf, ListOf, Scalar, VectorOf
from omnigraph.lang.schema.catalog import Index, NodeType
from omnigraph.store.arrow import arrow_type, table_schema
from omnigraph.store.datasets import Dataset, Datasets, index_steps
from omnigraph.store.durability import Durability
from omnigraph.store.indexes import wanted_indexes
from omnigraph.store.row_filters import HasMember, HasText, RowFilter, StartsWith
from tests.buckets import location_of
from tests.store_contract.builders import PERSON, property_, rows_of

TEXTS: NodeType = replace(
    PERSON,
    properties=(property_(9, "text", Scalar.STRING),),
    constraints=(Index(("text",)), Index(("text",), "ngram")),
)
# Letters that change their number when case or accents go, the end of Unicode, and quotes.
ODD = "aAbéÉßẞΣσςİıﬁǆ\u0301東\U0010ffff\ud7ff\0'\"\\%_ .-1"  # noqa: RUF001 - on purpose
TEXT = st.text(ODD, max_size=8) | st.text(st.characters(codec="utf-8"), max_size=6)


def stored(
    tmp_path_factory: pytest.TempPathFactory,
    entity: NodeType,
    column: str,
    values: Iterable[object],
) -> Iterator[Dataset]:
    """The values as a column, without an index and with one over all but the last of them."""
    datasets = Datasets(location_of(tmp_path_factory.mktemp("graph")), Durability.RELAXED)
    rows = [{"id": str(number), column: value} for number, value in enumerate(values)]
    ref = datasets.create("nodes/p", table_schema(entity), rows_of(entity, rows))
    yield datasets.open(ref)
    dataset = datasets.own(ref)
    steps = index_steps(dataset, wanted_indexes(entity))
    index = datasets.stage_indexes(dataset, steps, ref=ref)
    assert index is not None
    yield datasets.open(datasets.land(datasets.stage(ref, index, {})))


def found(dataset: Dataset, tested: RowFilter) -> set[int]:
    return {int(id_) for id_ in dataset.scan(["id"], predicate=tested)["id"].to_pylist()}


@given(texts=st.lists(st.none() | TEXT, min_size=1, max_size=12), data=st.data())
@settings(max_examples=20)
def test_beginnings_and_pieces_of_any_text_are_found(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], data: st.DataObject
) -> None:
    known = {number: text for number, text in enumerate(texts) if text}
    pieces = []
    for _ in range(4):
        text = data.draw(st.sampled_from(sorted(known.values()) or ["abc"]))
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        pieces.append(text[start:end])
    for dataset in stored(tmp_path_factory, TEXTS, "text", texts):
        for piece in {piece for piece in pieces if piece}:
            begins = {n for n, text in known.items() if text.startswith(piece)}
            assert found(dataset, StartsWith("text", piece)) >= begins
            has = {n for n, text in known.items() if piece in text}
            assert found(dataset, HasText("text", piece)) >= has


MEMBERS = {
    Scalar.STRING: TEXT,
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.BOOL: st.booleans(),
    Scalar.DATE: st.dates(datetime.date(1, 1, 1)),
}


@pytest.mark.parametrize("item", MEMBERS)
@given(data=st.data())
@settings(max_examples=6)
def test_members_of_any_list_are_found(
    tmp_path_factory: pytest.TempPathFactory, item: Scalar, data: st.DataObject
) -> None:
    members = data.draw(st.lists(MEMBERS[item], min_size=1, max_size=4))
    some = st.lists(st.none() | st.sampled_from(members), max_size=3)
    lists = data.draw(st.lists(st.none() | some, min_size=1, max_size=8))
    entity = replace(
        PERSON,
        properties=(property_(9, "tags", ListOf(item)),),
        constraints=(Index(("tags",)),),
    )
    for dataset in stored(tmp_path_factory, entity, "tags", lists):
        for member in members:
            wanted = HasMember("tags", pa.scalar(member, arrow_type(item)))
            has = {n for n, each in enumerate(lists) if each is not None and member in each}
            assert found(dataset, wanted) == has


def test_an_expression_may_be_asked_of_a_table_with_columns_of_any_type(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    scalars = [kind for kind in Scalar if kind is not Scalar.BLOB]
    kinds = [*Scalar, *map(ListOf, scalars), VectorOf(2), EnumOf(("a", "b"))]
    properties = tuple(property_(n, f"p{n}", kind) for n, kind in enumerate(kinds, 9))
    entity = replace(PERSON, properties=properties, constraints=(Index(("p9",)),))
    for dataset in stored(tmp_path_factory, entity, "p9", ["a", "b", "a"]):
        assert found(dataset, pc.field("p9") == "a") == {0, 2}
        assert found(dataset, pc.field("id").isin(["1", "9"])) == {1}
