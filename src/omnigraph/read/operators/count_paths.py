"""Hops whose ends nobody looks at: rows carry a weight, and paths are counted without being made.

Two folds do it all. If the target is not wanted above, a row stays one row and its weight is
multiplied by the number of neighbours. If the origin is not wanted, and nothing else is bound, the
rows become the targets themselves, each with the sum of the weights that flow into it: a product of
the adjacency and the vector of weights. Counting the two-hop paths of a whole graph is the first
fold after the second, one pass over the edges instead of a row per path.
"""

import numpy as np

from omnigraph.read.frame import Frame
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.values.ordering import Codes, distinct
from omnigraph.read.values.sums import count_by_group, multiplied

__all__ = ["flow_into_targets", "weigh"]

# From one origin in this many, walking all edges in order beats looking up those of each origin.
MAX_ROWS_PER_ORIGIN = 4


def weigh(frame: Frame, counts: Ordinals, *, step: str) -> Frame:
    """Each row stands for `counts` rows; those that stand for none are dropped."""
    present = counts > 0
    kept, counts = frame.filter(present), counts[present]
    if kept.weights is None and not (counts > 1).any():
        return kept
    weights = multiplied(kept.weights, counts, what=f"the number of paths of `{step}`")
    return Frame(kept.count, kept.bindings, weights, kept.outer, kept.made)


def flow_into_targets(
    graph: Adjacency, origins: Ordinals | None, weights: Ordinals | None, *, step: str
) -> tuple[Ordinals, Ordinals]:
    """The targets that are reached, each once, and the weight that arrives at each."""
    what = f"the number of paths of `{step}`"
    if origins is not None and len(origins) * MAX_ROWS_PER_ORIGIN < graph.height:
        return _flow_from_few(graph, origins, weights, what=what)
    if origins is None and weights is None:
        arrived = graph.in_degrees
    else:
        if origins is not None:
            weights = count_by_group(weights, Codes(origins, graph.height), what=what)
        assert weights is not None
        sent = np.repeat(weights, graph.degrees(None))
        targets = graph.all_neighbours.astype(np.int64, copy=False)
        arrived = count_by_group(sent, Codes(targets, graph.width), what=what)
    reached = np.flatnonzero(arrived)
    return reached, arrived[reached]


def _flow_from_few(
    graph: Adjacency, origins: Ordinals, weights: Ordinals | None, *, what: str
) -> tuple[Ordinals, Ordinals]:
    ranges = graph.ranges(origins)
    targets = graph.neighbours[ranges.positions()].astype(np.int64)
    reached, which = distinct(targets, graph.width)
    sent = None if weights is None else np.repeat(weights, ranges.counts)
    return reached, count_by_group(sent, Codes(which, len(reached)), what=what)
