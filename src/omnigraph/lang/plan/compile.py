"""Query text to plan: the one way in.

A file is parsed whole, and only the query that is asked for is checked.
"""

from omnigraph.base.errors import Diagnostic, ParseFailed, QueryMissing
from omnigraph.base.span import SourceText, Span
from omnigraph.lang.plan.ir import CompiledQuery
from omnigraph.lang.plan.lower import lower
from omnigraph.lang.query import ast
from omnigraph.lang.query.check import check
from omnigraph.lang.query.parser import parse
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["compile_query"]


def compile_query(source: SourceText, catalog: Catalog, name: str | None = None) -> CompiledQuery:
    """The plan of the query called `name`, which may be left out if the source holds only one.

    Raises ParseFailed, QueryMissing or TypeCheckFailed.
    """
    query = _find(parse(source), source, name)
    return lower(check(query, catalog, source), catalog)


def _find(file: ast.File, source: SourceText, name: str | None) -> ast.Query:
    if not file.queries:
        nothing = Diagnostic("Q000", "the text holds no query", Span(1, 1))
        raise ParseFailed(source, (nothing,))
    known = tuple(q.header.name.text for q in file.queries)
    if name is None and len(known) == 1:
        return file.queries[0]
    if name is None or name not in known:
        raise QueryMissing(name, known)
    return file.queries[known.index(name)]
