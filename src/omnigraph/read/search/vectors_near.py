"""How near vectors are to one that is sought: quickly for all of them, exactly for a few.

The score is the cosine distance, 1 minus the cosine of the angle: 0 for the same direction, 2 for
the opposite one. It is computed in 64 bits from the vectors as they are stored, row by row, so that
it never depends on the rows beside it. All rows are looked at in 32 bits first; `slack` says how
far that can be off, and whatever might be among the best after all is computed exactly.

Products of a matrix and a vector would run on all cores, and wait for each other on a busy machine:
ten thousand rows took a hundred times as long as they should. `vecdot` stays on one core, and reads
memory as fast as one core can.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.read.search.ranked import Scores

__all__ = [
    "NOT_RANKED",
    "Matrix",
    "Sought",
    "cosines",
    "distances",
    "dots",
    "floor_of_best",
    "slack",
    "sought",
    "squares",
]

Matrix = NDArray[np.float32]

# Below any cosine.
NOT_RANKED = -2.0

# Half the distance from 1 to the next float of 32 bits.
ROUNDING = 2.0**-24

# NumPy sums rows of up to 8,192 numbers in one go.
PIECE = 4_096

# The best of each block are enough to see how good the best of all are at least.
BLOCK_ROWS = 64


class Sought(NamedTuple):
    """A query vector, ready to be compared with."""

    numbers: Scores
    square: float
    unit: NDArray[np.float32]
    """Of length 1, in 32 bits."""


def sought(query: NDArray[np.float32], width: int) -> Sought:
    """Refuses a query that no vector can be near to."""
    if query.shape != (width,):
        rule = f"the query has {len(query)} numbers, and the vectors have {width}"
        raise ArgumentInvalid("nearest", None, rule, "make the query with the same model")
    numbers = query.astype(np.float64)
    if not np.isfinite(numbers).all():
        rule = "the query vector has a number that is not finite"
        raise ArgumentInvalid("nearest", None, rule, "give a vector of finite numbers")
    square = float(squares(query[None, :])[0])
    if square == 0.0:
        rule = "all numbers of the query vector are 0, so it has no direction"
        raise ArgumentInvalid("nearest", None, rule, "give a vector with a number other than 0")
    return Sought(numbers, square, (numbers / np.sqrt(square)).astype(np.float32))


def squares(rows: Matrix) -> Scores:
    """The square of each vector's length, in 64 bits: no vector of 32 bits is too long or short."""
    return dots(rows, rows)


def distances(rows: Matrix, row_squares: Scores, wanted: Sought) -> Scores:
    """The score of each vector; NaN where its square is 0, which stands for no vector."""
    found = np.full(len(rows), np.nan)
    is_there = row_squares > 0
    np.divide(
        dots(rows, wanted.numbers), np.sqrt(row_squares * wanted.square), out=found, where=is_there
    )
    # Rounding may carry the cosine of a vector with itself past 1.
    return np.clip(1.0 - found, 0.0, 2.0)


def dots(rows: Matrix, others: Matrix | Scores) -> Scores:
    """In 64 bits, the product of each row and the other vector, or that in the same row.

    A row's product is the same whatever rows lie beside it. That ends where a row is longer than
    the buffer that NumPy sums in, so long rows are summed piece by piece.
    """
    total = np.zeros(len(rows))
    for start in range(0, rows.shape[1], PIECE):
        piece = slice(start, start + PIECE)
        left, right = rows[:, piece].astype(np.float64), others[..., piece].astype(np.float64)
        total += np.einsum("...j,...j->...", left, right)
    return total


def cosines(rows: Matrix, inverse_lengths: NDArray[np.float32], wanted: Sought) -> Matrix:
    """The cosine of each vector in 32 bits, off by `slack` at most."""
    # Vectors of extreme length overflow here, and are looked at again by whoever keeps them.
    with np.errstate(over="ignore", invalid="ignore"):
        found: Matrix = np.vecdot(rows, wanted.unit)
        found *= inverse_lengths
    return found


def slack(width: int) -> float:
    """Each of the sum's roundings moves a cosine by at most half a unit in the last place of 1."""
    return (width + 16) * ROUNDING


def floor_of_best(found: Matrix, k: int) -> float:
    """A cosine that at least k of them reach, and few more."""
    if len(found) <= k:
        return NOT_RANKED
    blocks = len(found) // BLOCK_ROWS
    if blocks > k:
        found = found[: blocks * BLOCK_ROWS].reshape(blocks, BLOCK_ROWS).max(axis=1)
    return float(np.partition(found, len(found) - k)[len(found) - k])
