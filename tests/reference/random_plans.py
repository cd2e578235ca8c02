"""Random small graphs and random plans over them, of every operator the reader runs.

The graph is mean on purpose: loops, parallel edges, nulls everywhere, two types whose ids are the
same texts, and integers that no float can tell apart.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType, VectorOf
from omnigraph.lang.plan import ir
from omnigraph.lang.schema.catalog import Catalog, EntityType
from tests.reference.naive import Entity, PlainGraph
from tests.reference.small_graph import catalog_of, plain_graph

SCHEMA = """
interface Named { name: String?  n: I64? }
node A implements Named {
    x: F64?  small: I32?  flag: Bool?  day: Date?  at: DateTime?  tags: [String]?
}
node B implements Named { id: I64 @key  big: U64? }
edge Aa: A -> A { w: I32? }
edge Ab: A -> B
edge Ba: B -> A { w: I32? }
"""
CATALOG = catalog_of(SCHEMA)

T = TypeVar("T")

words = st.sampled_from(["", "a", "ab", "b", "é", "\U0001f600", "Z"])
halves = st.integers(-6, 6).map(lambda k: k / 2)
integers = st.sampled_from([-2, -1, 0, 1, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1])
days = st.sampled_from([datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)])
times = st.sampled_from(
    [datetime.datetime(2024, 2, 29, 12, 0, 0, ms * 1000, datetime.UTC) for ms in (0, 1, 999)]
)

VALUES: dict[Scalar, st.SearchStrategy[Any]] = {
    Scalar.STRING: words,
    Scalar.BLOB: st.binary(max_size=3),
    Scalar.BOOL: st.booleans(),
    Scalar.I32: st.integers(-2, 3),
    Scalar.I64: integers,
    Scalar.U32: st.sampled_from([0, 1, 2, 2**32 - 1]),
    Scalar.U64: st.sampled_from([0, 1, 2**53 + 1, 2**63, 2**64 - 1]),
    # Their sums are exact, in whatever order they are added up.
    Scalar.F32: halves,
    Scalar.F64: halves,
    Scalar.DATE: days,
    Scalar.DATETIME: times,
}
SUMMED = (Scalar.I32, Scalar.U32, Scalar.F32, Scalar.F64)
"""Types whose few values have a sum that fits."""


def values_of(type_: ValueType) -> st.SearchStrategy[Any]:
    match type_:
        case Scalar():
            return VALUES[type_]
        case EnumOf(values=values):
            return st.sampled_from(values)
        case ListOf(item=item):
            return st.lists(VALUES[item], max_size=3)
        case VectorOf(width=width):
            return st.lists(st.integers(1, 3).map(float), min_size=width, max_size=width)


def _is_number(type_: ValueType | None) -> bool:
    return isinstance(type_, Scalar) and type_.is_numeric


# What a value of a number's column may be compared with, whatever the column's own type.
number_literals = st.one_of(
    integers.map(lambda value: ir.Literal(value, Scalar.I64)),
    st.sampled_from([0.5, -1.0, 1.0, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300]).map(
        lambda value: ir.Literal(value, Scalar.F64)
    ),
)


# Graphs -------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn, catalog: Catalog = CATALOG) -> PlainGraph:
    rows: dict[str, list[Entity]] = {}
    for node, most in zip(catalog.nodes, (5, 3, 3, 3), strict=False):
        ids = [str(number) for number in range(draw(st.integers(0, most)))]
        if catalog is not CATALOG and not _has_number_for_key(node):
            ids = draw(st.lists(st.sampled_from(ODD_IDS), max_size=most, unique=True))
        rows[node.name] = [Entity(node.name, id_, draw(_values(node, id_))) for id_ in ids]
    for edge in catalog.edges:
        sources, targets = rows[edge.source], rows[edge.target]
        count = draw(st.integers(0, 7)) if sources and targets else 0
        rows[edge.name] = [
            Entity(
                edge.name,
                f"e{number}",
                draw(_values(edge, "")),
                src=draw(st.sampled_from(sources)).id,
                dst=draw(st.sampled_from(targets)).id,
            )
            for number in range(count)
        ]
    return plain_graph(catalog, rows)


# Texts that look like what an engine may make of an id.
ODD_IDS = [
    "0",
    "1",
    "A:0",
    ":",
    "\x010",
    "é",
    "\U0001f600",
    "\uffff",
    "a.b`c 'd\"",
    "null",
    "Z",
    "z",
]


def _has_number_for_key(node: EntityType) -> bool:
    return any(_is_number(node.by_name[name].type) for name in node.key)


def _values(entity: EntityType, id_: str) -> st.SearchStrategy[dict[str, Any]]:
    own = {name: st.just(int(id_) if _has_number_for_key(entity) else id_) for name in entity.key}
    return st.fixed_dictionaries(
        {
            p.name: own.get(p.name, _value(p.type, is_nullable=p.is_nullable))
            for p in entity.properties
        }
    )


def _value(type_: ValueType, *, is_nullable: bool) -> st.SearchStrategy[Any]:
    return st.none() | values_of(type_) if is_nullable else values_of(type_)


# Plans --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    name: VariableName
    types: tuple[TypeName, ...]
    is_edge: bool = False
    catalog: Catalog = field(default=CATALOG, compare=False, repr=False)

    def properties(self) -> list[ir.PropertyOf]:
        """Those that all of its types have, and that a query can read."""
        known = self.catalog.edges if self.is_edge else self.catalog.nodes
        entities = [entity for entity in known if entity.name in self.types]
        shared = set.intersection(*(set(entity.by_name) for entity in entities))
        return [
            ir.PropertyOf(self.name, p.name, p.type, is_nullable=True)
            for p in entities[0].properties
            if p.name in shared and p.type is not Scalar.BLOB and not isinstance(p.type, VectorOf)
        ]


@dataclass
class Drawing:
    """A plan in the making. Names are given out once, so that no sub-pattern hides another's."""

    draw: st.DrawFn
    catalog: Catalog = CATALOG
    parameters: dict[str, Value] = field(default_factory=dict)
    names: int = 0

    def choose(self, options: list[T]) -> T:
        return self.draw(st.sampled_from(options))

    def fresh(self) -> VariableName:
        self.names += 1
        # Every other name differs from the one before in case alone.
        return VariableName(f"{'vV'[self.names % 2 == 0]}{(self.names + 1) // 2}")

    def variable(self, types: tuple[TypeName, ...], *, is_edge: bool = False) -> Variable:
        return Variable(self.fresh(), types, is_edge, self.catalog)

    def given(self, literal: ir.Literal) -> ir.Literal | ir.Parameter:
        """The literal itself, or a parameter that holds it, or null."""
        how = self.choose(["literal", "literal", "parameter", "null"])
        if how == "literal" or literal.type is None:
            return literal
        name = f"p{len(self.parameters)}"
        self.parameters[name] = None if how == "null" else literal.value
        return ir.Parameter(name, literal.type, is_nullable=True)


