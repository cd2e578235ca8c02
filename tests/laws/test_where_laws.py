"""A `where` picks the same rows whether Lance is asked or every row is looked at."""

import datetime
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType
from omnigraph.lang.plan.ir import (
    MIRRORED,
    Compare,
    CompareOp,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    Predicate,
    PropertyOf,
)
from omnigraph.lang.query.check.typed import ROW
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.read.values.rows import matching
from omnigraph.read.view import View
from omnigraph.read.where.key_lookup import ids_to_look_up
from omnigraph.read.where.pushdown import pushed
from omnigraph.read.where.where import Where
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.snapshot import Snapshot
from tests.store_contract.builders import put, rows_of

SCHEMA = """
node Thing {
    name: String
    size: I32
    camelCase: U64?
    weight: F32?
    share: F64?
    isNew: Bool?
    day: Date?
    at: DateTime?
    kind: enum(a, b)?
    tags: [String]?
    place: Vector(2)?
    @key(name, size)
    @index(size)
    @index(weight)
    @index(share)
    @index(day)
    @index(camelCase)
    @index(tags)
    @index(name)
}
"""
UTC = datetime.UTC
VALUES: dict[str, tuple[ValueType, list[Any]]] = {
    "name": (Scalar.STRING, ["", "a", "ab", "b'c", "Ä", "z"]),
    "size": (Scalar.I32, [-(2**31), -1, 0, 1, 2**31 - 1]),
    "camelCase": (Scalar.U64, [0, 1, 2**53 + 1, 2**64 - 1]),
    "weight": (Scalar.F32, [-0.0, 0.0, 0.5, 0.1, 3.0, -7.25]),
    "share": (Scalar.F64, [-0.0, 0.0, 0.5, 0.1, 2.0**53, 1e300]),
    "isNew": (Scalar.BOOL, [True, False]),
    "day": (Scalar.DATE, [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "at": (
        Scalar.DATETIME,
        [datetime.datetime(2024, 2, 29, tzinfo=UTC), datetime.datetime(1, 1, 1, tzinfo=UTC)],
    ),
    "kind": (EnumOf(("a", "b")), ["a", "b"]),
}
NUMBERS = ("size", "camelCase", "weight", "share")
WIDE: dict[ValueType, list[Any]] = {
    Scalar.I64: [-(2**63), -1, 0, 1, 3, 2**31, 2**53 + 1],
    Scalar.U64: [0, 1, 2**53, 2**64 - 1],
    Scalar.F64: [-0.0, 0.0, 0.5, 0.1, 1.0, 2.0**53, 1e300, 1e-300],
}
ORDERED = [op for op in CompareOp if op in MIRRORED]
TEXTUAL = [*ORDERED, CompareOp.CONTAINS, CompareOp.STARTS_WITH]

CATALOG = compile_schema(SourceText(SCHEMA))
THING = CATALOG.nodes[0]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Things with every value in every column; the index knows only some of them."""
    place = tmp_path_factory.mktemp("where") / "g"
    with Graph.init(str(place), SCHEMA, durability="relaxed") as graph:
        rows = [_thing(number) for number in range(60)]
        put(graph.engine.store, _upserts(rows[:40]))
        graph.optimize()
        put(graph.engine.store, _upserts(rows[40:]))
        yield graph.snapshot().stored


def _thing(number: int) -> dict[str, Any]:
    names, sizes = VALUES["name"][1], VALUES["size"][1]
    row: dict[str, Any] = {
        "name": names[number % len(names)],
        "size": sizes[number // len(names) % len(sizes)],
        "tags": None if number % 3 else ["x", "y"][: number % 4],
        "place": None if number % 5 else [1.0, 2.0],
        "id": f"{number}",
    }
    for place, (name, (_, values)) in enumerate(VALUES.items()):
        if name not in row:
            pick = (number * (place + 3)) % (len(values) + 1)
            row[name] = values[pick] if pick < len(values) else None
    return row


def _upserts(rows: list[dict[str, Any]]) -> Edits:
    table = rows_of(THING, rows)
    return Edits({THING.table_key: RowEdits(table)}, reads=frozenset())


def _field(name: str) -> PropertyOf:
    return PropertyOf(ROW, name, THING.by_name[name].type, is_nullable=True)


def _constants(name: str) -> st.SearchStrategy[Literal]:
    own, values = VALUES[name]
    given = [(own, value) for value in values]
    if name in NUMBERS:
        given += [(type_, value) for type_, wide in WIDE.items() for value in wide]
    return st.sampled_from(given).map(lambda pair: Literal(pair[1], pair[0]))


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    name = draw(st.sampled_from([*VALUES, "tags", "place", "id"]))
    if name == "id":
        return Compare(draw(st.sampled_from(TEXTUAL)), IdentityOf(ROW), Literal("7", Scalar.STRING))
    field = _field(name)
    if name == "place" or draw(st.integers(0, 5)) == 0:
        return NullTest(field, draw(st.booleans()))
    if name == "tags":
        return Compare(CompareOp.CONTAINS, field, Literal("x", Scalar.STRING))
    constants = _constants(name)
    own = VALUES[name][0]
    if draw(st.integers(0, 3)) == 0 and isinstance(own, Scalar):
        some = draw(st.lists(constants.filter(lambda c: c.type is own), max_size=3))
        return Membership(field, Literal(tuple(c.value for c in some), ListOf(own)))
    constant = draw(st.one_of(constants, st.just(Literal(None, own))))
    if draw(st.booleans()):
        return Compare(draw(st.sampled_from(ORDERED)), constant, field)
    is_text = own is Scalar.STRING and constant.value is not None
    return Compare(draw(st.sampled_from(TEXTUAL if is_text else ORDERED)), field, constant)


@given(where=st.lists(predicates(), min_size=1, max_size=3))
def test_a_where_finds_the_same_rows_by_every_way(
    snapshot: Snapshot, where: list[Predicate]
) -> None:
    dataset, columns = snapshot.dataset(THING), table_schema(THING).names

    def chosen(rows: pa.Table) -> list[str]:
        return sorted(matching(rows, where, THING, parameters={}, now_ms=0)["id"].to_pylist())

    expected = chosen(dataset.scan(columns))
    among = pushed(where, THING, parameters={}, now_ms=0)
    assert chosen(dataset.scan(columns, predicate=among)) == expected
    asked = Where(THING, tuple(where), {}, now_ms=0)
    found = asked.candidates(View(snapshot), asked.columns(columns))
    assert sorted(asked.matching(found)["id"].to_pylist()) == expected


@given(name=st.sampled_from(VALUES["name"][1]), size=st.sampled_from([*VALUES["size"][1], 7]))
def test_a_whole_key_names_the_rows_that_have_it(name: str, size: int) -> None:
    where: list[Predicate] = [
        Compare(CompareOp.EQ, _field("size"), Literal(size, Scalar.I64)),
        Compare(CompareOp.EQ, Literal(name, Scalar.STRING), _field("name")),
    ]
    ids = ids_to_look_up(THING, where, {})
    assert ids is not None and len(ids) == 1
    assert ids_to_look_up(THING, where[:1], {}) is None
