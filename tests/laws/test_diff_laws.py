"""Which rows differ: columns at a time, and as Python would say it."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.read.diff import differing

FIELDS = {
    "number": (pa.int64(), st.integers(0, 2)),
    "text": (pa.string(), st.sampled_from(["", "a"])),
    "blob": (pa.large_binary(), st.sampled_from([b"", b"a"])),
    "vector": (
        pa.list_(pa.float32(), 2),
        st.lists(st.sampled_from([0.0, 0.5]), min_size=2, max_size=2),
    ),
    "texts": (pa.list_(pa.string()), st.lists(st.sampled_from(["", "a"]), max_size=2)),
}
SCHEMA = pa.schema([("id", pa.string()), *((name, type_) for name, (type_, _) in FIELDS.items())])
ROWS = st.dictionaries(
    st.sampled_from("abcd"),
    st.fixed_dictionaries({name: st.none() | values for name, (_, values) in FIELDS.items()}),
)


def table(rows: dict[str, dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{"id": id_, **row} for id_, row in rows.items()], schema=SCHEMA)


@given(ROWS, ROWS)
def test_a_row_differs_unless_one_with_its_id_holds_the_same(
    rows: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]
) -> None:
    expected = [old.get(id_) != row for id_, row in rows.items()]
    assert differing(table(rows), table(old)).to_pylist() == expected
