"""Random syntax trees: everything the grammar can say, meaning nothing in particular.

Places are all alike, since they never count when trees are compared.
"""

import datetime
import string
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph.base.span import Span
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.query.text import ast

HERE = Span(1, 1)
KEYWORDS = [
    *["query", "match", "return", "distinct", "as", "order", "asc", "desc", "limit", "offset"],
    *["not", "exists", "optional", "count", "or", "top", "by", "insert", "update", "set"],
    *["delete", "where", "and", "enum", "contains", "starts_with", "in", "is"],
]
CONSTANTS = ["true", "false", "null"]
OPERATORS = ["contains", "starts_with", "in", "is"]

LETTERS = st.text(string.ascii_letters + "_", min_size=1, max_size=6)
NAMES = st.one_of(LETTERS, st.sampled_from(KEYWORDS)).filter(lambda n: n not in CONSTANTS)
# No function is called like a keyword: after some values the word would be taken for one.
FUNCTIONS = LETTERS.filter(lambda n: n not in (*KEYWORDS, *CONSTANTS, "date", "datetime"))
OFFSETS = st.integers(-1439, 1439).map(lambda m: datetime.timezone(datetime.timedelta(minutes=m)))
MOMENTS = st.datetimes(
    datetime.datetime(1, 1, 3),
    datetime.datetime(9999, 12, 29),
    timezones=st.one_of(st.none(), OFFSETS),
)
PLAIN_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
VALUES = st.one_of(PLAIN_VALUES, st.dates(), MOMENTS)
TYPES: SearchStrategy[ValueType] = st.one_of(
    st.sampled_from(Scalar),
    st.builds(ListOf, st.sampled_from(Scalar)),
    st.builds(VectorOf, st.integers(1, 999)),
    st.sampled_from([EnumOf(("a",)), EnumOf(("9", "b-c", "d_1"))]),
)

T = TypeVar("T")


@st.composite
def files(draw: DrawFn) -> ast.File:
    tree = _Trees(draw)
    queries = tree.several(tree.query, most=3)
    by_name = {q.header.name.text: q for q in queries}
    return ast.File(tuple(by_name.values()))


