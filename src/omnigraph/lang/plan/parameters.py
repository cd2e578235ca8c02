"""The values that a caller gives for a query's parameters, as values of the declared types.

Nothing is guessed: a missing value is null only where the parameter may be, and a name that the
query does not declare is an error, since it is nearly always a slip.
"""

from collections.abc import Iterator, Mapping

from omnigraph.base.errors import Diagnostic, ParameterInvalid, TypeCheckFailed
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.span import SourceText
from omnigraph.base.types import Value, VectorOf
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.ir import (
    Assignment,
    CompiledQuery,
    Limit,
    MutationQuery,
    Nearest,
    Parameter,
    Project,
    ReadQuery,
    TopK,
    Update,
)
from omnigraph.lang.plan.rankings import rankings_of
from omnigraph.lang.query.check.mutations import not_null
from omnigraph.lang.query.values import Unfit, convert, is_without_direction
from omnigraph.lang.schema.catalog import Catalog, EntityType

__all__ = ["bind_parameters", "require_values"]


def bind_parameters(query: CompiledQuery, given: Mapping[str, object]) -> dict[str, Value]:
    """A value for every parameter of the query; raises ParameterInvalid (P001, P002, P003)."""
    declared = {p.name: p for p in query.parameters}
    for name in given:
        if name not in declared:
            raise _unknown(query, name)
    values = {name: _value(query, parameter, given) for name, parameter in declared.items()}
    if isinstance(query, ReadQuery):
        for name, fault in _faults(query.plan, values):
            sentence = f"${name} of {query.name} {fault}"
            raise ParameterInvalid("P002", query.name, name, sentence)
    return values


def require_values(
    query: MutationQuery, values: Mapping[str, Value], catalog: Catalog, source: SourceText
) -> None:
    """Raise TypeCheckFailed where an update would set a property that needs a value to null, as the
    checker does of a literal. Otherwise a default would take the place of what is there: it is for
    new rows alone."""
    found = tuple(
        _null_finding(query, statement, assignment)
        for statement in query.statements
        if isinstance(statement, Update)
        for assignment in statement.values
        if isinstance(assignment.value, Parameter) and values[assignment.value.name] is None
        if not _entity(statement, catalog).by_name[assignment.property].is_nullable
    )
    if found:
        raise TypeCheckFailed(source, found)


def _entity(update: Update, catalog: Catalog) -> EntityType:
    return (catalog.edge_by_name if update.is_edge else catalog.node_by_name)[update.type]


def _null_finding(query: MutationQuery, update: Update, assignment: Assignment) -> Diagnostic:
    assert isinstance(assignment.value, Parameter), "a literal null was refused before"
    message = not_null(f"{update.type}.{assignment.property}")
    hint = f"${assignment.value.name} of {query.name} is null: give it a value"
    return Diagnostic("T3", message, assignment.span, hint)


def _faults(plan: Project, values: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Parameters whose values have the right type and can't stand where the query has them."""
    for op in operators(plan):
        match op:
            case TopK(k=Parameter(name=name)):
                k = values[name]
                if not isinstance(k, int) or k < 1:
                    yield name, f"says how many of the best are kept: 1 or more, not {_shown(k)}"
            case Limit(count=count, offset=offset):
                for bound in (count, offset):
                    if isinstance(bound, Parameter):
                        rows = values[bound.name]
                        if not isinstance(rows, int) or rows < 0:
                            yield bound.name, f"is a number of rows: 0 or more, not {_shown(rows)}"
            case _:
                pass
    for ranking in rankings_of(plan):
        match ranking:
            case Nearest(query=Parameter(name=name, type=VectorOf())):
                if is_without_direction(values[name]):
                    yield name, "is all zeros, and nothing is near to that"
            case _:
                pass


def _shown(value: Value) -> str:
    return "null" if value is None else str(value)


def _value(query: CompiledQuery, parameter: Parameter, given: Mapping[str, object]) -> Value:
    name = parameter.name
    value = given.get(name)
    if value is None:
        if parameter.is_nullable:
            return None
        is_given = name in given
        raise ParameterInvalid(
            reason="P002" if is_given else "P001",
            query=query.name,
            parameter=name,
            sentence=f"${name} of {query.name} is {parameter.type} and "
            + ("can't be null" if is_given else "was not given"),
            advice=None if is_given else f"give {name} a value, or declare it {parameter.type}?",
        )
    try:
        return convert(value, parameter.type)
    except Unfit as error:
        sentence = f"${name} of {query.name} is {parameter.type}: {error}"
        raise ParameterInvalid("P002", query.name, name, sentence) from None


def _unknown(query: CompiledQuery, name: str) -> ParameterInvalid:
    known = [p.name for p in query.parameters]
    taken = f"it takes {', '.join(known)}" if known else "it takes none"
    advice = did_you_mean(str(name), known) or taken
    sentence = f"{query.name} has no parameter ${name}"
    return ParameterInvalid("P003", query.name, str(name), sentence, advice)
