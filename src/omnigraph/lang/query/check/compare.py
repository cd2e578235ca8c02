"""Which values can be compared, and the type of a literal beside a property.

Numbers compare with numbers of any type, text with text and enums, dates and times with their ISO
8601 texts. A literal takes the type of the other side where nothing is lost; a fraction beside an
integer stays a fraction, so that nothing is ever rounded to make a match.
"""

import datetime
import re
from dataclasses import replace
from enum import Enum

from omnigraph.base.frozen import frozen
from omnigraph.base.span import Span
from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType, VectorOf
from omnigraph.lang.query.check.typed import (
    ROW,
    Compare,
    CompareOp,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Membership,
    Now,
    Parameter,
    PropertyOf,
)
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.values import Unfit, convert
from omnigraph.lang.schema.catalog import DST, SRC

__all__ = [
    "Kind",
    "Operand",
    "compare",
    "fit",
    "kind_of",
    "literal_operand",
    "member",
    "parameter_operand",
]


class Kind(Enum):
    """Types that compare with each other are of one kind."""

    NUMBER = "number"
    TEXT = "text"
    BOOL = "bool"
    DATE = "date"
    DATETIME = "datetime"
    VECTOR = "vector"
    LIST = "list"
    BLOB = "blob"


ORDERED = frozenset({Kind.NUMBER, Kind.TEXT, Kind.DATE, Kind.DATETIME})
ENDS = tuple(PropertyOf(ROW, end, Scalar.STRING, is_nullable=False) for end in (SRC, DST))
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
NUMBERS = (Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.F32, Scalar.F64)
EQUALITY = frozenset({CompareOp.EQ, CompareOp.NE})


@frozen
class Operand:
    """A checked expression. `type` is None for the literal null and for a whole node or edge."""

    expression: Expression
    type: ValueType | None
    is_nullable: bool
    span: Span
    shown: str

    @property
    def is_null(self) -> bool:
        return isinstance(self.expression, Literal) and self.expression.value is None

    def __str__(self) -> str:
        return f"{self.shown} ({self.type})" if self.type else self.shown


def kind_of(type_: ValueType) -> Kind:
    match type_:
        case Scalar.STRING | EnumOf():
            return Kind.TEXT
        case Scalar.BOOL:
            return Kind.BOOL
        case Scalar.DATE:
            return Kind.DATE
        case Scalar.DATETIME:
            return Kind.DATETIME
        case Scalar.BLOB:
            return Kind.BLOB
        case Scalar():
            return Kind.NUMBER
        case VectorOf():
            return Kind.VECTOR
        case ListOf():
            return Kind.LIST


def literal_operand(literal: ast.Literal, findings: Findings) -> Operand | None:
    """A literal by itself, before the other side is known."""
    value = literal.value
    converted: Value = value
    type_: ValueType | None
    match value:
        case None:
            type_ = None
        case bool():
            type_ = Scalar.BOOL
        case int() if -(2**63) <= value < 2**63:
            type_ = Scalar.I64
        case int() if 0 <= value < 2**64:
            type_ = Scalar.U64
        case int():
            findings.add("T3", "the number does not fit in 64 bits", literal.span)
            return None
        case float():
            type_ = Scalar.F64
        case str():
            type_ = Scalar.STRING
        case datetime.datetime():
            type_ = Scalar.DATETIME
            converted = convert(value, type_)
        case datetime.date():
            type_ = Scalar.DATE
    return Operand(
        Literal(converted, type_), type_, value is None, literal.span, ast.text_of(literal)
    )


def parameter_operand(variable: ast.Variable, parameter: Parameter | None) -> Operand | None:
    """None where the declaration was refused."""
    if parameter is None:
        return None
    return Operand(
        parameter, parameter.type, parameter.is_nullable, variable.span, f"${parameter.name}"
    )


def fit(operand: Operand, type_: ValueType, findings: Findings) -> Operand | None:
    """A literal or now() as a value of `type_`; anything else, and what would lose, as it is.

    A text that is no date, or no word of an enum, is reported here. A literal of another kind is
    left for the caller to refuse.
    """
    match operand.expression:
        case Now() if type_ is Scalar.DATE:
            return replace(operand, expression=Now(Scalar.DATE), type=Scalar.DATE)
        case Literal(value=value) if operand.type and _may_become(operand.type, type_):
            try:
                converted = convert(value, type_)
            except Unfit as error:
                if isinstance(value, str):
                    findings.add("T3", str(error), operand.span)
                    return None
                return operand
            return replace(operand, expression=Literal(converted, type_), type=type_)
        case _:
            return operand


def _may_become(literal: ValueType, type_: ValueType) -> bool:
    kind = kind_of(type_)
    return kind is kind_of(literal) or (
        literal is Scalar.STRING and kind in (Kind.DATE, Kind.DATETIME)
    )


