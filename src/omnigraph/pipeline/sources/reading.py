"""Finding single rows of a piece again: where they stand, and what the input says there.

Both are for rows that turned out to be wrong, so neither costs anything until it is asked.
"""

from collections.abc import Callable, Sequence
from functools import cache

from omnigraph.pipeline.sources.lines import line_blocks, lines_before
from omnigraph.pipeline.sources.pieces import InlineLines, LineRange, LinesFile, LinesPiece, Piece

__all__ = ["place_in", "rows_as_text"]

Place = Callable[[int], tuple[str, int]]


def place_in(piece: Piece) -> Place:
    """The file and the line (of lines and CSV) or row (of tables), from 1, of a row's number."""
    match piece:
        case LineRange():
            before = cache(lambda: lines_before(piece))
            return lambda number: (piece.file, before() + number + 1)
        case LinesFile():
            return lambda number: (piece.file, number + 1)
        case InlineLines(first_row=first):
            return lambda number: (piece.file, first + number + 1)
        case _:
            raise AssertionError


def rows_as_text(piece: Piece, numbers: Sequence[int]) -> list[str]:
    """What the input says in the rows of these numbers: a line, or a table's row as JSON."""
    match piece:
        case LineRange() | LinesFile() | InlineLines():
            found = _lines(piece, set(numbers))
        case _:
            raise AssertionError
    return [found[number] for number in numbers]


def _lines(piece: LinesPiece, wanted: set[int]) -> dict[int, str]:
    found = {}
    for first, block in line_blocks(piece):
        lines = block.split(b"\n")
        for number in wanted.intersection(range(first, first + len(lines))):
            found[number] = lines[number - first].strip(b" \t\r").decode(errors="replace")
    return found