class _Trees:
    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    # Choices ------------------------------------------------------------------------------------

    def one_of(self, makers: Sequence[Callable[[], T]]) -> T:
        return self.draw(st.sampled_from(makers))()

    def several(self, maker: Callable[[], T], *, least: int = 0, most: int = 3) -> tuple[T, ...]:
        return tuple(maker() for _ in range(self.draw(st.integers(least, most))))

    def maybe(self, maker: Callable[[], T]) -> T | None:
        return maker() if self.draw(st.booleans()) else None

    def yes(self) -> bool:
        return self.draw(st.booleans())

    # Words and expressions ----------------------------------------------------------------------

    def word(self, texts: SearchStrategy[str] = NAMES) -> ast.Word:
        return ast.Word(self.draw(texts), HERE)

    def variable(self) -> ast.Variable:
        return ast.Variable(self.draw(st.one_of(NAMES, st.just("_"))), HERE)

    def literal(self) -> ast.Literal:
        return ast.Literal(self.draw(VALUES), HERE)

    def plain(self) -> ast.Literal:
        return ast.Literal(self.draw(PLAIN_VALUES), HERE)

    def list_of(self) -> ast.ListLiteral:
        return ast.ListLiteral(self.several(self.literal), HERE)

    def property_of(self) -> ast.Property:
        return ast.Property(self.variable(), self.word())

    def reference(self) -> ast.Reference:
        return ast.Reference(self.word())

    def call(self, depth: int = 2) -> ast.Call:
        arguments = self.several(lambda: self.named(depth - 1)) if depth else ()
        is_distinct = self.yes() and bool(arguments)
        return ast.Call(self.word(FUNCTIONS), arguments, is_distinct, HERE)

    def expression(self, depth: int = 2) -> ast.Expression:
        makers: list[Callable[[], ast.Expression]] = [
            self.literal,
            self.list_of,
            self.variable,
            self.property_of,
            lambda: self.call(depth),
        ]
        return self.one_of(makers)

    def named(self, depth: int = 2) -> ast.Expression:
        return self.reference() if self.yes() else self.expression(depth)

    # Clauses ------------------------------------------------------------------------------------

    def block(self, depth: int) -> ast.Block:
        return ast.Block(self.several(lambda: self.clause(depth), least=1), HERE, HERE)

    def clause(self, depth: int) -> ast.Clause:
        flat: list[Callable[[], ast.Clause]] = [
            lambda: ast.Binding(self.variable(), self.word(), self.assignments()),
            self.traversal,
            lambda: self.predicate(self.expression),
            self.call,
            self.top,
        ]
        nested: list[Callable[[], ast.Clause]] = [
            lambda: ast.SubPattern(
                self.draw(st.sampled_from(ast.BlockKind)), self.block(depth - 1), HERE
            ),
            lambda: ast.CountTest(self.block(depth - 1), self.operator(), self.expression(), HERE),
            lambda: ast.Alternatives(self.several(lambda: self.block(depth - 1), least=2), HERE),
        ]
        return self.one_of(flat + nested if depth else flat)

    def traversal(self) -> ast.Traversal:
        edges = NAMES.filter(lambda n: n not in OPERATORS)
        return ast.Traversal(
            self.variable(),
            self.several(lambda: self.word(edges), least=1),
            self.variable(),
            self.yes(),
            self.maybe(self.hops),
            self.maybe(self.variable),
        )

    def hops(self) -> ast.Hops:
        number = st.integers(0, 9)
        return ast.Hops(self.draw(number), self.draw(st.one_of(st.none(), number)), HERE)

    def predicate(self, operand: Callable[[], ast.Expression]) -> ast.Predicate:
        makers: list[Callable[[], ast.Predicate]] = [
            lambda: ast.Comparison(operand(), self.operator(), operand()),
            lambda: ast.Membership(operand(), ast.Word("in", HERE), operand()),
            lambda: ast.NullTest(operand(), self.yes()),
        ]
        return self.one_of(makers)

    def operator(self) -> ast.Word:
        signs = ["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with"]
        return self.word(st.sampled_from(signs))

    def top(self) -> ast.Top:
        k = self.variable() if self.yes() else ast.Literal(self.draw(st.integers()), HERE)
        return ast.Top(k, self.variable(), self.call(), HERE)

    def assignments(self) -> tuple[ast.Assignment, ...]:
        return self.several(lambda: ast.Assignment(self.word(), self.expression()))

    # Queries ------------------------------------------------------------------------------------

    def header(self) -> ast.Header:
        return ast.Header(
            self.word(),
            self.several(lambda: ast.Parameter(self.variable(), self.type())),
            self.several(lambda: ast.Annotation(self.word(), self.several(self.plain)), most=2),
            HERE,
        )

    def type(self) -> ast.ParameterType:
        type_ = self.draw(TYPES)
        return ast.ParameterType(str(type_), type_, self.yes(), HERE)

    def query(self) -> ast.Query:
        return self.read() if self.yes() else self.mutation()

    def read(self) -> ast.Read:
        direction = st.sampled_from(["asc", "desc"])
        return ast.Read(
            self.header(),
            self.block(2),
            # Before the first column there is none that it could name.
            (
                ast.Item(self.expression(), self.maybe(self.word)),
                *self.several(lambda: ast.Item(self.named(), self.maybe(self.word)), most=2),
            ),
            self.yes(),
            self.several(
                lambda: ast.OrderItem(self.named(), self.maybe(lambda: self.word(direction)))
            ),
            self.maybe(self.number),
            self.maybe(self.number),
            HERE,
        )

    def number(self) -> ast.Literal:
        return ast.Literal(self.draw(st.integers(0, 2**62)), HERE)

    def mutation(self) -> ast.Mutation:
        return ast.Mutation(self.header(), self.several(self.statement, least=1), HERE)

    def statement(self) -> ast.Statement:
        def where() -> tuple[ast.Predicate, ...]:
            return self.several(lambda: self.predicate(self.named), least=1)

        makers: list[Callable[[], ast.Statement]] = [
            lambda: ast.Insert(self.word(), self.assignments(), HERE),
            lambda: ast.Update(self.word(), self.assignments(), where(), HERE),
            lambda: ast.Delete(self.word(), where(), HERE),
        ]
        return self.one_of(makers)
