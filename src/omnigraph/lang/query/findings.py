"""Type errors as they are found: all of a query's, in the order of the text.

A check that fails says so and goes on; what follows from an error already reported is not reported
again.
"""

from collections.abc import Iterable

from omnigraph.base.errors import Diagnostic
from omnigraph.base.nearest import nearest
from omnigraph.base.span import Span

__all__ = ["Findings", "did_you_mean", "listed"]

# As many names as fit in a line.
FEW = 8


class Findings:
    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def add(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self._found[Diagnostic(code, message, span, hint)] = None

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def in_order(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self._found, key=lambda d: (d.span, d.code)))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The nearest known name as a hint; where none is near, those there are, if they are few."""
    names = sorted(set(known))
    near = nearest(name, names)
    if near:
        return f"did you mean {near}?"
    return f"known here: {', '.join(names)}" if 0 < len(names) <= FEW else None


def listed(names: Iterable[str], word: str = "or") -> str:
    """`A`, `A or B`, `A, B or C`."""
    *firsts, last = names
    return f"{', '.join(firsts)} {word} {last}" if firsts else last
