"""`return`, `order`, `limit` and `offset`: which columns the answer has and how it is sorted."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import looking
from omnigraph.base.nearest import name_hint
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import listed
from omnigraph.lang.query.check.compare import Kind, Operand, kind_of
from omnigraph.lang.query.check.expressions import AGGREGATES, RANKINGS, Expressions
from omnigraph.lang.query.check.ranking import check_ranking
from omnigraph.lang.query.check.regions import Region
from omnigraph.lang.query.check.typed import (
    AggregateFunction,
    AggregateOf,
    Bm25,
    Column,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Nearest,
    Parameter,
    PropertyOf,
    ResultField,
    Rrf,
    ScoreOf,
    SortKey,
)
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast

__all__ = ["Projection", "check_projection"]


@frozen
class Projection:
    columns: tuple[Column, ...]
    result: tuple[ResultField, ...]
    order: tuple[SortKey, ...]
    limit: int | Parameter | None
    offset: int | Parameter


def check_projection(read: ast.Read, region: Region, expressions: Expressions) -> Projection:
    checker = _Projections(read, region, expressions, expressions.findings)
    operands: list[Operand | None] = []
    for item in looking(read.items, expressions.findings.look):
        operands.append(checker.item(item.expression, operands))
    checker.refuse_equal_names()
    checker.refuse_mixed_rankings(operands)
    columns = tuple(
        Column(_name(item), operand.expression)
        for item, operand in zip(read.items, operands, strict=True)
        if operand
    )
    is_keyed = any(not isinstance(c.expression, AggregateOf) for c in columns)
    result = tuple(
        _field(_name(item), operand, is_keyed=is_keyed)
        for item, operand in zip(read.items, operands, strict=True)
        if operand
    )
    order = tuple(checker.order(operands, columns))
    limit, offset = checker.bound(read.limit), checker.bound(read.offset)
    return Projection(columns, result, order, limit, offset or 0)


@frozen(slots=False)
class _Projections:
    read: ast.Read
    region: Region
    expressions: Expressions
    findings: Findings

    # Items --------------------------------------------------------------------------------------

    def item(self, expression: ast.Expression, before: Sequence[Operand | None]) -> Operand | None:
        """`before`: what the first columns are; an alias stands for one of those."""
        match self.as_alias(expression, len(before)):
            case ast.Reference(name=word):
                return self.named(word, before)
            case ast.Call(function=ast.Word(text=name)) as call if name in AGGREGATES:
                return self.aggregate(call, before)
            case ast.Call(function=ast.Word(text=name)) as call if name in RANKINGS:
                ranking = check_ranking(call, self.region, self.expressions)
                if ranking is None:
                    return None
                return Operand(
                    ranking,
                    Scalar.F64,
                    is_nullable=True,
                    span=expression.span,
                    shown=ast.text_of(expression),
                )
            case _:
                operand = self.expressions.operand(expression, self.region)
                return self.not_an_edge(operand) if operand else None

    def as_alias(self, expression: ast.Expression, count: int) -> ast.Expression:
        """A constant that one of the first `count` columns is called by is that column."""
        if isinstance(expression, ast.Literal):
            text = ast.text_of(expression)
            if any(i.alias and i.alias.text == text for i in self.read.items[:count]):
                return ast.Reference(ast.Word(text, expression.span))
        return expression

    def not_an_edge(self, operand: Operand) -> Operand | None:
        match operand.expression:
            case EntityOf(variable=name) if self.region.known[name].is_edge:
                message = f"${name} is an edge and can't be returned as a whole"
                hint = f"name one of its properties, such as ${name}.id"
                self.findings.add("T23", message, operand.span, hint)
                return None
            case _:
                return operand

    def named(self, word: ast.Word, before: Sequence[Operand | None]) -> Operand | None:
        """The column called so, as a value at this place."""
        aliases = [i.alias.text if i.alias else None for i in self.read.items]
        if word.text in aliases[: len(before)]:
            operand = before[aliases.index(word.text)]
            return operand and replace(operand, span=word.span, shown=word.text)
        if word.text in aliases:
            message = f"the column {word.text} is named only here or further on"
            hint = "a column can use the names of those before it"
        else:
            message = f"no column is called {word.text}"
            known = [a for a in aliases if a]
            hint = name_hint(word.text, known) or "name a column with as, or write $x.property"
            if meant := self.meant_by(word.text):
                hint = f"write {listed(meant, 'or')}"
        self.findings.add("T6", message, word.span, hint)
        return None

    def meant_by(self, name: str) -> list[str]:
        """The variable called `name`, or the properties of that name, as they are written."""
        known = self.region.known
        if name in known:
            return [f"${name}"]
        return [
            f"${variable}.{name}"
            for variable, bound in known.items()
            if bound.types
            and not variable.startswith("_")
            and all(name in self.expressions.entity(bound, type_).by_name for type_ in bound.types)
        ]

    def aggregate(self, call: ast.Call, before: Sequence[Operand | None]) -> Operand | None:
        function = AggregateFunction(call.function.text)
        if len(call.arguments) != 1:
            message = f"{function.value} takes one argument"
            self.findings.add("T29", message, call.span, f"write {function.value}($x.property)")
            return None
        argument = self.as_alias(call.arguments[0], len(before))
        if isinstance(argument, ast.Reference):
            operand = self.named(argument.name, before)
        elif isinstance(argument, ast.Call) and argument.function.text in AGGREGATES:
            operand = self.aggregate(argument, before)
        else:
            operand = self.expressions.operand(argument, self.region)
        if operand is None:
            return None
        value = operand.expression
        if isinstance(value, AggregateOf):
            message = f"{function.value} can't be taken of another aggregate"
            self.findings.add("T8", message, argument.span)
            return None
        if isinstance(value, Nearest | Bm25 | Rrf):
            message = f"{function.value} can't be taken of a ranking"
            hint = f"rank in match, top 10 $x by …, and write {function.value}(score($x))"
            self.findings.add("T8", message, argument.span, hint)
            return None
        type_ = _aggregated(function, operand)
        if not isinstance(value, EntityOf | PropertyOf | IdentityOf | ScoreOf) or type_ is None:
            wanted = AGGREGATED[function]
            message = f"{function.value} takes {wanted}, not {operand}"
            self.findings.add("T8", message, argument.span)
            return None
        never_null = function in (AggregateFunction.COUNT, AggregateFunction.COLLECT)
        return Operand(
            AggregateOf(function, value, call.is_distinct),
            type_,
            is_nullable=operand.is_nullable and not never_null,
            span=call.span,
            shown=ast.text_of(call),
        )

    def refuse_equal_names(self) -> None:
        seen: set[str] = set()
        for item in self.read.items:
            name = _name(item)
            if name in seen:
                span = item.alias.span if item.alias else item.span
                message = f"two columns are called {name}"
                self.findings.add("T26", message, span, "give one another name with as")
            seen.add(name)

    def refuse_mixed_rankings(self, operands: list[Operand | None]) -> None:
        """A group has no score of its own."""
        if not _has_aggregate(operands):
            return
        for operand in operands:
            if operand and isinstance(operand.expression, Nearest | Bm25 | Rrf):
                message = "a ranking scores rows and can't be returned beside aggregates"
                self.findings.add("T18", message, operand.span)

    # Order and limit ----------------------------------------------------------------------------

    def bound(self, given: ast.Literal | ast.Variable | None) -> int | Parameter | None:
        """What `limit` or `offset` says."""
        if given is None:
            return None
        found = self.expressions.count(given, self.region, least=0, code="T27")
        if isinstance(found, Literal):
            assert isinstance(found.value, int)
            return found.value
        return found

    def order(
        self, operands: list[Operand | None], columns: tuple[Column, ...]
    ) -> Iterator[SortKey]:
        is_grouped = _has_aggregate(operands) or self.read.is_distinct
        for item in self.read.order:
            operand = self.item(item.expression, operands)
            if operand is None:
                continue
            if isinstance(operand.expression, Nearest | Bm25 | Rrf):
                if self.ranking_fits(item, operand, is_grouped=is_grouped):
                    yield SortKey(operand.expression, _is_worst_first(item, operand.expression))
            elif self.can_be_sorted(item, operand, operands, columns, is_grouped=is_grouped):
                is_descending = item.direction is not None and item.direction.text == "desc"
                yield SortKey(operand.expression, is_descending)

    def ranking_fits(self, item: ast.OrderItem, operand: Operand, *, is_grouped: bool) -> bool:
        if is_grouped:
            message = "a ranking orders rows, and here rows are grouped"
            hint = "rank in match: top 10 $x by …"
            self.findings.add("T18", message, item.span, hint)
        elif self.read.limit is None and isinstance(operand.expression, Nearest):
            self.findings.add("T17", "ordering by nearest needs a limit", item.span, "add limit 10")
        elif self.read.limit is None and isinstance(operand.expression, Rrf):
            self.findings.add("T21", "ordering by rrf needs a limit", item.span, "add limit 10")
        else:
            return True
        return False

    def can_be_sorted(
        self,
        item: ast.OrderItem,
        operand: Operand,
        operands: list[Operand | None],
        columns: tuple[Column, ...],
        *,
        is_grouped: bool,
    ) -> bool:
        expression = operand.expression
        if isinstance(expression, EntityOf):
            hint = f"order by one of its properties, or {operand.shown}.id"
            self.findings.add("T27", f"{operand.shown} is a whole node", item.span, hint)
            return False
        if operand.type and kind_of(operand.type) in (Kind.LIST, Kind.VECTOR):
            self.findings.add("T27", f"{operand} has no order", item.span)
            return False
        if isinstance(expression, AggregateOf) and not _has_aggregate(operands):
            message = "ordering by an aggregate needs an aggregate in return"
            self.findings.add("T27", message, item.span)
            return False
        is_made = any(c.expression == expression for c in columns)
        if is_grouped and not is_made and not isinstance(expression, AggregateOf):
            message = f"{operand.shown} is not a column, and the rows it belongs to are grouped"
            self.findings.add("T27", message, item.span, "return it, or order by a column")
            return False
        return True


AGGREGATED = {
    AggregateFunction.COUNT: "a variable or a property",
    AggregateFunction.SUM: "a number",
    AggregateFunction.AVG: "a number",
    AggregateFunction.MIN: "a number, a text, a date or a time",
    AggregateFunction.MAX: "a number, a text, a date or a time",
    AggregateFunction.COLLECT: "a property with a single value",
}


def _aggregated(function: AggregateFunction, operand: Operand) -> ValueType | None:
    """The type of the aggregate; None if it can't be taken of the operand."""
    type_ = operand.type
    if function is AggregateFunction.COUNT:
        return Scalar.I64
    if type_ is None:
        return None
    kind = kind_of(type_)
    match function:
        case AggregateFunction.SUM if isinstance(type_, Scalar) and type_.is_integer:
            return Scalar.U64 if type_ in (Scalar.U32, Scalar.U64) else Scalar.I64
        case AggregateFunction.SUM | AggregateFunction.AVG if kind is Kind.NUMBER:
            return Scalar.F64
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return type_ if kind in (Kind.NUMBER, Kind.TEXT, Kind.DATE, Kind.DATETIME) else None
        case AggregateFunction.COLLECT if isinstance(type_, Scalar | EnumOf):
            return ListOf(type_ if isinstance(type_, Scalar) else Scalar.STRING)
        case _:
            return None


