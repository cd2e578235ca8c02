"""A query with every name resolved and every type known.

The checker turns the syntax tree into a `TypedQuery`; lowering picks an order and never looks at a
name again. Expressions, predicates and statements are final here: the plan uses them as they are.
A pattern is still a *set* of clauses: the order in which they were written means nothing, except
beside `Best`.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.span import Span
from omnigraph.base.types import Scalar, Value, ValueType

# Expressions ------------------------------------------------------------------------------------


@frozen
class Literal:
    value: Value
    type: ValueType | None
    """None only for the literal null."""


@frozen
class Parameter:
    name: str
    type: ValueType
    is_nullable: bool


@frozen
class Now:
    """The time the query began, one value for the whole query; as a Date, its day in UTC."""

    type: Scalar = Scalar.DATETIME


@frozen
class PropertyOf:
    """A property of the node or edge bound to `variable`; on a mutation's row, variable is ROW."""

    variable: VariableName
    name: str
    type: ValueType
    is_nullable: bool


@frozen
class IdentityOf:
    """The id that names the entity in its type."""

    variable: VariableName


@frozen
class EntityOf:
    """The whole entity: id and properties, without Blob and Vector."""

    variable: VariableName


@frozen
class Nearest:
    """Rank by cosine distance; `query` is a vector, or text to be embedded."""

    field: PropertyOf
    query: Literal | Parameter
    is_exact: bool = False
    """Whether every candidate must be looked at, however long it takes."""


@frozen
class Bm25:
    field: PropertyOf
    query: Literal | Parameter


@frozen
class Rrf:
    """Reciprocal rank fusion of two rankings of one variable."""

    left: Nearest | Bm25
    right: Nearest | Bm25
    k: int


Ranking = Nearest | Bm25 | Rrf


@frozen
class ScoreOf:
    """The rank score that a TopK gave to the variable."""

    variable: VariableName


