"""The values that a caller gives for a query's parameters, as values of the declared types.

Nothing is guessed: a missing value is null only where the parameter may be, and a name that the
query does not declare is an error, since it is nearly always a slip.
"""

from collections.abc import Iterator, Mapping

from omnigraph.base.errors import ParameterInvalid
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.types import Value, VectorOf
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.ir import (
    CompiledQuery,
    Limit,
    Nearest,
    Parameter,
    Project,
    ReadQuery,
    TopK,
)
from omnigraph.lang.plan.rankings import rankings_of
from omnigraph.lang.query.values import Unfit, convert, is_without_direction

__all__ = ["bind_parameters"]


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
