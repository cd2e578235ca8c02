"""Commits as a picture: a line for each, and how they descend from each other."""

from collections.abc import Iterator, Mapping, Sequence

from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount, clipped
from omnigraph.engine.lanes import LaneStep, lane_steps
from omnigraph.engine.notebook.page import safe

__all__ = ["COMMITS_SHOWN", "ShownCommit", "history_svg"]

COMMITS_SHOWN = 50
"""A picture shows so many; the list itself has all of them."""
ROW = 24.0
LANE = 18.0
MARGIN = 14.0
LETTER_WIDTH = 6.6
MONO_WIDTH = 7.3
LETTERS_SAID = 90
NAME_LETTERS = 40
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#39a0a0", "#c9a227", "#9c755f")


@frozen
class ShownCommit:
    id: str
    parents: tuple[str, ...]
    """Commits that it descends from; those further down are joined by lines."""
    names: tuple[str, ...]
    """The branches whose head it is."""
    time: str
    said: str
    """Who made it, and why."""
    is_merge: bool
    has_gap: bool = False
    """True if commits that are not shown lie between it and its parent."""


def history_svg(commits: Sequence[ShownCommit], count: int, style: str = "") -> str:
    """The newest commits of so many; each stands before its parents."""
    steps = [*lane_steps((commit.id, commit.parents) for commit in commits)]
    lanes = max((len(step.before) for step in steps), default=0)
    lanes = max([lanes, *(to.lane + 1 for step in steps for to in step.parents)])
    left = MARGIN + lanes * LANE + 6
    lines = [*map(_Line.of, commits)]
    caption = amount(count, "commit")
    if count > len(commits):
        caption = f"the newest {len(commits)} of {caption}"
    width = left + max([line.width for line in lines] + [len(caption) * LETTER_WIDTH]) + MARGIN
    height = (len(commits) + 1) * ROW + MARGIN
    rows = {commit.id: number for number, commit in enumerate(commits)}
    at = {step.commit: step.at for step in steps}
    drawn = [
        part
        for step, commit in zip(steps, commits, strict=True)
        for part in _lines(step, rows, at, bottom=height - ROW, has_gap=commit.has_gap)
    ]
    drawn += [_mark(s, n, c) for n, (s, c) in enumerate(zip(steps, commits, strict=True))]
    drawn += [line.svg(left, _y(number)) for number, line in enumerate(lines)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{safe(caption)}" font-family="system-ui, sans-serif" font-size="12" '
        f'fill="currentColor">{style}{"".join(drawn)}'
        f'<text x="{left:.0f}" y="{height - 9:.0f}" fill-opacity="0.75">{safe(caption)}</text>'
        "</svg>"
    )


@frozen
class _Line:
    """What stands beside a commit."""

    id: str
    names: str
    time: str
    said: str

    @classmethod
    def of(cls, commit: ShownCommit) -> "_Line":
        names = ", ".join(clipped(name, NAME_LETTERS) for name in commit.names[:4])
        names += f" and {len(commit.names) - 4} more" * (len(commit.names) > 4)
        return cls(commit.id, names, commit.time, clipped(commit.said, LETTERS_SAID))

    @property
    def width(self) -> float:
        letters = len(self.names) + len(self.time) + len(self.said)
        return len(self.id) * MONO_WIDTH + letters * LETTER_WIDTH + 40

    def svg(self, x: float, y: float) -> str:
        names = f'<tspan dx="8" font-weight="700">{safe(self.names, 400)}</tspan>'
        return (
            f'<text x="{x:.0f}" y="{y + 4:.0f}" xml:space="preserve">'
            f'<tspan font-family="ui-monospace, monospace">{safe(self.id)}</tspan>'
            f"{names * bool(self.names)}"
            f'<tspan dx="8" fill-opacity="0.65">{safe(self.time)}</tspan>'
            f'<tspan dx="8">{safe(self.said)}</tspan></text>'
        )


def _lines(
    step: LaneStep,
    rows: Mapping[str, int],
    at: Mapping[str, int],
    *,
    bottom: float,
    has_gap: bool,
) -> Iterator[str]:
    """From a commit down to its parents, each in the lane that leads there."""
    x, y = _x(step.at), _y(rows[step.commit])
    for to in step.parents:
        lane = _x(to.lane)
        path = f"M{x:.0f} {y:.0f}"
        start = y
        if lane != x:
            start = y + ROW
            path += (
                f" C{x:.0f} {y + ROW / 2:.0f} {lane:.0f} {y + ROW / 2:.0f} {lane:.0f} {start:.0f}"
            )
        is_shown = to.parent in rows
        end = _y(rows[to.parent]) if is_shown else bottom
        end_x = _x(at[to.parent]) if is_shown else lane
        if end_x == lane:
            path += f" V{end:.0f}"
        else:
            above = max(start, end - ROW)
            path += f" V{above:.0f} C{lane:.0f} {end - ROW / 2:.0f} "
            path += f"{end_x:.0f} {end - ROW / 2:.0f} {end_x:.0f} {end:.0f}"
        dashes = ' stroke-dasharray="2 4"' if has_gap or not is_shown else ""
        yield f'<path d="{path}" fill="none" stroke="{_colour(to.lane)}" stroke-width="2"{dashes}/>'


def _mark(step: LaneStep, row: int, commit: ShownCommit) -> str:
    colour = _colour(step.at)
    size = f'cx="{_x(step.at):.0f}" cy="{_y(row):.0f}"'
    dot = f'<circle {size} r="5" fill="{colour}"/>'
    if not commit.is_merge:
        return dot
    ring = f'<circle {size} r="7.5" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    return f"<g><title>a merge</title>{dot}{ring}</g>"


def _x(lane: int) -> float:
    return MARGIN + lane * LANE


def _y(row: int) -> float:
    return MARGIN + row * ROW


def _colour(lane: int) -> str:
    return COLOURS[lane % len(COLOURS)]
