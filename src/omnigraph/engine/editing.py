"""Texts of queries while they are written, beside a graph: what is wrong with one, and what may be
typed next. Both know the types that the caller sees, and no others.
"""

from functools import partial
from typing import TYPE_CHECKING, Literal

from omnigraph.base.errors import Diagnostic
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.looks import Look
from omnigraph.base.span import SourceText, Span
from omnigraph.engine import language
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import CompleteRead, LintRead
from omnigraph.engine.travel import view_for
from omnigraph.read.context import Budget

if TYPE_CHECKING:
    from omnigraph.lang.query.text.ast import Parameter

__all__ = [
    "LintedText",
    "Offered",
    "OfferedWord",
    "TextFinding",
    "TextParameter",
    "TextQuery",
    "complete",
    "lint",
]


@frozen
class TextFinding:
    """An error or a probable mistake, and where it stands."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    hint: str | None
    start: int
    """Characters before it; `end` is where it ends."""
    end: int
    line: int
    """Lines and columns count from 1."""
    column: int


@frozen
class TextParameter:
    name: str
    type: str
    is_nullable: bool


@frozen
class TextQuery:
    """A query of the text that can be read; it may have errors all the same."""

    name: str
    is_mutation: bool
    has_errors: bool
    start: int
    parameters: tuple[TextParameter, ...]


@frozen
class LintedText:
    """What there is to say of a text of queries, for the schema of one commit."""

    graph_commit_id: CommitId
    findings: tuple[TextFinding, ...]
    """By their places."""
    queries: tuple[TextQuery, ...]

    @property
    def has_errors(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def __str__(self) -> str:
        """One line for each finding."""
        lines = (f"{f.line}:{f.column}: {f.code}: {f.message}" for f in self.findings)
        return "\n".join(lines) or "no findings"


@frozen
class OfferedWord:
    text: str
    about: str
    """What it is, in a word or two: `keyword`, `I32?`, `Person -> Company`."""


@frozen
class Offered:
    """What may be typed at a place of a text."""

    start: int
    """Where the word begins that one of these takes the place of."""
    candidates: tuple[OfferedWord, ...]


def lint(engine: Engine, request: LintRead) -> LintedText:
    """Check a text. A bad one is no error of the call: that is what is asked."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        look = _look(request)
        (report,) = language.lint([request.source], view.catalog, look)
        commit = view.commit.id
    places = _Places(request.source)
    # What can't be read at all was told above.
    source = request.source
    found = language.queries_of(source, skips_broken=True, look=look) if report.queries else ()
    trees = {query.header.name.text: query for query in found}
    return LintedText(
        graph_commit_id=commit,
        findings=tuple(_finding(found, places) for found in report.all_findings),
        queries=tuple(
            TextQuery(
                name=query.name,
                is_mutation=query.is_mutation,
                has_errors=any(not f.is_warning for f in query.findings),
                start=places.offset(trees[query.name].header.span),
                parameters=tuple(map(_parameter, trees[query.name].header.parameters)),
            )
            for query in report.queries
        ),
    )


def complete(engine: Engine, request: CompleteRead) -> Offered:
    """The words that may stand at a place of a text, whatever stands before its last query."""
    # Few processes complete a text, and the grammar takes its time to import.
    from omnigraph.lang.query.text.parser import last_query

    engine.gate.allow(request)
    with view_for(engine, request) as view:
        before = request.text if request.offset is None else request.text[: request.offset]
        start = last_query(before)
        found = language.complete(before[start:], view.catalog, look=_look(request))
    words = (OfferedWord(candidate.text, candidate.about) for candidate in found.candidates)
    return Offered(start + found.start, tuple(words))


def _look(request: LintRead | CompleteRead) -> Look:
    budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
    return partial(budget.check, "reading the text")


def _finding(found: Diagnostic, places: "_Places") -> TextFinding:
    start = places.offset(found.span)
    return TextFinding(
        code=found.code,
        severity="warning" if found.is_warning else "error",
        message=found.message,
        hint=found.hint,
        start=start,
        end=min(start + found.span.length, places.length),
        line=found.span.line,
        column=found.span.column,
    )


def _parameter(parameter: "Parameter") -> TextParameter:
    type_ = parameter.type
    return TextParameter(parameter.variable.name, type_.text, type_.is_nullable)


class _Places:
    """From lines and columns to characters before them."""

    def __init__(self, source: SourceText) -> None:
        self.length = len(source.text)
        self._starts = [0]
        for line in source.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, span: Span) -> int:
        line = min(span.line, len(self._starts)) - 1
        return min(self._starts[line] + span.column - 1, self.length)
