"""The three-way comparison of rows of one table. Pure: columns in, a verdict for each row out.

The rows are those that *theirs* changed since the base; a row that theirs left alone stays as it is
on ours, whatever ours did to it, so it needs no comparison. Rows are compared each by itself: the
ids may come in parts of any size, and in any order.

| theirs did | ours | verdict |
|---|---|---|
| anything | shows the same row now | nothing to do |
| anything | shows the row of the base | theirs is taken |
| insert | inserted another | `divergent_insert` |
| update | updated otherwise | `divergent_update` |
| update | deleted it | `delete_vs_update` |
| delete | updated it | `delete_vs_update` |

Where several merge bases dispute a row, ours counts as changed.

Theirs may have an earlier schema than ours, without some of the columns. It says nothing about
those: where ours and theirs both have a row, all sides have in them what ours has (`with_ours_in`).
"""

from collections.abc import Collection
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID
from omnigraph.read.changes.diff import unequal
from omnigraph.store.changes import RowChanges

__all__ = [
    "Compared",
    "Side",
    "Sides",
    "differ",
    "sides_of",
    "three_way",
    "unchanged",
    "with_ours_in",
]


@frozen(slots=False, eq=False)
class Side:
    """Rows of one side in the order of the ids: all null where the side has no such row."""

    rows: pa.Table
    has: np.ndarray
    """Whether the side has the row."""

    @classmethod
    def of(cls, ids: pa.Array, rows: pa.Table) -> "Side":
        """The rows of a table, as many as there are, put into the order of the ids."""
        place = pc.index_in(ids, value_set=rows[ID].combine_chunks())
        # Without the schema of the table, which wants an id in every row.
        found = pa.table({name: rows[name].take(place) for name in rows.column_names})
        return cls(found, place.is_valid().to_numpy(zero_copy_only=False))


@frozen(slots=False, eq=False)
class Sides:
    """Rows with the same ids on three sides."""

    ids: pa.Array
    base: Side
    ours: Side
    theirs: Side
    is_disputed: np.ndarray
    """Rows that several merge bases dispute: ours counts as changed, whatever the base shows."""

    def __len__(self) -> int:
        return len(self.ids)


def sides_of(theirs: RowChanges, ours: pa.Table, disputed: pa.Array | None = None) -> Sides:
    """The sides of the rows that theirs changed; of ours, the rows with these ids will do.

    `disputed` are ids of rows that several merge bases dispute.
    """
    columns = ours.column_names
    none = pa.array([], pa.string())
    is_disputed = pc.is_in(theirs.id, value_set=none if disputed is None else disputed)
    return Sides(
        theirs.id,
        base=Side(_rows(theirs.before, columns), _is_there(theirs.before)),
        ours=Side.of(theirs.id, ours),
        theirs=Side(_rows(theirs.after, columns), _is_there(theirs.after)),
        is_disputed=is_disputed.to_numpy(zero_copy_only=False),
    )


def unchanged(ids: pa.Array, ours: pa.Table, theirs: pa.Table) -> Sides:
    """The sides of rows that ours has not changed since the base."""
    mine = Side.of(ids, ours)
    nothing = np.zeros(len(ids), dtype=bool)
    return Sides(ids, base=mine, ours=mine, theirs=Side.of(ids, theirs), is_disputed=nothing)


def with_ours_in(sides: Sides, columns: Collection[str]) -> Sides:
    """The sides as they are if theirs says nothing about some columns.

    Of a row that theirs has deleted, base stays what it was: what ours has written there since is a
    change that would be lost.
    """
    if not columns:
        return sides
    kept = sides.ours.has & sides.theirs.has
    return replace(
        sides,
        base=_with_ours(sides.base, sides.ours, columns, kept),
        theirs=_with_ours(sides.theirs, sides.ours, columns, kept),
    )


def _with_ours(side: Side, ours: Side, columns: Collection[str], kept: np.ndarray) -> Side:
    rows, places = side.rows, np.arange(len(kept))
    at = pa.array(places + np.where(kept & side.has, len(kept), 0))
    for name in columns:
        both = pa.chunked_array([*rows[name].chunks, *ours.rows[name].chunks])
        rows = rows.set_column(rows.column_names.index(name), name, both.take(at))
    return Side(rows, side.has)


@frozen(slots=False, eq=False)
class Compared:
    """What becomes of each row: masks over the ids, no two of which overlap."""

    taken: np.ndarray
    """Ours has the row of the base, so it takes that of theirs."""
    divergent_insert: np.ndarray
    divergent_update: np.ndarray
    delete_vs_update: np.ndarray
    differs: dict[str, np.ndarray]
    """By column: where ours and theirs both have the row and differ in this column."""

    @property
    def in_conflict(self) -> np.ndarray:
        found: np.ndarray = self.divergent_insert | self.divergent_update | self.delete_vs_update
        return found


def three_way(sides: Sides) -> Compared:
    base, ours, theirs = sides.base, sides.ours, sides.theirs
    differs = {
        name: unequal(ours.rows[name], theirs.rows[name]).to_numpy(zero_copy_only=False)
        & ours.has
        & theirs.has
        for name in ours.rows.column_names
        if name != ID
    }
    nothing = np.zeros(len(sides), dtype=bool)
    is_other = reduce(np.logical_or, differs.values(), nothing) | (ours.has != theirs.has)
    is_changed = differ(base, ours) | sides.is_disputed
    in_conflict = is_other & is_changed
    both = ours.has & theirs.has
    return Compared(
        taken=is_other & ~is_changed,
        divergent_insert=in_conflict & both & ~base.has,
        divergent_update=in_conflict & both & base.has,
        delete_vs_update=in_conflict & ~both,
        differs=differs,
    )


def differ(left: Side, right: Side) -> np.ndarray:
    """Where one side has a row and the other has none, or another one."""
    differs: np.ndarray = left.has != right.has
    for name in left.rows.column_names:
        if name != ID:
            found = unequal(left.rows[name], right.rows[name]).to_numpy(zero_copy_only=False)
            differs = differs | (found & left.has & right.has)
    return differs


def _rows(images: pa.StructArray, columns: list[str]) -> pa.Table:
    # Of a struct that is null, every field is null.
    fields = dict(zip((f.name for f in images.type), images.flatten(), strict=True))
    return pa.table({name: fields[name] for name in columns})


def _is_there(images: pa.Array) -> np.ndarray:
    there: np.ndarray = images.is_valid().to_numpy(zero_copy_only=False)
    return there
