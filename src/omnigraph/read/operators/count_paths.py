"""Hops whose ends nobody looks at: rows carry a weight, and paths are counted without being made.

Two folds do it all. If the target is not wanted above, a row stays one row and its weight is
multiplied by the number of neighbours. If the origin is not wanted, and nothing else is bound, the
rows become the targets themselves, each with the sum of the weights that flow into it: a product of
the adjacency and the vector of weights. Counting the two-hop paths of a whole graph is the first
fold after the second, one pass over the edges instead of a row per path.
"""

import numpy as np

from omnigraph.read.frame import Frame
from omnigraph.read.sums import count_by_group, multiplied
from omnigraph.read.topology.csr import Adjacency, Ordinals

__all__ = ["flow_into_targets", "weigh"]

# Below one edge in this many targets, sorting the targets met beats an array of all of them.
SPARSE = 8


def weigh(frame: Frame, counts: Ordinals, *, step: str) -> Frame:
    """Each row stands for `counts` rows; those that stand for none are dropped."""
    present = counts > 0
    kept, counts = frame.filter(present), counts[present]
    if kept.weights is None and not (counts > 1).any():
        return kept
    weights = multiplied(kept.weights, counts, what=f"the number of paths of `{step}`")
    return Frame(kept.count, kept.bindings, weights, kept.outer, kept.made)


def flow_into_targets(
    graph: Adjacency, origins: Ordinals | None, weights: Ordinals | None, width: int, *, step: str
) -> tuple[Ordinals, Ordinals]:
    """The targets that are reached, each once, and the weight that arrives at each."""
    if origins is None:
        counts, targets = graph.degrees(None), graph.neighbours
    else:
        ranges = graph.ranges(origins)
        counts, targets = ranges.counts, graph.neighbours[ranges.positions()]
    what = f"the number of paths of `{step}`"
    if len(targets) * SPARSE < width:
        reached, targets = np.unique(targets, return_inverse=True)
        width = len(reached)
    else:
        reached = None
    sent = None if weights is None else np.repeat(weights, counts)
    arrived = count_by_group(sent, targets, width, what=what)
    if reached is not None:
        return reached.astype(np.int64), arrived
    present = np.flatnonzero(arrived)
    return present, arrived[present]