def compare(left: Operand, op: ast.Word, right: Operand, findings: Findings) -> Compare | None:
    operator = CompareOp(op.text)
    for operand in (left, right):
        if operand.is_null:
            hint = "null equals nothing: write is null or is not null"
            findings.add("T7", f"nothing can be compared with null by {op.text}", op.span, hint)
            return None
    if isinstance(left.expression, EntityOf) or isinstance(right.expression, EntityOf):
        return _compare_entities(left, op, right, findings)
    assert left.type
    assert right.type
    match operator:
        case CompareOp.CONTAINS if isinstance(left.type, ListOf):
            fitted = fit(right, left.type.item, findings)
            return _compare_kinds(operator, left.type.item, left, fitted, op, findings)
        case CompareOp.CONTAINS | CompareOp.STARTS_WITH:
            return _compare_texts(operator, left, op, right, findings)
        case _:
            return _compare_values(operator, left, op, right, findings)


def member(left: Operand, op: ast.Word, options: Operand, findings: Findings) -> Membership | None:
    """`left in options`, where the options are a list whose items were fitted to `left`."""
    if left.type is None or isinstance(left.type, ListOf | VectorOf):
        message = f"{left} is not a single value that a list could hold"
        findings.add("T7", message, left.span)
        return None
    if not isinstance(options.type, ListOf):
        message = f"{options} is not a list"
        findings.add("T7", message, options.span, f"compare with =, or write {op.text} [ … ]")
        return None
    if not isinstance(options.expression, Literal | Parameter):
        hint = f"turn it round: {options.shown} contains {left.shown}"
        findings.add("T7", f"{options.shown} is not a list of the query", options.span, hint)
        return None
    if kind_of(left.type) is not kind_of(options.type.item):
        findings.add("T7", f"{left} can't be in {options}", op.span)
        return None
    return Membership(left.expression, options.expression)


def _compare_values(
    operator: CompareOp, left: Operand, op: ast.Word, right: Operand, findings: Findings
) -> Compare | None:
    assert left.type
    assert right.type
    for operand in (left, right):
        if isinstance(operand.type, ListOf) and operator in EQUALITY:
            hint = "ask for one element: contains"
            findings.add("T3", f"{operand} is a list, and lists aren't compared", op.span, hint)
            return None
    fixed, other = (left, right) if isinstance(left.expression, Literal | Now) else (right, left)
    assert other.type
    # An enum's words matter for equality only: "before m" is a fair question to ask of them.
    is_loose = isinstance(other.type, EnumOf) and operator not in EQUALITY
    fitted = fit(fixed, Scalar.STRING if is_loose else other.type, findings)
    if fitted is None:
        return None
    first, second = (fitted, right) if fixed is left else (left, fitted)
    assert first.type
    return _compare_kinds(operator, first.type, first, second, op, findings)


def _compare_kinds(
    operator: CompareOp,
    left_type: ValueType,
    left: Operand,
    right: Operand | None,
    op: ast.Word,
    findings: Findings,
) -> Compare | None:
    if right is None:
        return None
    assert right.type
    kind = kind_of(left_type)
    if kind is not kind_of(right.type):
        hint = _hint(left, right)
        findings.add("T7", f"{left} can't be compared with {right}", op.span, hint)
        return None
    is_order = operator not in EQUALITY and operator is not CompareOp.CONTAINS
    if kind in (Kind.VECTOR, Kind.LIST, Kind.BLOB) or (is_order and kind not in ORDERED):
        findings.add("T7", f"{left} can't be compared by {op.text}", op.span)
        return None
    return Compare(operator, left.expression, right.expression)


def _compare_texts(
    operator: CompareOp, left: Operand, op: ast.Word, right: Operand, findings: Findings
) -> Compare | None:
    for operand in (left, right):
        assert operand.type
        if kind_of(operand.type) is not Kind.TEXT:
            needs = (
                "a text or a list"
                if operator is CompareOp.CONTAINS and operand is left
                else "a text"
            )
            findings.add("T7", f"{op.text} needs {needs}, not {operand}", operand.span)
            return None
    return Compare(operator, left.expression, right.expression)


def _compare_entities(
    left: Operand, op: ast.Word, right: Operand, findings: Findings
) -> Compare | None:
    """Two nodes of one type are the same if their ids are."""
    match left.expression, right.expression:
        case EntityOf(variable=first), EntityOf(variable=second):
            if op.text not in ("=", "!="):
                findings.add("T7", f"nodes and edges can't be compared by {op.text}", op.span)
                return None
            return Compare(CompareOp(op.text), IdentityOf(first), IdentityOf(second))
        case _:
            whole = left if isinstance(left.expression, EntityOf) else right
            hint = f"compare one of its properties, or {whole.shown}.id"
            findings.add("T7", f"{whole.shown} is a whole node or edge", whole.span, hint)
            return None


def _hint(left: Operand, right: Operand) -> str | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one.expression, Parameter) and other.type:
            return f"declare {one.shown}: {other.type}"
        if isinstance(one.expression, IdentityOf) or one.expression in ENDS:
            return "an id is a text"
        if isinstance(one.expression, Literal) and other.type in NUMBERS:
            text = one.expression.value
            if isinstance(text, str) and NUMBER.fullmatch(text):
                return f"a number is written without quotes: {text}"
    return None
