"""Type errors as they are found: all of a query's, in the order of the text.

A check that fails says so and goes on; what follows from an error already reported is not reported
again.
"""

from collections.abc import Iterable

from omnigraph.base.errors import Diagnostic
from omnigraph.base.nearest import nearest
from omnigraph.base.span import Span

__all__ = ["Findings", "clipped", "did_you_mean", "listed"]

# As many names as fit in a line.
FEW = 8

# A name may be a megabyte long; a message is read by a person.
LONGEST = 300


class Findings:
    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def add(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        found = Diagnostic(code, clipped(message), span, clipped(hint) if hint else None)
        self._found[found] = None

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def in_order(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self._found, key=lambda d: (d.span, d.code)))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The nearest known name as a hint; where none is near, those there are, if they are few."""
    names = sorted(set(known))
    # Of one or two letters, any other is one slip away.
    near = nearest(name, names) if len(name.lstrip("$")) > 2 else None
    if near:
        return f"did you mean {near}?"
    return f"known here: {', '.join(names)}" if 0 < len(names) <= FEW else None


def clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def listed(names: Iterable[str], word: str = "or") -> str:
    """`A`, `A or B`, `A, B or C`."""
    *firsts, last = names
    return f"{', '.join(firsts)} {word} {last}" if firsts else last
