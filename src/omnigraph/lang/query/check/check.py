"""From a query's tree to its typed form, with every type error of the query at once."""

from omnigraph.base.errors import TypeCheckFailed
from omnigraph.base.looks import Look, looking, never
from omnigraph.base.span import SourceText
from omnigraph.lang.query.check.ambiguous_words import resolve_words
from omnigraph.lang.query.check.expressions import Expressions
from omnigraph.lang.query.check.mutations import check_mutation
from omnigraph.lang.query.check.patterns import check_pattern, ranked_by_top
from omnigraph.lang.query.check.projection import check_projection
from omnigraph.lang.query.check.regions import survey
from omnigraph.lang.query.check.touches import read_by, written_by
from omnigraph.lang.query.check.typed import Parameter, TypedMutation, TypedQuery, TypedRead
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.type_words import BUILT_IN_TYPES, type_hint

__all__ = ["check"]

PARAMETER_TYPES = f"types are {', '.join(BUILT_IN_TYPES[:-1])}, Vector(n) and [ … ]"


def check(query: ast.Query, catalog: Catalog, source: SourceText, look: Look = never) -> TypedQuery:
    """The typed query; raises TypeCheckFailed with all that is wrong."""
    findings = Findings(look)
    parameters = _parameters(query.header, findings)
    match query:
        case ast.Read():
            typed: TypedQuery = _read(query, catalog, parameters, findings)
        case ast.Mutation():
            typed = _mutation(query, catalog, parameters, findings)
    if findings:
        raise TypeCheckFailed(source, findings.in_order)
    return typed


def _read(
    query: ast.Read, catalog: Catalog, parameters: dict[str, Parameter | None], findings: Findings
) -> TypedRead:
    resolved = resolve_words(query, catalog)
    region = survey(resolved.match, catalog, frozenset(parameters), findings)
    expressions = Expressions(
        catalog, parameters, findings, resolved.match, ranked_by_top(resolved.match)
    )
    pattern = check_pattern(region, expressions)
    projection = check_projection(resolved, region, expressions)
    return TypedRead(
        name=query.header.name.text,
        parameters=tuple(p for p in parameters.values() if p),
        pattern=pattern,
        columns=projection.columns,
        is_distinct=query.is_distinct,
        order=projection.order,
        limit=projection.limit,
        offset=projection.offset,
        result=projection.result,
        reads=read_by(pattern, catalog),
        description=_annotation(query.header, "description"),
        instruction=_annotation(query.header, "instruction"),
    )


def _mutation(
    query: ast.Mutation,
    catalog: Catalog,
    parameters: dict[str, Parameter | None],
    findings: Findings,
) -> TypedMutation:
    statements = check_mutation(query, catalog, parameters, findings)
    reads, writes = written_by(statements, catalog)
    return TypedMutation(
        name=query.header.name.text,
        parameters=tuple(p for p in parameters.values() if p),
        statements=statements,
        reads=reads,
        writes=writes,
        description=_annotation(query.header, "description"),
        instruction=_annotation(query.header, "instruction"),
    )


def _parameters(header: ast.Header, findings: Findings) -> dict[str, Parameter | None]:
    """Each by its name; None where the declaration was refused."""
    parameters: dict[str, Parameter | None] = {}
    for declared in looking(header.parameters, findings.look):
        name, type_ = declared.variable.name, declared.type.type
        if declared.variable.is_anonymous:
            findings.add("T28", "a parameter needs a name", declared.variable.span)
        elif name in parameters:
            findings.add("T28", f"${name} is declared twice", declared.variable.span)
        elif type_ is None:
            message = f"no type is called {declared.type.text}"
            hint = type_hint(declared.type.text, BUILT_IN_TYPES) or PARAMETER_TYPES
            findings.add("T28", message, declared.type.span, hint)
            parameters[name] = None
        else:
            parameters[name] = Parameter(name, type_, declared.type.is_nullable)
    return parameters


def _annotation(header: ast.Header, name: str) -> str | None:
    for annotation in header.annotations:
        if annotation.name.text == name and annotation.arguments:
            return str(annotation.arguments[0].value)
    return None
