"""The next version of an adjacency from the one before, by the edges that came and went.

What it must equal is the adjacency built anew; what it costs is a few lookups per changed edge, and
where rows have other numbers now one pass over the entries. No text is read but the ends of changed
edges.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.read.topology import build
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.read.topology.patch import renumbered, resized, with_runs

__all__ = ["Delta", "follow"]


@frozen
class Delta:
    """The changes between two versions of the same steps, in the spaces of the new one."""

    origin_numbers: Ordinals | None
    """The new number of each old origin, -1 if it is gone; None: none has moved."""
    target_numbers: Ordinals | None
    edge_numbers: Ordinals | None
    """Where edges have entries of their own; an edge that is gone is -1."""
    added: Sequence[build.Leg]
    gone: Sequence[build.Leg]
    """Of a set: edges that are gone; an end that went with them is -1."""


def follow(
    graph: Adjacency,
    delta: Delta,
    whole: Callable[[], Sequence[build.Leg]],
    *,
    height: int,
    width: int,
) -> Adjacency:
    """`graph` after the delta. `whole` gives all edges of the new version, if they are needed."""
    numbers = (delta.origin_numbers, delta.target_numbers, delta.edge_numbers)
    if any(n is not None for n in numbers):
        origins, targets, edges = numbers
        graph = renumbered(
            graph, origins=origins, targets=targets, edges=edges, height=height, width=width
        )
    added = build.entries_of(delta.added)
    gone = _both_left(build.entries_of(delta.gone))
    touched = np.unique(np.concatenate([added.origins, gone.origins]))
    if not len(touched):
        return resized(graph, height=height, width=width)
    entries = _joined(_runs_of(graph, touched[touched < graph.height], gone), added)
    if unsure := _unsure(graph, gone):
        # Another edge may stand for the same pair: what is left of these runs is looked up.
        is_unsure = np.zeros(height, dtype=np.bool_)
        is_unsure[list(unsure)] = True
        sure = _chosen(entries, ~is_unsure[entries.origins])
        entries = _joined(sure, build.entries_of(whole(), is_unsure))
    runs = Adjacency.of_pairs(
        np.searchsorted(touched, entries.origins),
        entries.targets,
        height=len(touched),
        width=width,
        edges=None if graph.edges is None else entries.edges,
    )
    changed = with_runs(graph, touched, runs, height=height, width=width)
    return _with_repeated(changed, touched, runs)


def _both_left(gone: build.Entries) -> build.Entries:
    """Edges between nodes that are still there; the others went with their node's number."""
    return _chosen(gone, (gone.origins >= 0) & (gone.targets >= 0))


def _runs_of(graph: Adjacency, origins: Ordinals, gone: build.Entries) -> build.Entries:
    """The entries of these origins, without the pairs that are gone."""
    ranges = graph.ranges(origins)
    positions = ranges.positions()
    here = np.repeat(origins, ranges.counts)
    there = graph.neighbours[positions].astype(np.int64)
    edges = np.zeros_like(here) if graph.edges is None else graph.edges[positions].astype(np.int64)
    entries = build.Entries(here, there, edges)
    if not len(gone.origins):
        return entries
    keys = here * graph.width + there
    return _chosen(entries, ~np.isin(keys, gone.origins * graph.width + gone.targets))


def _unsure(graph: Adjacency, gone: build.Entries) -> set[int]:
    """Origins that lost an edge to a node to which they may have another."""
    if graph.repeated is None or not len(gone.origins):
        return set()
    here, there = graph.repeated
    keys = gone.origins * graph.width + gone.targets
    is_repeated = np.isin(keys, here * graph.width + there)
    return set(gone.origins[is_repeated].tolist())


def _with_repeated(graph: Adjacency, touched: Ordinals, runs: Adjacency) -> Adjacency:
    if graph.repeated is None or runs.repeated is None or not runs.repeated.size:
        return graph
    here, there = runs.repeated
    more: NDArray[np.int64] = np.stack([touched[here], there])
    return replace(graph, repeated=np.concatenate([graph.repeated, more], axis=1))


def _joined(first: build.Entries, second: build.Entries) -> build.Entries:
    return build.Entries(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _chosen(entries: build.Entries, mask: NDArray[np.bool_]) -> build.Entries:
    return build.Entries(*(column[mask] for column in entries))
