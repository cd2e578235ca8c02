"""Stable sorting of many numbers, with looks at the clock between calls that take milliseconds.

NumPy sorts plain numbers about ten times as fast as it sorts their places in a stable way. So the
places are sorted by the quick, unstable way, and the places of equal numbers are put in order by
sorting plain numbers that hold both.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.looks import Look, never

__all__ = ["distinct_ascending", "is_ascending", "stable_order", "stable_order_within"]

Places = NDArray[np.int64]

SORTED_AT_ONCE = 1 << 20
"""Numbers that are sorted between two looks: some hundredths of a second."""
MAX_PARTS_SORTED = 16
"""Each part takes a pass over all numbers. More than sixteen million are sorted in larger parts."""


def stable_order(
    numbers: NDArray[Any], look: Look = never, *, at_once: int = SORTED_AT_ONCE
) -> Places:
    """As `np.argsort(numbers, kind="stable")`. None of the numbers is NaN."""
    if is_ascending(numbers):
        return np.arange(len(numbers))
    if len(numbers) <= at_once:
        return _order(numbers, look)
    found = [part[_order(numbers[part], look)] for part in _parts(numbers, look, at_once)]
    look()
    return np.concatenate(found)


def stable_order_within(
    groups: NDArray[Any],
    numbers: NDArray[Any],
    look: Look = never,
    *,
    at_once: int = SORTED_AT_ONCE,
) -> Places:
    """As `np.lexsort((numbers, groups))`: by group, and in each group by number."""
    order = stable_order(numbers, look, at_once=at_once)
    look()
    return order[stable_order(groups[order], look, at_once=at_once)]


def is_ascending(numbers: NDArray[Any]) -> bool:
    return not bool(np.any(numbers[1:] < numbers[:-1]))


def distinct_ascending(ascending: NDArray[Any]) -> NDArray[Any]:
    """Each number once."""
    first = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


def _order(numbers: NDArray[Any], look: Look) -> Places:
    look()
    order = np.argsort(numbers)
    look()
    ascending = numbers[order]
    differs = ascending[1:] != ascending[:-1]
    if differs.all():
        return order
    # Equal numbers share a group; group and place fit into one number, as both are below 2^31.
    starts = np.zeros(len(order), dtype=np.int64)
    np.cumsum(differs, out=starts[1:])
    starts *= len(order)
    look()
    both = starts + order
    both.sort()
    both -= starts
    return both


def _parts(numbers: NDArray[Any], look: Look, at_once: int) -> Iterator[Places]:
    """The places of the numbers, cut by value: those of a part are below those of the next."""
    count = min(-(-len(numbers) // at_once), MAX_PARTS_SORTED)
    look()
    sample = np.sort(numbers[:: max(1, len(numbers) // 4096)])
    cuts = distinct_ascending(sample[len(sample) * np.arange(1, count) // count])
    part_of = np.empty(len(numbers), dtype=np.int8)
    for start in range(0, len(numbers), at_once):
        look()
        some = slice(start, start + at_once)
        part_of[some] = np.searchsorted(cuts, numbers[some], side="right")
    for part in range(len(cuts) + 1):
        look()
        yield np.flatnonzero(part_of == part)
