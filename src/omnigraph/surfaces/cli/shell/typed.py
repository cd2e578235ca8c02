"""A statement as a query: a body gets the query around it, and errors point at what was typed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from omnigraph.base.errors import Diagnostic, LanguageError, ParseFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.engine import language
from omnigraph.surfaces.cli.shell.statements import Statement

if TYPE_CHECKING:
    from omnigraph.lang.query.text.ast import Query

__all__ = ["Typed", "is_change"]

NAME = "typed"
"""What a query is called that has no name of its own."""

NOT_ENDED = "end the statement above with ; or an empty line before you type a command"

TYPES: tuple[tuple[type, str], ...] = (
    (bool, "Bool"),
    (int, "I64"),
    (float, "F64"),
    (str, "String"),
)
"""The type of a parameter by its value in JSON; a bool is an int to Python, so it comes first."""


@frozen
class Typed:
    """One query that can be asked."""

    source: SourceText
    name: str
    params: Mapping[str, Any]
    """The parameters that it declares, as far as they have a value."""
    is_change: bool
    statement: Statement
    written: SourceText
    """The text that the statement is a part of."""
    is_body: bool

    @classmethod
    def read(cls, statement: Statement, written: SourceText, params: Mapping[str, Any]) -> Self:
        """The query of a statement; raises ParseFailed at its place."""
        is_body = not _is_query(statement.text)
        if is_body and statement.unopened is not None:
            message = "this bracket closes nothing that was opened"
            raise ParseFailed(written, (Diagnostic("Q000", message, statement.unopened),))
        # Blanks keep the columns of a statement that does not begin its line.
        text = " " * (statement.column - 1) + statement.text
        if is_body:
            text = f"query {NAME}({_declared(statement.text, params)}) {{\n{text}\n}}"
        source = SourceText(text, written.name)
        try:
            query = _only(source, is_body=is_body)
        except ParseFailed as error:
            raise _moved(error, statement, written, is_body=is_body) from None
        declared = {parameter.variable.name for parameter in query.header.parameters}
        return cls(
            source=source,
            name=query.header.name.text,
            params={name: value for name, value in params.items() if name in declared},
            is_change=is_change(query),
            statement=statement,
            written=written,
            is_body=is_body,
        )

    @contextmanager
    def errors_at_its_place(self) -> Iterator[None]:
        """Errors of this query become those of the text that it was typed in."""
        try:
            yield
        except LanguageError as error:
            raise _moved(error, self.statement, self.written, is_body=self.is_body) from None


def _is_query(text: str) -> bool:
    marks = language.marks(text)
    first = next((mark for mark in marks if mark.kind.value != "comment"), None)
    return first is not None and text[first.start : first.end] == "query"


def is_change(query: "Query") -> bool:
    """True if it changes the graph."""
    from omnigraph.lang.query.text.ast import Mutation

    return isinstance(query, Mutation)


def _declared(body: str, params: Mapping[str, Any]) -> str:
    """The parameters that a body uses, declared by the values that they have."""
    used = {body[m.start + 1 : m.end] for m in language.marks(body) if m.kind.value == "variable"}
    types = ((name, _type(value)) for name, value in params.items() if name in used)
    return ", ".join(f"${name}: {type_}" for name, type_ in types if type_ is not None)


def _type(value: Any) -> str | None:
    """The type of a value; None where only a whole query can say it."""
    if isinstance(value, list):
        types = {_type(item) for item in value}
        return f"[{types.pop()}]" if len(types) == 1 and None not in types else None
    return next((name for kind, name in TYPES if isinstance(value, kind)), None)


def _only(source: SourceText, *, is_body: bool) -> "Query":
    """The one query of a text."""
    try:
        (query,) = language.queries_of(source)
    except ParseFailed as error:
        if is_body and error.diagnostics[0].span.line > source.text.count("\n"):
            # The brace that was added is in the way: without it the error is that of the body.
            language.queries_of(SourceText(source.text.removesuffix("}"), source.name))
        raise
    return query


def _moved(
    error: LanguageError, statement: Statement, written: SourceText, *, is_body: bool
) -> LanguageError:
    by = statement.line - 1 - is_body
    moved = tuple(
        _advised(
            replace(found, span=replace(found.span, line=max(1, found.span.line + by))), written
        )
        for found in error.diagnostics
    )
    return type(error)(written, moved)


def _advised(found: Diagnostic, written: SourceText) -> Diagnostic:
    """A command is read as a part of the statement above it, if that has not ended."""
    line, at = written.line(found.span.line), found.span.column - 1
    is_command = line[at:].startswith(".") and not line[:at].strip()
    return replace(found, hint=NOT_ENDED) if is_command and found.hint is None else found
