"""Rows of one schema as the next schema of their type has them."""

import pyarrow as pa
import pytest

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.store.arrow import table_schema
from omnigraph.store.lifting import lifted

BEFORE = "node P { key: String @key  old: I32?  gone: String?  f: F32?  b: Blob?  v: Vector(2)? }"


def catalog(text: str, accepted: Catalog | None = None) -> Catalog:
    return compile_schema(SourceText(text, "schema.pg"), accepted)


def rows() -> pa.Table:
    columns = {
        "id": ["a", "b"],
        "b": [b"\x01", None],
        "f": [1.5, None],
        "gone": ["x", None],
        "key": ["a", "b"],
        "old": [7, None],
        "v": [[1.0, 2.0], None],
    }
    return pa.table(columns, schema=table_schema(catalog(BEFORE).nodes[0]))


@pytest.mark.parametrize("declared", ["I64?", "I32?"])
def test_values_follow_the_ids_of_properties(declared: str) -> None:
    after = (
        f'node P {{ key: String @key  new: {declared} @rename_from("old")  f: F64?  b: Blob?'
        " v: Vector(2)?  tags: [String]? @default(['x'])  n: I64 @default(3)  none: Vector(3)?"
        " word: String?  raw: Blob? }"
    ).replace("'", '"')
    before = catalog(BEFORE)
    next_ = catalog(after, before)
    moved = lifted(rows(), before.nodes[0], next_.nodes[0])
    assert moved.schema.equals(table_schema(next_.nodes[0]), check_metadata=True)
    # Numbers of another width lie in a column of their own.
    wide, number = next_.nodes[0].by_name["f"].column, next_.nodes[0].by_name["new"].column
    assert wide != "f" and (number == "old") == (declared == "I32?")
    kept = {"id": "a", "b": b"\x01", wide: 1.5, "key": "a", number: 7, "v": [1.0, 2.0]}
    fresh = {"n": 3, "none": None, "raw": None, "tags": ["x"], "word": None}
    nothing = {"id": "b", "b": None, wide: None, "key": "b", number: None, "v": None}
    assert moved.to_pylist() == [{**kept, **fresh}, {**nothing, **fresh}]
    empty = lifted(rows().slice(0, 0), before.nodes[0], next_.nodes[0])
    assert empty.num_rows == 0 and empty.schema == moved.schema


def test_a_property_that_is_dropped_and_added_again_has_none_of_its_old_values() -> None:
    first = catalog(BEFORE)
    without = catalog("node P { key: String @key }", first)
    again = catalog("node P { key: String @key  gone: String? }", without)
    moved = lifted(rows(), first.nodes[0], again.nodes[0])
    assert moved[again.nodes[0].by_name["gone"].column].to_pylist() == [None, None]


def test_a_type_without_properties_and_an_edge_keep_their_ends() -> None:
    first = catalog("node P { }\nedge E: P -> P { w: I32? }")
    after = catalog("node P { }\nedge E: P -> P", first)
    edge = pa.table(
        {"id": ["e"], "src": ["a"], "dst": ["b"], "w": [1]}, schema=table_schema(first.edges[0])
    )
    moved = lifted(edge, first.edges[0], after.edges[0])
    assert moved.to_pylist() == [{"id": "e", "src": "a", "dst": "b"}]
