"""One key has one id, and two keys never share one."""

import datetime
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.ids import TypeId, TypeName
from omnigraph.base.types import EnumOf, Scalar, ValueType
from omnigraph.lang.schema.catalog import EdgeType, NodeType
from omnigraph.store.arrow import arrow_type
from omnigraph.store.identity import derive_ids, fresh_ids, shown_id
from tests.store_contract.builders import property_

UTC = datetime.UTC


def node(*types: ValueType) -> NodeType:
    properties = tuple(property_(n, f"p{n}", type_) for n, type_ in enumerate(types))
    return NodeType(TypeId(1), TypeName("T"), properties, key=tuple(p.name for p in properties))


def ids_of(entity: NodeType, *columns: list[Any]) -> list[str | None]:
    arrays = {
        p.column: pa.array(values, arrow_type(p.type))
        for p, values in zip(entity.properties, columns, strict=True)
    }
    ids: list[str | None] = derive_ids(entity, arrays).to_pylist()
    return ids


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (Scalar.STRING, "ada@example.org", "ada@example.org"),
        (Scalar.STRING, "", ""),
        (EnumOf(("gone", "here")), "here", "here"),
        (Scalar.BOOL, True, "true"),
        (Scalar.BOOL, False, "false"),
        (Scalar.I32, -7, "-7"),
        (Scalar.I64, 2**63 - 1, "9223372036854775807"),
        (Scalar.U32, 2**32 - 1, "4294967295"),
        (Scalar.U64, 2**64 - 1, "18446744073709551615"),
        (Scalar.DATE, datetime.date(1970, 1, 11), "10"),
        (Scalar.DATE, datetime.date(1969, 12, 31), "-1"),
        (Scalar.DATETIME, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "1000"),
        (Scalar.F64, 1.0, "1"),
        (Scalar.F64, 0.1, "0.1"),
        (Scalar.F64, -0.0, "0"),
        (Scalar.F64, 1e20, "1e+20"),
        (Scalar.F64, 1e-7, "1e-7"),
        (Scalar.F64, 5e-324, "5e-324"),
        (Scalar.F32, 0.1, "0.1"),
        (Scalar.F32, 16777216.0, "16777216"),
        (Scalar.F64, float("nan"), None),
        (Scalar.F64, float("inf"), None),
        (Scalar.STRING, None, None),
    ],
)
def test_a_key_of_one_property_is_its_canonical_text(
    type_: ValueType, value: object, text: str | None
) -> None:
    assert ids_of(node(type_), [value]) == [text]


def test_a_composite_key_is_a_json_array_in_key_order() -> None:
    entity = node(Scalar.STRING, Scalar.I32)
    swapped = NodeType(entity.id, entity.name, entity.properties, key=("p1", "p0"))
    assert ids_of(entity, ["a"], [1]) == ['["a","1"]']
    assert ids_of(swapped, ["a"], [1]) == ['["1","a"]']


def test_a_keyed_edge_is_named_by_its_ends_even_if_they_are_all_of_its_key() -> None:
    edge = EdgeType(TypeId(1), TypeName("E"), TypeName("A"), TypeName("B"), (), key=("src", "dst"))
    columns = {"src": pa.array(["a"]), "dst": pa.array(["b"])}
    assert derive_ids(edge, columns).to_pylist() == ['["a","b"]']


ONE, TWO = node(Scalar.STRING), node(Scalar.STRING, Scalar.I64)
TIMES = node(Scalar.DATE, Scalar.DATETIME)


@pytest.mark.parametrize(
    ("entity", "id_", "shown"),
    [
        (ONE, "ada", "'ada'"),
        (ONE, '["ada"]', "'[\"ada\"]'"),
        (TWO, '["LH","400"]', "(p0: 'LH', p1: 400)"),
        (TWO, '["it\'s","-1"]', '(p0: "it\'s", p1: -1)'),
        (TIMES, '["10","-1"]', "(p0: 1970-01-11, p1: 1969-12-31T23:59:59.999Z)"),
        (TIMES, '["x","99999999999999999999"]', "(p0: 'x', p1: '99999999999999999999')"),
        (TWO, "no key", "'no key'"),
        (TWO, '["LH"]', "'[\"LH\"]'"),
        (TWO, '["LH",400]', "'[\"LH\",400]'"),
        (TWO, "400", "'400'"),
        (node(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "'01ARZ3NDEKTSV4RRFFQ69G5FAV'"),
        (node(), '["a","b"]', '\'["a","b"]\''),
    ],
)
def test_an_id_is_shown_by_the_parts_of_its_key_and_whatever_else_as_it_is(
    entity: NodeType, id_: str, shown: str
) -> None:
    assert shown_id(entity, id_) == shown


def test_a_null_anywhere_in_a_composite_key_leaves_the_row_without_an_id() -> None:
    assert ids_of(node(Scalar.STRING, Scalar.I32), ["a", None], [None, 1]) == [None, None]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=20))
def test_distinct_tuples_of_any_text_have_distinct_ids_that_read_back(
    keys: list[tuple[str, str]],
) -> None:
    clean = [
        (a.encode("utf-8", "ignore").decode(), b.encode("utf-8", "ignore").decode())
        for a, b in keys
    ]
    ids = ids_of(node(Scalar.STRING, Scalar.STRING), [a for a, _ in clean], [b for _, b in clean])
    assert [tuple(json.loads(i or "")) for i in ids] == clean
    assert ids == [json.dumps(k, ensure_ascii=False, separators=(",", ":")) for k in clean]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_a_float_reads_back_from_its_id(values: list[float]) -> None:
    ids = ids_of(node(Scalar.F64), values)
    assert [float(i or "") for i in ids] == values


def test_fresh_ids_are_ulids_that_grow_with_the_row_and_never_repeat() -> None:
    now_ms = 1_700_000_000_000
    first, second = fresh_ids(5_000, now_ms).to_pylist(), fresh_ids(5_000, now_ms).to_pylist()
    assert first == sorted(first)
    assert len({*first, *second}) == 10_000
    assert {len(i) for i in first} == {26}
    assert {i[:10] for i in first} == {"01HF7YAT00"}


def test_fresh_ids_carry_over_from_the_low_to_the_high_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Chance all but its top bit one: the count runs over the lower 64 bits at once.
    monkeypatch.setattr("os.urandom", lambda n: b"\x01" + b"\xff" * (n - 1))
    ids = fresh_ids(3, 1).to_pylist()
    assert ids == sorted(set(ids))
