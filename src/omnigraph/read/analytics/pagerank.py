"""PageRank: how often a walk that follows edges, and now and then begins again, is at each node."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from omnigraph.read.analytics.algorithms import PageRank
from omnigraph.read.analytics.links import Beat, Floats, Found, Links

__all__ = ["pagerank", "ranked", "shares"]


def pagerank(incoming: Links, asked: PageRank, restarts: Floats | None, beat: Beat) -> Found:
    """Scores that add up to 1. `incoming` has for each node those that lead to it."""
    out = incoming.strengths_at_ends()
    return ranked(out, asked, restarts, shares(incoming, out).__matmul__, beat)


def ranked(
    out: Floats,
    asked: PageRank,
    restarts: Floats | None,
    follow: Callable[[Floats], Floats],
    beat: Beat,
) -> Found:
    """The same from what leads out of each node, and from what a round of edges passes on.

    A node takes part of the score of each node that leads to it, by the weight of the edge among
    those that lead out there. Nodes that nothing leads out of give theirs to where walks begin.
    """
    size, damping = len(out), asked.damping
    if not size:
        return Found(np.empty(0), 0)
    begin = np.full(size, 1.0 / size) if restarts is None else restarts / restarts.sum()
    is_stuck = np.flatnonzero(out <= 0)
    scores = begin.copy()
    for done in range(1, asked.max_iterations + 1):
        beat(done - 1, asked.max_iterations)
        following = follow(scores)
        following += scores[is_stuck].sum() * begin
        following *= damping
        following += (1.0 - damping) * begin
        # Sums of floats drift: without this the whole would not stay 1.
        following /= following.sum()
        change = float(np.abs(following - scores).sum())
        scores = following
        if change <= asked.tolerance:
            return Found(scores, done)
    return Found(scores, asked.max_iterations, converged=False)


def shares(incoming: Links, out: Floats) -> csr_array:
    """What part of its score a node gives along each edge: a row for each node of `incoming`.

    A weight is divided by the sum that it is part of: one divided by a sum may be infinite.
    """
    parts = out[incoming.ends]
    ones = np.ones(1) if incoming.weights is None else incoming.weights
    np.divide(ones, parts, out=parts, where=parts > 0)
    shape = (incoming.size, len(out))
    return csr_array((parts, incoming.ends, incoming.starts), shape=shape)
