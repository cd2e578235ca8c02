"""Shortest paths, by hops or by weights that are not negative."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import dijkstra

from omnigraph.read.analytics.links import Beat, Floats, Found, Links, Numbers

__all__ = ["Path", "distances_from", "paths_of_pairs"]


class Path(NamedTuple):
    distance: float
    """Infinite: there is no path."""
    nodes: tuple[int, ...]
    """From the first to the last."""


def distances_from(outgoing: Links, source: int) -> Found:
    """The distance of each node; infinite for those that can't be reached."""
    is_hops = outgoing.weights is None
    found = dijkstra(outgoing.matrix(), directed=True, indices=source, unweighted=is_hops)
    return Found(np.asarray(found, dtype=np.float64))


def paths_of_pairs(
    outgoing: Links, sources: Numbers, targets: Numbers, beat: Beat
) -> Sequence[Path]:
    """A shortest path for each pair. Which of several it is follows from the numbers."""
    matrix, is_hops = outgoing.matrix(), outgoing.weights is None
    found: list[Path | None] = [None] * len(sources)
    order = np.argsort(sources, kind="stable")
    starts = np.flatnonzero(np.diff(sources[order], prepend=-1))
    for done, places in enumerate(np.split(order, starts[1:])):
        beat(done, len(starts))
        # One source at a time: distances of all nodes from all of them could be any amount.
        origin = int(sources[places[0]])
        distances, before = dijkstra(
            matrix, directed=True, indices=origin, unweighted=is_hops, return_predecessors=True
        )
        for place in places.tolist():
            found[place] = _path(distances, before, origin, int(targets[place]))
    return [path for path in found if path is not None]


def _path(distances: Floats, before: Numbers, origin: int, target: int) -> Path:
    if not np.isfinite(distances[target]):
        return Path(np.inf, ())
    nodes = [target]
    while nodes[-1] != origin:
        nodes.append(int(before[nodes[-1]]))
    return Path(float(distances[target]), tuple(reversed(nodes)))
