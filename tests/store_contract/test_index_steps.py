"""Which index is built, extended, built anew or dropped: a pure function of what is there."""

from dataclasses import replace

import pytest

from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.catalog import Index, NodeType, Unique
from omnigraph.store.datasets.compaction import groups_of
from omnigraph.store.datasets.fragments import Fragment
from omnigraph.store.indexes import (
    MAX_INDEX_SEGMENTS,
    MIN_VECTORS,
    IndexChange,
    IndexedFragment,
    IndexKind,
    Segment,
    StoredIndex,
    WantedIndex,
    steps_of,
    wanted_indexes,
)
from tests.store_contract.builders import KNOWS, PERSON, property_

BUILD, EXTEND, REPLACE = IndexChange.BUILD, IndexChange.EXTEND, IndexChange.REPLACE


# What is wanted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "declared", "kinds"),
    [
        (Scalar.STRING, Index(("x",)), "btree inverted"),
        (Scalar.STRING, Index(("x",), "ngram"), "ngram"),
        (Scalar.STRING, Unique(("x",)), "btree"),
        (EnumOf(("a", "b")), Index(("x",)), "btree"),
        (Scalar.I64, Index(("x",)), "btree"),
        (Scalar.F32, Index(("x",)), "btree"),
        (Scalar.BOOL, Index(("x",)), "btree"),
        (Scalar.DATE, Index(("x",)), "btree"),
        (Scalar.DATETIME, Index(("x",)), "btree"),
        (ListOf(Scalar.STRING), Index(("x",)), "label_list"),
        (ListOf(Scalar.I32), Index(("x",)), "label_list"),
        (VectorOf(3), Index(("x",)), "vector"),
        (Scalar.BLOB, Index(("x",)), ""),
    ],
)
def test_the_type_of_a_property_picks_the_kinds(
    type_: ValueType, declared: Index | Unique, kinds: str
) -> None:
    entity = replace(PERSON, properties=(property_(9, "x", type_),), constraints=(declared,))
    found = [(index.column, index.kind.value) for index in wanted_indexes(entity)]
    assert found == [("id", "btree"), *(("x", kind) for kind in kinds.split())]


def test_ids_and_ends_are_always_indexed() -> None:
    assert [index.name for index in wanted_indexes(KNOWS)] == ["id_btree", "src_btree", "dst_btree"]
    assert [index.name for index in wanted_indexes(PERSON)] == ["id_btree"]


def test_an_index_goes_by_the_column_and_is_wanted_once() -> None:
    renamed = replace(property_(9, "now", Scalar.I32), column="before")
    both = (Index(("now",)), Unique(("now",)), Unique(("now", "src")))
    entity: NodeType = replace(PERSON, properties=(renamed,), constraints=both)
    assert [index.name for index in wanted_indexes(entity)] == ["id_btree", "before_btree"]


# What is done about it ----------------------------------------------------------------------------


def fragments(*rows: int, oldest: int | None = 9) -> list[IndexedFragment]:
    return [IndexedFragment(number, count, oldest) for number, count in enumerate(rows)]


def stored(kind: IndexKind, *covered: set[int], version: int = 5) -> dict[str, StoredIndex]:
    segments = tuple(
        Segment(f"s{number}", frozenset(each), version) for number, each in enumerate(covered)
    )
    name = WantedIndex("x", kind).name
    return {name: StoredIndex("x", kind, name, segments, 0)}


Step = tuple[IndexChange, tuple[int, ...], tuple[str, ...]]


def step(kind: IndexKind, *covered: set[int], of: list[IndexedFragment]) -> tuple[Step, ...]:
    found = steps_of([WantedIndex("x", kind)], stored(kind, *covered) if covered else {}, of)
    return tuple((s.change, s.fragments, s.removed) for s in found)


@pytest.mark.parametrize("kind", IndexKind)
def test_what_is_not_there_is_built_and_what_covers_all_stays(kind: IndexKind) -> None:
    some = fragments(500, 500)
    assert step(kind, of=some) == ((BUILD, (0, 1), ()),)
    assert step(kind, {0, 1}, of=some) == ()
    assert step(kind, {0}, {1}, of=some) == ()
    # All rows have moved since: what it covered is gone.
    assert step(kind, set(), set(), of=some) == ((BUILD, (0, 1), ("s0", "s1")),)


@pytest.mark.parametrize("kind", IndexKind)
def test_new_rows_get_a_segment_of_their_own(kind: IndexKind) -> None:
    later = fragments(500, 40, oldest=6)
    assert step(kind, {0}, set(), of=later) == ((EXTEND, (1,), ("s1",)),)


