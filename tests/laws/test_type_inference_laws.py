"""The types of variables that inference finds are those of a brute-force enumeration.

The model gives every variable every type in turn and keeps the assignments under which each
traversal has an edge that joins its ends. It knows nothing of narrowing.
"""

import itertools
from contextlib import suppress
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.base.errors import TypeCheckFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.check.check import check
from omnigraph.lang.query.check.typed import Direction, Traverse, TypedRead
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.check.check import compile_schema

TYPES = ("A", "B", "C")
VARIABLES = ("u", "v", "w", "x")
SETS = {"Ab": ("A", "B"), "Bc": ("B", "C")}

Edge = tuple[str, str]
Solution = dict[str, str]


@dataclass(frozen=True)
class Walk:
    left: str
    edges: tuple[int, ...]
    right: str
    hops: str = ""

    @property
    def text(self) -> str:
        names = "|".join(f"e{number}" for number in self.edges)
        return f"${self.left} {names}{self.hops} ${self.right}"


@dataclass(frozen=True)
class Drawn:
    edges: tuple[Edge, ...]
    bindings: dict[str, str]
    walks: tuple[Walk, ...]

    @property
    def schema(self) -> str:
        interfaces = [f"interface {name} {{ n: I32? }}" for name in SETS]
        nodes = []
        for type_ in TYPES:
            shared = ", ".join(name for name, types in SETS.items() if type_ in types)
            nodes.append(f"node {type_} implements {shared} {{ n: I32? }}")
        edges = [f"edge E{i}: {source} -> {to}" for i, (source, to) in enumerate(self.edges)]
        return "\n".join([*interfaces, *nodes, *edges])

    @property
    def query(self) -> str:
        clauses = [f"${name}: {type_}" for name, type_ in self.bindings.items()]
        clauses += [walk.text for walk in self.walks]
        return "query q() { match { " + "\n".join(clauses) + " } return { count($u) as n } }"

    @property
    def names(self) -> list[str]:
        used = {*self.bindings, *(end for w in self.walks for end in (w.left, w.right))}
        return sorted(used)


@st.composite
def drawn(draw: DrawFn, *, is_tree: bool, hops: tuple[str, ...] = ("",)) -> Drawn:
    """Edges, bindings and traversals; `is_tree`: no cycles of traversals but loops."""
    types = st.sampled_from(TYPES)
    edges = draw(st.lists(st.tuples(types, types), min_size=1, max_size=4, unique=True))
    named = st.dictionaries(
        st.sampled_from(VARIABLES), st.sampled_from([*TYPES, *SETS]), max_size=2
    )
    ends = st.sampled_from(VARIABLES)
    some = st.lists(st.integers(0, len(edges) - 1), min_size=1, max_size=3, unique=True).map(tuple)
    walk = st.builds(Walk, ends, some, ends, st.sampled_from(hops))
    walks = [Walk("u", draw(some), draw(ends)), *draw(st.lists(walk, max_size=3))]
    if is_tree:
        walks = _without_cycles(walks)
    return Drawn(tuple(edges), draw(named), tuple(walks))


def _without_cycles(walks: list[Walk]) -> list[Walk]:
    kept, part = [], {name: {name} for name in VARIABLES}
    for walk in walks:
        if walk.left == walk.right:
            kept.append(walk)
        elif part[walk.left] is not part[walk.right]:
            kept.append(walk)
            joined = part[walk.left] | part[walk.right]
            part |= dict.fromkeys(joined, joined)
    return kept


