"""The next version of an adjacency from the one before, by the edges that came and went.

What it must equal is the adjacency built anew; what it costs is a few lookups per changed edge, and
where nodes moved one pass over the entries. No text is read but the ends of new edges.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omnigraph.read.topology import build
from omnigraph.read.topology.csr import Adjacency, Ordinals

__all__ = ["WORTH_FOLLOWING", "Delta", "follow"]

# From one changed edge in this many, building anew is as quick.
WORTH_FOLLOWING = 8


class Delta:
    """What changed between two versions of the same steps, in the spaces of the new one."""

    def __init__(
        self,
        *,
        origin_numbers: Ordinals | None,
        target_numbers: Ordinals | None,
        added: Sequence[build.Leg],
        gone: Sequence[build.Leg],
    ) -> None:
        self.origin_numbers = origin_numbers
        """The new number of each old origin, -1 if it is gone; None: none has moved."""
        self.target_numbers = target_numbers
        self.added = added
        self.gone = gone
        """Edges that are gone; an end that went with them is -1."""


def follow(
    graph: Adjacency, delta: Delta, whole: Sequence[build.Leg] | None, *, height: int, width: int
) -> Adjacency:
    """`graph` after the delta. `whole` is all edges of the new version; needed if any are gone."""
    origins, targets = build.pairs_of(delta.added)
    touched = origins
    if delta.gone:
        lost, _ = build.pairs_of(delta.gone)
        touched = np.concatenate([touched, lost[lost >= 0]])
    if delta.origin_numbers is not None or delta.target_numbers is not None:
        graph = graph.renumbered(
            delta.origin_numbers, delta.target_numbers, height=height, width=width
        )
    touched = np.unique(touched)
    if not len(touched):
        return _resized(graph, height=height, width=width)
    if delta.gone:
        # A pair goes only with its last edge, so what is left of the touched runs is looked up.
        assert whole is not None
        is_touched = np.zeros(height, dtype=np.bool_)
        is_touched[touched] = True
        origins, targets = build.pairs_of(whole, is_touched)
    else:
        old = touched[touched < graph.height]
        ranges = graph.ranges(old)
        origins = np.concatenate([np.repeat(old, ranges.counts), origins])
        targets = np.concatenate([graph.neighbours[ranges.positions()], targets])
    runs = Adjacency.of_pairs(
        np.searchsorted(touched, origins), targets, height=len(touched), width=width
    )
    return graph.replaced(touched, runs, height=height, width=width)


def _resized(graph: Adjacency, *, height: int, width: int) -> Adjacency:
    """With origins that have no neighbours yet."""
    more = np.zeros(height - graph.height, dtype=np.int64)
    return replace(
        graph,
        lows=np.concatenate([graph.lows, more]),
        counts=np.concatenate([graph.counts, more]),
        width=width,
    )
