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


def exact_sums(
    values: NDArray[Any], weights: Ordinals | None, groups: Codes | None
) -> NDArray[Any]:
    """The sum of the whole numbers of each group, each taken as often as its weight says.

    The sums are 64-bit integers where that is safe, and Python's own beyond. Without groups all
    are one.
    """
    bound = _greatest(values) * _greatest(weights) * len(values)
    kind = np.dtype(np.int64 if bound < SAFE_IN_64_BITS else object)
    numbers = values.astype(kind, copy=False)
    if weights is not None:
        numbers = numbers * weights.astype(kind, copy=False)
    if groups is None:
        return np.array([numbers.sum()], dtype=kind)
    if bound < EXACT_IN_FLOAT:
        sums = np.bincount(groups.numbers, weights=numbers, minlength=groups.size)
        return sums.astype(np.int64)
    sums = np.zeros(groups.size, dtype=kind)
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
