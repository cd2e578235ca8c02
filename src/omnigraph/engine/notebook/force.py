"""Where the nodes of a picture go: springs pull along edges, and all nodes push each other away.

It is the same picture for the same graph: nothing is random, and the number of steps is fixed.
Parts that no edge joins are laid out by themselves and stand beside each other, the largest first.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Points", "arrange"]

Points = NDArray[np.float64]

STEPS = 250
GRAVITY = 0.2
"""Pulls all nodes to the middle: a long chain bends before it leaves the page."""
EDGE_LENGTH = 95.0
"""What most edges come to at least, in pixels: room for a label."""
SHORT_EDGE = 30
"""The edge that is so long: as a percentile."""
GAP = 14.0
"""Between parts, and between nodes with their labels."""
PUSHES = 80
SHELF_RATIO = 1.9
"""A picture is so much wider than high, where its parts allow it."""
NEAREST = 0.01
"""Nodes in one place push each other as if they were so far apart."""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def arrange(sizes: Points, edges: Sequence[tuple[int, int]]) -> Points:
    """The middle of each node; none is negative. `sizes` are widths and heights with labels."""
    places = np.zeros_like(sizes)
    parts = [*_parts(len(sizes), edges)]
    area = 0.0
    boxes: list[tuple[NDArray[np.int64], Points]] = []
    for part in parts:
        inner = _within(part, edges)
        places[part] = _apart(_sprung(len(part), inner), sizes[part])
        low = (places[part] - sizes[part] / 2).min(axis=0)
        places[part] -= low
        size = (places[part] + sizes[part] / 2).max(axis=0) + GAP
        area += float(size.prod())
        boxes.append((part, size))
    _shelve(places, boxes, width=np.sqrt(area * SHELF_RATIO))
    return places


def _parts(count: int, edges: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.int64]]:
    """The nodes of each connected part, the largest part first."""
    part_of = np.arange(count)
    for source, target in edges:
        one, other = sorted((part_of[source], part_of[target]))
        if one != other:
            part_of[part_of == other] = one
    found = [np.flatnonzero(part_of == name) for name in np.unique(part_of)]
    return iter(sorted(found, key=len, reverse=True))


def _within(part: NDArray[np.int64], edges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """The edges of a part, each once and by the numbers of its nodes there."""
    number = {int(node): i for i, node in enumerate(part)}
    inner = {(number[s], number[t]) for s, t in edges if s in number and s != t}
    return np.array(sorted(inner), dtype=np.int64).reshape(-1, 2)


def _sprung(count: int, edges: NDArray[np.int64]) -> Points:
    """Fruchterman and Reingold's rule: push as 1/d, pull as d², in smaller and smaller steps."""
    turns = np.arange(count) * GOLDEN_ANGLE
    at: Points = np.sqrt(np.arange(count) + 0.5)[:, None] * np.c_[np.cos(turns), np.sin(turns)]
    if count < 2:
        return at * 0
    for step in range(STEPS):
        moves = _pushes(at) - GRAVITY * at
        along = at[edges[:, 1]] - at[edges[:, 0]]
        pull = along * np.sqrt((along**2).sum(axis=1))[:, None]
        np.add.at(moves, edges[:, 0], pull)
        np.add.at(moves, edges[:, 1], -pull)
        length = np.maximum(np.sqrt((moves**2).sum(axis=1)), 1e-9)
        most = 0.5 * np.sqrt(count) * (1 - step / STEPS) ** 2 + 1e-3
        at = at + moves * (np.minimum(length, most) / length)[:, None]
    lengths = np.sqrt(((at[edges[:, 1]] - at[edges[:, 0]]) ** 2).sum(axis=1))
    short = max(float(np.percentile(lengths, SHORT_EDGE)), 1e-6)
    return _turned(at - at.mean(axis=0)) * (EDGE_LENGTH / short)


def _pushes(at: Points) -> Points:
    """Of each node by all others, as 1/d. By products of matrices: there are many pairs."""
    squares = (at**2).sum(axis=1)
    weights = 1 / np.maximum(squares[:, None] + squares[None] - 2 * (at @ at.T), NEAREST**2)
    np.fill_diagonal(weights, 0.0)
    pushes: Points = at * weights.sum(axis=1)[:, None] - weights @ at
    return pushes


def _turned(at: Points) -> Points:
    """With its longest side lying: labels need width."""
    (xx, xy), (_, yy) = np.cov(at.T)
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned: Points = at @ turn
    return turned


def _apart(at: Points, sizes: Points) -> Points:
    """No label on another: nodes that overlap are pushed apart, the shorter way."""
    number = np.arange(len(at))
    # Of two nodes in one place the first goes one way and the second the other.
    way = np.sign(number[:, None] - number[None]).astype(np.float64)
    room_x, room_y = ((side[:, None] + side[None]) / 2 + GAP / 2 for side in sizes.T)
    for _ in range(PUSHES):
        between_x, between_y = (side[:, None] - side[None] for side in at.T)
        over_x, over_y = room_x - np.abs(between_x), room_y - np.abs(between_y)
        is_over: NDArray[np.bool_] = np.minimum(over_x, over_y) > 0
        np.fill_diagonal(is_over, val=False)
        if not is_over.any():
            break
        is_across = over_x <= over_y
        push_x = np.where(is_over & is_across, over_x * _sign(between_x, way), 0.0).sum(axis=1)
        push_y = np.where(is_over & ~is_across, over_y * _sign(between_y, way), 0.0).sum(axis=1)
        at = at + np.c_[push_x, push_y] * 0.3
    return at


def _sign(between: Points, way: Points) -> Points:
    return np.where(between == 0, way, np.sign(between))


def _shelve(
    places: Points, boxes: Sequence[tuple[NDArray[np.int64], Points]], *, width: float
) -> None:
    """Set the parts beside each other, in rows as wide as the widest part at least."""
    width = max(width, *(float(size[0]) for _, size in boxes)) if boxes else width
    x = y = height = 0.0
    for part, size in boxes:
        if x and x + size[0] > width:
            x, y, height = 0.0, y + height, 0.0
        places[part] += (x, y)
        x += float(size[0])
        height = max(height, float(size[1]))
