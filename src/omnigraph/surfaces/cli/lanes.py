"""Lanes in text: a picture of how commits descend from each other.

A line between two commits shows where a lane begins, because a commit was merged, or ends, because
a branch was made there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from omnigraph.engine.lanes import lane_steps

__all__ = ["lanes"]


def lanes(commits: Iterable[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, str | None]]:
    """The lines of a picture, each with the commit that it shows; None: it only shows lanes.

    Commits come with their parents, and each before its parents.
    """
    for step in lane_steps(commits):
        at, before = step.at, list(step.before)
        if step.ending:
            corners = {n: "╯" if n == step.ending[-1] else "┴" for n in step.ending}
            yield _between(before, at, corners), None
            for n in step.ending:
                before[n] = None
        marks = ("*" if n == at else "│" if lane else " " for n, lane in enumerate(before))
        yield _line(marks), step.commit
        for to in step.parents[1:]:
            corner = ("╮" if to.lane > at else "╭") if to.is_new else ("┤" if to.lane > at else "├")
            yield _between(to.lanes, at, {to.lane: corner}), None


def _between(open_lanes: Sequence[str | None], at: int, corners: Mapping[int, str]) -> str:
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
