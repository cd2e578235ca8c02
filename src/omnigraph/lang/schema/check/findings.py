"""The errors of a check, collected so that all of them can be told at once."""

from collections.abc import Iterable

from omnigraph.base.errors import Diagnostic, SchemaInvalid
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.codes import MAX_FINDINGS, SCHEMA_CODES
from omnigraph.lang.schema.text.ast import Extent

__all__ = ["Findings"]

# A slip that comes more often is one slip, and looking for its like takes time.
MAX_SUGGESTIONS = 25


class Findings:
    """Filled while a text is checked; `raise_any` ends the check if there was anything."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._found: list[Diagnostic] = []

    def add(self, code: str, at: Extent, message: str, hint: str | None = None) -> None:
        assert code in SCHEMA_CODES
        self._found.append(Diagnostic(code, message, at.span, hint))

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """A hint: the close name, else all names if they are few; None after many errors."""
        if len(self._found) >= MAX_SUGGESTIONS:
            return None
        return name_hint(name, known)

    def raise_any(self) -> None:
        if self._found:
            found = sorted(self._found, key=lambda d: (d.span, d.code, d.message))
            raise SchemaInvalid(source=self._source, diagnostics=tuple(found[:MAX_FINDINGS]))
