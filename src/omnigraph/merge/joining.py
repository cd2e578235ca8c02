"""Several merge bases become one, row by row. Pure: columns in, columns out.

| of two bases, since the base that they have themselves | the row of the joint base |
|---|---|
| both show the same row | that row |
| one has changed it | the row of that one |
| both have changed it, and not alike | the first of the three rows that neither head shows |

So where bases dispute a row, the heads do too, unless they show it alike by now. Of more than two
bases, the first two become one, then that one and the third, and so on.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID
from omnigraph.merge.three_way import Side, differ

__all__ = ["Bases", "PlainBases", "ReadRows", "joint_rows", "latest_of"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Bases(Protocol[T_co]):
    """The merge bases of two commits, in order. In the driver each is a snapshot, in a task it is a
    number."""

    @property
    def first(self) -> T_co: ...

    @property
    def others(self) -> "Sequence[tuple[T_co, Bases[T_co]]]":
        """Each other base, and the bases that it and the first have themselves."""
        ...


@frozen(slots=False, eq=False)
class PlainBases(Generic[T]):
    """Bases as plain values, which travel to a task."""

    first: T
    others: "tuple[tuple[T, PlainBases[T]], ...]" = ()


ReadRows = Callable[[T, pa.Array], pa.Table]
"""Whole rows of a table at one commit that have these ids, as our schema has them."""


def latest_of(bases: Bases[T]) -> list[T]:
    """The bases without those below."""
    return [bases.first, *(each for each, _ in bases.others)]


def joint_rows(
    bases: Bases[T], ids: pa.Array, read: ReadRows[T], heads: Sequence[pa.Table]
) -> pa.Table:
    """The rows of the joint base that have these ids.

    `heads` are the rows that the heads show, in the columns that all commits have.
    """
    rows = read(bases.first, ids)
    for each, below in bases.others:
        other = read(each, ids)
        is_other = differ(Side.of(ids, rows), Side.of(ids, other))
        if is_other.any():
            unlike = ids.filter(pa.array(is_other))
            root = joint_rows(below, unlike, read, heads)
            rows = pa.concat_tables(
                [
                    rows.filter(pc.invert(pc.is_in(rows[ID], value_set=unlike))),
                    _decided(unlike, rows, other, root, heads).cast(rows.schema),
                ]
            )
    return rows


def _decided(
    ids: pa.Array, one: pa.Table, other: pa.Table, root: pa.Table, heads: Sequence[pa.Table]
) -> pa.Table:
    """The rows of two bases that differ, as the joint base has them."""
    sides = [Side.of(ids, rows) for rows in (one, other, root)]
    shown = [Side.of(ids, rows) for rows in heads]
    is_changed = [differ(sides[2], side) for side in sides[:2]]
    # Of three rows that all differ, the heads show two at most.
    is_free = [np.logical_and.reduce([differ(head, side) for head in shown]) for side in sides]
    free = np.argmax(np.stack(is_free), axis=0)
    chosen = np.where(is_changed[0] & is_changed[1], free, np.where(is_changed[1], 1, 0))
    parts = [
        side.rows.filter(pa.array((chosen == number) & side.has))
        for number, side in enumerate(sides)
    ]
    return pa.concat_tables(parts)
