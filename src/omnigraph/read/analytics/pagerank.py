"""PageRank: how often a walk that follows edges, and now and then begins again, is at each node."""

import numpy as np

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
    shares = np.divide(1.0, out, out=np.zeros(size), where=out > 0)
    begin = np.full(size, 1.0 / size) if restarts is None else restarts / restarts.sum()
    is_stuck = np.flatnonzero(out <= 0)
    matrix, damping = incoming.matrix(), asked.damping
    scores = begin.copy()
    for done in range(1, asked.max_iterations + 1):
        beat(done - 1, asked.max_iterations)
        following = matrix @ (scores * shares)
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
