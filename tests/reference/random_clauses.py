"""Random sets of clauses, as people write them: declarations left out, in any order.

A variable is declared, or bound by a traversal alone, or both. Blocks use variables of either kind,
`or` stands next to traversals to the same variables, and two variables are compared by several
equalities and inequalities.
"""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import strategies as st

from omnigraph.lang.schema.catalog import Catalog
from tests.reference.clauses import (
    AnyOf,
    Clause,
    Clauses,
    Compared,
    Declared,
    Nested,
    Side,
    Walked,
    bound_by,
    written,
)
from tests.reference.naive import Entity, PlainGraph
from tests.reference.small_graph import catalog_of, plain_graph

SCHEMA = """
node A { k: String @key  n: I32?  m: I32?  f: F64? }
node B { k: String @key  n: I32?  m: I32?  f: F64? }
edge Aa: A -> A { n: I32?  m: I32?  f: F64? }
edge Ab: A -> B { n: I32?  m: I32?  f: F64? }
edge Ba: B -> A { n: I32?  m: I32?  f: F64? }
"""
CATALOG: Catalog = catalog_of(SCHEMA)
EDGES = {"Aa": ("A", "A"), "Ab": ("A", "B"), "Ba": ("B", "A")}
PROPERTIES = ("n", "m", "f")
OPERATORS = ("=", "=", "<", "<=", ">", ">=", "!=")

T = TypeVar("T")

numbers = st.none() | st.integers(0, 2)
values = st.fixed_dictionaries(
    {"n": numbers, "m": numbers, "f": st.none() | st.sampled_from([0.0, 0.5, 1.0, 2.0])}
)


@st.composite
def graphs(draw: st.DrawFn) -> PlainGraph:
    rows: dict[str, list[Entity]] = {}
    for type_, most in (("A", 4), ("B", 3)):
        ids = [f"{number}" for number in range(draw(st.integers(0, most)))]
        rows[type_] = [Entity(type_, id_, {"k": id_, **draw(values)}) for id_ in ids]
    for edge, (source, target) in EDGES.items():
        count = draw(st.integers(0, 5)) if rows[source] and rows[target] else 0
        rows[edge] = [
            Entity(
                edge,
                f"e{number}",
                draw(values),
                src=draw(st.sampled_from(rows[source])).id,
                dst=draw(st.sampled_from(rows[target])).id,
            )
            for number in range(count)
        ]
    return plain_graph(CATALOG, rows)


@dataclass(frozen=True)
class RandomText:
    clauses: Clauses
    types: dict[str, str]
    order: tuple[str, str, bool] | None
    """A property of a variable to sort by, and whether it descends."""
    limit: int | None

    @property
    def shown(self) -> list[str]:
        """The variables of the answer: all that are bound, optional ones too."""
        shown = dict(bound_by(self.clauses))
        for clause in self.clauses:
            if isinstance(clause, Nested) and clause.kind == "optional":
                shown |= bound_by(clause.clauses)
        return list(shown)

    @property
    def text(self) -> str:
        columns = ", ".join(f"id(${v}) as c{i}" for i, v in enumerate(self.shown))
        if self.order is None:
            return f"query q() {{ match {{ {written(self.clauses)} }} return {{ {columns} }} }}"
        variable, name, descends = self.order
        key = f"${variable}.{name}"
        end = f"order {{ {key}{' desc' if descends else ''} }}"
        end += "" if self.limit is None else f" limit {self.limit}"
        columns += f", {key} as sorted"
        return f"query q() {{ match {{ {written(self.clauses)} }} return {{ {columns} }} {end} }}"

    @property
    def spelled_out(self) -> "RandomText":
        """The same with a declaration for each node that the outer clauses bind."""
        nodes = [v for v in bound_by(self.clauses) if self.types[v] in ("A", "B")]
        return replace(self, clauses=(*self.clauses, *(Declared(v, self.types[v]) for v in nodes)))


