"""Sums and products of whole numbers that are right or refused, never wrapped around."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import LimitExceeded
from omnigraph.read.topology.csr import Ordinals

__all__ = ["count_by_group", "exact_sums", "fitting", "multiplied"]

LARGEST = 2**63 - 1

# Whole numbers up to here are exact in the floats that NumPy's fast sums are made of.
EXACT_IN_FLOAT = 2**53
# Up to here 64 bits hold every partial sum, with room for the error of the estimate.
SAFE_IN_64_BITS = 2**62


def exact_sums(
    values: NDArray[Any], weights: Ordinals | None, groups: NDArray[np.integer], size: int
) -> NDArray[Any]:
    """The sum of the whole numbers of each group, each taken as often as its weight says.

    The sums are 64-bit integers where that is safe, and Python's own beyond.
    """
    factors = 1.0 if weights is None else weights.astype(np.float64)
    estimate = values.astype(np.float64) * factors
    bound = float(np.abs(estimate).sum())
    if bound < EXACT_IN_FLOAT:
        return np.bincount(groups, weights=estimate, minlength=size).astype(np.int64)
    kind = np.dtype(np.int64 if bound < SAFE_IN_64_BITS else object)
    sums = np.zeros(size, dtype=kind)
    numbers = values.astype(kind)
    np.add.at(sums, groups, numbers if weights is None else numbers * weights.astype(kind))
    return sums


def count_by_group(
    weights: Ordinals | None, groups: NDArray[np.integer], size: int, *, what: str
) -> Ordinals:
    """How many rows each group has, all weights together."""
    if weights is None:
        return np.bincount(groups, minlength=size)
    return fitting(exact_sums(weights, None, groups, size), what=what)


def fitting(sums: NDArray[Any], *, what: str) -> Ordinals:
    """As 64-bit integers, or refused."""
    if sums.dtype.kind == "i":
        return sums
    greatest = max(map(abs, sums), default=0)
    if greatest > LARGEST:
        raise LimitExceeded(what=what, limit=LARGEST, found=int(greatest))
    return sums.astype(np.int64)


def multiplied(left: Ordinals | None, right: Ordinals, *, what: str) -> Ordinals:
    """The products of two columns of counts; None is all ones."""
    if left is None:
        return right
    if float(left.max(initial=0)) * float(right.max(initial=0)) >= SAFE_IN_64_BITS:
        raise LimitExceeded(what=what, limit=SAFE_IN_64_BITS)
    return left * right
