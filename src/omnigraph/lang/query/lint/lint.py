"""Everything that can be said of a file of queries without running it: errors, and warnings.

A warning is about a query that works and that its author probably did not mean. Of a query that
does not parse, only that is said.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.base.errors import Diagnostic, ParseFailed, TypeCheckFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.base.looks import Look, looking, never
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped, listed
from omnigraph.lang.query.check.check import check
from omnigraph.lang.query.check.expressions import RANKINGS
from omnigraph.lang.query.check.mentions import bound_in, edges_in, mentioned_by
from omnigraph.lang.query.check.typed import (
    Counted,
    Either,
    Maybe,
    Pattern,
    TypedRead,
    With,
    Without,
)
from omnigraph.lang.query.check.uses import used_by
from omnigraph.lang.query.findings import MAX_MESSAGE_CHARACTERS
from omnigraph.lang.query.lint.descriptors import Operation, describe
from omnigraph.lang.query.lint.unindexed import unindexed
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.parser import MAX_ERRORS, read
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["LintReport", "LintedQuery", "lint_source"]


@frozen
class LintedQuery:
    """`operation` is None if the query has errors."""

    name: str
    is_mutation: bool
    findings: tuple[Diagnostic, ...]
    operation: Operation | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": "mutation" if self.is_mutation else "read",
            "status": _status(self.findings),
            "findings": [f.to_json() for f in self.findings],
            "operation": self.operation,
        }


@frozen
class LintReport:
    """`findings` are those of the file and of what can't be read; a query's stand with it."""

    source: SourceText
    findings: tuple[Diagnostic, ...]
    queries: tuple[LintedQuery, ...]

    @property
    def all_findings(self) -> tuple[Diagnostic, ...]:
        found = [*self.findings, *(f for q in self.queries for f in q.findings)]
        return tuple(sorted(found, key=lambda f: (f.span, f.code)))

    @property
    def has_errors(self) -> bool:
        return any(not f.is_warning for f in self.all_findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source.name,
            "status": _status(self.all_findings),
            "findings": [f.to_json() for f in self.findings],
            "queries": [q.to_json() for q in self.queries],
        }


def lint_source(
    source: SourceText,
    catalog: Catalog,
    row_counts: Mapping[str, int] | None = None,
    look: Look = never,
) -> LintReport:
    """Check every query of the source. `row_counts`, by type, are known where there is a graph."""
    try:
        reading = read(source, look)
    except ParseFailed as error:
        return LintReport(source, error.diagnostics, ())
    broken = [b.finding for b in reading.broken[:MAX_ERRORS]]
    queries = tuple(
        _query(q, source, catalog, row_counts or {}, look) for q in reading.file.queries
    )
    # An update that can't be read may be the one that sets a property.
    unset = () if broken else _never_updated(reading.file, catalog)
    return LintReport(source, (*broken, *unset), queries)


def _query(
    query: ast.Query,
    source: SourceText,
    catalog: Catalog,
    row_counts: Mapping[str, int],
    look: Look,
) -> LintedQuery:
    look()
    name, is_mutation = query.header.name.text, isinstance(query, ast.Mutation)
    try:
        typed = check(query, catalog, source, look)
    except TypeCheckFailed as error:
        return LintedQuery(name, is_mutation, error.diagnostics, None)
    warnings = [*looking(_unused(query), look)]
    match query:
        case ast.Mutation():
            warnings += _fixed_mutation(query)
            warnings += _replacing_inserts(query, catalog)
        case ast.Read():
            assert isinstance(typed, TypedRead)
            warnings += _disconnected(typed.pattern, query)
            warnings += _endless_ranking(query)
    warnings += unindexed(query, typed, catalog, row_counts)
    ordered = tuple(sorted(warnings, key=lambda f: (f.span, f.code)))
    return LintedQuery(name, is_mutation, ordered, describe(typed))


def _unused(query: ast.Query) -> Iterator[Diagnostic]:
    mentions = Counter(v.name for v in mentioned_by(query))
    for parameter in query.header.parameters:
        if not mentions[parameter.variable.name]:
            message = f"the parameter ${parameter.variable.name} is never used"
            yield _warning("L207", message, parameter.variable.span)
    if isinstance(query, ast.Read):
        edges = edges_in(query.match)
        for variable in bound_in(query.match):
            if mentions[variable.name] == 1 and not variable.is_anonymous:
                message = f"${variable.name} is bound and never used"
                is_edge = variable.name in edges
                hint = f"leave out ${variable.name}:" if is_edge else "write $_ if that is meant"
                yield _warning("L203", message, variable.span, hint)


def _fixed_mutation(query: ast.Mutation) -> Iterator[Diagnostic]:
    if not query.header.parameters:
        message = f"{query.header.name.text} has no parameters and always writes the same"
        yield _warning("L202", message, query.header.name.span)


def _replacing_inserts(query: ast.Mutation, catalog: Catalog) -> Iterator[Diagnostic]:
    """Inserts that would take properties from a row with the same key."""
    for statement in query.statements:
        if not isinstance(statement, ast.Insert):
            continue
        name = statement.type.text
        entity = catalog.node_by_name.get(name) or catalog.edge_by_name[name]
        given = {assignment.name.text for assignment in statement.values}
        lost = [p.name for p in entity.properties if p.name not in given and p.embed is None]
        if entity.key and lost:
            message = (
                f"if a {name} with this key exists, its whole row is replaced: "
                f"{listed(lost, 'and')} would be null or the default"
            )
            hint = f"name every property, or use update {name} set {{ … }} where …"
            yield _warning("L208", message, statement.type.span, hint)


def _endless_ranking(query: ast.Read) -> Iterator[Diagnostic]:
    if query.limit is not None:
        return
    for call in [*(i.expression for i in query.items), *(o.expression for o in query.order)]:
        if isinstance(call, ast.Call) and call.function.text in RANKINGS:
            message = f"{call.function.text} ranks every row: the query has no limit"
            yield _warning("L206", message, call.span, "add limit 10")
            return


def _never_updated(file: ast.File, catalog: Catalog) -> Iterator[Diagnostic]:
    """Nullable properties that stay null: some update changes the type, none sets them."""
    updates: dict[str, list[ast.Update]] = {}
    for query in file.queries:
        if isinstance(query, ast.Mutation):
            for statement in query.statements:
                if isinstance(statement, ast.Update):
                    updates.setdefault(statement.type.text, []).append(statement)
    for name, statements in updates.items():
        node = catalog.node_by_name.get(name)
        given = {v.name.text for s in statements for v in s.values}
        for known in node.properties if node else ():
            if known.is_nullable and known.embed is None and known.name not in given:
                message = f"{name}.{known.name} can be null, and no update sets it"
                yield _warning("L201", message, statements[0].type.span)


def _disconnected(pattern: Pattern, query: ast.Read) -> Iterator[Diagnostic]:
    places = {v.name: v.span for v in reversed(list(bound_in(query.match)))}
    for group in _islands(pattern):
        first = min((places[n] for n in group if n in places), default=Span(1, 1))
        names = ", ".join(f"${n}" for n in sorted(group))
        message = f"nothing connects {names} with the rest: their rows multiply"
        yield _warning("L204", message, first, "add a traversal or a comparison between them")


def _islands(pattern: Pattern) -> Iterator[set[VariableName]]:
    """Groups of variables without a link to the first group, in the pattern and its blocks."""
    groups: list[set[VariableName]] = [set(pattern.outer)] if pattern.outer else []
    for clause in pattern.clauses:
        linked = set(used_by(clause))
        if linked:
            touching = [g for g in groups if g & linked]
            groups = [g for g in groups if not g & linked]
            groups.insert(0, linked.union(*touching))
        match clause:
            case Without(pattern=inner) | With(pattern=inner) | Counted(pattern=inner):
                yield from _islands(inner)
            case Maybe(pattern=inner):
                yield from _islands(inner)
            case Either(patterns=patterns):
                for inner in patterns:
                    yield from _islands(inner)
            case _:
                pass
    order = [v.name for v in pattern.variables]
    own = [g for g in groups if g & set(order)]
    first = set(pattern.outer) or set(order[:1])
    yield from (g & set(order) for g in own if not g & first)


def _warning(code: str, message: str, span: Span, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code, clipped(message, MAX_MESSAGE_CHARACTERS), span, hint, is_warning=True)


def _status(findings: tuple[Diagnostic, ...]) -> str:
    if any(not f.is_warning for f in findings):
        return "error"
    return "warning" if findings else "ok"
