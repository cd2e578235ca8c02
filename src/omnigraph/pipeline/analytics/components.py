"""Components: weak ones by what neighbours belong to, strong ones by colours."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from omnigraph.pipeline.analytics.blocks import Block, Blocks, fit_in_one, itself
from omnigraph.pipeline.analytics.network import SparkNetwork, Way
from omnigraph.pipeline.analytics.rounds import until_still
from omnigraph.read.analytics.links import Found, Numbers

__all__ = ["strong", "weak"]

Flags = NDArray[np.bool_]

BOTH_WAYS: tuple[Way, Way] = ("out", "in")

MAX_TRIMS = 3
"""A chain loses its ends alone each time: that goes quicker by colours."""


def weak(network: SparkNetwork) -> Found:
    """The smallest node of each component.

    Each node hears the smallest and the largest group around it, and groups that hear of each other
    become one. A group with an edge that leaves it hears of another: so there are as many rounds as
    the number of nodes has digits in base two, at most.
    """
    blocks = Blocks.of(network, "both", itself, None, is_simple=True)
    return Found(until_still(network, np.arange(network.node_count), partial(_joined, blocks)))


def _groups_around(block: Block, groups: Numbers) -> Numbers:
    """The smallest and the largest group of each node and its neighbours."""
    links, own = block.links, groups[block.nodes]
    around, some = groups[links.ends], np.flatnonzero(links.counts)
    found = np.stack((own, own))
    for row, extreme in zip(found, (np.minimum, np.maximum), strict=True):
        row[some] = extreme(own[some], extreme.reduceat(around, links.starts[some]))
    return found


def _joined(blocks: Blocks, groups: Numbers) -> Numbers:
    """The groups after those that stand side by side have become one, named by its first node."""
    size = len(groups)
    least, most = blocks.each(_groups_around, groups)
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
    """The colour of a node of each component; no two have the same.

    A node that no other of its part leads to, or that leads to none, is a component of its own, and
    goes; then perhaps others do. Each node that stays takes the smallest colour that reaches it.
    Those of a colour that reach the node back that began with it are a component, and go. Colours
    are the parts in which the others begin again. Once a task could hold the edges that are left
    inside parts, this process does, and ends it.
    """
    size = network.node_count
    into, back = (Blocks.of(network, way, itself, None, is_simple=True) for way in BOTH_WAYS)
    # Nodes begin in no order: one colour would take a chain whose ids ascend as a whole, and one
    # component would go at a time.
    first = np.random.default_rng(0).permutation(size)
    found, parts = first.copy(), np.zeros(size, dtype=np.int64)
    nobody = np.zeros(size, dtype=np.bool_)
    while (parts >= 0).any():
        network.beat(int((parts < 0).sum()), size)
        parts, links = _trimmed(into, back, parts)
        if fit_in_one(links):
            return Found(np.where(parts < 0, found, _ended(into, parts, first)))
        colours = _spread(into, _Parts(parts, first, nobody))
        is_first = (parts >= 0) & (colours == first)
        is_marked = _marked(back, _Parts(parts, colours, is_first))
        found = np.where(is_marked, colours, found)
        parts = np.where(is_marked | (parts < 0), -1, colours)
    return Found(found)


def _trimmed(into: Blocks, back: Blocks, parts: Numbers) -> tuple[Numbers, int]:
    """The parts without nodes that are components of their own, and how many links are in them."""
    for _ in range(MAX_TRIMS):
        heard, told = into.each(_links_inside, parts), back.each(_links_inside, parts)
        is_alone = (parts >= 0) & ((heard == 0) | (told == 0))
        parts = np.where(is_alone, -1, parts)
        if not is_alone.any():
            break
    return parts, int(heard.sum())


def _ended(into: Blocks, parts: Numbers, first: Numbers) -> Numbers:
    """The smallest colour of each component, of all at once."""
    sources, targets = np.concatenate(into.ask(_inside, parts), axis=1)
    size = len(parts)
    inside = coo_array((np.ones(len(sources), dtype=np.int8), (sources, targets)), (size, size))
    count, of_group = connected_components(inside, connection="strong")
    least = np.full(count, size)
    np.minimum.at(least, of_group, first)
    colours: Numbers = least[of_group]
    return colours


def _spread(into: Blocks, now: _Parts) -> Numbers:
    """The smallest colour that reaches each node."""
    node_of = np.argsort(now.colours)

    def follow(colours: Numbers) -> Numbers:
        following: Numbers = into.each(_least_colours, now._replace(colours=colours))
        # What reaches the node whose colour has reached another one reaches that too.
        while not np.array_equal(following, further := following[node_of[following]]):
            following = further
        return following

    return until_still(into.network, now.colours, follow, is_counted=False)


def _marked(back: Blocks, now: _Parts) -> Flags:
    """Marks, and those of all nodes that lead to a marked one of their colour."""

    def follow(is_marked: Flags) -> Flags:
        following: Flags = back.each(_marks, now._replace(is_marked=is_marked))
        return following

    return until_still(back.network, now.is_marked, follow, is_counted=False)


def _is_inside(block: Block, parts: Numbers) -> Flags:
    """Of each edge: whether its ends are in one part, and their components unknown."""
    own = parts[block.nodes][block.links.origins]
    is_inside: Flags = (own >= 0) & (parts[block.links.ends] == own)
    return is_inside


def _links_inside(block: Block, parts: Numbers) -> Numbers:
    """Of each node: how many links that end there stay inside its part."""
    return np.bincount(block.links.origins[_is_inside(block, parts)], minlength=block.links.size)


def _inside(block: Block, parts: Numbers) -> Numbers:
    """The nodes that links lead from, and to, where both are in one part."""
    is_inside, links = _is_inside(block, parts), block.links
    return np.stack((links.ends[is_inside], block.nodes[links.origins[is_inside]]))


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
    heard = np.bincount(links.origins[is_heard], minlength=links.size) > 0
    marks: Flags = now.is_marked[block.nodes] | heard
    return marks
