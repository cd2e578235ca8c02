"""The next version of an adjacency from the one before: other runs for some origins, other numbers.

Other runs are written behind the ones there are, in time by the origins and the changed entries. A
row that goes moves all behind it up by one, and numbers are what entries are made of: that takes
one pass over the entries, but no sort, since rows that stay keep their order among themselves.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omnigraph.read.topology.csr import Adjacency, Ordinals, Ranges, Room, Stored, narrow

__all__ = ["renumbered", "resized", "with_runs"]

# Entries that moved behind are read as fast as others; what they left unread is wasted memory.
REPACK_SHARE = 4
MIN_SPACE_ENTRIES = 1 << 16


def with_runs(
    graph: Adjacency, origins: Ordinals, runs: Adjacency, *, height: int, width: int
) -> Adjacency:
    """As the graph, with other entries for some origins: `runs` has a row for each of them.

    It takes time by the number of origins and of changed entries, until a quarter has changed and
    all is laid side by side again.
    """
    added = [column[Ranges(runs.lows, runs.counts).positions()] for column in runs.entries]
    count = len(added[0])
    lows = np.zeros(height, dtype=np.int64)
    counts = np.zeros(height, dtype=np.int64)
    lows[: graph.height], counts[: graph.height] = graph.lows, graph.counts
    changed = graph.changed + count
    room, start = graph.room, None
    if room is not None and changed * REPACK_SHARE < room.size:
        start = room.append(added)
    if start is None:
        # The first change, or one too many: side by side again, with space behind.
        room, changed = _roomy(_packed(graph), width, more=count), count
        lows[: graph.height] = np.cumsum(graph.counts) - graph.counts
        start = room.append(added)
    assert room is not None and start is not None
    lows[origins] = runs.lows + start
    counts[origins] = runs.counts
    return _in_room(room, lows, counts, width, changed=changed, repeated=graph.repeated)


def renumbered(
    graph: Adjacency,
    *,
    origins: Ordinals | None,
    targets: Ordinals | None,
    edges: Ordinals | None,
    height: int,
    width: int,
) -> Adjacency:
    """The same entries where rows have new numbers; -1: the row is gone, and what it was part of.

    None: rows keep their numbers.
    """
    columns, counts = _packed(graph), graph.counts
    is_disordered = None if targets is None else _disordered(targets, columns[0])
    maps = [targets] if graph.edges is None else [targets, edges]
    space = _space(len(columns[0]))
    wide = [_mapped(c, m, space=space) for c, m in zip(columns, maps, strict=True)]
    used = len(columns[0])
    moved = [column[:used] for column in wide]
    is_left = _left(moved, maps, origins, counts)
    if is_left is not None:
        until = np.concatenate(([0], np.cumsum(is_left)))
        ends = np.cumsum(counts)
        counts = until[ends] - until[ends - counts]
        used = int(until[-1])
        for column in wide:
            column[:used] = column[: len(is_left)][is_left]
        is_disordered = None if is_disordered is None else is_disordered[is_left]
    starts = np.cumsum(counts) - counts
    numbers = np.arange(graph.height) if origins is None else origins
    lows_now = np.zeros(height, dtype=np.int64)
    counts_now = np.zeros(height, dtype=np.int64)
    stays = numbers >= 0
    lows_now[numbers[stays]], counts_now[numbers[stays]] = starts[stays], counts[stays]
    repeated = _repeated(graph, origins, targets)
    room = Room(wide, used=used)
    made = _in_room(room, lows_now, counts_now, width, repeated=repeated)
    if is_disordered is None:
        return made
    touched = np.searchsorted(starts + counts, np.flatnonzero(is_disordered), side="right")
    return _sorted_again(made, np.unique(numbers[touched]))


def resized(graph: Adjacency, *, height: int, width: int) -> Adjacency:
    """With origins that have no neighbours yet."""
    more = np.zeros(height - graph.height, dtype=np.int64)
    return replace(
        graph,
        lows=np.concatenate([graph.lows, more]),
        counts=np.concatenate([graph.counts, more]),
        width=width,
    )


def _packed(graph: Adjacency) -> list[Stored]:
    """The columns with all runs side by side, in the order of the origins."""
    if graph.room is None:
        return list(graph.entries)
    positions = Ranges(graph.lows, graph.counts).positions()
    return [column[positions] for column in graph.entries]


def _roomy(columns: list[Stored], width: int, *, more: int = 0) -> Room:
    neighbours, *edges = columns
    kept = [narrow(neighbours, width), *edges]
    return Room.with_space(kept, space=_space(len(neighbours)) + more)


def _in_room(
    room: Room,
    lows: Ordinals,
    counts: Ordinals,
    width: int,
    *,
    repeated: NDArray[np.int64] | None,
    changed: int = 0,
) -> Adjacency:
    neighbours, *edges = room.columns
    return Adjacency(
        lows,
        counts,
        neighbours,
        width,
        edges=edges[0] if edges else None,
        room=room,
        changed=changed,
        repeated=repeated,
    )


def _disordered(numbers: Ordinals, neighbours: Stored) -> NDArray[np.bool_] | None:
    """Entries whose neighbour no longer lies where it did among the others; None: there are none.

    An update moves a row behind all others.
    """
    stays = np.where(numbers < 0, np.iinfo(np.int64).max, numbers)
    least_behind = np.minimum.accumulate(stays[::-1])[::-1]
    is_moved = (numbers >= 0) & (numbers > least_behind)
    if not is_moved.any():
        return None
    is_disordered: NDArray[np.bool_] = is_moved[neighbours]
    return is_disordered if is_disordered.any() else None


def _mapped(column: Stored, numbers: Ordinals | None, *, space: int) -> Stored:
    """The column under its new numbers, with space behind."""
    if numbers is None:
        wide = np.empty(len(column) + space, dtype=column.dtype)
        wide[: len(column)] = column
        return wide
    # Half the bytes to gather from is half the time.
    short = narrow(numbers, int(numbers.max(initial=0)) + 1)
    moved: Stored = np.empty(len(column) + space, dtype=short.dtype)
    np.take(short, column, out=moved[: len(column)], mode="clip")
    return moved


def _space(count: int) -> int:
    return max(count // REPACK_SHARE, MIN_SPACE_ENTRIES)


def _left(
    moved: list[Stored], maps: list[Ordinals | None], origins: Ordinals | None, counts: Ordinals
) -> NDArray[np.bool_] | None:
    """Which entries are left; None: all of them."""
    is_left = np.ones(len(moved[0]), dtype=np.bool_)
    for column, numbers in zip(moved, maps, strict=True):
        if numbers is not None and (numbers < 0).any():
            is_left &= column >= 0
    if origins is not None and (origins < 0).any():
        is_left &= np.repeat(origins >= 0, counts)
    return None if is_left.all() else is_left


def _repeated(
    graph: Adjacency, origins: Ordinals | None, targets: Ordinals | None
) -> NDArray[np.int64] | None:
    if graph.repeated is None:
        return None
    here, there = graph.repeated
    pairs = np.stack(
        [here if origins is None else origins[here], there if targets is None else targets[there]]
    )
    return pairs[:, (pairs >= 0).all(axis=0)]


def _sorted_again(graph: Adjacency, origins: Ordinals) -> Adjacency:
    ranges = graph.ranges(origins)
    positions = ranges.positions()
    runs = Adjacency.of_pairs(
        ranges.rows(),
        graph.neighbours[positions],
        height=len(origins),
        width=graph.width,
        edges=None if graph.edges is None else graph.edges[positions],
    )
    return with_runs(graph, origins, runs, height=graph.height, width=graph.width)
