"""What stands in a terminal, as an SVG that needs no font and no network."""

import io
import re

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

__all__ = ["COLUMNS", "drawn"]

COLUMNS = 100

THEME = TerminalTheme(
    background=(24, 32, 44),
    foreground=(222, 230, 238),
    normal=[
        (24, 32, 44),
        (242, 122, 112),
        (126, 200, 142),
        (232, 190, 106),
        (122, 170, 240),
        (196, 150, 232),
        (110, 200, 206),
        (222, 230, 238),
    ],
    bright=[
        (124, 140, 158),
        (255, 150, 140),
        (150, 222, 166),
        (246, 210, 130),
        (150, 190, 255),
        (214, 176, 248),
        (140, 220, 226),
        (255, 255, 255),
    ],
)

# Rich's own frame would fetch a font from a server.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", \
monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 16px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn(name: str, lines: str) -> str:
    """A terminal with these lines, coloured or not; a line that begins with `$` was typed."""
    console = Console(
        file=io.StringIO(),
        width=COLUMNS,
        record=True,
        force_terminal=True,
        color_system="truecolor",
    )
    for line in lines.splitlines():
        text = Text.from_ansi(line)
        if line.startswith("$ "):
            text.stylize("bold bright_white")
            text.stylize("bold green", 0, 1)
        console.print(text, soft_wrap=False, highlight=False)
    svg = console.export_svg(title="", theme=THEME, code_format=FRAME, unique_id=name)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)
