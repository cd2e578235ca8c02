"""Lanes: a picture in text of how commits descend from each other.

Each commit stands in a lane that leads down to its parent. A line between two commits shows where a
lane begins, because a commit was merged, or ends, because a branch was made there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["lanes"]

Lanes = list[str | None]
"""For each lane the commit that it leads to; None: the lane is free."""


def lanes(commits: Iterable[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, str | None]]:
    """The lines of a picture, each with the commit that it shows; None: it only shows lanes.

    Commits come with their parents, and each before its parents.
    """
    open_lanes: Lanes = []
    for commit, parents in commits:
        at, *ending = [n for n, leads_to in enumerate(open_lanes) if leads_to == commit] or [
            _free(open_lanes)
        ]
        open_lanes[at] = commit
        if ending:
            corners = {n: "╯" if n == ending[-1] else "┴" for n in ending}
            yield _between(open_lanes, at, corners), None
            for n in ending:
                open_lanes[n] = None
        yield (
            _line("*" if n == at else "│" if lane else " " for n, lane in enumerate(open_lanes)),
            commit,
        )
        open_lanes[at] = next(iter(parents), None)
        for parent in parents[1:]:
            is_new = parent not in open_lanes
            to = _free(open_lanes) if is_new else open_lanes.index(parent)
            corner = ("╮" if to > at else "╭") if is_new else ("┤" if to > at else "├")
            open_lanes[to] = parent
            yield _between(open_lanes, at, {to: corner}), None
        while open_lanes and open_lanes[-1] is None:
            open_lanes.pop()


def _free(open_lanes: Lanes) -> int:
    """A lane that leads nowhere."""
    if None not in open_lanes:
        open_lanes.append(None)
    return open_lanes.index(None)


def _between(open_lanes: Lanes, at: int, corners: Mapping[int, str]) -> str:
    """A line that leads from one lane to others, across those between them."""
    first, last = min(at, *corners), max(at, *corners)
    drawn = []
    for n, lane in enumerate(open_lanes):
        is_crossed = first < n < last
        plain = ("┼" if is_crossed else "│") if lane else ("─" if is_crossed else " ")
        own = "├" if last > at else "┤"
        drawn.append(own if n == at else corners.get(n, plain))
        drawn.append("─" if first <= n < last else " ")
    return "".join(drawn).rstrip()


def _line(marks: Iterable[str]) -> str:
    return " ".join(marks).rstrip()