class Constants(Drawing):
    """For predicates that no parameter decides."""

    def given(self, literal: ir.Literal) -> ir.Literal:
        return literal


def _nodes(scope: list[Variable]) -> list[Variable]:
    return [variable for variable in scope if not variable.is_edge]


def pattern(d: Drawing, source: ir.Op, scope: list[Variable], *, depth: int, size: int) -> ir.Op:
    """Up to `size` clauses over `source`; `scope` grows by what they bind."""
    clauses: list[Callable[[Drawing, ir.Op, list[Variable], int], ir.Op]] = [
        _expand, _expand, _expand, _expand_bound, _filter, _filter,
    ]  # fmt: skip
    if depth:
        clauses += [_restrict, _restrict, _optional, _either]
    for _ in range(d.draw(st.integers(0, size))):
        source = d.choose(clauses)(d, source, scope, depth)
    return source


def _scan(d: Drawing, source: ir.Op, scope: list[Variable]) -> ir.Op:
    names = [node.name for node in d.catalog.nodes]
    types = d.choose([(names[0],), *((name,) for name in names), tuple(names)])
    variable = d.variable(types)
    scope.append(variable)
    return ir.NodeScan(source, variable.name, types)


def _steps(d: Drawing, origin: Variable) -> tuple[tuple[ir.EdgeStep, ...], set[TypeName]]:
    """One to three ways to leave the origin, and the types where they can end."""
    count = d.choose([1, 1, 1, 2, 3])
    steps, ends = [], set()
    for edge in d.draw(st.permutations(d.catalog.edges))[:count]:
        ways = [ir.Direction.OUT, ir.Direction.IN]
        if edge.source == edge.target:
            ways.append(ir.Direction.BOTH)
        way = d.choose(ways)
        here, there = edge.source, edge.target
        if way is ir.Direction.IN:
            here, there = there, here
        steps.append(ir.EdgeStep(edge.name, way))
        ends.add(there)
    return tuple(steps), ends


