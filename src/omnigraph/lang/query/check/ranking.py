"""`nearest`, `bm25` and `rrf`: what they rank, and by what.

A ranking names one property of one variable; `rrf` fuses two rankings of the same variable.
"""

from omnigraph.base.types import ListOf, Scalar, VectorOf
from omnigraph.lang.query.check.expressions import RANKINGS, Expressions, whole_number
from omnigraph.lang.query.check.regions import Region
from omnigraph.lang.query.check.typed import (
    Bm25,
    Literal,
    Nearest,
    Parameter,
    PropertyOf,
    Ranking,
    Rrf,
)
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.values import Unfit, convert, is_without_direction

__all__ = ["check_ranking", "ranked_variable"]

# The constant of the paper that introduced the method, and everyone's default since.
RRF_K = 60
# An index that holds very many vectors may look at some of them only, unless a query says this.
EXACT = "exact"


def check_ranking(call: ast.Call, region: Region, expressions: Expressions) -> Ranking | None:
    """The ranking that a call asks for; reports anything else."""
    match call.function.text:
        case "nearest":
            return _nearest(call, region, expressions)
        case "bm25":
            return _bm25(call, region, expressions)
        case "rrf":
            return _rrf(call, region, expressions)
        case name:
            message = f"{name} ranks nothing"
            hint = f"rank by {', '.join(RANKINGS[:-1])} or {RANKINGS[-1]}"
            expressions.findings.add("T29", message, call.function.span, hint)
            return None


def ranked_variable(ranking: Ranking) -> str:
    return ranked_variable(ranking.left) if isinstance(ranking, Rrf) else ranking.field.variable


def _nearest(call: ast.Call, region: Region, expressions: Expressions) -> Nearest | None:
    findings = expressions.findings
    if len(call.arguments) not in (2, 3):
        findings.add("T15", "nearest is written nearest($x.vector, query[, exact])", call.span)
        return None
    target, query, *more = call.arguments
    for word in more:
        if not (isinstance(word, ast.Reference) and word.name.text == EXACT):
            message = f"the third argument of nearest can only be the word {EXACT}"
            findings.add("T15", message, word.span)
            return None
    if not isinstance(target, ast.Property):
        message = "nearest looks into a Vector property, such as $x.embedding"
        findings.add("T15", message, target.span)
        return None
    operand = expressions.property_of(target, region)
    if operand is None:
        return None
    field = operand.expression
    if not isinstance(field, PropertyOf) or not isinstance(field.type, VectorOf):
        message = f"nearest looks into a Vector property, not {operand}"
        findings.add("T15", message, target.span)
        return None
    wanted = _vector_query(query, field.type, region, expressions)
    return Nearest(field, wanted, is_exact=bool(more)) if wanted else None


def _vector_query(
    query: ast.Expression, type_: VectorOf, region: Region, expressions: Expressions
) -> Literal | Parameter | None:
    operand = expressions.operand(query, region)
    if operand is None:
        return None
    match operand.expression:
        case Parameter(type=found) as parameter if found in (type_, Scalar.STRING):
            return parameter
        case Literal(type=Scalar.STRING) as text:
            return text
        case Literal(type=ListOf(), value=values):
            try:
                vector = convert(values, type_)
            except Unfit as error:
                expressions.findings.add("T15", f"the list is not a {type_}: {error}", query.span)
                return None
            if is_without_direction(vector):
                message = "the list is all zeros, and nothing is near to that"
                expressions.findings.add("T15", message, query.span)
                return None
            return Literal(vector, type_)
        case _:
            message = f"nearest looks for a {type_} or a text, not {operand}"
            expressions.findings.add("T15", message, query.span)
            return None


def _bm25(call: ast.Call, region: Region, expressions: Expressions) -> Bm25 | None:
    if len(call.arguments) != 2:
        expressions.findings.add("T20", "bm25 is written bm25($x.property, text)", call.span)
        return None
    field = expressions.text_field(call.arguments[0], region, code="T20", function="bm25")
    query = expressions.text_query(call.arguments[1], region, code="T20", function="bm25")
    return Bm25(field, query) if field and query else None


def _rrf(call: ast.Call, region: Region, expressions: Expressions) -> Rrf | None:
    findings = expressions.findings
    if len(call.arguments) not in (2, 3):
        findings.add("T21", "rrf is written rrf(nearest(…), bm25(…)[, k])", call.span)
        return None
    sides = [_side(a, region, expressions) for a in call.arguments[:2]]
    k = RRF_K
    if len(call.arguments) == 3:
        given = whole_number(call.arguments[2])
        if not given:
            findings.add("T21", "k is a whole number from 1 up", call.arguments[2].span)
            return None
        k = given
    left, right = sides
    if left is None or right is None:
        return None
    if left.field.variable != right.field.variable:
        message = f"rrf fuses rankings of ${left.field.variable} and of ${right.field.variable}"
        findings.add("T21", message, call.span, "rank the same variable on both sides")
        return None
    return Rrf(left, right, k)


def _side(
    argument: ast.Expression, region: Region, expressions: Expressions
) -> Nearest | Bm25 | None:
    if isinstance(argument, ast.Call) and argument.function.text in ("nearest", "bm25"):
        ranking = check_ranking(argument, region, expressions)
        assert not isinstance(ranking, Rrf)
        return ranking
    expressions.findings.add("T21", "rrf fuses nearest(…) and bm25(…)", argument.span)
    return None
