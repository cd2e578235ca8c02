"""From the grammar's rules to the syntax tree, bottom-up, as the parser reduces.

Each method is named after a rule or a token of `grammar.lark` and gets what its parts became. No
name is looked up here. The builder keeps no state: one is shared by every parse in the process.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from lark import Token, Transformer, v_args

from omnigraph.base.errors import Diagnostic
from omnigraph.base.frozen import frozen
from omnigraph.base.span import Span
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.tokens import Refused, dated_literal, read_token, refuse

__all__ = ["MAX_CLAUSES", "Builder"]

# Plans are trees as deep as a pattern has clauses, and plain recursion walks them.
MAX_CLAUSES = 200

SCALARS = {s.value: s for s in Scalar}

T = TypeVar("T")


@frozen
class _Returned:
    items: tuple[ast.Item, ...]
    is_distinct: bool


@frozen
class _Tail:
    """`order`, `limit` or `offset`, before we know that each is there at most once."""

    keyword: ast.Word
    order: tuple[ast.OrderItem, ...] = ()
    number: ast.Literal | ast.Variable | None = None


@frozen
class _Body:
    match: ast.Block
    returned: _Returned
    tails: tuple[_Tail, ...]


@v_args(inline=True)
class Builder(Transformer[Token, object]):
    def __getattr__(self, name: str) -> Callable[[Token], object]:
        """The reader of a token; tokens are the names in capitals."""
        if name.isupper():
            return read_token(name)
        raise AttributeError(name)

    # Files and queries --------------------------------------------------------------------------

    def file(self, *queries: ast.Query) -> ast.File:
        return ast.File(queries)

    def query(
        self,
        header: ast.Header,
        _opening: ast.Word,
        body: "_Body | tuple[ast.Statement, ...]",
        closing: ast.Word,
    ) -> ast.Query:
        if isinstance(body, tuple):
            return ast.Mutation(header, body, closing.span)
        tails: dict[str, _Tail] = {}
        for tail in body.tails:
            if tail.keyword.text in tails:
                refuse(f"{tail.keyword.text} is given twice", tail.keyword.span)
            tails[tail.keyword.text] = tail
        none = _Tail(header.name)
        return ast.Read(
            header=header,
            match=_of_bearable_size(body.match),
            items=body.returned.items,
            is_distinct=body.returned.is_distinct,
            order=tails.get("order", none).order,
            limit=tails.get("limit", none).number,
            offset=tails.get("offset", none).number,
            closing=closing.span,
        )

    def header(
        self,
        keyword: ast.Word,
        name: ast.Word,
        parameters: tuple[ast.Parameter, ...] | None,
        annotations: tuple[ast.Annotation, ...],
    ) -> ast.Header:
        return ast.Header(name, parameters or (), annotations, keyword.span)

    def parameters(self, *parameters: ast.Parameter) -> tuple[ast.Parameter, ...]:
        return parameters

    def parameter(self, variable: ast.Variable, type_: ast.ParameterType) -> ast.Parameter:
        return ast.Parameter(variable, type_)

    def scalar_type(self, name: ast.Word, question: ast.Word | None) -> ast.ParameterType:
        return _type(name, name.text, SCALARS.get(name.text), question)

    def vector_type(
        self, name: ast.Word, width: ast.Literal, question: ast.Word | None
    ) -> ast.ParameterType:
        assert isinstance(width.value, int)
        is_vector = name.text == "Vector" and width.value >= 1
        type_ = VectorOf(width.value) if is_vector else None
        return _type(name, f"{name.text}({width.value})", type_, question)

    def list_type(
        self, bracket: ast.Word, item: ast.Word, question: ast.Word | None
    ) -> ast.ParameterType:
        scalar = SCALARS.get(item.text)
        return _type(bracket, f"[{item.text}]", ListOf(scalar) if scalar else None, question)

    def enum_type(self, keyword: ast.Word, *words: ast.Word | None) -> ast.ParameterType:
        *values, question = words
        type_ = EnumOf(tuple(sorted({w.text for w in values if w})))
        return _type(keyword, str(type_), type_, question)

    def annotations(self, *annotations: ast.Annotation) -> tuple[ast.Annotation, ...]:
        return annotations

    def annotation(self, name: ast.Word, *arguments: ast.Literal | None) -> ast.Annotation:
        return ast.Annotation(name, _present(arguments))

    # Reads --------------------------------------------------------------------------------------

    def read(
        self,
        _match: ast.Word,
        block: ast.Block,
        _return: ast.Word,
        returned: _Returned,
        *tails: _Tail,
    ) -> _Body:
        return _Body(block, returned, tails)

    def return_items(
        self, outside: ast.Word | None, inside: ast.Word | None, *items: ast.Item
    ) -> _Returned:
        return _Returned(items, is_distinct=bool(outside or inside))

    def item(self, expression: ast.Expression, *alias: ast.Word | None) -> ast.Item:
        return ast.Item(expression, alias[-1])

    def order(self, keyword: ast.Word, *items: ast.OrderItem) -> _Tail:
        return _Tail(keyword, order=items)

    def limit(self, keyword: ast.Word, number: ast.Literal | ast.Variable) -> _Tail:
        return _Tail(keyword, number=_not_negative(keyword, number))

    def offset(self, keyword: ast.Word, number: ast.Literal | ast.Variable) -> _Tail:
        return _Tail(keyword, number=_not_negative(keyword, number))

    def order_item(self, expression: ast.Expression, direction: ast.Word | None) -> ast.OrderItem:
        return ast.OrderItem(expression, direction)

    # Patterns -----------------------------------------------------------------------------------

    def block(self, opening: ast.Word, *rest: "ast.Clause | ast.Word") -> ast.Block:
        *clauses, closing = rest
        assert isinstance(closing, ast.Word)
        return ast.Block(
            tuple(c for c in clauses if not isinstance(c, ast.Word)), opening.span, closing.span
        )

    def binding(
        self, variable: ast.Variable, type_: ast.Word, matches: tuple[ast.Assignment, ...] | None
    ) -> ast.Binding:
        return ast.Binding(variable, type_, matches or ())

    def directed(
        self,
        left: ast.Variable,
        edges: tuple[ast.Word, ...],
        hops: ast.Hops | None,
        right: ast.Variable,
    ) -> ast.Traversal:
        return ast.Traversal(left, edges, right, hops=hops)

    def word_directed(
        self, left: ast.Variable, edge: ast.Word, hops: ast.Hops, right: ast.Variable
    ) -> ast.Traversal:
        return ast.Traversal(left, (edge,), right, hops=hops)

    def is_directed(self, left: ast.Variable, edge: ast.Word, right: ast.Variable) -> ast.Traversal:
        return ast.Traversal(left, (edge,), right)

    def undirected(
        self,
        left: ast.Variable,
        _open: ast.Word,
        edges: tuple[ast.Word, ...],
        hops: ast.Hops | None,
        right: ast.Variable,
    ) -> ast.Traversal:
        return ast.Traversal(left, edges, right, is_undirected=True, hops=hops)

    def bound_directed(
        self,
        left: ast.Variable,
        edge: ast.Variable,
        edges: tuple[ast.Word, ...],
        hops: ast.Hops | None,
        right: ast.Variable,
    ) -> ast.Traversal:
        return ast.Traversal(left, edges, right, hops=hops, edge_variable=edge)

    def bound_undirected(
        self,
        left: ast.Variable,
        edge: ast.Variable,
        _open: ast.Word,
        edges: tuple[ast.Word, ...],
        hops: ast.Hops | None,
        right: ast.Variable,
    ) -> ast.Traversal:
        return ast.Traversal(left, edges, right, is_undirected=True, hops=hops, edge_variable=edge)

    def edges(self, *names: ast.Word) -> tuple[ast.Word, ...]:
        return names

    def hops(self, opening: ast.Word, least: ast.Literal, *rest: object) -> ast.Hops:
        most, closing = rest[-2], rest[-1]
        assert isinstance(least.value, int)
        assert isinstance(closing, ast.Word)
        value = most.value if isinstance(most, ast.Literal) else None
        assert value is None or isinstance(value, int)
        return ast.Hops(least.value, value, _through(opening.span, closing.span))

    def comparison(
        self, left: ast.Expression, op: ast.Word, right: ast.Expression
    ) -> ast.Comparison:
        return ast.Comparison(left, op, right)

    def membership(
        self, left: ast.Expression, op: ast.Word, options: ast.Expression
    ) -> ast.Membership:
        return ast.Membership(left, op, options)

    def is_null(self, operand: ast.Expression, *_words: ast.Word) -> ast.NullTest:
        return ast.NullTest(operand, is_negated=False)

    def is_not_null(self, operand: ast.Expression, *_words: ast.Word) -> ast.NullTest:
        return ast.NullTest(operand, is_negated=True)

    def sub_pattern(self, keyword: ast.Word, block: ast.Block) -> ast.SubPattern:
        return ast.SubPattern(ast.BlockKind(keyword.text), block, keyword.span)

    def count_test(
        self, keyword: ast.Word, block: ast.Block, op: ast.Word, bound: ast.Expression
    ) -> ast.CountTest:
        return ast.CountTest(block, op, bound, keyword.span)

    def alternatives(self, keyword: ast.Word, *blocks: ast.Block) -> ast.Alternatives:
        return ast.Alternatives(blocks, keyword.span)

    def top(
        self,
        keyword: ast.Word,
        k: ast.Literal | ast.Variable,
        variable: ast.Variable,
        _by: ast.Word,
        ranking: ast.Call,
    ) -> ast.Top:
        return ast.Top(k, variable, ranking, keyword.span)

    # Expressions --------------------------------------------------------------------------------

    def property_of(self, variable: ast.Variable, name: ast.Word) -> ast.Property:
        return ast.Property(variable, name)

    def reference(self, name: ast.Word) -> ast.Reference:
        return ast.Reference(name)

    def called(self, call: ast.Call) -> ast.Literal | ast.Call:
        return dated_literal(call) or call

    def call(
        self, function: ast.Word, distinct: ast.Word | None, *rest: "ast.Expression | ast.Word"
    ) -> ast.Call:
        *arguments, closing = rest
        assert isinstance(closing, ast.Word)
        return ast.Call(
            function,
            tuple(a for a in arguments if not isinstance(a, ast.Word)),
            is_distinct=distinct is not None,
            span=_through(function.span, closing.span),
        )

    def call_of_nothing(self, function: ast.Word, closing: ast.Word) -> ast.Call:
        return ast.Call(function, (), span=_through(function.span, closing.span))

    def distinct_column(self, word: ast.Word) -> ast.Reference:
        return ast.Reference(word)

    def list_of(
        self, opening: ast.Word, *rest: "ast.Literal | ast.Call | ast.Word | None"
    ) -> ast.ListLiteral:
        *items, closing = rest
        assert isinstance(closing, ast.Word)
        for item in items:
            if isinstance(item, ast.Call):
                refuse(f"a list holds literals, not {ast.text_of(item)}", item.span)
        return ast.ListLiteral(
            tuple(i for i in items if isinstance(i, ast.Literal)),
            _through(opening.span, closing.span),
        )

    def literal(self, value: ast.Literal) -> ast.Literal:
        return value

    # Mutations ----------------------------------------------------------------------------------

    def mutation(self, *statements: ast.Statement) -> tuple[ast.Statement, ...]:
        return statements

    def insert(
        self, keyword: ast.Word, type_: ast.Word, values: tuple[ast.Assignment, ...] | None
    ) -> ast.Insert:
        return ast.Insert(type_, values or (), keyword.span)

    def update(
        self,
        keyword: ast.Word,
        type_: ast.Word,
        _set: ast.Word,
        values: tuple[ast.Assignment, ...] | None,
        _where: ast.Word,
        where: tuple[ast.Predicate, ...],
    ) -> ast.Update:
        return ast.Update(type_, values or (), where, keyword.span)

    def delete(
        self,
        keyword: ast.Word,
        type_: ast.Word,
        _where: ast.Word,
        where: tuple[ast.Predicate, ...],
    ) -> ast.Delete:
        return ast.Delete(type_, where, keyword.span)

    def assignments(self, *assignments: ast.Assignment) -> tuple[ast.Assignment, ...]:
        return assignments

    def assignment(self, name: ast.Word, value: ast.Expression) -> ast.Assignment:
        return ast.Assignment(name, value)

    def key(self, name: ast.Word | ast.Literal) -> ast.Word:
        return ast.Word(ast.text_of(name), name.span) if isinstance(name, ast.Literal) else name

    def conditions(self, *conditions: "ast.Predicate | ast.Word") -> tuple[ast.Predicate, ...]:
        return tuple(c for c in conditions if not isinstance(c, ast.Word))


def _through(start: Span, end: Span) -> Span:
    """From the start of one to the end of the other, as far as the first line goes."""
    if start.line != end.line:
        return start
    return Span(start.line, start.column, end.column + end.length - start.column)


def _type(
    start: ast.Word, text: str, type_: ValueType | None, question: ast.Word | None
) -> ast.ParameterType:
    return ast.ParameterType(text, type_, question is not None, start.span)


def _present(values: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(v for v in values if v is not None)


def _not_negative(
    keyword: ast.Word, number: ast.Literal | ast.Variable
) -> ast.Literal | ast.Variable:
    if isinstance(number, ast.Variable):
        return number
    assert isinstance(number.value, int)
    if not 0 <= number.value < 2**63:
        refuse(f"{keyword.text} takes a whole number from 0 up", number.span)
    return number


def _of_bearable_size(block: ast.Block) -> ast.Block:
    if _size(block) > MAX_CLAUSES:
        message = f"the pattern has more than {MAX_CLAUSES} clauses and property matches"
        raise Refused(Diagnostic("Q001", message, block.span, "split it into several queries"))
    return block


def _size(block: ast.Block) -> int:
    total = 0
    for clause in block.clauses:
        total += 1
        match clause:
            case ast.Binding(matches=matches):
                total += len(matches)
            case ast.SubPattern(block=inner) | ast.CountTest(block=inner):
                total += _size(inner)
            case ast.Alternatives(blocks=blocks):
                total += sum(_size(b) for b in blocks)
            case _:
                pass
    return total