def _has_aggregate(operands: list[Operand | None]) -> bool:
    return any(o and isinstance(o.expression, AggregateOf) for o in operands)


def _is_worst_first(item: ast.OrderItem, ranking: Expression) -> bool:
    """`asc` and `desc` speak of the score; a distance is better the smaller it is."""
    if item.direction is None:
        return False
    best = "asc" if isinstance(ranking, Nearest) else "desc"
    return item.direction.text != best


def _name(item: ast.Item) -> str:
    return item.alias.text if item.alias else ast.text_of(item.expression, sigil="")


def _field(name: str, operand: Operand, *, is_keyed: bool) -> ResultField:
    is_nullable = operand.is_nullable
    match operand.expression:
        case AggregateOf(function=AggregateFunction.COUNT | AggregateFunction.COLLECT):
            is_nullable = False
        case AggregateOf():
            # Without group keys there is a row even where nothing matched.
            is_nullable = operand.is_nullable or not is_keyed
        case EntityOf():
            return ResultField(name, "node", is_nullable)
        case _:
            pass
    match operand.type:
        case ListOf(item=item):
            return ResultField(name, "list", is_nullable, item_kind=item.value)
        case VectorOf(width=width):
            return ResultField(name, "vector", is_nullable, vector_dim=width)
        case EnumOf():
            return ResultField(name, "enum", is_nullable)
        case Scalar() as scalar:
            return ResultField(name, scalar.value, is_nullable)
        case None:
            return ResultField(name, Scalar.STRING.value, is_nullable=True)
