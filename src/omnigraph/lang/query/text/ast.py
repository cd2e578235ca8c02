"""The syntax tree of a `.gq` file, exactly as written and before any name is looked up.

Two trees are equal if they say the same thing: places (`span`) never count. A `Variable` may turn
out to be a parameter, and `$a contains $b` may turn out to be an edge; the checker decides.
"""

import datetime
import json
from dataclasses import field
from enum import Enum

from omnigraph.base.frozen import frozen
from omnigraph.base.span import Span
from omnigraph.base.types import ValueType

# Words and expressions --------------------------------------------------------------------------


@frozen
class Word:
    """A name, keyword or operator, with its place."""

    text: str
    span: Span = field(compare=False)


@frozen
class Literal:
    """A time (`datetime.datetime`, which is a `date` too) has the offset that was written."""

    value: bool | int | float | str | datetime.date | None
    span: Span = field(compare=False)


@frozen
class ListLiteral:
    items: tuple[Literal, ...]
    span: Span = field(compare=False)


@frozen
class Variable:
    """`$name`. `$_` is anonymous; before checking, each gets a name of its own (`is_fresh`)."""

    name: str
    span: Span = field(compare=False)
    is_fresh: bool = field(compare=False, default=False)

    @property
    def is_anonymous(self) -> bool:
        return self.name == "_"

    @property
    def shown(self) -> str:
        return "$_" if self.is_fresh else f"${self.name}"


@frozen
class Property:
    variable: Variable
    name: Word

    @property
    def span(self) -> Span:
        start, end = self.variable.span, self.name.span
        if start.line != end.line:
            return start
        return Span(start.line, start.column, end.column + end.length - start.column)


@frozen
class Reference:
    """A bare name: an alias in `return` or `order`, a property in `where`."""

    name: Word

    @property
    def span(self) -> Span:
        return self.name.span


@frozen
class Call:
    function: Word
    arguments: tuple["Expression", ...]
    is_distinct: bool = False
    span: Span = field(compare=False, default=Span(1, 1))


Expression = Literal | ListLiteral | Variable | Property | Reference | Call


def text_of(expression: Expression, *, sigil: str = "$") -> str:
    """The expression as the formatter writes it; columns are named without the sigil."""
    match expression:
        case Literal(value=str() as text):
            return json.dumps(text, ensure_ascii=False)
        case Literal(value=None):
            return "null"
        case Literal(value=bool() as truth):
            return str(truth).lower()
        case Literal(value=datetime.datetime() as moment):
            text = moment.isoformat()
            utc = f"{text.removesuffix('+00:00')}Z" if text.endswith("+00:00") else text
            return f'datetime("{utc}")'
        case Literal(value=datetime.date() as day):
            return f'date("{day.isoformat()}")'
        case Literal(value=value):
            return repr(value)
        case ListLiteral(items=items):
            return f"[{', '.join(text_of(i) for i in items)}]"
        case Variable(name=name):
            return f"{sigil}{name}"
        case Property(variable=variable, name=word):
            return f"{sigil}{variable.name}.{word.text}"
        case Reference(name=word):
            return word.text
        case Call(function=function, arguments=arguments, is_distinct=is_distinct):
            distinct = "distinct " if is_distinct else ""
            inside = ", ".join(text_of(a, sigil=sigil) for a in arguments)
            return f"{function.text}({distinct}{inside})"


# Clauses of a pattern ---------------------------------------------------------------------------


@frozen
class Assignment:
    """`name: value` in a binding, an insert or an update."""

    name: Word
    value: Expression


@frozen
class Binding:
    variable: Variable
    type: Word
    matches: tuple[Assignment, ...] = ()

    @property
    def span(self) -> Span:
        return self.variable.span


@frozen
class Hops:
    """`{least,most}`; `most` is None where it was left out."""

    least: int
    most: int | None
    span: Span = field(compare=False)


@frozen
class Traversal:
    left: Variable
    edges: tuple[Word, ...]
    right: Variable
    is_undirected: bool = False
    hops: Hops | None = None
    edge_variable: Variable | None = None

    @property
    def span(self) -> Span:
        return self.left.span


@frozen
class Comparison:
    left: Expression
    op: Word
    right: Expression

    @property
    def span(self) -> Span:
        return self.left.span


@frozen
class Membership:
    left: Expression
    op: Word
    options: Expression

    @property
    def span(self) -> Span:
        return self.left.span


@frozen
class NullTest:
    operand: Expression
    is_negated: bool

    @property
    def span(self) -> Span:
        return self.operand.span


Predicate = Comparison | Membership | NullTest | Call
"""A `Call` is a text search, or an error."""


@frozen
class Block:
    clauses: tuple["Clause", ...]
    span: Span = field(compare=False)
    closing: Span = field(compare=False)


class BlockKind(Enum):
    NOT = "not"
    EXISTS = "exists"
    OPTIONAL = "optional"


@frozen
class SubPattern:
    """`not { … }`, `exists { … }` or `optional { … }`."""

    kind: BlockKind
    block: Block
    span: Span = field(compare=False)


@frozen
class CountTest:
    """`count { … } >= 2`."""

    block: Block
    op: Word
    bound: Expression
    span: Span = field(compare=False)


@frozen
class Alternatives:
    """`or { … } { … }`."""

    blocks: tuple[Block, ...]
    span: Span = field(compare=False)


@frozen
class Top:
    """`top 10 $d by bm25(…)`."""

    k: Expression
    variable: Variable
    ranking: Call
    span: Span = field(compare=False)


Clause = Binding | Traversal | Predicate | SubPattern | CountTest | Alternatives | Top

# Queries ----------------------------------------------------------------------------------------


@frozen
class ParameterType:
    """`type` is None where the text names no type; `text` is what it says."""

    text: str
    type: ValueType | None
    is_nullable: bool
    span: Span = field(compare=False)


@frozen
class Parameter:
    variable: Variable
    type: ParameterType


@frozen
class Annotation:
    name: Word
    arguments: tuple[Literal, ...]


@frozen
class Header:
    name: Word
    parameters: tuple[Parameter, ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False)


@frozen
class Item:
    """One entry of `return`."""

    expression: Expression
    alias: Word | None = None

    @property
    def span(self) -> Span:
        return self.expression.span


@frozen
class OrderItem:
    """`direction` is `asc`, `desc`, or None where neither was written."""

    expression: Expression
    direction: Word | None = None

    @property
    def span(self) -> Span:
        return self.expression.span


@frozen
class Read:
    header: Header
    match: Block
    items: tuple[Item, ...]
    is_distinct: bool
    order: tuple[OrderItem, ...]
    limit: Literal | Variable | None
    offset: Literal | Variable | None
    closing: Span = field(compare=False)


@frozen
class Insert:
    type: Word
    values: tuple[Assignment, ...]
    span: Span = field(compare=False)


@frozen
class Update:
    type: Word
    values: tuple[Assignment, ...]
    where: tuple[Predicate, ...]
    span: Span = field(compare=False)


@frozen
class Delete:
    type: Word
    where: tuple[Predicate, ...]
    span: Span = field(compare=False)


Statement = Insert | Update | Delete


@frozen
class Mutation:
    header: Header
    statements: tuple[Statement, ...]
    closing: Span = field(compare=False)


Query = Read | Mutation


@frozen
class File:
    queries: tuple[Query, ...]
