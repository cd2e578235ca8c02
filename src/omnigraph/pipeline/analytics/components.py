"""Components: weak ones by what neighbours belong to, strong ones by colours."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from omnigraph.pipeline.analytics.blocks import Block, Blocks, itself
from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.read.analytics.links import Found, Numbers

__all__ = ["strong", "weak"]

Flags = NDArray[np.bool_]


def weak(network: SparkNetwork) -> Found:
    """The smallest node of each component.

    Each node hears the smallest and the largest group around it, and groups that hear of each other
    become one. A group with an edge that leaves it hears of another: so there are as many rounds as
    the number of nodes has digits in base two, at most.
    """
    blocks = Blocks.of(network, network.links("both").where("s != d"), itself, None, is_set=True)
    found = np.arange(network.node_count)
    while True:
        network.beat(-1, 0)
        least, most = blocks.each(_groups_around, found)
        if np.array_equal(least, most):
            return Found(found)
        found = _joined(found, least, most)


def _groups_around(block: Block, groups: Numbers) -> Numbers:
    """The smallest and the largest group of each node and its neighbours."""
    links, own = block.links, groups[block.nodes]
    around, some = groups[links.ends], np.flatnonzero(links.counts)
    found = np.stack((own, own))
    for row, extreme in zip(found, (np.minimum, np.maximum), strict=True):
        row[some] = extreme(own[some], extreme.reduceat(around, links.starts[some]))
    return found


def _joined(groups: Numbers, least: Numbers, most: Numbers) -> Numbers:
    """The groups after those that stand side by side have become one, named by its first node."""
    size = len(groups)
    pairs = [
        (groups[is_met], heard[is_met]) for heard in (least, most) for is_met in [heard != groups]
    ]
    ends = [np.concatenate(each) for each in zip(*pairs, strict=True)]
    met = coo_array((np.ones(len(ends[0]), dtype=np.int8), tuple(ends)), shape=(size, size))
    count, of_group = connected_components(met, directed=False)
    first = np.empty(count, dtype=np.int64)
    # The last one that is written is the smallest.
    first[of_group[::-1]] = np.arange(size)[::-1]
    named: Numbers = first[of_group[groups]]
    return named


class _Parts(NamedTuple):
    """What is known of the strong components in the midst of the search."""

    parts: Numbers
    """Only nodes of the same part can be in one component. Below 0: its component is known."""
    colours: Numbers
    is_marked: Flags


def strong(network: SparkNetwork) -> Found:
    """The smallest node of a component among those that are left when it is found.

    A node that no other of its part leads to, or that leads to none, is a component of its own, and
    goes; then perhaps others do. Each node that stays takes the smallest node that reaches it for a
    colour. Those of a colour that reach that node back are a component, and go. Colours are the
    parts in which the others begin again.
    """
    size, out = network.node_count, network.links("out").where("s != d")
    turned = out.selectExpr("d as s", "s as d", "weight")
    into, back = (Blocks.of(network, each, itself, None, is_set=True) for each in (out, turned))
    found, parts = np.arange(size), np.zeros(size, dtype=np.int64)
    nobody = np.zeros(size, dtype=np.bool_)
    while (parts >= 0).any():
        network.beat(int((parts < 0).sum()), size)
        is_inside = into.each(_has_neighbour, parts) & back.each(_has_neighbour, parts)
        is_alone = (parts >= 0) & ~is_inside
        if is_alone.any():
            parts = np.where(is_alone, -1, parts)
            continue
        colours = _spread(into, _Parts(parts, np.arange(size), nobody))
        is_first = (parts >= 0) & (colours == np.arange(size))
        is_marked = _marked(back, _Parts(parts, colours, is_first))
        found = np.where(is_marked, colours, found)
        parts = np.where(is_marked | (parts < 0), -1, colours)
    return Found(found)


def _spread(into: Blocks, now: _Parts) -> Numbers:
    """The smallest colour that reaches each node."""
    while True:
        into.network.beat(-1, 0)
        following = into.each(_least_colours, now)
        if np.array_equal(following, now.colours):
            return following
        now = now._replace(colours=following)


def _marked(back: Blocks, now: _Parts) -> Flags:
    """Marks, and those of all nodes that lead to a marked one of their colour."""
    while True:
        back.network.beat(-1, 0)
        following = back.each(_marks, now)
        if np.array_equal(following, now.is_marked):
            return following
        now = now._replace(is_marked=following)


def _is_inside(block: Block, parts: Numbers) -> Flags:
    """Of each edge: whether its ends are in one part, and their components unknown."""
    own = parts[block.nodes][block.links.origins]
    is_inside: Flags = (own >= 0) & (parts[block.links.ends] == own)
    return is_inside


def _any(block: Block, is_so: Flags) -> Flags:
    """Of each node: whether it is so of an edge that ends there."""
    return np.bincount(block.links.origins[is_so], minlength=block.links.size) > 0


def _has_neighbour(block: Block, parts: Numbers) -> Flags:
    return _any(block, _is_inside(block, parts))


def _least_colours(block: Block, now: _Parts) -> Numbers:
    links = block.links
    # What is heard from elsewhere is larger than any colour.
    heard = np.where(_is_inside(block, now.parts), now.colours[links.ends], block.size)
    found: Numbers = now.colours[block.nodes]
    some = np.flatnonzero(links.counts)
    found[some] = np.minimum(found[some], np.minimum.reduceat(heard, links.starts[some]))
    return found


def _marks(block: Block, now: _Parts) -> Flags:
    links, colours = block.links, now.colours
    is_alike = colours[block.nodes][links.origins] == colours[links.ends]
    is_heard = is_alike & now.is_marked[links.ends] & _is_inside(block, now.parts)
    marks: Flags = now.is_marked[block.nodes] | _any(block, is_heard)
    return marks
