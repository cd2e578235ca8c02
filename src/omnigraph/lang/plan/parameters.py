"""The values that a caller gives for a query's parameters, as values of the declared types.

Nothing is guessed: a missing value is null only where the parameter may be, and a name that the
query does not declare is an error, since it is nearly always a slip.
"""

from collections.abc import Mapping

from omnigraph.base.errors import ParameterInvalid
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import CompiledQuery, Parameter
from omnigraph.lang.query.values import Unfit, convert

__all__ = ["bind_parameters"]


def bind_parameters(query: CompiledQuery, given: Mapping[str, object]) -> dict[str, Value]:
    """A value for every parameter of the query; raises ParameterInvalid (P001, P002, P003)."""
    declared = {p.name: p for p in query.parameters}
    for name in given:
        if name not in declared:
            raise _unknown(query, name)
    return {name: _value(query, parameter, given) for name, parameter in declared.items()}


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
