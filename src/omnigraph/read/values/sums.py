"""Sums and products that are right or refused: never wrapped around, and never infinite."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import LimitExceeded
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.ordering import Codes

__all__ = [
    "LARGEST_FLOAT",
    "TOO_MANY",
    "count_by_group",
    "exact_sums",
    "finite",
    "fitting",
    "multiplied",
]

LARGEST_FLOAT = float(np.finfo(np.float64).max)
TOO_MANY = 2.0**64
"""More rows than there can be. A power of two: a float divided by it keeps all its digits."""

# Whole numbers up to here are exact in the floats that NumPy's fast sums are made of.
EXACT_IN_FLOAT = 2**53
# Up to here 64 bits hold every partial sum.
SAFE_IN_64_BITS = 2**62
LOW_BITS = 32


def exact_sums(
    values: NDArray[Any], weights: Ordinals | None, groups: Codes | None
) -> NDArray[Any]:
    """The sum of the whole numbers of each group, each taken as often as its weight says.

    The sums are 64-bit integers where that is safe, and Python's own beyond. Without groups all
    are one.
    """
    largest = _greatest(values) * _greatest(weights)
    bound = largest * len(values)
    if weights is not None:
        kind = np.dtype(np.int64 if largest < SAFE_IN_64_BITS else object)
        values = values.astype(kind, copy=False) * weights.astype(kind, copy=False)
    if bound < EXACT_IN_FLOAT and groups is not None:
        sums = np.bincount(groups.numbers, weights=values, minlength=groups.size)
        return sums.astype(np.int64)
    if bound < SAFE_IN_64_BITS:
        return _totals(values.astype(np.int64, copy=False), groups)
    if values.dtype.kind == "O":
        return _totals(values, groups)
    # Halves of 32 bits: 64 bits hold the sum of 2^30 of them, more rows than memory has room for.
    high, low = values >> LOW_BITS, values & values.dtype.type(2**LOW_BITS - 1)
    highs, lows = (_totals(half.astype(np.int64), groups).astype(object) for half in (high, low))
    return np.asarray(highs * 2**LOW_BITS + lows, dtype=object)


def _totals(numbers: NDArray[Any], groups: Codes | None) -> NDArray[Any]:
    if groups is None:
        return np.array([numbers.sum()], dtype=numbers.dtype)
    sums = np.zeros(groups.size, dtype=numbers.dtype)
    np.add.at(sums, groups.numbers, numbers)
    return sums


def count_by_group(weights: Ordinals | None, groups: Codes, *, what: str) -> Ordinals:
    """How many rows each group has, all weights together."""
    if weights is None:
        return np.bincount(groups.numbers, minlength=groups.size)
    return fitting(exact_sums(weights, None, groups), np.dtype(np.int64), what=what)


def fitting(sums: NDArray[Any], kind: np.dtype[Any], *, what: str) -> NDArray[Any]:
    """As integers of this kind, or refused."""
    limits = np.iinfo(kind)
    if sums.dtype.kind == "O":
        for furthest in (min(sums, default=0), max(sums, default=0)):
            if not limits.min <= furthest <= limits.max:
                raise LimitExceeded(what=what, limit=int(limits.max), found=int(furthest))
    return sums.astype(kind)


def finite(sums: NDArray[Any], *, what: str) -> NDArray[Any]:
    """The sums of floats, refused where one is larger than a float can be: JSON has no infinity."""
    if not np.isfinite(sums).all():
        raise LimitExceeded(what=what, limit=LARGEST_FLOAT)
    return sums


def _greatest(values: NDArray[Any] | None) -> int:
    """The size of the largest number; None is all ones."""
    if values is None:
        return 1
    return max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))


def multiplied(left: Ordinals | None, right: Ordinals, *, what: str) -> Ordinals:
    """The products of two columns of counts; None is all ones."""
    if left is None:
        return right
    if _greatest(left) * _greatest(right) >= SAFE_IN_64_BITS:
        raise LimitExceeded(what=what, limit=SAFE_IN_64_BITS)
    return left * right