@pytest.mark.parametrize("kind", IndexKind)
@pytest.mark.parametrize("oldest", [5, None])
def test_an_index_that_would_find_old_values_is_built_anew_where_rows_changed(
    kind: IndexKind, oldest: int | None
) -> None:
    changed = fragments(500, 40, oldest=oldest)
    forgets = kind in (IndexKind.INVERTED, IndexKind.LABEL_LIST)
    expected = (REPLACE, (0, 1), ("s0",)) if forgets else (EXTEND, (1,), ())
    assert step(kind, {0}, of=changed) == (expected,)


@pytest.mark.parametrize(
    ("kind", "rows", "is_due"),
    [
        (IndexKind.BTREE, 9, False),
        (IndexKind.BTREE, 11, True),
        (IndexKind.INVERTED, 11, False),
        (IndexKind.INVERTED, 120, True),
    ],
)
def test_few_rows_wait_in_the_background(kind: IndexKind, rows: int, is_due: bool) -> None:
    """Words are built anew for them, since they changed."""
    wanted = [WantedIndex("x", kind)]
    (found,) = steps_of(wanted, stored(kind, {0}), fragments(1_000 - rows, rows, oldest=3))
    assert found.is_due is is_due
    (built,) = steps_of(wanted, {}, fragments(1))
    assert built.is_due


def test_too_many_segments_become_one() -> None:
    each = [{number} for number in range(MAX_INDEX_SEGMENTS)]
    many = fragments(*[10] * (MAX_INDEX_SEGMENTS + 1))
    ((change, covered, removed),) = step(IndexKind.NGRAM, *each, of=many)
    assert (change, len(covered), len(removed)) == (REPLACE, len(many), len(each))
    ((change, *_),) = step(IndexKind.NGRAM, *each[:-1], of=many[:-1])
    assert change is EXTEND


def test_lists_of_vectors_are_chosen_anew_when_most_vectors_came_later() -> None:
    ((change, *_),) = step(IndexKind.VECTOR, {0}, of=fragments(500, 501))
    assert change is REPLACE


def test_too_few_vectors_wait_and_so_does_an_empty_table() -> None:
    vector = [WantedIndex("x", IndexKind.VECTOR)]
    (few,) = steps_of(vector, {}, fragments(MIN_VECTORS - 1))
    assert few.change is IndexChange.WAIT and "too few" in few.why
    (empty,) = steps_of(vector, {}, [])
    assert empty.change is IndexChange.WAIT and empty.why == "the table is empty"
    # Once there are lists, the rows that are left stay in them.
    assert step(IndexKind.VECTOR, {0}, of=fragments(3)) == ()


def test_what_nobody_asks_for_is_dropped_unless_somebody_else_made_it() -> None:
    known = stored(IndexKind.BTREE, {0})
    (drop,) = steps_of([], known, fragments(1))
    assert (drop.change, drop.removed) == (IndexChange.DROP, ("s0",))
    other = {"mine": replace(known["x_btree"], name="mine")}
    assert steps_of([], other, fragments(1)) == ()


# Which files are written together -----------------------------------------------------------------


def sized(*rows: tuple[int, int]) -> list[Fragment]:
    """Fragments with so many rows that are left, and that were written."""
    return [Fragment(n, (), None, left, written) for n, (left, written) in enumerate(rows)]


def test_neighbours_that_are_small_are_written_together() -> None:
    some = sized((5, 5), (5, 5), (100, 100), (5, 5), (100, 100), (5, 5), (5, 5), (5, 5))
    assert groups_of(some, {}, fewer_than_rows=100, drops_deleted=True) == [[0, 1], [5, 6, 7]]


def test_a_file_that_lost_many_rows_is_written_by_itself_if_asked() -> None:
    some = sized((100, 100), (800, 1_000), (950, 1_000))
    assert groups_of(some, {}, fewer_than_rows=100, drops_deleted=True) == [[1]]
    assert groups_of(some, {}, fewer_than_rows=100, drops_deleted=False) == []


def test_files_that_an_index_tells_apart_stay_apart() -> None:
    covering = {0: frozenset({"s"}), 1: frozenset({"s"}), 2: frozenset({"s", "t"})}
    some = sized(*[(5, 5)] * 5)
    assert groups_of(some, covering, fewer_than_rows=100, drops_deleted=True) == [[0, 1], [3, 4]]
