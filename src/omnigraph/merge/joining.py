"""Join several merge bases into one, row by row. Pure: columns in, columns out.

Two commits can have several merge bases, none of which descends from another. The rows of any two
bases are compared with what these two have in common, which is their own merge base:

| rows of two bases | which of them wins |
|---|---|
| are equal | both |
| only one has changed | the one that has changed |
| both have changed, or what they have in common is disputed | neither |

The joint base has the row that wins against every other base. If no row does, the bases dispute it.
A disputed row is a conflict of the two heads unless both show the same row: each head has resolved
the dispute without seeing how the other head did. See docs/decisions/0011-several-merge-bases.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import ID
from omnigraph.merge.three_way import Side, differ
from omnigraph.store.history import MAX_BASE_LEVELS

__all__ = ["Bases", "JointRows", "PlainBases", "ReadRows", "joint_rows", "pairs_of"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

Mask = NDArray[np.bool_]


class Bases(Protocol[T_co]):
    """The merge bases of two commits. In the driver a base is a snapshot, in a task a number."""

    @property
    def latest(self) -> Sequence[T_co]:
        """The bases themselves, at least one, always in the same order."""
        ...

    def below(self, one: int, other: int) -> "Bases[T_co]":
        """The merge bases of two of them, by their places in `latest`, the smaller one first."""
        ...


@frozen(slots=False, eq=False)
class PlainBases(Generic[T]):
    """Bases as plain values, which travel to a task."""

    latest: tuple[T, ...]
    between: Mapping[tuple[T, T], tuple[T, ...]] = field(default_factory=dict)
    """The merge bases of any two bases on any level, if the rows of the two may differ."""

    def below(self, one: int, other: int) -> "PlainBases[T]":
        return PlainBases(self.between[self.latest[one], self.latest[other]], self.between)


class ReadRows(Protocol[T_contra]):
    def __call__(self, base: T_contra, ids: pa.Array, /) -> pa.Table:
        """Whole rows of a table at one commit that have these ids, as our schema has them."""
        ...


@frozen(slots=False, eq=False)
class JointRows:
    rows: pa.Table
    disputed: pa.Array
    """The ids of disputed rows. `rows` has one of the candidates for each: a row of a base, or of a
    base below. Theirs shows another one, and so does ours if there are enough candidates."""


def pairs_of(bases: Bases[T]) -> Iterator[tuple[int, int]]:
    """The places of any two of the bases."""
    return combinations(range(len(bases.latest)), 2)


def joint_rows(
    bases: Bases[T],
    ids: pa.Array,
    read: ReadRows[T],
    heads: tuple[pa.Table, pa.Table],
    *,
    levels: int = MAX_BASE_LEVELS,
) -> JointRows:
    """The rows of the joint base that have these ids.

    `heads` are the rows that ours and theirs show, in the columns that all commits have. `levels`
    says how many levels of bases may still be looked at, this one included.
    """
    tables = [read(base, ids) for base in bases.latest]
    sides = [Side.of(ids, table) for table in tables]
    is_unlike = np.zeros(len(ids), dtype=bool)
    for other in sides[1:]:
        is_unlike |= differ(sides[0], other)
    first, unlike = tables[0], ids.filter(pa.array(is_unlike))
    if not len(unlike):
        return JointRows(first, unlike)
    found = _decided(bases, unlike, tables, read, heads, levels=levels)
    alike = first.filter(pc.invert(pc.is_in(first[ID], value_set=unlike)))
    return JointRows(pa.concat_tables([alike, found.rows.cast(first.schema)]), found.disputed)


def _decided(
    bases: Bases[T],
    ids: pa.Array,
    tables: Sequence[pa.Table],
    read: ReadRows[T],
    heads: tuple[pa.Table, pa.Table],
    *,
    levels: int,
) -> JointRows:
    """The rows in which the bases are not all alike, as the joint base has them."""
    sides = [Side.of(ids, table) for table in tables]
    wins = np.ones((len(sides), len(ids)), dtype=bool)
    candidates = [(side, np.ones(len(ids), dtype=bool)) for side in sides]
    for one, other in pairs_of(bases):
        is_unlike = differ(sides[one], sides[other])
        if not is_unlike.any():
            continue
        if levels == 1:
            # As if both had changed: a conflict too many, never a change that is lost.
            wins[one] &= ~is_unlike
            wins[other] &= ~is_unlike
            continue
        unlike = ids.filter(pa.array(is_unlike))
        common = joint_rows(bases.below(one, other), unlike, read, heads, levels=levels - 1)
        is_disputed = _is_among(ids, common.disputed)
        before = Side.of(ids, common.rows)
        # A row loses if the other base has changed it, or may have.
        wins[one] &= ~is_unlike | ~(is_disputed | differ(before, sides[other]))
        wins[other] &= ~is_unlike | ~(is_disputed | differ(before, sides[one]))
        candidates.append((before, is_unlike))
    has_no_winner = ~wins.any(axis=0)
    chosen = np.where(has_no_winner, _candidate(candidates, ids, heads), wins.argmax(axis=0))
    parts = [
        side.rows.filter(pa.array((chosen == number) & side.has))
        for number, (side, _) in enumerate(candidates)
    ]
    return JointRows(pa.concat_tables(parts), ids.filter(pa.array(has_no_winner)))


def _candidate(
    candidates: Sequence[tuple[Side, Mask]], ids: pa.Array, heads: tuple[pa.Table, pa.Table]
) -> NDArray[np.intp]:
    """For each id, the first candidate that neither head shows, or else that theirs does not show.

    A candidate has rows, and a mask that says for which ids they count.
    """
    ours, theirs = (Side.of(ids, rows) for rows in heads)
    ranks = []
    for side, is_candidate in candidates:
        unlike_theirs = differ(theirs, side) & is_candidate
        ranks.append(unlike_theirs.astype(int) + (unlike_theirs & differ(ours, side)))
    first_best: NDArray[np.intp] = np.argmax(np.stack(ranks), axis=0)
    return first_best


def _is_among(ids: pa.Array, some: pa.Array) -> Mask:
    found: Mask = pc.is_in(ids, value_set=some).to_numpy(zero_copy_only=False)
    return found
