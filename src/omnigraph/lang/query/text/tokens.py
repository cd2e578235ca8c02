"""The meaning of single tokens: names, numbers, texts, dates and constants, each with its place."""

import datetime
import json
import math
from collections.abc import Callable
from typing import NoReturn

from lark import Token

from omnigraph.base.errors import Diagnostic
from omnigraph.base.span import Span
from omnigraph.base.types import Scalar
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.values import Unfit, convert

__all__ = ["Refused", "dated_literal", "is_dated", "read_token", "refuse"]

# No type holds a number of 40 digits, and reading a very long one takes very long.
MAX_DIGITS = 40


class Refused(Exception):
    """The text follows the grammar and still can't be read."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def refuse(message: str, span: Span) -> NoReturn:
    raise Refused(Diagnostic("Q000", message, span))


def read_token(name: str) -> Callable[[Token], object]:
    """The reader of the grammar's token `name`: it makes a word, unless the token has a value."""
    match name:
        case "VARIABLE":
            return _variable
        case "INT":
            return _integer
        case "FLOAT":
            return _fraction
        case "STRING":
            return _string
        case "TRUE" | "FALSE" | "NULL":
            return _constant
        case _:
            return _word


def is_dated(call: ast.Call) -> bool:
    """True if the call is written as a literal date or time, be it one or not."""
    match call:
        case ast.Call(ast.Word(text="date" | "datetime"), (ast.Literal(value=str()),), False):
            return True
        case _:
            return False


def dated_literal(call: ast.Call) -> ast.Literal | None:
    """The literal that `date("…")` or `datetime("…")` is; None for any other call.

    The offset of a time is kept as it is written; the checker turns it into UTC.
    """
    match call:
        case ast.Call(ast.Word(text="date"), (ast.Literal(value=str() as text) as given,), False):
            day = _checked(text, Scalar.DATE, given.span)
            return ast.Literal(day, call.span)
        case ast.Call(
            ast.Word(text="datetime"), (ast.Literal(value=str() as text) as given,), False
        ):
            _checked(text, Scalar.DATETIME, given.span)
            return ast.Literal(datetime.datetime.fromisoformat(text), call.span)
        case _:
            return None


def _checked(text: str, type_: Scalar, span: Span) -> datetime.date:
    try:
        value = convert(text, type_)
    except Unfit as error:
        refuse(str(error), span)
    assert isinstance(value, datetime.date)
    return value


def _word(token: Token) -> ast.Word:
    return ast.Word(str(token), _span(token))


def _variable(token: Token) -> ast.Variable:
    return ast.Variable(str(token)[1:], _span(token))


def _integer(token: Token) -> ast.Literal:
    if len(token) > MAX_DIGITS:
        refuse("the number is too long", _span(token))
    return ast.Literal(int(token), _span(token))


def _fraction(token: Token) -> ast.Literal:
    value = float(token)
    if math.isinf(value):
        refuse("the number is too large", _span(token))
    return ast.Literal(value, _span(token))


def _string(token: Token) -> ast.Literal:
    try:
        # A tab may stand in our texts and not in JSON's.
        value = json.loads(str(token), strict=False)
        assert isinstance(value, str)
        value.encode()
    except json.JSONDecodeError as error:
        refuse(f"the text can't be read: {error.msg.lower()}", _span(token))
    except UnicodeEncodeError:
        refuse("the text is not valid Unicode", _span(token))
    return ast.Literal(value, _span(token))


def _constant(token: Token) -> ast.Literal:
    return ast.Literal({"true": True, "false": False}.get(str(token)), _span(token))


def _span(token: Token) -> Span:
    return Span(token.line or 1, token.column or 1, max(1, len(token)))