@dataclass
class _Drawing:
    draw: st.DrawFn
    types: dict[str, str] = field(default_factory=dict)

    def choose(self, options: list[T]) -> T:
        return self.draw(st.sampled_from(options))

    def fresh(self, type_: str) -> str:
        name = f"v{len(self.types)}"
        self.types[name] = type_
        return name

    def nodes(self, scope: list[str]) -> list[str]:
        return [v for v in scope if self.types[v] in ("A", "B")]

    def walk(self, scope: list[str], *, near: str | None = None) -> Walked:
        """From a node of the scope, mostly to a new variable."""
        near = near or self.choose(self.nodes(scope))
        ways = [
            (edge, is_out)
            for edge, ends in EDGES.items()
            for is_out, (here, there) in ((True, ends), (False, ends[::-1]))
            if here == self.types[near]
        ]
        edge, is_out = self.choose(ways)
        there = EDGES[edge][1] if is_out else EDGES[edge][0]
        same = [v for v in self.nodes(scope) if self.types[v] == there]
        far = self.choose(same) if same and self.draw(st.integers(0, 3)) == 0 else self.fresh(there)
        name = self.fresh(edge) if self.draw(st.booleans()) else None
        return Walked(near, edge, far, name) if is_out else Walked(far, edge, near, name)

    def test(self, scope: list[str]) -> Compared:
        left: Side = (self.choose(scope), self.choose(list(PROPERTIES)))
        right: Side = (self.choose(scope), self.choose(list(PROPERTIES)))
        if self.draw(st.integers(0, 2)) == 0:
            right = self.draw(st.integers(0, 2))
        return Compared(left, self.choose(list(OPERATORS)), right)

    def ties(self, left: str, right: str) -> list[Clause]:
        """One to three comparisons between two variables, mostly equalities."""
        return [
            Compared((left, name), self.choose(list(OPERATORS)), (right, name))
            for name in self.draw(
                st.lists(st.sampled_from(PROPERTIES), min_size=1, max_size=3, unique=True)
            )
        ]

    def block(
        self, scope: list[str], *, depth: int, binds: str | None = None, near: str | None = None
    ) -> Clauses:
        """Clauses that use the scope, `near` for one; `binds` is a new variable that they bind."""
        inside, clauses = list(scope), list[Clause]()
        if binds is not None:
            leading = [w for w in EDGES.items() if self.types[binds] in w[1]]
            if self.draw(st.booleans()):
                clauses.append(Declared(binds, self.types[binds]))
            else:
                edge, (source, target) = self.choose(leading)
                here = source if self.types[binds] == target else target
                same = [v for v in self.nodes(scope) if self.types[v] == here]
                other = self.choose(same) if same else self.fresh(here)
                ends = (other, binds) if self.types[binds] == target else (binds, other)
                clauses.append(Walked(ends[0], edge, ends[1]))
            inside.append(binds)
        how = "walk" if near else self.choose(["walk", "walk", "tied", "test", "apart"])
        if how == "walk":
            clauses.append(self.walk(inside, near=near))
        elif how == "tied":
            other = self.fresh(self.choose(["A", "B"]))
            clauses += [Declared(other, self.types[other])]
            clauses += self.ties(self.choose(scope), other)
        elif how == "apart":
            # A walk that nothing ties to the surroundings, beside one from them.
            other = self.fresh(self.choose(["A", "B"]))
            clauses += [Declared(other, self.types[other]), self.walk([other]), self.walk(inside)]
        else:
            clauses.append(self.test(inside))
        inside = list(dict.fromkeys([*inside, *bound_by(tuple(clauses))]))
        if self.draw(st.booleans()):
            clauses.append(self.test(inside))
        if depth and self.draw(st.integers(0, 2)) == 0:
            clauses.append(self.nested(inside, depth=depth - 1))
        return tuple(self.draw(st.permutations(clauses)))

    def nested(self, scope: list[str], *, depth: int) -> Clause:
        kind = self.choose(["not", "exists", "count", "or", "or"])
        match kind:
            case "or":
                shared = None
                if self.draw(st.integers(0, 2)) == 0:
                    shared = self.fresh(self.choose(["A", "B"]))
                # Often all blocks are about a variable that the surroundings bind as well.
                near = self.choose([None, *self.nodes(scope)])
                blocks = [self.block(scope, depth=depth, binds=shared, near=near) for _ in range(2)]
                return AnyOf(tuple(blocks))
            case "count":
                op, bound = self.choose(list(OPERATORS)), self.draw(st.integers(0, 2))
                return Nested("count", self.using(scope, depth=depth), op, bound)
            case "exists":
                return Nested("exists", self.using(scope, depth=depth))
            case _:
                return Nested("not", self.using(scope, depth=depth))

    def using(self, scope: list[str], *, depth: int) -> Clauses:
        """A block must use a variable of its surroundings."""
        block = self.block(scope, depth=depth)
        return block if _uses(block, scope) else (*block, self.test(scope))


def _uses(clauses: Clauses, scope: list[str]) -> bool:
    return any(
        f"${v}" in written(clauses).replace(".", " ").replace(":", " ").split() for v in scope
    )


@st.composite
def texts(draw: st.DrawFn) -> RandomText:
    d = _Drawing(draw)
    first = d.fresh(d.choose(["A", "B"]))
    scope, clauses = [first], list[Clause]()
    for _ in range(draw(st.integers(0, 3))):
        clauses.append(d.walk(scope))
        scope = list(dict.fromkeys([*scope, *bound_by(tuple(clauses))]))
    if draw(st.integers(0, 2)) == 0:
        other = d.fresh(d.choose(["A", "B"]))
        clauses += [Declared(other, d.types[other]), *d.ties(d.choose(scope), other)]
        scope.append(other)
    walked = {v for c in clauses if isinstance(c, Walked) for v in (c.left, c.right)}
    # A variable that a traversal binds needs no declaration.
    clauses += [
        Declared(v, d.types[v])
        for v in d.nodes(scope)
        if Declared(v, d.types[v]) not in clauses and (v not in walked or draw(st.booleans()))
    ]
    for _ in range(draw(st.integers(0, 3))):
        clauses.append(d.nested(scope, depth=1))
    if draw(st.integers(0, 3)) == 0:
        found = d.walk(scope)
        tests = [d.test([*scope, *bound_by((found,))])] if draw(st.booleans()) else []
        if any(v not in scope for v in bound_by((found,))):
            clauses.append(Nested("optional", (found, *tests)))
    if draw(st.booleans()):
        clauses.append(d.test(scope))
    clauses = draw(st.permutations(clauses))
    order = None
    if draw(st.booleans()):
        order = (d.choose(scope), d.choose(list(PROPERTIES)), draw(st.booleans()))
    limit = draw(st.none() | st.integers(0, 4)) if order else None
    return RandomText(tuple(clauses), d.types, order, limit)
