"""The logical plan: what a query asks for, with every name resolved and every type known.

The plan is a tree of operators over *binding rows*: a row binds each variable to a node or an edge.
For

    match { $p: Person { name: $name }  $p knows $f  not { $f worksAt $_ } }
    return { $f.name, count($f) as n }  order { n desc }  limit 10

it reads, from the leaf up:

    Unit ─► NodeScan p ─► Filter p.name = $name ─► Expand p ─knows─► f
         ─► AntiJoin (Outer ─► Expand f ─worksAt─► _1)
         ─► Aggregate keys(f.name) n=count(f) ─► Sort n desc ─► Limit 10 ─► Project f.name, n

Expressions, predicates and statements are those of the checked query, in
`lang/query/check/typed.py`. The unions at the end of each part are closed. The plan holds names and
types of the catalog it was checked against and nothing else, so it can be cached by (source hash,
schema hash).
"""

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName
from omnigraph.lang.query.check.typed import (
    MIRRORED,
    OPERATORS,
    ROW,
    AggregateFunction,
    AggregateOf,
    Assignment,
    Bm25,
    Column,
    ColumnOf,
    Compare,
    CompareOp,
    Delete,
    Direction,
    EdgeStep,
    EntityOf,
    Expression,
    IdentityOf,
    InsertEdge,
    InsertNode,
    Literal,
    Membership,
    Nearest,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    Ranking,
    ResultField,
    Rrf,
    ScoreOf,
    SortKey,
    Statement,
    TextMatch,
    TextMatchKind,
    Touch,
    Update,
)

__all__ = [
    "MIRRORED",
    "OPERATORS",
    "ROW",
    "Aggregate",
    "AggregateFunction",
    "AggregateOf",
    "AntiJoin",
    "Assignment",
    "Bm25",
    "Column",
    "ColumnOf",
    "Compare",
    "CompareOp",
    "CompiledQuery",
    "CountJoin",
    "Delete",
    "Direction",
    "Distinct",
    "EdgeStep",
    "EntityOf",
    "Expand",
    "Expression",
    "Filter",
    "IdentityOf",
    "InsertEdge",
    "InsertNode",
    "LeftJoin",
    "Limit",
    "Literal",
    "Membership",
    "MutationQuery",
    "Nearest",
    "NodeScan",
    "Nothing",
    "Now",
    "NullTest",
    "Op",
    "Outer",
    "Parameter",
    "PatternOp",
    "Predicate",
    "Project",
    "PropertyOf",
    "Ranking",
    "ReadQuery",
    "ResultField",
    "Rrf",
    "ScoreOf",
    "SemiJoin",
    "Sort",
    "SortKey",
    "Statement",
    "TextMatch",
    "TextMatchKind",
    "TopK",
    "Touch",
    "Union",
    "Unit",
    "Update",
    "ValueJoin",
]

# Operators over binding rows ---------------------------------------------------------------------


@frozen
class Unit:
    """One row that binds nothing: where every pattern begins."""


@frozen
class Outer:
    """The rows of the enclosing pattern: where a sub-pattern begins."""

    variables: tuple[VariableName, ...]


@frozen
class NodeScan:
    """Every node of the types, for every incoming row."""

    source: "Op"
    variable: VariableName
    types: tuple[TypeName, ...]


@frozen
class Nothing:
    """No row: tests above could never all hold.

    It stands next to the leaf, and what binds the variables stays above it: the answer has the
    columns it would have had.
    """

    source: "Op"
    because: tuple[Predicate, ...]
    """The tests that fail, alone or together; none where a block decided it."""


@frozen
class ValueJoin:
    """Each row with each row of the pattern for which all tests hold.

    The left side of a test is about the row, the right side about the row of the pattern. All tests
    are equalities, but for the last one, which may be `<`, `<=`, `>` or `>=`; without tests it is a
    product. The pattern begins in `Unit` and shares no variable with the source. Null matches
    nothing.
    """

    source: "Op"
    pattern: "Op"
    tests: tuple[Compare, ...]


@frozen
class Expand:
    """From `origin` to `target` over the edges.

    Without `edge_variable` the targets of one origin are a set: each is reported once, if first
    reached at a depth within the hops. With it, there is one row per edge (and one hop).
    `target_types` are the types the target can have here. If `is_target_bound`, the row already
    binds the target and this keeps the rows where it is reached.
    """

    source: "Op"
    origin: VariableName
    target: VariableName
    target_types: tuple[TypeName, ...]
    steps: tuple[EdgeStep, ...]
    least_hops: int = 1
    most_hops: int = 1
    edge_variable: VariableName | None = None
    is_target_bound: bool = False


@frozen
class Filter:
    source: "Op"
    predicate: Predicate


@frozen
class AntiJoin:
    """Rows for which the pattern (a tree that begins in `Outer`) has no row."""

    source: "Op"
    pattern: "Op"


@frozen
class SemiJoin:
    """Rows for which the pattern has at least one row."""

    source: "Op"
    pattern: "Op"


@frozen
class CountJoin:
    """Rows for which the number of rows of the pattern compares with `bound`."""

    source: "Op"
    pattern: "Op"
    op: CompareOp
    bound: Literal | Parameter


@frozen
class LeftJoin:
    """Each row with each row of the pattern, or with nulls in `variables` where it has none."""

    source: "Op"
    pattern: "Op"
    variables: tuple[VariableName, ...]


@frozen
class Union:
    """Rows of any block, as a set over the outer variables and `variables`, bound in each block."""

    source: "Op"
    blocks: tuple["Op", ...]
    variables: tuple[VariableName, ...]


@frozen
class TopK:
    """Rows whose `variable` is among the k best distinct ones; the score is kept for ScoreOf."""

    source: "Op"
    variable: VariableName
    ranking: Ranking
    k: Literal | Parameter


# Operators that shape the answer -----------------------------------------------------------------


@frozen
class Aggregate:
    """One row per distinct `keys`; without keys, one row always."""

    source: "Op"
    keys: tuple[Column, ...]
    aggregates: tuple[Column, ...]


@frozen
class Distinct:
    """One row per distinct combination of the columns; makes columns, as Aggregate does."""

    source: "Op"
    columns: tuple[Column, ...]


@frozen
class Sort:
    """A total order: ties fall to the ids of `ties`, ascending, in binding order.

    After Aggregate or Distinct, `ties` is empty and ties fall to the columns below, in order.
    """

    source: "Op"
    keys: tuple[SortKey, ...]
    ties: tuple[VariableName, ...]


@frozen
class Limit:
    source: "Op"
    count: int | Parameter | None
    offset: int | Parameter = 0


@frozen
class Project:
    source: "Op"
    columns: tuple[Column, ...]


PatternOp = (
    Unit
    | Outer
    | NodeScan
    | Nothing
    | ValueJoin
    | Expand
    | Filter
    | AntiJoin
    | SemiJoin
    | CountJoin
    | LeftJoin
    | Union
    | TopK
)
Op = PatternOp | Aggregate | Distinct | Sort | Limit | Project

# Compiled queries --------------------------------------------------------------------------------


@frozen
class ReadQuery:
    name: str
    parameters: tuple[Parameter, ...]
    plan: Project
    result: tuple[ResultField, ...]
    reads: tuple[Touch, ...]
    description: str | None = None
    instruction: str | None = None


@frozen
class MutationQuery:
    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]
    description: str | None = None
    instruction: str | None = None


CompiledQuery = ReadQuery | MutationQuery
