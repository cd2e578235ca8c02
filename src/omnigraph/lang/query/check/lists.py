"""List literals: one type for all elements, that of the other side where there is one."""

from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType
from omnigraph.lang.query.check.compare import Kind, Operand, fit, kind_of, literal_operand
from omnigraph.lang.query.check.typed import Literal
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.values import convert

__all__ = ["item_type", "list_operand"]


def list_operand(
    expression: ast.ListLiteral, item: ValueType | None, findings: Findings
) -> Operand | None:
    """A list of `item`s, or of what its elements have in common."""
    values: list[Value] = []
    types: set[ValueType] = set()
    for literal in expression.items:
        operand = literal_operand(literal, findings)
        if operand and operand.is_null:
            findings.add("T3", "a list holds no nulls", operand.span)
            return None
        fitted = fit(operand, item, findings) if operand and item else operand
        if fitted is None:
            return None
        assert isinstance(fitted.expression, Literal)
        assert fitted.type
        values.append(fitted.expression.value)
        types.add(fitted.type)
    common = _common(types or {item or Scalar.STRING})
    if common is None:
        findings.add("T3", "the elements of the list have different types", expression.span)
        return None
    type_ = ListOf(common)
    literal_list = Literal(tuple(convert(v, common) for v in values), type_)
    return Operand(
        literal_list, type_, is_nullable=False, span=expression.span, shown=ast.text_of(expression)
    )


def item_type(operand: Operand | None) -> ValueType | None:
    """The type that the elements of a list should take beside an operand."""
    match operand:
        case Operand(type=Scalar() | EnumOf() as type_):
            return type_
        case _:
            return None


def _common(types: set[ValueType]) -> Scalar | None:
    scalars = {Scalar.STRING if isinstance(t, EnumOf) else t for t in types}
    if len(scalars) > 1 and all(kind_of(t) is Kind.NUMBER for t in scalars):
        return Scalar.F64
    (first, *rest) = scalars
    return first if isinstance(first, Scalar) and not rest else None
