"""What lies between two commits, and which rows differ: as Python would say it."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.engine.change_results import Diff
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.changes.compare import Comparison
from omnigraph.read.changes.diff import changes_between, differing, matched
from omnigraph.read.changes.filter import ChangeFilter, kind_of
from omnigraph.read.view import View
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import DELETE, INSERT, UPDATE, Changes, Edits, RowChanges
from tests.laws.lines import (
    ACTS,
    CATALOG,
    Act,
    Contents,
    Lines,
    Moment,
    by_id,
    contents,
    endings,
    stored,
)

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


def test_numbers_are_told_apart_by_their_bits() -> None:
    """A merge keeps the sign of a zero, and a value that is no number is no change."""
    values = pa.array([0.0, 0.0, math.nan, 1.5, None], pa.float64())
    others = pa.array([0.0, -0.0, math.nan, None, None], pa.float64())
    ids = pa.array(list("abcde"))
    differs = differing(pa.table([ids, values], ["id", "x"]), pa.table([ids, others], ["id", "x"]))
    assert differs.to_pylist() == [False, True, False, True, False]


def test_what_lies_between_any_two_branches_leads_from_one_to_the_other(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    graph = endings(tmp_path)
    is_deep = request.config.getoption("--deep")
    for one, other in permutations(range(len(graph.moments)), 2):
        # A third of them has every moment on either side.
        if is_deep or (one + other) % 3 == 0:
            leads(graph.moments[one], graph.moments[other])


@given(ACTS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=5)
def test_what_lies_between_two_commits_leads_from_one_to_the_other(acts: list[Act]) -> None:
    with tempfile.TemporaryDirectory() as root:
        graph = Lines(Path(root))
        for act in acts:
            if (made := graph.act(act)) is not None:
                assert stored(made.snapshot) == contents(made.rows)
        for one, other in permutations(graph.moments[-6:], 2):
            leads(one, other)


def leads(one: Moment, other: Moment) -> None:
    """The changes between two commits make the second of the first, and name no row in vain."""
    before, after = contents(one.rows), contents(other.rows)
    changes = changes_between(one.snapshot, other.snapshot)
    assert edited(before, changes.edits) == after
    for entity in CATALOG.entities:
        was, now = before[entity.name], after[entity.name]
        changed = sorted(id_ for id_ in {*was, *now} if was.get(id_) != now.get(id_))
        found = changes.tables.get(entity.table_key)
        if found is None:
            assert not changed
            continue
        assert found.id.to_pylist() == changed
        assert found.before.to_pylist() == [was.get(id_) for id_ in changed]
        assert found.after.to_pylist() == [now.get(id_) for id_ in changed]
        assert found.op.to_pylist() == [operation(id_, was, now) for id_ in changed]
        assert found.edits.upserts.schema.equals(table_schema(entity), check_metadata=True)

    agrees(Comparison(View(one.snapshot), View(other.snapshot)), changes)


def agrees(comparison: Comparison, changes: Changes) -> None:
    """A page at a time it is the same, however long pages are, and so is what a filter leaves."""
    whole = list(described(Diff.of(comparison).tables()))
    tables = ((entity, changes.tables.get(entity.table_key)) for entity in CATALOG.entities)
    assert whole == list(described((entity, rows) for entity, rows in tables if rows is not None))
    for limit in (1, 3):
        found: list[tuple[Any, ...]] = []
        after = None
        while True:
            page = comparison.page(after=after, limit=limit)
            assert page.rows <= limit
            found += described(page.tables)
            after = page.last
            if after is None:
                break
            assert page.rows == limit
        assert found == whole
    for types, kinds, ops in FILTERS:
        chosen = replace(comparison, filter=ChangeFilter.of(types, kinds, ops))
        left = list(described(Diff.of(chosen).tables()))
        assert left == [
            row
            for row in whole
            if (types is None or row[1] in types)
            and (kinds is None or row[0] in kinds)
            and (ops is None or row[3] in ops)
        ]


FILTERS = [
    (["Person"], None, None),
    (None, ["edge"], None),
    (None, None, ["insert", "delete"]),
    (["City", "Knows"], ["node", "edge"], ["update"]),
]


def described(tables: Iterable[tuple[EntityType, RowChanges]]) -> Iterator[tuple[Any, ...]]:
    for entity, rows in tables:
        columns = (c.to_pylist() for c in (rows.id, rows.op, rows.before, rows.after))
        yield from (
            (kind_of(entity), entity.name, *values) for values in zip(*columns, strict=True)
        )


def operation(id_: str, was: Mapping[str, object], now: Mapping[str, object]) -> str:
    if id_ not in was:
        return INSERT
    return UPDATE if id_ in now else DELETE


def edited(rows: Contents, edit: Edits) -> Contents:
    made = {name: dict(table_rows) for name, table_rows in rows.items()}
    for entity in CATALOG.entities:
        if (changes := edit.tables.get(entity.table_key)) is not None:
            made[entity.name] |= by_id(changes.upserts)
            for id_ in changes.deletes.to_pylist():
                del made[entity.name][id_]
    return made


@given(ROWS, ROWS)
def test_changes_keep_values_of_every_type(
    old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]
) -> None:
    """The way back is the same changes with both sides exchanged."""
    there, back = matched(table(old), table(new)), matched(table(new), table(old))
    assert rows_in(there.before) == {i: {"id": i, **old[i]} for i in old if old[i] != new.get(i)}
    assert rows_in(there.after) == {i: {"id": i, **new[i]} for i in new if new[i] != old.get(i)}
    assert there.id.equals(back.id)
    assert there.before.equals(back.after) and there.after.equals(back.before)
    inverse = {INSERT: DELETE, DELETE: INSERT, UPDATE: UPDATE}
    assert [inverse[op] for op in there.op.to_pylist()] == back.op.to_pylist()
    assert there.edits.upserts.schema.equals(SCHEMA)


def rows_in(column: pa.Array) -> dict[str, Any]:
    return {row["id"]: row for row in column.to_pylist() if row is not None}
