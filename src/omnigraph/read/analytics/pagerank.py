"""PageRank: how often a walk that follows edges, and now and then begins again, is at each node."""

import numpy as np
from scipy.sparse import csr_array

from omnigraph.read.analytics.algorithms import PageRank
from omnigraph.read.analytics.links import Beat, Floats, Found, Links

__all__ = ["pagerank"]


def pagerank(incoming: Links, asked: PageRank, restarts: Floats | None, beat: Beat) -> Found:
    """Scores that add up to 1. `incoming` has for each node those that lead to it.

    A node takes part of the score of each node that leads to it, by the weight of the edge among
    those that lead out there. Nodes that nothing leads out of give theirs to where walks begin.
    """
    size = incoming.size
    if not size:
        return Found(np.empty(0), 0)
    out = incoming.strengths_at_ends()
    begin = np.full(size, 1.0 / size) if restarts is None else restarts / restarts.sum()
    is_stuck = np.flatnonzero(out <= 0)
    matrix, damping = _shares(incoming, out), asked.damping
    scores = begin.copy()
    for done in range(1, asked.max_iterations + 1):
        beat(done - 1, asked.max_iterations)
        following = matrix @ scores
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


def _shares(incoming: Links, out: Floats) -> csr_array:
    """What part of its score a node gives along each edge.

    A weight is divided by the sum that it is part of: one divided by a sum may be infinite.
    """
    shares = out[incoming.ends]
    ones = np.ones(1) if incoming.weights is None else incoming.weights
    np.divide(ones, shares, out=shares, where=shares > 0)
    return csr_array((shares, incoming.ends, incoming.starts), shape=(incoming.size,) * 2)
