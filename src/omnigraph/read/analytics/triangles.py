"""Triangles: for each node, how many pairs of its neighbours are neighbours too.

Every edge is pointed from the node with fewer neighbours to the one with more: nodes with very many
then point to few. A triangle is a way of two steps beside an edge, which products of sparse
matrices count, a block of rows at a time.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from omnigraph.read.analytics.links import Beat, Found, Links, Numbers

__all__ = ["triangle_count"]

MAX_BLOCK_STEPS = 16_000_000
"""Ways of two steps in one block: some hundred megabytes, and some tenths of a second."""


def triangle_count(around: Links, beat: Beat) -> Found:
    """`around` has both ways of each edge once, and no loops."""
    counts = np.zeros(around.size, dtype=np.int64)
    if not around.count:
        return Found(counts)
    out = _pointed(around)
    for low, high in _blocks(out, out, beat):
        both = (out[low:high] @ out) * out[low:high]
        counts[low:high] += _sums(both, axis=1)
        counts += _sums(both, axis=0)
    # The node in the middle: others point to it, and it and they point to a third.
    into = csr_array(out.T.tocsr())
    for low, high in _blocks(into, out, beat):
        middle = (into[low:high] @ out) * out[low:high]
        counts[low:high] += _sums(middle, axis=1)
    return Found(counts)


def _pointed(around: Links) -> csr_array:
    origins, ends, degrees = around.origins, around.ends, around.counts
    here, there = degrees[origins], degrees[ends]
    is_out = (here < there) | ((here == there) & (origins < ends))
    counts = np.bincount(origins[is_out], minlength=around.size)
    kept = Links.of(counts, ends[is_out])
    ones = np.ones(kept.count, dtype=np.int64)
    return csr_array((ones, kept.ends, kept.starts), shape=(kept.size, kept.size))


def _blocks(first: csr_array, second: csr_array, beat: Beat) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose ways of two steps are few enough to hold."""
    further = np.diff(second.indptr)[first.indices]
    until = np.concatenate(([0], np.cumsum(further, dtype=np.int64)))[first.indptr[1:]]
    low, size = 0, len(until)
    while low < size:
        beat(low, size)
        limit = (until[low - 1] if low else 0) + MAX_BLOCK_STEPS
        high = max(low + 1, int(np.searchsorted(until, limit, side="right")))
        yield low, high
        low = high


def _sums(matrix: csr_array, axis: int) -> Numbers:
    return np.asarray(matrix.sum(axis=axis), dtype=np.int64).ravel()
