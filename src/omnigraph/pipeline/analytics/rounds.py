"""Algorithms that give each node a value, and others from those of its neighbours, until it stays.

The values are an array of this process, and each round is one look of every block at all of them.
Where the loop in process goes by rounds too, it is the same loop.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as sql
from scipy.sparse import csr_array

from omnigraph.pipeline.analytics.blocks import Block, Blocks, itself
from omnigraph.pipeline.analytics.network import SparkNetwork, Way
from omnigraph.read.analytics.algorithms import Labels, PageRank, PathsFrom
from omnigraph.read.analytics.labels import agreed, heaviest, votes
from omnigraph.read.analytics.links import Floats, Found, Numbers
from omnigraph.read.analytics.pagerank import ranked, shares

__all__ = ["cores", "distances", "labels", "ranks", "until_still"]


V = TypeVar("V", bound=NDArray[Any])


def until_still(
    network: SparkNetwork, first: V, follow: Callable[[V], V], *, is_counted: bool = True
) -> V:
    """The values that `follow` leaves as they are, from the first ones on."""
    values, done = first, 0
    while True:
        network.beat(done if is_counted else -1, 0)
        following = follow(values)
        if np.array_equal(following, values):
            return values
        values, done = following, done + 1


def ranks(network: SparkNetwork, asked: PageRank, *, is_directed: bool) -> Found:
    way: Way = "out" if is_directed else "both"
    leaving = (
        network.links(way).groupBy(sql.col("s").alias("n")).agg(sql.sum("weight").alias("out"))
    )
    out = network.column(leaving, "out", np.float64)
    blocks = Blocks.of(network, way, _shares, out)
    restarts = _restarts(network, asked)
    return ranked(out, asked, restarts, lambda now: blocks.each(_passed_on, now), network.beat)


def _shares(block: Block, out: Floats) -> csr_array:
    return shares(block.links, out)


def _passed_on(kept: csr_array, scores: Floats) -> Floats:
    passed: Floats = kept @ scores
    return passed


def _restarts(network: SparkNetwork, asked: PageRank) -> Floats | None:
    if asked.sources is None:
        return None
    keys, parts = zip(*asked.sources, strict=True)
    restarts = np.zeros(network.node_count)
    np.add.at(restarts, network.find(keys, "sources"), np.array(parts, dtype=np.float64))
    return restarts


def labels(network: SparkNetwork, asked: Labels, *, is_directed: bool) -> Found:
    blocks = Blocks.of(network, "out" if is_directed else "both", _votes, None)
    first = np.arange(network.node_count)
    return agreed(first, asked, lambda now: blocks.each(heaviest, now), network.beat)


def _votes(block: Block, _: None) -> csr_array:
    return votes(block.links, block.nodes, block.size)


def cores(network: SparkNetwork) -> Found:
    """The h-index of the values around a node, round by round, from its degree down.

    A node with h neighbours of at least h keeps h: what stays is its core, and no order matters.
    """
    blocks = Blocks.of(network, "both", itself, None, is_simple=True)
    first = np.full(network.node_count, network.node_count)
    return Found(until_still(network, first, partial(blocks.each, _h_indices)))


def _h_indices(block: Block, values: Numbers) -> Numbers:
    links, rows = block.links, block.links.origins
    heard = values[links.ends]
    order = np.lexsort((-heard, rows))
    # The first of a run stands for one neighbour, the next for two.
    places = np.arange(1, links.count + 1) - links.starts[rows]
    found = np.zeros(links.size, dtype=np.int64)
    some = np.flatnonzero(links.counts)
    found[some] = np.maximum.reduceat(np.minimum(heard[order], places), links.starts[some])
    return found


def distances(network: SparkNetwork, asked: PathsFrom, *, is_directed: bool) -> Found:
    """From every node on to its neighbours, until none comes nearer; infinite: not reached."""
    (source,) = network.find([asked.source], "source")
    blocks = Blocks.of(network, "out" if is_directed else "both", itself, None)
    found = np.full(network.node_count, np.inf)
    found[source] = 0.0
    return Found(until_still(network, found, partial(blocks.each, _nearer)))


def _nearer(block: Block, known: Floats) -> Floats:
    links = block.links
    reached = known[links.ends] + (1.0 if links.weights is None else links.weights)
    found: Floats = known[block.nodes]
    some = np.flatnonzero(links.counts)
    nearest = np.minimum.reduceat(reached, links.starts[some])
    found[some] = np.minimum(found[some], nearest)
    return found
