"""A plan as a table: a step a line, those that it asks further in, and where the time went."""

from collections.abc import Sequence

from omnigraph.base.frozen import frozen
from omnigraph.engine.notebook.page import paragraph, safe

__all__ = ["ShownStep", "plan_html"]

STEPS_SHOWN = 200
LETTERS_SHOWN = 300
BAR_WIDTH = 90.0


@frozen
class ShownStep:
    depth: int
    text: str
    cells: Sequence[str]
    share: float | None = None
    """Of the time that the whole plan took; None: it was not run."""


def plan_html(columns: Sequence[str], steps: Sequence[ShownStep], said: str) -> str:
    """The steps, and below them what is said of them all."""
    is_timed = any(step.share is not None for step in steps)
    head = '<th style="text-align:left">step</th>'
    head += "".join(f"<th>{safe(name)}</th>" for name in columns)
    head += '<th style="text-align:left">share of the time</th>' * is_timed
    body = "".join(_row(step) for step in steps[:STEPS_SHOWN])
    if len(steps) > STEPS_SHOWN:
        said = f"{said}; the first {STEPS_SHOWN} of {len(steps):,} steps are shown"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}{paragraph(said)}"


def _row(step: ShownStep) -> str:
    indent = f"padding-left:{0.5 + 1.5 * min(step.depth, 20):.1f}em"
    cells = "".join(f"<td>{safe(cell)}</td>" for cell in step.cells)
    return (
        f'<tr><td style="text-align:left;{indent}"><code>{safe(step.text, LETTERS_SHOWN)}</code>'
        f"</td>{cells}{_bar(step.share)}</tr>"
    )


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    length = max(1.0, BAR_WIDTH * share)
    return (
        f'<td style="text-align:left"><svg width="{BAR_WIDTH + 40:.0f}" height="12" role="img" '
        f'aria-label="{share:.0%}"><rect width="{length:.1f}" height="10" y="1" '
        f'fill="#4e79a7"/><text x="{length + 5:.1f}" y="10" font-size="10" '
        f'fill="currentColor">{share:.0%}</text></svg></td>'
    )
