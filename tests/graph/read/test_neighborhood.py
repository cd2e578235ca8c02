"""What is around an entity: the same as a walk in plain Python finds, page by page."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.errors import (
    ArgumentInvalid,
    ChangeCursorRejected,
    EntityMissing,
    LimitExceeded,
    NameMissing,
    PolicyDenied,
)
from omnigraph.results import Neighborhood

SCHEMA = """
node Person { name: String @key  age: I32?  photo: Blob?  face: Vector(2)? }
node City { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""
PEOPLE = [f"p{n}" for n in range(7)]
CITIES = ["c0", "c1"]
KNOWS = st.tuples(st.just("Knows"), st.sampled_from(PEOPLE), st.sampled_from(PEOPLE))
LIVES = st.tuples(st.just("LivesIn"), st.sampled_from(PEOPLE), st.sampled_from(CITIES))
EDGES = st.lists(KNOWS | LIVES, max_size=14)

Edge = tuple[str, str, str]


def rows(edges: list[Edge]) -> Iterator[dict[str, Any]]:
    for name in PEOPLE:
        yield {"type": "Person", "data": {"name": name}}
    for name in CITIES:
        yield {"type": "City", "data": {"name": name}}
    for edge, source, target in edges:
        yield {"edge": edge, "from": source, "to": target, "data": {}}


def distances(edges: list[Edge], start: str, depth: int) -> dict[str, int]:
    """A walk in both directions, in plain Python."""
    found = {start: 0}
    for distance in range(1, depth + 1):
        for _, source, target in edges:
            for here, there in ((source, target), (target, source)):
                if found.get(here) == distance - 1:
                    found.setdefault(there, distance)
    return found


def pages(graph: Graph, start: str, depth: int, limit: int) -> list[Neighborhood]:
    token, found = None, []
    while True:
        page = graph.neighborhood("Person", start, depth=depth, limit=limit, page_token=token)
        found.append(page)
        token = page.next_page_token
        if token is None:
            return found


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return Graph.init(tmp_path_factory.mktemp("around") / "g.omni", SCHEMA)


@settings(max_examples=12)
@given(edges=EDGES, start=st.sampled_from(PEOPLE), depth=st.integers(1, 4), limit=st.integers(1, 4))
def test_a_neighbourhood_is_what_a_plain_walk_finds(
    graph: Graph, edges: list[Edge], start: str, depth: int, limit: int
) -> None:
    # One of each type at least: an overwrite leaves types alone that do not occur.
    edges = [*edges, ("Knows", "p0", "p0"), ("LivesIn", "p6", "c1")]
    graph.load(rows(edges), mode="overwrite", engine="local")
    expected = distances(edges, start, depth)
    found = pages(graph, start, depth, limit)
    nodes = [node for page in found for node in page.nodes]
    assert {node.id: node.distance for node in nodes} == {
        name: distance for name, distance in expected.items() if distance
    }
    assert [len(page.nodes) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert [node.distance for node in nodes] == sorted(node.distance for node in nodes)
    assert {page.node_count for page in found} == {len(expected) - 1}
    shown = [(e.type_name, e.from_, e.to) for page in found for e in page.edges]
    near = [
        (name, source, target)
        for name, source, target in edges
        if source in expected
        and target in expected
        and abs(expected[source] - expected[target]) == 1
    ]
    assert Counter(shown) == Counter(near)
    ids = [e.id for page in found for e in page.edges]
    assert len(ids) == len(set(ids))
    tallies = {(t.edge, t.direction): t.count for t in found[0].counts}
    out = Counter((name, "out") for name, source, _ in edges if source == start)
    into = Counter((name, "in") for name, _, target in edges if target == start)
    assert tallies == {**out, **into}


@pytest.fixture
def small(tmp_path: Path) -> Graph:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA)
    person = {"name": "ada", "age": 3, "photo": "base64:AA==", "face": [1.0, 0.0]}
    lines: list[dict[str, Any]] = [{"type": "Person", "data": person}]
    lines += [{"type": "Person", "data": {"name": f"p{n}"}} for n in range(4)]
    lines += [
        {"edge": "Knows", "from": "ada", "to": f"p{n}", "data": {"since": n}} for n in range(4)
    ]
    graph.load(lines, mode="append", engine="local")
    return graph


def test_properties_are_shown_without_blobs_and_vectors(small: Graph) -> None:
    found = small.neighborhood("Person", "ada")
    assert found.entity.properties == {"name": "ada", "age": 3}
    assert [edge.properties for edge in found.edges] == [{"since": n} for n in range(4)]


def test_pages_are_of_one_commit_whatever_is_written_meanwhile(small: Graph) -> None:
    first = small.neighborhood("Person", "ada", limit=2)
    small.mutate('query d() { delete Person where name = "p3" }')
    second = small.neighborhood("Person", "ada", limit=2, page_token=first.next_page_token)
    assert [n.id for page in (first, second) for n in page.nodes] == ["p0", "p1", "p2", "p3"]
    assert second.graph_commit_id == first.graph_commit_id
    assert small.neighborhood("Person", "ada").node_count == 3
    earlier = small.neighborhood("Person", "ada", snapshot=first.graph_commit_id)
    assert earlier.node_count == 4


def test_what_is_not_there_is_named(small: Graph) -> None:
    with pytest.raises(EntityMissing):
        small.neighborhood("Person", "nobody")
    with pytest.raises(EntityMissing):
        small.neighborhood("Person", "\ud800")
    with pytest.raises(NameMissing):
        small.neighborhood("Persn", "ada")
    with pytest.raises(NameMissing):
        small.neighborhood("Knows", "ada")


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 9}, {"limit": 0}, {"limit": 1.5}])
def test_bounds_are_minded(small: Graph, wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentInvalid):
        small.neighborhood("Person", "ada", **wrong)


def test_a_page_token_is_of_one_question(small: Graph) -> None:
    token = small.neighborhood("Person", "ada", limit=1).next_page_token
    with pytest.raises(ArgumentInvalid, match="another entity"):
        small.neighborhood("Person", "p1", page_token=token)
    with pytest.raises(ChangeCursorRejected):
        small.neighborhood("Person", "ada", page_token="torn")


def test_a_deadline_is_minded(small: Graph) -> None:
    with pytest.raises(LimitExceeded):
        small.neighborhood("Person", "ada", timeout_s=0)


def test_what_is_hidden_is_not_around(small: Graph, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nrules:\n"
        "  - {id: read, allow: {actors: [bob, eve], actions: [read]}}\n"
        "  - {id: rows, deny: {actors: [bob], actions: [read], types: [Person],"
        ' when: resource.name == "p1" || resource.name == "p2"}}\n'
        "  - {id: all, deny: {actors: [eve], actions: [read], types: [Knows]}}\n"
    )
    guarded = small.under_policy(policy)
    found = guarded.as_actor("bob").neighborhood("Person", "ada", depth=2)
    assert [node.id for node in found.nodes] == ["p0", "p3"]
    assert [tally.count for tally in found.counts] == [2]
    with pytest.raises(EntityMissing):
        guarded.as_actor("bob").neighborhood("Person", "p1")
    alone = guarded.as_actor("eve").neighborhood("Person", "ada")
    assert (alone.counts, alone.nodes) == ((), ())
    with pytest.raises(PolicyDenied):
        guarded.as_actor("mallory").neighborhood("Person", "ada")
