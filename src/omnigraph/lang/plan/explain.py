"""A plan as a person reads it: one operator a line, in the order in which rows pass through.

Blocks are indented under the operator that asks them.
"""

import datetime
import json
from collections.abc import Iterator

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Scalar, Value
from omnigraph.lang.plan.chain import binds, chain
from omnigraph.lang.plan.ir import (
    ROW,
    Aggregate,
    AggregateOf,
    AntiJoin,
    Assignment,
    Bm25,
    Column,
    ColumnOf,
    Compare,
    CompiledQuery,
    CountJoin,
    Delete,
    Direction,
    Distinct,
    EdgeStep,
    EntityOf,
    Expand,
    Expression,
    Filter,
    IdentityOf,
    InsertEdge,
    InsertNode,
    LeftJoin,
    Limit,
    Literal,
    Membership,
    MutationQuery,
    Nearest,
    NodeScan,
    Nothing,
    Now,
    NullTest,
    Op,
    Outer,
    Parameter,
    Predicate,
    Project,
    PropertyOf,
    ReadQuery,
    Rrf,
    ScoreOf,
    SemiJoin,
    Sort,
    SortKey,
    Statement,
    TextMatch,
    TopK,
    Union,
    Unit,
    Update,
    ValueJoin,
)

__all__ = [
    "PlanLine",
    "describe",
    "explain",
    "plan_lines",
    "show_expression",
    "show_predicate",
]

INDENT = "    "

# Of a vector, the first few numbers tell it from another.
MAX_SHOWN_ITEMS = 4


@frozen
class PlanLine:
    """One line of a plan. `op` is None where the line is no operator, as `or` between blocks."""

    depth: int
    text: str
    op: Op | None

    @property
    def indented(self) -> str:
        return INDENT * self.depth + self.text


def explain(query: CompiledQuery) -> str:
    """The plan as text."""
    return "\n".join(line.indented for line in plan_lines(query))


def plan_lines(query: CompiledQuery) -> tuple[PlanLine, ...]:
    """The plan line by line, for readers that say more about an operator than its text."""
    match query:
        case ReadQuery(plan=plan):
            return tuple(_plan_line(text, op) for text, op in _lines(plan))
        case MutationQuery(statements=statements):
            return tuple(PlanLine(0, _statement(s), None) for s in statements)


