"""L205: filters that read a whole large type because the property has no index.

Only a graph knows how many rows a type has; without counts there is nothing to warn of.
"""

from collections.abc import Iterator, Mapping

from omnigraph.base.errors import Diagnostic
from omnigraph.base.ids import TypeName
from omnigraph.lang.query.check.typed import (
    Counted,
    Either,
    Maybe,
    Pattern,
    TypedMutation,
    TypedQuery,
    TypedRead,
    With,
    Without,
)
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import Catalog, EntityType, Index, Unique

__all__ = ["MIN_LARGE_ROWS", "unindexed"]

# Below this a scan takes milliseconds and an index is not worth its upkeep.
MIN_LARGE_ROWS = 100_000


def unindexed(
    query: ast.Query, typed: TypedQuery, catalog: Catalog, row_counts: Mapping[str, int]
) -> Iterator[Diagnostic]:
    for word, entity in _filtered(query, typed, catalog):
        rows = row_counts.get(entity.name, 0)
        if (
            rows >= MIN_LARGE_ROWS
            and word.text in entity.by_name
            and not _is_indexed(entity, word.text)
        ):
            yield Diagnostic(
                "L205",
                f"{entity.name}.{word.text} has no index, and {entity.name} has {rows:,} rows",
                word.span,
                f"add @index to {word.text}",
                is_warning=True,
            )


def _filtered(
    query: ast.Query, typed: TypedQuery, catalog: Catalog
) -> Iterator[tuple[ast.Word, EntityType]]:
    """Each property that a filter or match names, with each type it is a property of."""
    match query, typed:
        case ast.Mutation(statements=statements), TypedMutation():
            for statement in statements:
                if not isinstance(statement, ast.Insert):
                    entity = _entity(statement.type.text, catalog)
                    for predicate in statement.where:
                        yield from ((w, entity) for w in _references(predicate))
        case ast.Read(match=block), TypedRead(pattern=pattern):
            types = dict(_types(pattern))
            for name, word in _tested(block):
                yield from ((word, _entity(t, catalog)) for t in types.get(name, ()))
        case _:
            raise AssertionError("a read is checked as a read, a mutation as a mutation")


def _tested(block: ast.Block) -> Iterator[tuple[str, ast.Word]]:
    for clause in block.clauses:
        match clause:
            case ast.Binding(variable=variable, matches=matches):
                yield from ((variable.name, m.name) for m in matches)
            case ast.Comparison(left=left, right=right):
                yield from _properties(left, right)
            case ast.Membership(left=left):
                yield from _properties(left)
            case ast.Call(arguments=arguments):
                yield from _properties(*arguments)
            case ast.SubPattern(block=inner) | ast.CountTest(block=inner):
                yield from _tested(inner)
            case ast.Alternatives(blocks=blocks):
                for inner in blocks:
                    yield from _tested(inner)
            case ast.NullTest() | ast.Traversal() | ast.Top():
                pass


def _properties(*expressions: ast.Expression) -> Iterator[tuple[str, ast.Word]]:
    """A property compared with another is a join, which an index does not answer."""
    found = [e for e in expressions if isinstance(e, ast.Property)]
    if len(found) == 1:
        yield found[0].variable.name, found[0].name


def _references(predicate: ast.Predicate) -> Iterator[ast.Word]:
    match predicate:
        case ast.Comparison(left=left, right=right):
            yield from (e.name for e in (left, right) if isinstance(e, ast.Reference))
        case ast.Membership(left=ast.Reference(name=name)):
            yield name
        case _:
            pass


def _types(pattern: Pattern) -> Iterator[tuple[str, tuple[TypeName, ...]]]:
    yield from ((v.name, v.types) for v in pattern.variables)
    for clause in pattern.clauses:
        match clause:
            case (
                Without(pattern=inner)
                | With(pattern=inner)
                | Counted(pattern=inner)
                | Maybe(pattern=inner)
            ):
                yield from _types(inner)
            case Either(patterns=patterns):
                for inner in patterns:
                    yield from _types(inner)
            case _:
                pass


def _entity(name: str, catalog: Catalog) -> EntityType:
    return catalog.node_by_name.get(name) or catalog.edge_by_folded_name[name.casefold()]


def _is_indexed(entity: EntityType, name: str) -> bool:
    """An index over several properties serves the first of them."""
    heads = [c.properties[0] for c in entity.constraints if isinstance(c, Index | Unique)]
    return name in (*entity.key[:1], *heads)
