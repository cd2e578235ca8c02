"""From a typed query to the logical plan: a set of clauses becomes a chain of operators.

Order is chosen here and means nothing to the answer: filters as soon as their variables are bound,
then traversals from what is bound, and a scan only where nothing else can go on. Optional blocks
come last, since they must not hold anything back.
"""

from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.arrange import arrange
from omnigraph.lang.plan.ir import (
    Aggregate,
    AggregateOf,
    Column,
    ColumnOf,
    CompiledQuery,
    Distinct,
    Expression,
    Limit,
    MutationQuery,
    Op,
    Project,
    ReadQuery,
    Sort,
    SortKey,
)
from omnigraph.lang.query.check.typed import TypedMutation, TypedQuery, TypedRead
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["lower"]


def lower(query: TypedQuery, catalog: Catalog) -> CompiledQuery:
    match query:
        case TypedRead():
            return ReadQuery(
                name=query.name,
                parameters=query.parameters,
                plan=_answer(query, arrange(query.pattern, catalog)),
                result=query.result,
                reads=query.reads,
                description=query.description,
                instruction=query.instruction,
            )
        case TypedMutation():
            return MutationQuery(
                name=query.name,
                parameters=query.parameters,
                statements=query.statements,
                reads=query.reads,
                writes=query.writes,
                description=query.description,
                instruction=query.instruction,
            )


def _answer(query: TypedRead, rows: Op) -> Project:
    if any(isinstance(c.expression, AggregateOf) for c in query.columns):
        return _grouped(query, rows)
    if query.is_distinct:
        made = {c.expression: c.name for c in query.columns}
        ordered = _sorted(Distinct(rows, query.columns), query.order, made=made)
        return _made(query, ordered)
    ties = tuple(v.name for v in query.pattern.variables if not v.is_anonymous)
    ordered = _sorted(rows, query.order, ties=ties)
    return Project(_limited(query, ordered), query.columns)


def _grouped(query: TypedRead, rows: Op) -> Project:
    """Groups are distinct already, so `distinct` adds nothing here."""
    keys = tuple(c for c in query.columns if not isinstance(c.expression, AggregateOf))
    aggregates = [c for c in query.columns if isinstance(c.expression, AggregateOf)]
    made = {c.expression: c.name for c in query.columns}
    for key in query.order:
        if key.expression not in made:
            # Sorted by, and dropped by the Project above. No column is named with a space.
            made[key.expression] = f"order {len(made)}"
            aggregates.append(Column(made[key.expression], key.expression))
    ordered = _sorted(Aggregate(rows, keys, tuple(aggregates)), query.order, made=made)
    return _made(query, ordered)


def _made(query: TypedRead, rows: Op) -> Project:
    columns = tuple(Column(c.name, ColumnOf(c.name)) for c in query.columns)
    return Project(_limited(query, rows), columns)


def _sorted(
    rows: Op,
    order: tuple[SortKey, ...],
    *,
    ties: tuple[VariableName, ...] = (),
    made: dict[Expression, str] | None = None,
) -> Op:
    if not order:
        return rows
    if made is None:
        return Sort(rows, order, ties)
    keys = tuple(SortKey(ColumnOf(made[k.expression]), k.is_descending) for k in order)
    return Sort(rows, keys, ties)


def _limited(query: TypedRead, rows: Op) -> Op:
    if query.limit is None and query.offset == 0:
        return rows
    return Limit(rows, query.limit, query.offset)
