"""Very many vectors in lists, of which a search looks at the nearest: quick, nearly always right.

The vectors of a list lie side by side in the base; those of later commits lie in the tail, each
with the number of its list. A vector's list depends on the vector and the codebook alone, so what
a search looks at is the same however the rows came. Scores are exact, and so is every search among
few rows, for very many rows, or on request.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.pace import UNHURRIED, Pace, Pieces
from omnigraph.read.search.ivf_codebook import Codebook, directions, lists_of
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.search.vectors import Vectors, matrix_of
from omnigraph.read.search.vectors_near import NOT_RANKED, Matrix, Sought, cosines, sought
from omnigraph.read.topology.csr import Ordinals, Ranges, Room
from omnigraph.read.topology.reach import Mask

__all__ = ["ListedVectors"]

Lists = NDArray[np.int32]

# Vectors whose lists are found at once.
CHUNK_ROWS = 65_536


@frozen(slots=False)
class ListedVectors:
    vectors: Vectors
    """Those of the base in the order of their lists."""
    codebook: Codebook
    starts: Ordinals
    """Where each list begins in the base; one more, where the last ends."""
    tail_lists: Lists
    max_exact_floats: int
    """Up to so many numbers of candidates a look at all of them is quick enough."""

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        codebook: Codebook,
        max_exact_floats: int,
        pieces: Pieces | None = None,
    ) -> "ListedVectors":
        pieces = pieces or Pieces()
        places = vectors.places_of(np.arange(vectors.row_count))

        def lists_from(start: int) -> Lists:
            some = vectors.vectors_at(places[start : start + CHUNK_ROWS])
            return _lists(some, codebook, pieces.pace)

        parts = [
            pieces.piece(start, partial(lists_from, start))
            for start in range(0, len(places), CHUNK_ROWS)
        ]
        return cls._sorted(vectors, codebook, np.concatenate(parts), max_exact_floats)

    @classmethod
    def _sorted(
        cls, vectors: Vectors, codebook: Codebook, row_lists: Lists, max_exact_floats: int
    ) -> "ListedVectors":
        order = np.argsort(row_lists, kind="stable")
        counts = np.bincount(row_lists, minlength=len(codebook.centroids))
        starts = np.concatenate([[0], np.cumsum(counts)])
        tail = np.empty(0, dtype=np.int32)
        return cls(vectors.laid_out(order), codebook, starts, tail, max_exact_floats)

    @property
    def row_count(self) -> int:
        return self.vectors.row_count

    @property
    def width(self) -> int:
        return self.vectors.width

    @property
    def nbytes(self) -> int:
        own = self.starts.nbytes + self.tail_lists.nbytes
        return self.vectors.nbytes + self.codebook.nbytes + own

    @property
    def room(self) -> Room:
        return self.vectors.room

    # Questions -----------------------------------------------------------------------------------

    def best(
        self,
        query: NDArray[np.float32],
        k: int,
        among: Mask | None,
        pace: Pace = UNHURRIED,
        *,
        exact: bool,
    ) -> Ranked:
        """The k nearest rows of those looked at, and every one that ties with the last of them."""
        share = None if exact else self._share(k, among)
        if share is None:
            return self.vectors.best(query, k, among, pace, exact=True)
        wanted = sought(query, self.width)
        is_allowed = None if among is None else self._places_among(among)
        lists = self._lists_to_probe(wanted, share, is_allowed)
        places, found = self._look_at(lists, wanted)
        if is_allowed is not None:
            found[~is_allowed[places]] = NOT_RANKED
        return self.vectors.ranked(places, found, k, wanted)

    def looks_at_all(self, k: int, among: Mask | None, *, exact: bool) -> bool:
        return exact or self._share(k, among) is None

    def scores(
        self, query: NDArray[np.float32], rows: Ordinals | None, pace: Pace = UNHURRIED
    ) -> Scores:
        return self.vectors.scores(query, rows, pace)

    def _share(self, k: int, among: Mask | None) -> float | None:
        """The share of all rows to look at; None: all that are asked for."""
        count = self.row_count if among is None else int(np.count_nonzero(among))
        if count * self.width <= self.max_exact_floats:
            return None
        # The k nearest of every tenth row are about as deep as the 10 k nearest of all.
        return self.codebook.share(k * self.row_count / max(1, count))

    def _places_among(self, among: Mask) -> Mask:
        is_allowed = np.zeros(len(self.vectors.squares), dtype=np.bool_)
        is_allowed[self.vectors.places_of(np.flatnonzero(among))] = True
        return is_allowed

    def _lists_to_probe(self, wanted: Sought, share: float, is_allowed: Mask | None) -> Ordinals:
        """The nearest lists that hold as many rows as a search must see.

        Of rows that are not asked for none counts: those that are may lie together and far away.
        """
        counts = self._counts
        if is_allowed is not None:
            counts = self._counted(is_allowed & (self.vectors.squares > 0))
        nearest = self.codebook.nearest_first(wanted)
        least = share * int(self._counts.sum())
        enough = int(np.searchsorted(np.cumsum(counts[nearest]), least)) + 1
        return np.sort(nearest[:enough])

    def _look_at(self, lists: Ordinals, wanted: Sought) -> tuple[Ordinals, Matrix]:
        """The places of the lists, and the cosine of each."""
        runs = Ranges(self.starts[lists], self.starts[lists + 1] - self.starts[lists])
        places, vectors = runs.positions(), self.vectors
        found = np.empty(len(places), dtype=np.float32)
        end = 0
        for low, count in zip(runs.lows.tolist(), runs.counts.tolist(), strict=True):
            end += count
            # Where they lie: picking them one by one would take several times as long.
            run = slice(low, low + count)
            found[end - count : end] = cosines(
                vectors.base[run], vectors.inverse_lengths[run], wanted
            )
        if len(self.tail_lists):
            is_probed = np.zeros(len(self.starts), dtype=np.bool_)
            is_probed[lists] = True
            own = np.flatnonzero(is_probed[self.tail_lists])
            places = np.concatenate([places, own + len(vectors.base)])
            lengths = vectors.inverse_lengths[own + len(vectors.base)]
            found = np.concatenate([found, cosines(vectors.tail[own], lengths, wanted)])
        return places, vectors.settled(found, places, wanted)

    @cached_property
    def _counts(self) -> Ordinals:
        """How many vectors each list has."""
        return self._counted(self.vectors.squares > 0)

    def _counted(self, is_counted: Mask) -> Ordinals:
        base = np.concatenate([[0], np.cumsum(is_counted[: len(self.vectors.base)])])
        counts = base[self.starts[1:]] - base[self.starts[:-1]]
        tail = self.tail_lists[is_counted[len(self.vectors.base) :]]
        found: Ordinals = counts + np.bincount(tail, minlength=len(counts))
        return found

    # Versions ------------------------------------------------------------------------------------

    def followed(self, kept: Ordinals | None, fresh: pa.Array | None) -> "ListedVectors":
        """Those of a later version: the rows of this one that are left, then fresh ones."""
        later = self.vectors.grown(kept, fresh)
        new = np.empty(0, np.int32)
        if fresh is not None:
            new = _lists(matrix_of(fresh), self.codebook, UNHURRIED)
        tail_lists = np.concatenate([self.tail_lists, new])
        if not later.is_loose:
            exact = self.max_exact_floats
            return ListedVectors(later, self.codebook, self.starts, tail_lists, exact)
        in_base = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        lists = np.concatenate([in_base, tail_lists])[later.places]
        return ListedVectors._sorted(later, self.codebook, lists, self.max_exact_floats)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays, while there is no tail."""
        assert not len(self.tail_lists), "it is kept when it is made"
        own = {"starts": self.starts}
        return {**self.vectors.to_arrays(), **self.codebook.to_arrays(), **own}

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], max_exact_floats: int
    ) -> "ListedVectors":
        vectors, codebook = Vectors.of_arrays(arrays), Codebook.of_arrays(arrays)
        tail = np.empty(0, dtype=np.int32)
        return cls(vectors, codebook, arrays["starts"], tail, max_exact_floats)


def _lists(vectors: Matrix, codebook: Codebook, pace: Pace) -> Lists:
    """The list of each vector; one without a direction lies in the first."""
    has_direction, units = directions(vectors)
    found = np.zeros(len(vectors), dtype=np.int32)
    found[has_direction] = lists_of(units, codebook.centroids, pace)
    return found
