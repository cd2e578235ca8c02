"""Signatures of queries: what a caller must know to run a query by its name alone.

Stored queries and tools are offered by them. A signature is of one schema: types of parameters are
those that the query was checked against.
"""

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.types import ValueType
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import MutationQuery
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.format import format_tree
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["QueryParameter", "QuerySignature", "query_kinds", "query_text", "signature_of"]


@frozen
class QueryParameter:
    name: str
    type: ValueType
    is_nullable: bool


@frozen
class QuerySignature:
    name: str
    is_mutation: bool
    parameters: tuple[QueryParameter, ...]
    description: str | None
    """What `@description` says: for people who choose."""
    instruction: str | None
    """What `@instruction` says: for agents who use it."""


def query_kinds(source: SourceText) -> dict[str, bool]:
    """Every query of a text by its name, and whether it is a mutation; raises ParseFailed with all
    that is wrong."""
    queries = parse(source).queries
    return {query.header.name.text: isinstance(query, ast.Mutation) for query in queries}


def query_text(source: SourceText, name: str) -> str:
    """One query of a text, by itself and without comments."""
    query = next(q for q in parse(source).queries if q.header.name.text == name)
    return format_tree(ast.File((query,)))


def signature_of(source: SourceText, name: str, catalog: Catalog) -> QuerySignature:
    """The signature of one query; raises if it does not fit the schema."""
    compiled = compile_query(source, catalog, name)
    header = next(q.header for q in parse(source).queries if q.header.name.text == name)
    return QuerySignature(
        name=name,
        is_mutation=isinstance(compiled, MutationQuery),
        parameters=tuple(
            QueryParameter(p.name, p.type, p.is_nullable) for p in compiled.parameters
        ),
        description=_annotation(header, "description"),
        instruction=_annotation(header, "instruction"),
    )


def _annotation(header: ast.Header, name: str) -> str | None:
    for annotation in header.annotations:
        if annotation.name.text == name and annotation.arguments:
            return str(annotation.arguments[0].value)
    return None