def _plan_line(indented: str, op: Op | None) -> PlanLine:
    text = indented.lstrip(" ")
    return PlanLine((len(indented) - len(text)) // len(INDENT), text, op)


def describe(op: Op) -> str:
    """One operator, as `explain` writes it."""
    return next((text for text, own in reversed(list(_lines(op))) if own is op), "Unit")


Line = tuple[str, Op | None]


def _lines(op: Op) -> Iterator[Line]:
    match op:
        case Unit():
            return
        case Outer(variables=variables):
            yield f"Outer {', '.join(variables)}".rstrip(), op
            return
        case NodeScan(source=source, variable=variable, types=types):
            yield from _lines(source)
            yield f"NodeScan {variable}: {'|'.join(types)}", op
        case Nothing(source=source, because=because):
            yield from _lines(source)
            yield f"Nothing {' and '.join(show_predicate(p) for p in because)}".rstrip(), op
        case ValueJoin(source=source, pattern=pattern, tests=tests):
            yield from _lines(source)
            joined = ", ".join(v for link in chain(pattern) for v in binds(link))
            shown = ", ".join(map(show_predicate, tests))
            head = f"ValueJoin {shown}" if tests else f"Product with {joined}"
            yield from _with_blocks(head, op, pattern)
        case Expand(source=source):
            yield from _lines(source)
            yield _expand(op), op
        case Filter(source=source, predicate=predicate):
            yield from _lines(source)
            yield f"Filter {show_predicate(predicate)}", op
        case AntiJoin(source=source, pattern=pattern):
            yield from _lines(source)
            yield from _with_blocks("AntiJoin", op, pattern)
        case SemiJoin(source=source, pattern=pattern):
            yield from _lines(source)
            yield from _with_blocks("SemiJoin", op, pattern)
        case CountJoin(source=source, pattern=pattern, op=operator, bound=bound):
            yield from _lines(source)
            head = f"CountJoin {operator.value} {show_expression(bound)}"
            yield from _with_blocks(head, op, pattern)
        case LeftJoin(source=source, pattern=pattern, variables=variables):
            yield from _lines(source)
            yield from _with_blocks(f"LeftJoin {', '.join(variables)}", op, pattern)
        case Union(source=source, blocks=blocks, variables=variables):
            yield from _lines(source)
            yield from _with_blocks(f"Union {', '.join(variables)}".rstrip(), op, *blocks)
        case TopK(source=source, variable=variable, ranking=ranking, k=k):
            yield from _lines(source)
            yield f"TopK {show_expression(k)} {variable} by {show_expression(ranking)}", op
        case Aggregate(source=source, keys=keys, aggregates=aggregates):
            yield from _lines(source)
            by = f" by {_columns(keys)}" if keys else ""
            yield f"Aggregate {_columns(aggregates)}{by}", op
        case Distinct(source=source, columns=columns):
            yield from _lines(source)
            yield f"Distinct {_columns(columns)}", op
        case Sort(source=source, keys=keys, ties=ties):
            yield from _lines(source)
            then = f" then ids of {', '.join(ties)}" if ties else ""
            yield f"Sort {', '.join(_sort_key(k) for k in keys)}{then}", op
        case Limit(source=source, count=count, offset=offset):
            yield from _lines(source)
            skipped = f" offset {_bound(offset)}" if offset != 0 else ""
            yield f"Limit {'all' if count is None else _bound(count)}{skipped}", op
        case Project(source=source, columns=columns):
            yield from _lines(source)
            yield f"Project {_columns(columns)}", op


def _bound(bound: int | Parameter) -> str:
    return str(bound) if isinstance(bound, int) else show_expression(bound)


def _with_blocks(head: str, op: Op, *blocks: Op) -> Iterator[Line]:
    yield head, op
    for number, block in enumerate(blocks):
        if number:
            yield f"{INDENT}or", None
        yield from ((f"{INDENT}{text}", own) for text, own in _lines(block))


def _expand(op: Expand) -> str:
    steps = "|".join(_step(s) for s in op.steps)
    is_plain = op.least_hops == op.most_hops == 1
    hops = "" if is_plain else f"{{{op.least_hops},{op.most_hops}}}"
    edge = f" as {op.edge_variable}" if op.edge_variable else ""
    bound = " (bound)" if op.is_target_bound else ""
    types = "|".join(op.target_types)
    return f"Expand {op.origin} {steps}{hops} {op.target}: {types}{edge}{bound}"


def _step(step: EdgeStep) -> str:
    match step.direction:
        case Direction.OUT:
            return f"-{step.edge}->"
        case Direction.IN:
            return f"<-{step.edge}-"
        case Direction.BOTH:
            return f"<-{step.edge}->"


def _columns(columns: tuple[Column, ...]) -> str:
    shown = []
    for column in columns:
        text = show_expression(column.expression)
        shown.append(text if text == column.name else f"{column.name} = {text}")
    return ", ".join(shown)


def _sort_key(key: SortKey) -> str:
    text = show_expression(key.expression)
    if isinstance(key.expression, Nearest | Bm25 | Rrf):
        return f"{text} {'worst first' if key.is_descending else 'best first'}"
    return f"{text} desc" if key.is_descending else text


def show_predicate(predicate: Predicate) -> str:
    match predicate:
        case Compare(op=op, left=left, right=right):
            return f"{show_expression(left)} {op.value} {show_expression(right)}"
        case Membership(left=left, options=options):
            return f"{show_expression(left)} in {show_expression(options)}"
        case NullTest(operand=operand, is_negated=is_negated):
            return f"{show_expression(operand)} is {'not ' if is_negated else ''}null"
        case TextMatch(kind=kind, field=field, query=query, max_edits=edits):
            more = "" if edits is None else f", {edits}"
            return f"{kind.value}({show_expression(field)}, {show_expression(query)}{more})"


def show_expression(expression: Expression) -> str:
    match expression:
        case Literal(value=value):
            return _value(value)
        case Parameter(name=name):
            return f"${name}"
        case Now(type=type_):
            return "now()" if type_ is Scalar.DATETIME else f"now() as {type_}"
        case PropertyOf(variable=variable, name=name):
            return name if variable == ROW else f"{variable}.{name}"
        case IdentityOf(variable=variable):
            return "id" if variable == ROW else f"id({variable})"
        case EntityOf(variable=variable):
            return variable
        case Nearest(field=field, query=query, is_exact=is_exact):
            more = ", exact" if is_exact else ""
            return f"nearest({show_expression(field)}, {show_expression(query)}{more})"
        case Bm25(field=field, query=query):
            return f"bm25({show_expression(field)}, {show_expression(query)})"
        case Rrf(left=left, right=right, k=k):
            return f"rrf({show_expression(left)}, {show_expression(right)}, {k})"
        case ScoreOf(variable=variable):
            return f"score({variable})"
        case AggregateOf(function=function, argument=argument, is_distinct=is_distinct):
            distinct = "distinct " if is_distinct else ""
            return f"{function.value}({distinct}{show_expression(argument)})"
        case ColumnOf(name=name):
            return name


def _value(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case tuple():
            shown = [_value(v) for v in value[:MAX_SHOWN_ITEMS]]
            return f"[{', '.join(shown)}{', …' if len(value) > MAX_SHOWN_ITEMS else ''}]"
        case bytes():
            return f"{len(value)} bytes"
        case datetime.date():
            return value.isoformat()
        case int() | float():
            return repr(value)


def _statement(statement: Statement) -> str:
    match statement:
        case InsertNode(type=name, values=values):
            return f"InsertNode {name} {_assignments(values)}".rstrip()
        case InsertEdge(type=name, source=source, target=target, values=values):
            ends = f"{show_expression(source)} -> {show_expression(target)}"
            return f"InsertEdge {name} {ends} {_assignments(values)}".rstrip()
        case Update(type=name, values=values, where=where):
            return f"Update {name} {_assignments(values)} where {_where(where)}"
        case Delete(type=name, where=where):
            return f"Delete {name} where {_where(where)}"


def _assignments(values: tuple[Assignment, ...]) -> str:
    return ", ".join(f"{a.property} = {show_expression(a.value)}" for a in values)


def _where(predicates: tuple[Predicate, ...]) -> str:
    return " and ".join(show_predicate(p) for p in predicates)
