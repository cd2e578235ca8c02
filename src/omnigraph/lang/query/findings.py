"""Type errors as they are found: all of a query's, in the order of the text.

A check that fails says so and goes on; what follows from an error already reported is not reported
again.
"""

from omnigraph.base.errors import Diagnostic
from omnigraph.base.looks import Look, never
from omnigraph.base.span import Span
from omnigraph.base.words import clipped

__all__ = ["MAX_MESSAGE_CHARACTERS", "Findings"]

# A name may be a megabyte long; a message is read by a person.
MAX_MESSAGE_CHARACTERS = 300


class Findings:
    """What is wrong with one query, and the clock that all of its checks look at."""

    def __init__(self, look: Look = never) -> None:
        self.look = look
        self._found: dict[Diagnostic, None] = {}

    def add(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        found = Diagnostic(code, _clipped(message), span, _clipped(hint) if hint else None)
        self._found[found] = None

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def in_order(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self._found, key=lambda d: (d.span, d.code)))


def _clipped(text: str) -> str:
    return clipped(text, MAX_MESSAGE_CHARACTERS)
