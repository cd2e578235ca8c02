"""Shortest paths, by hops or by weights that are not negative.

Of several shortest paths the told one has the fewest edges. Of several such, walking back from the
last node, each node before is the one with the smallest number. An edge is *tight* if the distance
of its first node and its weight add up to the distance of its second node, to the last bit. A told
path has tight edges only, so each of its parts is a shortest path too. Edges that weigh nothing
make circles of tight edges: so a walk back also counts hops.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import dijkstra

from omnigraph.base.frozen import frozen
from omnigraph.read.analytics.links import Beat, Floats, Found, Links, Numbers

__all__ = ["Path", "distances_from", "paths_of_pairs"]


class Path(NamedTuple):
    distance: float
    """Infinite: there is no path."""
    nodes: tuple[int, ...]
    """From the first to the last."""


def distances_from(outgoing: Links, source: int) -> Found:
    """The distance of each node; infinite for those that can't be reached."""
    return Found(_distances(outgoing, source))


def paths_of_pairs(
    outgoing: Links, sources: Numbers, targets: Numbers, beat: Beat
) -> Sequence[Path]:
    """The path of each pair; of parallel edges there is the lightest only."""
    found: list[Path | None] = [None] * len(sources)
    origins = outgoing.origins
    order = np.argsort(sources, kind="stable")
    starts = np.flatnonzero(np.diff(sources[order], prepend=-1))
    for done, places in enumerate(np.split(order, starts[1:])):
        beat(done, len(starts))
        # One source at a time: distances of all nodes from all of them could be any amount.
        walk = _Walk.of(outgoing, origins, int(sources[places[0]]))
        for place in places.tolist():
            found[place] = walk.path(int(targets[place]))
    return [path for path in found if path is not None]


@frozen(slots=False)
class _Walk:
    """All told paths from one node."""

    origin: int
    distances: Floats
    before: Numbers
    """The node before each node, where there is a path that has one."""

    @classmethod
    def of(cls, outgoing: Links, origins: Numbers, origin: int) -> "_Walk":
        distances = hops = _distances(outgoing, origin)
        ends, weights = outgoing.ends, outgoing.weights
        is_next = np.isfinite(distances[origins])
        if weights is not None:
            is_next &= distances[origins] + weights == distances[ends]
            counts = np.bincount(origins[is_next], minlength=outgoing.size)
            hops = _distances(Links.of(counts, ends[is_next]), origin)
        is_next &= hops[origins] + 1 == hops[ends]
        before = np.full(outgoing.size, outgoing.size, dtype=np.int64)
        np.minimum.at(before, ends[is_next], origins[is_next])
        return cls(origin, distances, before)

    def path(self, target: int) -> Path:
        if not np.isfinite(self.distances[target]):
            return Path(np.inf, ())
        nodes = [target]
        while nodes[-1] != self.origin:
            nodes.append(int(self.before[nodes[-1]]))
        return Path(float(self.distances[target]), tuple(reversed(nodes)))


def _distances(outgoing: Links, origin: int) -> Floats:
    is_hops = outgoing.weights is None
    found = dijkstra(outgoing.matrix(), directed=True, indices=origin, unweighted=is_hops)
    return np.asarray(found, dtype=np.float64)
