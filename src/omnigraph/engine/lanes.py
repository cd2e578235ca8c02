"""Lanes: how commits descend from each other, as columns of a picture.

Each commit stands in a lane that leads down to its parent. A lane begins where a commit was merged,
and ends where a branch was made. The command line draws them in text, a notebook in lines.
"""

from collections.abc import Iterable, Iterator, Sequence

from omnigraph.base.frozen import frozen

__all__ = ["LaneStep", "lane_steps"]

Lanes = tuple[str | None, ...]
"""For each lane the commit that it leads to; None: the lane is free."""


@frozen
class LaneStep:
    commit: str
    at: int
    """The lane that the commit stands in."""
    ending: tuple[int, ...]
    """Other lanes that lead to the commit and end there."""
    before: Lanes
    """The lanes above the commit, where it stands in its own."""
    parents: tuple["LaneTo", ...]
    """In the order of the parents; the first goes on in the lane of the commit."""


@frozen
class LaneTo:
    """The lane in which a parent is reached."""

    parent: str
    lane: int
    is_new: bool
    lanes: Lanes
    """The lanes below, with this one and those of the parents before."""


def lane_steps(commits: Iterable[tuple[str, Sequence[str]]]) -> Iterator[LaneStep]:
    """Commits come with their parents, and each before its parents."""
    lanes: list[str | None] = []
    for commit, parents in commits:
        at, *ending = [n for n, leads_to in enumerate(lanes) if leads_to == commit] or [
            _free(lanes)
        ]
        lanes[at] = commit
        before = tuple(lanes)
        for n in ending:
            lanes[n] = None
        lanes[at] = next(iter(parents), None)
        reached = []
        for number, parent in enumerate(parents):
            is_new = number > 0 and parent not in lanes
            lane = at if number == 0 else _free(lanes) if is_new else lanes.index(parent)
            lanes[lane] = parent
            reached.append(LaneTo(parent, lane, is_new, tuple(lanes)))
        while lanes and lanes[-1] is None:
            lanes.pop()
        yield LaneStep(commit, at, tuple(ending), before, tuple(reached))


def _free(lanes: list[str | None]) -> int:
    """A lane that leads nowhere."""
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)
