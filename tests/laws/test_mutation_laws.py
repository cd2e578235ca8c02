"""A mutation of many statements does what the statements do one after the other to a plain dict."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import ConstraintViolated
from omnigraph.engine import inserts

SCHEMA = """
node Person { name: String @key  age: I32?  rank: I32 @default(7)  @range(age, 0..100) }
node Note { text: String  weight: F64? }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
"""
PEOPLE = """query people() {
    match { $p: Person }
    return { $p.name as name $p.age as age $p.rank as rank }
}"""
TIES = """query ties() {
    match { $p $k:knows $q }
    return { $p.name as p $q.name as q $k.since as since }
}"""
NAMES = ("a", "b", "c", "d")
AGES = (None, 1, 2, 50)

Row = dict[str, Any]


@dataclass(frozen=True)
class Put:
    """An insert; only what is in `values` is said."""

    name: str
    values: Row

    @property
    def text(self) -> str:
        said = "".join(f" {name}: {_literal(value)}" for name, value in self.values.items())
        return f'insert Person {{ name: "{self.name}"{said} }}'

    def apply(self, people: dict[str, Row], known: dict[tuple[str, str], Row]) -> None:
        rank = self.values.get("rank")
        people[self.name] = {
            "age": self.values.get("age"),
            "rank": 7 if rank is None else rank,
        }


@dataclass(frozen=True)
class Change:
    """An update of the people with a name, or with an age."""

    by: str
    value: Any
    values: Row

    @property
    def text(self) -> str:
        said = " ".join(f"{name}: {_literal(value)}" for name, value in self.values.items())
        return f"update Person set {{ {said} }} where {self.by} = {_literal(self.value)}"

    def apply(self, people: dict[str, Row], known: dict[tuple[str, str], Row]) -> None:
        for name, row in people.items():
            if self.value == (name if self.by == "name" else row["age"]):
                people[name] = row | self.values


@dataclass(frozen=True)
class Tie:
    """An insert of an edge."""

    ends: tuple[str, str]
    since: int | None

    @property
    def text(self) -> str:
        said = "" if self.since is None else f" since: {self.since}"
        return f'insert Knows {{ from: "{self.ends[0]}" to: "{self.ends[1]}"{said} }}'

    def apply(self, people: dict[str, Row], known: dict[tuple[str, str], Row]) -> None:
        known[self.ends] = {"since": self.since}


def _literal(value: Any) -> str:
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


names, ages = st.sampled_from(NAMES), st.sampled_from(AGES)
some = st.fixed_dictionaries({}, optional={"age": ages, "rank": st.sampled_from((1, 2))})
changes = st.fixed_dictionaries({"age": ages}, optional={"rank": st.sampled_from((1, 2))})
statements = st.lists(
    st.one_of(
        st.builds(Put, names, some),
        st.builds(Change, st.just("name"), names, changes),
        st.builds(Change, st.just("age"), st.sampled_from(AGES[1:]), changes),
        st.builds(Tie, st.tuples(names, names), st.sampled_from((None, 1, 2))),
    ),
    min_size=1,
    max_size=25,
)
EVERYONE = [Put(name, {}) for name in NAMES]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place = tmp_path_factory.mktemp("mutations") / "g"
    with Graph.init(place, SCHEMA, durability="relaxed") as graph:
        yield graph


@pytest.fixture(scope="module", params=[2, inserts.MAX_INSERTS_AT_ONCE])
def at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """How many inserts are checked together makes no difference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inserts, "MAX_INSERTS_AT_ONCE", request.param)
        yield


@pytest.mark.usefixtures("at_once")
@given(committed=statements, queries=st.lists(statements, min_size=1, max_size=2))
def test_statements_of_one_mutation_do_what_a_plain_model_does(
    graph: Graph, committed: list[Any], queries: list[list[Any]]
) -> None:
    graph.mutate("query q() { delete Person where rank > 0 }")
    people: dict[str, Row] = {}
    known: dict[tuple[str, str], Row] = {}
    for step in ([*EVERYONE, *committed], *queries):
        graph.mutate("query q() { " + "\n".join(each.text for each in step) + " }")
        for each in step:
            each.apply(people, known)
        found = graph.query(PEOPLE)
        assert {row.pop("name"): row for row in found.to_pylist()} == people
        edges = graph.query(TIES)
        assert {(r.pop("p"), r.pop("q")): r for r in edges.to_pylist()} == known


@given(gone=st.lists(st.sets(names, min_size=1), min_size=1, max_size=5))
def test_deletes_of_one_mutation_take_what_a_plain_model_takes(
    graph: Graph, gone: list[set[str]]
) -> None:
    ties: list[Any] = [Tie((a, b), None) for a in NAMES for b in NAMES]
    graph.mutate("query q() { " + "\n".join(each.text for each in [*EVERYONE, *ties]) + " }")
    deletes = [
        f"delete Person where name in [{', '.join(map(_literal, sorted(some)))}]" for some in gone
    ]
    done = graph.mutate("query q() { " + "\n".join(deletes) + " }")
    left = set(NAMES) - set().union(*gone)
    found = graph.query("query q() { match { $p: Person } return { $p.name as name } }")
    assert {row["name"] for row in found.to_pylist()} == left
    assert done.affected_nodes == len(NAMES) - len(left)
    assert done.affected_edges == len(NAMES) ** 2 - len(left) ** 2


@pytest.mark.usefixtures("at_once")
def test_violations_come_in_the_order_of_the_statements(graph: Graph) -> None:
    texts = [
        'insert Person { name: "x" age: 200 }',
        'insert Knows { from: "a" to: "b" }',
        'insert Note { text: "n" }',
        'insert Person { name: "y" rank: 1 age: -1 }',
        'update Person set { age: 300 } where name = "a"',
        'insert Person { name: "z" age: -2 }',
    ]
    graph.mutate('query q() { insert Person { name: "a" } insert Person { name: "b" } }')
    with pytest.raises(ConstraintViolated) as refused:
        graph.mutate("query q() { " + "\n".join(texts) + " }")
    examples = refused.value.details["examples"]
    assert [each["entity_id"] for each in examples] == ["x", "y", "a", "z"]
