"""Which nodes are first reached at a depth within bounds, from many origins at once.

The search is breadth-first for all origins of a batch together, on the pairs (origin, node). What
decides the answer: a node counts at the depth it is first reached and never again, and the origin
itself counts as reached before the search begins, except that a loop on it reaches it at depth
one. So a cycle never brings an origin back, and a node first met below `least` stays out.
"""

from collections.abc import Callable

import numpy as np

from omnigraph.read.topology.csr import Adjacency, Ordinals

__all__ = ["reach"]

# Visited marks of one batch: a byte per origin and node.
LIMIT_BATCH_MARKS = 64_000_000

# Pairs looked at in one step of one batch. More, and the batch is halved: the same work, in parts.
LIMIT_STEP_PAIRS = 32_000_000


def reach(
    graph: Adjacency,
    origins: Ordinals,
    *,
    least: int,
    most: int,
    admit: Callable[[int], None],
) -> tuple[Ordinals, Ordinals]:
    """Pairs (index into `origins`, node).

    `graph` is square. `admit` sees how many pairs there are so far, at every depth of every batch,
    and may refuse to go on.
    """
    batch = max(1, LIMIT_BATCH_MARKS // max(graph.height, 1))
    waiting = [(i, min(i + batch, len(origins))) for i in range(0, len(origins), batch)]
    found_origins, found_nodes, total = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    while waiting:
        low, high = waiting.pop()
        pairs = _search(
            graph,
            origins[low:high],
            least=least,
            most=most,
            admit=lambda more, total=total: admit(total + more),  # type: ignore[misc]
        )
        if pairs is None:
            middle = (low + high) // 2
            waiting += [(low, middle), (middle, high)]
            continue
        total += len(pairs)
        index = pairs // graph.height
        found_origins.append(index + low)
        found_nodes.append(pairs - index * graph.height)
    return np.concatenate(found_origins), np.concatenate(found_nodes)


def _search(
    graph: Adjacency,
    origins: Ordinals,
    *,
    least: int,
    most: int,
    admit: Callable[[int], None],
) -> Ordinals | None:
    """Pairs as origin index × nodes + node, or None if there were too many for one batch."""
    nodes = graph.height
    sources = np.arange(len(origins)) * nodes + origins
    visited = np.zeros(len(origins) * nodes, dtype=np.bool_)
    found, frontier = [np.empty(0, np.int64)], sources
    total = 0
    for depth in range(1, most + 1):
        base = frontier // nodes * nodes
        ranges = graph.ranges(frontier - base)
        if ranges.total > LIMIT_STEP_PAIRS and len(origins) > 1:
            return None
        pairs = np.repeat(base, ranges.counts) + graph.neighbours[ranges.positions()]
        pairs = pairs[~visited[pairs]]
        pairs.sort()
        frontier = pairs[np.diff(pairs, prepend=-1) != 0]
        visited[frontier] = True
        # Only now: at depth one a node that reaches itself does so by a loop, and that counts.
        visited[sources] = True
        if depth >= least:
            found.append(frontier)
            total += len(frontier)
        admit(total)
        if not len(frontier):
            break
    return np.concatenate(found)