class Model:
    """All assignments of types, and the directions that each edge of a traversal may take."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.allowed = [
            {edge: {"out"} if len({*drawn.edges[edge]}) == 1 else {"out", "in"} for edge in w.edges}
            for w in drawn.walks
        ]

    def solutions(self) -> list[Solution]:
        names = self.drawn.names
        choices = []
        for name in names:
            given = self.drawn.bindings.get(name)
            choices.append(TYPES if given is None else SETS.get(given, (given,)))
        found = [dict(zip(names, each, strict=True)) for each in itertools.product(*choices)]
        return [
            each for each in found if all(self._used(i, each) for i in range(len(self.allowed)))
        ]

    def _used(self, index: int, solution: Solution) -> list[tuple[int, str]]:
        """The edges and directions that join the ends of a traversal."""
        walk = self.drawn.walks[index]
        ends = solution[walk.left], solution[walk.right]
        return [
            (edge, direction)
            for edge, directions in self.allowed[index].items()
            for direction in directions
            if ends
            == (self.drawn.edges[edge] if direction == "out" else self.drawn.edges[edge][::-1])
        ]

    def decide(self) -> dict[str, set[str]] | None:
        """The types of each variable; None where an edge of a traversal can't be taken."""
        for is_last in (False, True):
            solutions = self.solutions()
            for index, allowed in enumerate(self.allowed):
                used = {step for each in solutions for step in self._used(index, each)}
                for edge in allowed:
                    allowed[edge] = {d for e, d in used if e == edge}
                    if not allowed[edge]:
                        return None
                    if len(allowed[edge]) > 1:
                        assert not is_last, "a direction was chosen"
                        allowed[edge] = {"out"}
        return {name: {each[name] for each in self.solutions()} for name in self.drawn.names}


def _inferred(drawn: Drawn) -> TypedRead | None:
    catalog, source = compile_schema(SourceText(drawn.schema)), SourceText(drawn.query)
    try:
        typed = check(parse(source).queries[0], catalog, source)
    except TypeCheckFailed:
        return None
    assert isinstance(typed, TypedRead)
    return typed


def _types(typed: TypedRead) -> dict[str, set[str]]:
    return {str(v.name): {str(t) for t in v.types} for v in typed.pattern.variables}


@given(drawn(is_tree=True))
def test_inference_finds_what_an_enumeration_finds(drawn: Drawn) -> None:
    typed, model = _inferred(drawn), Model(drawn)
    expected = model.decide()
    assert (typed is None) == (expected is None)
    if typed is not None and expected is not None:
        assert _types(typed) == expected
        walks = [c for c in typed.pattern.clauses if isinstance(c, Traverse)]
        for walk, allowed in zip(walks, model.allowed, strict=True):
            taken = {(str(step.edge).lower(), step.direction) for step in walk.steps}
            assert taken == {
                (f"e{edge}", Direction.OUT if direction == "out" else Direction.IN)
                for edge, directions in allowed.items()
                for direction in directions
            }


@given(drawn(is_tree=False))
def test_inference_loses_no_assignment_of_any_pattern(drawn: Drawn) -> None:
    typed, model = _inferred(drawn), Model(drawn)
    if typed is None:
        return
    walks = [c for c in typed.pattern.clauses if isinstance(c, Traverse)]
    for walk, allowed in zip(walks, model.allowed, strict=True):
        for edge in allowed:
            allowed[edge] = {
                "out" if step.direction is Direction.OUT else "in"
                for step in walk.steps
                if str(step.edge).lower() == f"e{edge}"
            }
    for solution in model.solutions():
        for name, type_ in solution.items():
            assert type_ in _types(typed)[name]


BLOCKS = ("or {{ {0} }} {{ {1} }}", "optional {{ {0} }}", "exists {{ {0} }}", "not {{ {1} }}")


@given(
    drawn(is_tree=False, hops=("", "{1,2}", "{2,3}", "{1,1000}")),
    st.lists(st.tuples(st.sampled_from(BLOCKS), drawn(is_tree=False)), max_size=3),
)
def test_inference_ends_for_any_pattern(drawn: Drawn, blocks: list[tuple[str, Drawn]]) -> None:
    """Every constraint is applied finitely often; inference asserts its own bound."""
    inner = []
    for shape, each in blocks:
        few = [walk for walk in each.walks if max(walk.edges) < len(drawn.edges)]
        texts = [w.text for w in few] + [f"${n}: {t}" for n, t in each.bindings.items()]
        half = len(texts) // 2
        first, second = texts[half:], texts[:half]
        blocks_of = ("\n".join(clauses or ["$u e0 $u"]) for clauses in (first, second))
        inner.append(shape.format(*blocks_of))
    query = drawn.query.replace(" } return", "\n" + "\n".join(inner) + " } return")
    with suppress(TypeCheckFailed):
        compile_query(SourceText(query), compile_schema(SourceText(drawn.schema)))
