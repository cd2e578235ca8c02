"""Query text to plan: the one way in, for queries and for the tests of a `where` by themselves.

Only the query that is asked for is checked; an error in another query of its file does not stop it.
"""

from omnigraph.base.errors import Diagnostic, ParseFailed, QueryMissing
from omnigraph.base.looks import Look, never
from omnigraph.base.span import SourceText, Span
from omnigraph.lang.plan.ir import CompiledQuery, Delete, MutationQuery, Predicate
from omnigraph.lang.plan.lower import lower
from omnigraph.lang.query.check.check import check
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.parser import MAX_ERRORS, Reading, parse_conditions, read
from omnigraph.lang.schema.catalog import Catalog, EntityType

__all__ = ["compile_conditions", "compile_query"]


def compile_query(
    source: SourceText, catalog: Catalog, name: str | None = None, look: Look = never
) -> CompiledQuery:
    """The plan of the query called `name`, which may be left out if the source holds only one.

    Raises ParseFailed, QueryMissing or TypeCheckFailed.
    """
    query = _find(read(source, look), source, name)
    typed = check(query, catalog, source, look)
    look()
    return lower(typed, catalog)


def compile_conditions(
    source: SourceText, entity: EntityType, catalog: Catalog
) -> tuple[Predicate, ...]:
    """The tests of a `where` about rows of one type, as a mutation has them.

    Raises ParseFailed or TypeCheckFailed.
    """
    conditions = parse_conditions(source)
    # To be checked and lowered as those of a mutation are, which never runs. Its own words have no
    # place in the text, and nothing can be wrong with them.
    nowhere = Span(1, 1)
    delete = ast.Delete(ast.Word(entity.name, nowhere), conditions, nowhere)
    header = ast.Header(ast.Word("where", nowhere), (), (), nowhere)
    query = ast.Mutation(header, (delete,), nowhere)
    match lower(check(query, catalog, source), catalog):
        case MutationQuery(statements=(Delete(where=predicates),)):
            return predicates
        case other:
            raise AssertionError(f"a delete became {other}")


def _find(reading: Reading, source: SourceText, name: str | None) -> ast.Query:
    queries, broken = reading.file.queries, reading.broken
    # A query whose header can't be read may be the one that is asked for.
    known = {q.header.name.text: q for q in queries}
    meant = [b for b in broken if name in (None, b.name) or (b.name is None and name not in known)]
    if meant:
        raise ParseFailed(source, tuple(b.finding for b in meant[:MAX_ERRORS]))
    if not queries and not broken:
        nothing = Diagnostic("Q000", "the text holds no query", Span(1, 1))
        raise ParseFailed(source, (nothing,))
    if name is None and len(queries) == 1:
        return queries[0]
    if name is None or name not in known:
        raise QueryMissing(name, (*known, *(b.name for b in broken if b.name)))
    return known[name]
