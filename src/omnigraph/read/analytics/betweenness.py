"""Betweenness: how many of the shortest paths between two others lead through a node.

By Brandes: forward from some nodes, level by level, counting paths; then back, adding up what each
node is part of. A block of origins walks at once, as sparse matrices with a row for each.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.frozen import frozen
from omnigraph.read.analytics.algorithms import Betweenness
from omnigraph.read.analytics.links import Beat, Floats, Found, Links, Numbers

__all__ = ["betweenness", "check_counted", "sample", "scaled"]

MAX_BLOCK_CELLS = 8_000_000
"""Origins times nodes of a block: three numbers for each, some two hundred megabytes."""


def sample(size: int, asked: Betweenness) -> Numbers:
    """Places among nodes in the order of an answer, the same for the same seed."""
    if asked.samples is None or asked.samples >= size:
        return np.arange(size, dtype=np.int64)
    chosen = np.random.default_rng(asked.seed).choice(size, asked.samples, replace=False)
    return np.sort(chosen).astype(np.int64)


def betweenness(
    outgoing: Links, asked: Betweenness, origins: Numbers, *, is_directed: bool, beat: Beat
) -> Found:
    """`outgoing` has each pair once. The sum over some origins stands for that over all."""
    size = outgoing.size
    total = np.zeros(size)
    forward = outgoing.matrix()
    back = csr_array(forward.T.tocsr())
    block = max(1, MAX_BLOCK_CELLS // max(size, 1))
    for low in range(0, len(origins), block):
        walk = _Walk(forward, back, origins[low : low + block])
        total += walk.dependencies(partial(beat, low, len(origins)))
    return Found(scaled(total, asked, len(origins), is_directed=is_directed))


def scaled(total: Floats, asked: Betweenness, origins: int, *, is_directed: bool) -> Floats:
    """The score of each node, from what it is part of, of the paths from so many origins."""
    size, found = len(total), total
    if origins:
        found = found * (size / origins)
    if asked.normalized:
        return found / max((size - 1) * (size - 2), 1)
    return found if is_directed else found / 2


@frozen(slots=False)
class _Walk:
    forward: csr_array
    back: csr_array
    origins: Numbers

    def dependencies(self, beat: Callable[[], None]) -> Floats:
        """What each node is part of, of the shortest paths from the origins, added up."""
        count, size = len(self.origins), self.forward.shape[0]
        here = _Level(np.arange(count), self.origins)
        paths, depths = np.zeros((count, size)), np.full((count, size), -1, dtype=np.int32)
        paths[here.at], depths[here.at] = 1.0, 0
        levels: list[_Level] = []
        while len(here.rows):
            beat()
            levels.append(here)
            there, values = here.step(paths[here.at], self.forward)
            is_new = depths[there.at] < 0
            here, values = _Level(there.rows[is_new], there.nodes[is_new]), values[is_new]
            check_counted(float(values.max(initial=0.0)))
            paths[here.at], depths[here.at] = values, len(levels)
        through = np.zeros((count, size))
        for depth in range(len(levels) - 1, 0, -1):
            beat()
            level = levels[depth]
            there, values = level.step((1.0 + through[level.at]) / paths[level.at], self.back)
            # Of all that lead to a level, those one step nearer are on shortest paths.
            is_before = depths[there.at] == depth - 1
            before = _Level(there.rows[is_before], there.nodes[is_before])
            through[before.at] += values[is_before] * paths[before.at]
        through[levels[0].at] = 0.0
        found: Floats = through.sum(axis=0)
        return found


def check_counted(most: float) -> None:
    """A grid of some hundred nodes a side has more shortest paths than a number can hold: what a
    node is part of, of infinitely many, tells nothing."""
    if not math.isfinite(most):
        raise LimitExceeded(what="the number of shortest paths between two nodes", limit=10**308)


@frozen(slots=False)
class _Level:
    """Nodes, each of the walk of one row."""

    rows: Numbers
    nodes: Numbers

    @property
    def at(self) -> tuple[Numbers, Numbers]:
        return self.rows, self.nodes

    def step(self, values: Floats, edges: csr_array) -> tuple["_Level", Floats]:
        """The nodes one step on, and for each the values that lead to it, added up."""
        count = int(self.rows[-1]) + 1
        before = csr_array((values, self.at), shape=(count, edges.shape[0]))
        after = before @ edges
        rows = np.repeat(np.arange(count), np.diff(after.indptr))
        return _Level(rows, after.indices), after.data
