"""Errors in what was written: schemas, queries and parameters, each finding with its place."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.errors.tree import InputError
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import amount

__all__ = [
    "MOST_SHOWN",
    "Diagnostic",
    "LanguageError",
    "ParameterInvalid",
    "ParseFailed",
    "SchemaInvalid",
    "TypeCheckFailed",
]


# A person mends these and looks again; a program gets them all (`details`).
MOST_SHOWN = 20


@frozen
class Diagnostic:
    """One finding in a source text. `code` is the language's own: T5, Q000, S012, L203, …"""

    code: str
    message: str
    span: Span
    hint: str | None = None
    is_warning: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "line": self.span.line,
            "column": self.span.column,
            "length": self.span.length,
            "hint": self.hint,
            "severity": "warning" if self.is_warning else "error",
        }


@dataclass(eq=False)
class LanguageError(InputError):
    """A text is wrong, in one or more places; all that were found arrive together."""

    source: SourceText
    diagnostics: tuple[Diagnostic, ...]

    def __str__(self) -> str:
        first = self.diagnostics[0]
        more = len(self.diagnostics) - 1
        place = f"{self.source.name}:{first.span.line}:{first.span.column}"
        return f"{place}: {first.code}: {first.message}" + (f" (and {more} more)" if more else "")

    @property
    def hint(self) -> str | None:
        return self.diagnostics[0].hint

    @property
    def details(self) -> dict[str, Any]:
        return {
            "source": self.source.name,
            **self.diagnostics[0].to_json(),
            "diagnostics": [d.to_json() for d in self.diagnostics],
        }

    def render(self) -> str:
        shown = [
            f"error[{d.code}]: {d.message}\n{self.source.point_at(d.span)}"
            + (f"\n  hint: {d.hint}" if d.hint else "")
            for d in self.diagnostics[:MOST_SHOWN]
        ]
        more = len(self.diagnostics) - MOST_SHOWN
        return "\n".join(shown) + (f"\nand {amount(more, 'error')} more" if more > 0 else "")


class ParseFailed(LanguageError):
    code: ClassVar[str] = "parse_error"


class TypeCheckFailed(LanguageError):
    code: ClassVar[str] = "type_error"


class SchemaInvalid(LanguageError):
    code: ClassVar[str] = "schema_error"


@dataclass(eq=False)
class ParameterInvalid(InputError):
    """A query's parameter is missing (P001), of the wrong type (P002) or unknown (P003)."""

    code: ClassVar[str] = "param_error"
    reason: str
    query: str
    parameter: str
    sentence: str
    advice: str | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.sentence}"

    @property
    def hint(self) -> str | None:
        return self.advice

    @property
    def details(self) -> dict[str, Any]:
        return {"code": self.reason, "query": self.query, "parameter": self.parameter}