def _expand(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    origin = d.choose(_nodes(scope))
    steps, ends = _steps(d, origin)
    least, most = d.choose([(1, 1), (1, 1), (1, 1), (1, 2), (2, 2), (1, 3), (2, 3)])
    types = tuple(sorted(ends))
    if len(types) > 1:
        types = d.choose([types, types[:1], types[1:]])
    target = d.variable(types)
    edge = None
    if most == 1 and d.draw(st.integers(0, 3)) == 0:
        edge = d.variable(tuple(sorted({s.edge for s in steps})), is_edge=True)
        scope.append(edge)
    scope.append(target)
    return ir.Expand(
        source,
        origin.name,
        target.name,
        types,
        steps,
        least,
        most,
        edge_variable=edge.name if edge else None,
    )


def _expand_bound(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    origin, target = d.choose(_nodes(scope)), d.choose(_nodes(scope))
    steps, _ = _steps(d, origin)
    least, most = d.choose([(1, 1), (1, 1), (1, 2), (2, 3)])
    edge = None
    if most == 1 and d.draw(st.integers(0, 3)) == 0:
        edge = d.variable(tuple(sorted({s.edge for s in steps})), is_edge=True)
        scope.append(edge)
    return ir.Expand(
        source,
        origin.name,
        target.name,
        target.types,
        steps,
        least,
        most,
        edge_variable=edge.name if edge else None,
        is_target_bound=True,
    )


def _filter(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    if d.draw(st.integers(0, 11)) == 0:
        return ir.Filter(source, _constant(d))
    return ir.Filter(source, random_predicate(d, d.choose(scope), scope))


ORDERED = [op for op in ir.CompareOp if op.value not in ("contains", "starts_with")]


def random_predicate(d: Drawing, variable: Variable, scope: list[Variable]) -> ir.Predicate:
    properties = variable.properties()
    if d.draw(st.integers(0, 9)) == 0:
        return ir.NullTest(ir.EntityOf(variable.name), is_negated=d.draw(st.booleans()))
    if not properties or d.draw(st.integers(0, 6)) == 0:
        wanted = d.given(ir.Literal(d.choose(["0", "1", "2", "Z"]), Scalar.STRING))
        return ir.Compare(d.choose(ORDERED), ir.IdentityOf(variable.name), wanted)
    property_ = d.choose(properties)
    if d.draw(st.integers(0, 6)) == 0:
        return ir.NullTest(property_, is_negated=d.draw(st.booleans()))
    if isinstance(property_.type, ListOf):
        item = property_.type.item
        wanted = d.given(ir.Literal(d.draw(VALUES[item]), item))
        return ir.Compare(ir.CompareOp.CONTAINS, property_, wanted)
    if _is_number(property_.type):
        return _number_predicate(d, property_, scope)
    values = values_of(property_.type)
    ops = list(ir.CompareOp) if property_.type is Scalar.STRING else ORDERED
    if d.draw(st.integers(0, 4)) == 0:
        options = tuple(d.draw(st.lists(values, max_size=3)))
        return ir.Membership(property_, d.given(ir.Literal(options, ListOf(_scalar(property_)))))
    same = [p for other in scope for p in other.properties() if p.type == property_.type]
    literal = d.given(ir.Literal(d.draw(values), property_.type))
    sides: list[Any] = [property_, d.choose([literal, literal, d.choose(same)])]
    return ir.Compare(d.choose(ops), *d.draw(st.permutations(sides)))


def _tied(d: Drawing, source: ir.Op, scope: list[Variable]) -> ir.Op:
    """Another variable, with a value that one there already has."""
    there = list(scope)
    source = _scan(d, source, scope)
    if d.draw(st.booleans()):
        source = _filter(d, source, scope[-1:], 0)
    pairs = [
        (p, q)
        for v in there
        for p in v.properties()
        for q in scope[-1].properties()
        if (p.type == q.type and not isinstance(p.type, ListOf))
        or (_is_number(p.type) and _is_number(q.type))
    ]
    ids: tuple[ir.Expression, ir.Expression] = (
        ir.IdentityOf(d.choose(there).name),
        ir.IdentityOf(scope[-1].name),
    )
    sides: list[Any] = list(d.choose([ids, *pairs]))
    source = ir.Filter(source, ir.Compare(ir.CompareOp.EQ, *d.draw(st.permutations(sides))))
    return pattern(d, source, scope, depth=1, size=1)


def _constant(d: Drawing) -> ir.Predicate:
    """A test of no variable."""
    literals = [d.draw(number_literals) for _ in range(2)]
    if d.draw(st.booleans()):
        literals = [ir.Literal(d.draw(words), Scalar.STRING) for _ in range(2)]
    left, right = literals[0], d.given(literals[1])
    match d.draw(st.integers(0, 5)):
        case 0:
            return ir.NullTest(right, is_negated=d.draw(st.booleans()))
        case 1 if left.type is not None:
            options = ir.Literal((left.value, None), ListOf(_literal_scalar(left)))
            return ir.Membership(right, options)
        case _:
            is_text = left.type is Scalar.STRING
            return ir.Compare(d.choose(list(ir.CompareOp) if is_text else ORDERED), left, right)


def _literal_scalar(literal: ir.Literal) -> Scalar:
    assert isinstance(literal.type, Scalar)
    return literal.type


def _scalar(property_: ir.PropertyOf) -> Scalar:
    if isinstance(property_.type, EnumOf):
        return Scalar.STRING
    assert isinstance(property_.type, Scalar)
    return property_.type


def _number_predicate(d: Drawing, property_: ir.PropertyOf, scope: list[Variable]) -> ir.Predicate:
    if d.draw(st.integers(0, 4)) == 0:
        literals = d.draw(st.lists(number_literals, max_size=3))
        kind = d.choose([Scalar.I64, Scalar.F64])
        options = tuple(x.value for x in literals if x.type is kind)
        return ir.Membership(property_, d.given(ir.Literal(options, ListOf(kind))))
    numbers = [p for v in scope for p in v.properties() if _is_number(p.type)]
    literal = d.given(d.draw(number_literals))
    sides: list[Any] = [property_, d.choose([literal, literal, *numbers])]
    return ir.Compare(d.choose(ORDERED), *d.draw(st.permutations(sides)))


def _sub_pattern(d: Drawing, scope: list[Variable], depth: int) -> tuple[ir.Op, list[Variable]]:
    """A pattern that begins in some variables of the scope, and what it binds."""
    used = d.draw(st.lists(st.sampled_from(scope), min_size=1, max_size=3, unique=True))
    if not _nodes(used):
        used = [*used, d.choose(_nodes(scope))]
    inside = list(used)
    begun: ir.Op = ir.Outer(tuple(variable.name for variable in used))
    if d.draw(st.booleans()):
        begun = _expand(d, begun, inside, depth)
    return pattern(d, begun, inside, depth=depth - 1, size=2), inside[len(used) :]


def _restrict(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    inner, _ = _sub_pattern(d, scope, depth)
    match d.choose(["not", "exists", "count"]):
        case "not":
            return ir.AntiJoin(source, inner)
        case "exists":
            return ir.SemiJoin(source, inner)
        case _:
            bound = d.given(ir.Literal(d.draw(st.integers(0, 3)), Scalar.I64))
            return ir.CountJoin(source, inner, d.choose(ORDERED), bound)


def _optional(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    inner, bound = _sub_pattern(d, scope, depth)
    scope += bound
    return ir.LeftJoin(source, inner, tuple(variable.name for variable in bound))


def _either(d: Drawing, source: ir.Op, scope: list[Variable], depth: int) -> ir.Op:
    """Blocks that all bind one new variable, each in its own way."""
    shared, types, blocks = d.fresh(), set[TypeName](), []
    for _ in range(d.choose([2, 2, 3])):
        used = d.choose(_nodes(scope))
        inside = [used]
        begun = _expand(d, ir.Outer((used.name,)), inside, depth)
        assert isinstance(begun, ir.Expand)
        renamed = Variable(shared, inside[-1].types, catalog=d.catalog)
        inside[-1] = renamed
        begun = ir.Expand(
            begun.source,
            begun.origin,
            shared,
            begun.target_types,
            begun.steps,
            begun.least_hops,
            begun.most_hops,
            begun.edge_variable,
        )
        blocks.append(pattern(d, begun, inside, depth=depth - 1, size=1))
        types |= set(renamed.types)
    scope.append(Variable(shared, tuple(sorted(types)), catalog=d.catalog))
    return ir.Union(source, tuple(blocks), (shared,))


# Answers ------------------------------------------------------------------------------------------


def _value_of(d: Drawing, scope: list[Variable]) -> ir.Expression:
    variable = d.choose(scope)
    values: list[ir.Expression] = [*variable.properties(), *variable.properties()]
    return d.choose([*values, ir.IdentityOf(variable.name)])


def _columns(d: Drawing, scope: list[Variable], *, least: int) -> tuple[ir.Column, ...]:
    shown: list[ir.Expression] = [ir.EntityOf(v.name) for v in scope]
    constants: list[ir.Expression] = [ir.Now(), ir.Now(Scalar.DATE), ir.Literal("c", Scalar.STRING)]
    drawn = [
        d.choose([_value_of(d, scope), _value_of(d, scope), d.choose(shown), d.choose(constants)])
        for _ in range(d.draw(st.integers(least, 3)))
    ]
    return tuple(ir.Column(f"c{i}", expression) for i, expression in enumerate(drawn))


def _aggregate(d: Drawing, scope: list[Variable]) -> ir.AggregateOf:
    variable, function = d.choose(scope), d.choose(list(ir.AggregateFunction))
    is_distinct = d.draw(st.booleans())
    values: list[Any] = [ir.IdentityOf(variable.name), *variable.properties()]
    numbers = [p for v in scope for p in v.properties() if p.type in SUMMED]
    whole = ir.EntityOf(variable.name)
    match function:
        case ir.AggregateFunction.COUNT:
            return ir.AggregateOf(function, d.choose([whole, whole, *values]), is_distinct)
        case ir.AggregateFunction.COLLECT:
            return ir.AggregateOf(function, d.choose(values), is_distinct)
        case ir.AggregateFunction.SUM | ir.AggregateFunction.AVG if numbers:
            return ir.AggregateOf(function, d.choose(numbers), is_distinct)
        case ir.AggregateFunction.MIN | ir.AggregateFunction.MAX:
            return ir.AggregateOf(function, d.choose(values), is_distinct)
        case _:
            return ir.AggregateOf(ir.AggregateFunction.COUNT, whole, is_distinct)


def _ordered(
    d: Drawing, source: ir.Op, keys: list[ir.Expression], ties: tuple[VariableName, ...]
) -> ir.Op:
    wanted = d.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2))
    sort_keys = tuple(ir.SortKey(key, is_descending=d.draw(st.booleans())) for key in wanted)
    source = ir.Sort(source, sort_keys, ties)
    if d.draw(st.booleans()):
        count = d.draw(st.none() | st.integers(0, 4))
        source = ir.Limit(source, count, d.draw(st.integers(0, 2)))
    return source


FIRST = VariableName("v1")
"""The variable that every random plan begins with."""


@dataclass(frozen=True)
class RandomQuery:
    plan: ir.Project
    pattern: ir.Op
    """What the plan shapes into its answer."""
    parameters: dict[str, Value]

    @property
    def is_ordered(self) -> bool:
        return isinstance(self.plan.source, ir.Sort | ir.Limit)


@st.composite
def queries(draw: st.DrawFn, catalog: Catalog = CATALOG) -> RandomQuery:
    d, scope = Drawing(draw, catalog), list[Variable]()
    source = _scan(d, ir.Unit(), scope)
    source = pattern(d, source, scope, depth=2, size=3)
    match draw(st.integers(0, 9)):
        case 0:
            source = pattern(d, _scan(d, source, scope), scope, depth=0, size=1)
        case 1 | 2:
            source = _tied(d, source, scope)
        case _:
            pass
    found = source
    match d.choose(["rows", "aggregate", "aggregate", "distinct"]):
        case "rows":
            if draw(st.booleans()):
                keys = [_value_of(d, scope) for _ in range(3)]
                source = _ordered(d, source, keys, tuple(v.name for v in scope))
            plan = ir.Project(source, _columns(d, scope, least=1))
            return RandomQuery(plan, found, d.parameters)
        case "aggregate":
            grouped = _columns(d, scope, least=0)
            made = tuple(
                ir.Column(f"a{i}", _aggregate(d, scope)) for i in range(draw(st.integers(1, 2)))
            )
            source, names = ir.Aggregate(source, grouped, made), [*grouped, *made]
        case _:
            grouped = _columns(d, scope, least=1)
            source, names = ir.Distinct(source, grouped), [*grouped]
    columns: list[ir.Expression] = [ir.ColumnOf(column.name) for column in names]
    if draw(st.booleans()):
        sortable = [ir.ColumnOf(c.name) for c in names if _is_sortable(c.expression)]
        if sortable:
            source = _ordered(d, source, list(sortable), ())
    shown = tuple(ir.Column(c.name, e) for c, e in zip(names, columns, strict=True))
    return RandomQuery(ir.Project(source, shown), found, d.parameters)


def _is_sortable(expression: ir.Expression) -> bool:
    is_list = isinstance(expression, ir.AggregateOf) and (
        expression.function is ir.AggregateFunction.COLLECT
    )
    return not is_list
