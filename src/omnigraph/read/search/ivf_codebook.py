"""Directions that stand for many vectors, and how many vectors a search must look at.

The directions are found by k-means on the sphere over a sample. Every step of it is a function of
the sample alone, to the last bit: which direction a vector is nearest to is settled in 64 bits
where 32 leave a doubt. So all who know the sample come to the same codebook.

A search looks at the vectors of the nearest directions until it has seen a share of all of them.
The share is measured on the sample: it is what finds `AIM` of the nearest neighbours of vectors
that had no part in the training. The search states `STATED_RECALL`; the rest is margin.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace, Pieces
from omnigraph.read.search.ranked import Scores
from omnigraph.read.search.vectors_near import Matrix, Sought, distances, dots, slack, squares
from omnigraph.read.topology.reach import Mask

__all__ = [
    "STATED_RECALL",
    "Codebook",
    "directions",
    "lists_of",
    "sample_rows",
    "trained",
]

STATED_RECALL = 0.95
AIM = 0.975

# Rows of a sample, at least and for each direction; and rounds. More of either finds hardly better
# directions.
SAMPLE_ROWS = 65_536
SAMPLE_PER_LIST = 48
ROUNDS = 6

# Vectors to measure with, and how many best rows a search may be asked for.
PROBES = 512
DEPTHS = (10, 30, 100, 300, 1_000)

# A search that must see more than this share is as well exact.
MAX_SHARE = 0.4

# Shares are rounded up to such a fraction: no doubt in the last bit of a cosine moves one.
SHARE_STEPS = 256

# Vectors that are compared with all directions at once, and with all of the sample.
BLOCK_ROWS = 4_096
PROBES_AT_ONCE = 64


@frozen(slots=False)
class Codebook:
    origin: str
    """A digest of what the sample was taken from."""
    centroids: Matrix
    """Directions, of about length 1."""
    squares: Scores
    shares: Scores
    """Of all vectors, by depth."""

    @property
    def nbytes(self) -> int:
        return self.centroids.nbytes + self.squares.nbytes

    def share(self, k: float) -> float | None:
        """The share of all vectors to look at for the k nearest; None: all of them."""
        for depth, share in zip(DEPTHS, self.shares.tolist(), strict=True):
            if k <= depth:
                return share if share <= MAX_SHARE else None
        return None

    def nearest_first(self, wanted: Sought) -> NDArray[np.int64]:
        """The directions, in 64 bits: no path may probe other lists than another."""
        return np.argsort(distances(self.centroids, self.squares, wanted), kind="stable")

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        origin = np.frombuffer(self.origin.encode(), dtype=np.uint8)
        return {"origin": origin, "centroids": self.centroids, "shares": self.shares}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Codebook":
        centroids, origin = arrays["centroids"], arrays["origin"].tobytes().decode()
        return cls(origin, centroids, squares(centroids), arrays["shares"])


def sample_rows(lists: int) -> int:
    """How many rows a sample should have."""
    return max(SAMPLE_ROWS, SAMPLE_PER_LIST * lists)


def trained(
    sample: Matrix,
    *,
    lists: int,
    stands_for_rows: int,
    origin: str,
    pieces: Pieces | None = None,
) -> Codebook:
    """The codebook of a sample that was taken from so many rows."""
    pieces = pieces or Pieces()
    pace = pieces.pace
    _, units = directions(sample)
    if not len(units):
        nowhere = np.zeros((1, sample.shape[1]), dtype=np.float32)
        return Codebook(origin, nowhere, squares(nowhere), np.ones(len(DEPTHS)))
    probes, rest = _divided(units)
    lists = min(lists, len(rest))
    # Vectors may repeat: of two equal directions one would only be in doubt with the other.
    centroids = np.unique(rest[np.arange(lists) * len(rest) // lists], axis=0)
    for number in range(ROUNDS):
        centroids = pieces.piece(number, partial(_moved, rest, centroids, pace))
    nearest = pieces.piece("nearest", lambda: lists_of(rest, centroids, pace))
    sampled = len(rest) / max(1, stands_for_rows)
    # A neighbour in the sample stands for as many rows as it was taken from: so many fewer there
    # are as deep as those that will be asked for.
    depths = [min(max(1, round(depth * sampled)), len(rest)) for depth in DEPTHS]
    passed = _rows_passed(probes, rest, centroids, nearest, depths[-1], pieces)
    found = [np.quantile(passed[:, :depth], AIM) for depth in depths]
    shares = np.ceil((np.array(found) + 1.0) / len(rest) * SHARE_STEPS) / SHARE_STEPS
    return Codebook(origin, centroids, squares(centroids), shares)


def _moved(units: Matrix, centroids: Matrix, pace: Pace) -> Matrix:
    """A round: each direction becomes the mean of the vectors that are nearest to it."""
    return np.unique(_means(units, lists_of(units, centroids, pace), centroids), axis=0)


def _divided(units: Matrix) -> tuple[Matrix, Matrix]:
    """Vectors to measure with, from all over the sample, and those to train on."""
    if len(units) < 2 * PROBES:
        return units, units
    is_probe = np.zeros(len(units), dtype=np.bool_)
    is_probe[:: len(units) // PROBES] = True
    return units[is_probe], units[~is_probe]


def directions(vectors: Matrix) -> tuple[Mask, Matrix]:
    """Which vectors have a direction, and each of those at length 1, in 32 bits."""
    row_squares = squares(vectors)
    has_direction = np.isfinite(row_squares) & (row_squares > 0)
    lengths = np.sqrt(row_squares[has_direction])
    return has_direction, (vectors[has_direction] / lengths[:, None]).astype(np.float32)


def lists_of(units: Matrix, centroids: Matrix, pace: Pace = UNHURRIED) -> NDArray[np.int32]:
    """The direction that each vector is nearest to; of equal ones the first."""
    found = np.empty(len(units), dtype=np.int32)
    doubt = 4 * slack(units.shape[1])
    for start in range(0, len(units), BLOCK_ROWS):
        pace.check()
        block = slice(start, start + BLOCK_ROWS)
        cosines = units[block] @ centroids.T
        best = cosines.argmax(axis=1)
        rows = np.arange(len(best))
        limits = cosines[rows, best] - doubt
        cosines[rows, best] = -2.0
        for row in np.flatnonzero(cosines.max(axis=1) >= limits):
            close = np.flatnonzero(cosines[row] >= limits[row])
            close = np.union1d(close, best[row])
            exact = dots(centroids[close], units[start + row])
            best[row] = close[exact.argmax()]
        found[block] = best
    return found


def _means(units: Matrix, nearest: NDArray[np.int32], centroids: Matrix) -> Matrix:
    """The mean direction of each list, summed in one order; an empty list keeps its own."""
    order = np.argsort(nearest, kind="stable")
    counts = np.bincount(nearest, minlength=len(centroids))
    there = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[there]
    sums = np.add.reduceat(units[order].astype(np.float64), starts, axis=0)
    lengths = np.linalg.norm(sums, axis=1)
    means = centroids.copy()
    fine = lengths > 0
    means[there[fine]] = (sums[fine] / lengths[fine, None]).astype(np.float32)
    return means


def _rows_passed(
    probes: Matrix,
    units: Matrix,
    centroids: Matrix,
    nearest: NDArray[np.int32],
    k: int,
    pieces: Pieces,
) -> Scores:
    """For each of the k nearest neighbours, nearest first: how many vectors lie in lists before.

    That is how many a search must look at, and one more, to come to the neighbour's list.
    """
    counts = np.bincount(nearest, minlength=len(centroids))

    def passed(start: int) -> Scores:
        some = probes[start : start + PROBES_AT_ONCE]
        cosines = some @ units.T
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        ranks = np.argsort(-np.take_along_axis(cosines, near, axis=1), axis=1, kind="stable")
        near = np.take_along_axis(near, ranks, axis=1)
        order = np.argsort(-(some @ centroids.T), axis=1, kind="stable")
        before = np.empty(order.shape)
        np.put_along_axis(before, order, np.cumsum(counts[order], axis=1) - counts[order], axis=1)
        return np.take_along_axis(before, nearest[near].astype(np.int64), axis=1)

    starts = range(0, len(probes), PROBES_AT_ONCE)
    return np.concatenate([pieces.piece(("passed", s), partial(passed, s)) for s in starts])