class AggregateFunction(Enum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"


@frozen
class AggregateOf:
    """`count` of an EntityOf counts the rows that bind it; of anything else, non-null values."""

    function: AggregateFunction
    argument: "EntityOf | PropertyOf | IdentityOf | ScoreOf"
    is_distinct: bool = False


@frozen
class ColumnOf:
    """A column made by the operator below: how Sort and Project speak of what Aggregate made."""

    name: str


Expression = (
    Literal
    | Parameter
    | Now
    | PropertyOf
    | IdentityOf
    | EntityOf
    | Nearest
    | Bm25
    | Rrf
    | ScoreOf
    | AggregateOf
    | ColumnOf
)

# Predicates -------------------------------------------------------------------------------------


class CompareOp(Enum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"


OPERATORS: Mapping[CompareOp, Callable[[Any, Any], Any]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
}
"""What each means for numbers, columns of them, and whatever else compares as Python does."""

MIRRORED = {
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
}
"""The comparison that means the same with its sides exchanged; the others have none."""


@frozen
class Compare:
    """A null on either side matches nothing, `!=` included."""

    op: CompareOp
    left: Expression
    right: Expression


@frozen
class Membership:
    """`left in options`; `options` is a list literal or a list parameter."""

    left: Expression
    options: Literal | Parameter


@frozen
class NullTest:
    operand: Expression
    is_negated: bool


class TextMatchKind(Enum):
    SEARCH = "search"
    FUZZY = "fuzzy"
    PHRASE = "match_text"


@frozen
class TextMatch:
    kind: TextMatchKind
    field: PropertyOf
    query: Literal | Parameter
    max_edits: int | None = None


Predicate = Compare | Membership | NullTest | TextMatch

# Traversals --------------------------------------------------------------------------------------


class Direction(Enum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


@frozen
class EdgeStep:
    """One way to take a hop: an edge type and the direction it is walked in."""

    edge: TypeName
    direction: Direction


# Patterns ---------------------------------------------------------------------------------------


@frozen
class Variable:
    """A variable of a pattern: a node or an edge of one of the types, sorted."""

    name: VariableName
    types: tuple[TypeName, ...]
    is_edge: bool = False
    is_anonymous: bool = False


@frozen
class Bind:
    """The variable ranges over the nodes of its types."""

    variable: VariableName


@frozen
class Traverse:
    """Steps are walked from left to right; lowering may turn them round."""

    left: VariableName
    right: VariableName
    steps: tuple[EdgeStep, ...]
    least_hops: int = 1
    most_hops: int = 1
    edge_variable: VariableName | None = None


@frozen
class Where:
    predicate: Predicate


@frozen
class Without:
    pattern: "Pattern"


@frozen
class With:
    pattern: "Pattern"


@frozen
class Counted:
    pattern: "Pattern"
    op: CompareOp
    bound: Literal | Parameter


@frozen
class Maybe:
    pattern: "Pattern"


@frozen
class Either:
    """`variables` are bound by every block, and so by the clause."""

    patterns: tuple["Pattern", ...]
    variables: tuple[VariableName, ...]


@frozen
class Best:
    """Clauses written before it, and all that speak of its variable alone, come first."""

    variable: VariableName
    ranking: Ranking
    k: Literal | Parameter


Clause = Bind | Traverse | Where | Without | With | Counted | Maybe | Either | Best


@frozen
class Pattern:
    """`outer`: variables of the enclosing pattern that it uses; `variables`: those it binds itself.

    Both are in the order of first mention.
    """

    clauses: tuple[Clause, ...]
    variables: tuple[Variable, ...]
    outer: tuple[VariableName, ...] = ()


# Answers -----------------------------------------------------------------------------------------


@frozen
class Column:
    name: str
    expression: Expression


@frozen
class SortKey:
    """Nulls are smallest. A ranking sorts best first unless `is_descending` says otherwise."""

    expression: Expression
    is_descending: bool = False


@frozen
class ResultField:
    """One column of an answer. `kind` is a scalar's name, `enum`, `list`, `vector` or `node`."""

    name: str
    kind: str
    is_nullable: bool
    item_kind: str | None = None
    vector_dim: int | None = None


@frozen
class Touch:
    """A type that a query reads or writes; `kind` is `node` or `edge`."""

    kind: str
    type_name: TypeName


# Mutations --------------------------------------------------------------------------------------

ROW = VariableName("")
"""The variable of the row that an update or delete looks at."""


@frozen
class Assignment:
    property: str
    value: Literal | Parameter | Now
    span: Span = field(compare=False, repr=False)
    """Of the value: a parameter may turn out to have none that fits."""


@frozen
class InsertNode:
    type: TypeName
    values: tuple[Assignment, ...]


@frozen
class InsertEdge:
    """Endpoints are node ids (a single key value is turned into its id)."""

    type: TypeName
    source: Literal | Parameter
    target: Literal | Parameter
    values: tuple[Assignment, ...]


@frozen
class Update:
    type: TypeName
    is_edge: bool
    values: tuple[Assignment, ...]
    where: tuple[Predicate, ...]
    """All must hold."""


@frozen
class Delete:
    type: TypeName
    is_edge: bool
    where: tuple[Predicate, ...]


Statement = InsertNode | InsertEdge | Update | Delete

# Checked queries ---------------------------------------------------------------------------------


@frozen
class TypedRead:
    """`columns` and `result` go together. The parts of `order` speak of variables, not columns."""

    name: str
    parameters: tuple[Parameter, ...]
    pattern: Pattern
    columns: tuple[Column, ...]
    is_distinct: bool
    order: tuple[SortKey, ...]
    limit: int | Parameter | None
    offset: int | Parameter
    result: tuple[ResultField, ...]
    reads: tuple[Touch, ...]
    description: str | None = None
    instruction: str | None = None


@frozen
class TypedMutation:
    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]
    description: str | None = None
    instruction: str | None = None


TypedQuery = TypedRead | TypedMutation
