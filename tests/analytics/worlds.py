"""Small random graphs of several types, and what networkx says of each.

Edges may be loops, stand side by side, weigh nothing, or be missing altogether.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.read.analytics.algorithms import Betweenness
from omnigraph.read.analytics.betweenness import sample
from omnigraph.results import Analytics, AnalyticsResult

SCHEMA = """
node Person { name: String @key  rank: F64?  group: I64?  shown: Bool?  note: String? }
node Company { name: String @key  rank: F64? }
edge Knows: Person -> Person { weight: F64  share: I32?  since: String? }
edge Likes: Person -> Person { weight: I32 }
edge WorksAt: Person -> Company { weight: F64 }
"""
ENDS = {
    "Knows": ("Person", "Person"),
    "Likes": ("Person", "Person"),
    "WorksAt": ("Person", "Company"),
}

Node = tuple[str, str]
Pair = tuple[Node, Node]
Edge = tuple[str, str, float]


@dataclass(frozen=True)
class World:
    people: tuple[str, ...]
    companies: tuple[str, ...]
    edges: dict[str, tuple[Edge, ...]]
    hidden: frozenset[str] = frozenset()
    """People that some may not see."""

    def rows(self) -> Iterator[dict[str, Any]]:
        for name in self.people:
            yield {"type": "Person", "data": {"name": name, "shown": name not in self.hidden}}
        for name in self.companies:
            yield {"type": "Company", "data": {"name": name}}
        for type_, edges in self.edges.items():
            for source, target, weight in edges:
                data = {"weight": int(weight) if type_ == "Likes" else weight}
                yield {"edge": type_, "from": source, "to": target, "data": data}

    def made(self, folder: Path) -> Graph:
        graph = Graph.init(folder, SCHEMA, durability="relaxed", settings=Settings())
        graph.load(list(self.rows()), mode="append", engine="local")
        return graph

    def seen(self) -> "World":
        """The same without what is hidden."""
        edges = {
            type_: tuple(
                edge
                for edge in of_type
                # A company may have the name of a person.
                if not {("Person", name) for name in self.hidden}
                & {*zip(ENDS[type_], edge[:2], strict=True)}
            )
            for type_, of_type in self.edges.items()
        }
        people = tuple(name for name in self.people if name not in self.hidden)
        return World(people, self.companies, edges)

    def network(self, types: Sequence[str], *, is_directed: bool) -> Any:
        found = nx.MultiDiGraph() if is_directed else nx.MultiGraph()
        ends = {end for type_ in types for end in ENDS[type_]}
        found.add_nodes_from(("Person", name) for name in self.people if "Person" in ends)
        found.add_nodes_from(("Company", name) for name in self.companies if "Company" in ends)
        for type_ in types:
            here, there = ENDS[type_]
            for source, target, weight in self.edges[type_]:
                found.add_edge((here, source), (there, target), weight=float(weight))
        return found


# Names whose order by bytes is not that of their making.
names = st.lists(st.sampled_from("zyxBaüb1"), min_size=1, max_size=7, unique=True)
weights = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    people = tuple(draw(names))
    # The same ids as people have, in another type.
    companies = tuple(draw(st.lists(st.sampled_from("az"), max_size=2, unique=True)))
    person = st.sampled_from(people)
    edges: dict[str, list[Edge]] = {
        "Knows": draw(st.lists(st.tuples(person, person, weights), max_size=14)),
        "Likes": draw(st.lists(st.tuples(person, person, st.sampled_from([0, 1, 4])), max_size=5)),
        "WorksAt": [],
    }
    if companies:
        company = st.sampled_from(companies)
        edges["WorksAt"] = draw(st.lists(st.tuples(person, company, weights), max_size=4))
    hidden = draw(st.sets(person, max_size=3))
    return World(
        people, companies, {name: tuple(found) for name, found in edges.items()}, frozenset(hidden)
    )


# Questions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One call, and the values that its nodes, or its pairs of nodes, must have."""

    asks: Callable[..., AnalyticsResult]
    """Of the algorithms of a graph, the edge types, a source, and whether edges lead one way."""
    expects: Callable[[Any, Node], dict[Any, Any]]
    """Of the same graph in networkx."""
    is_directed: bool = True


TIGHT = {"tolerance": 1e-13, "max_iterations": 5_000}


def _ranks(weight: str | None, *, is_personal: bool = False) -> Callable[[Any, Node], Any]:
    def ranks(graph: Any, source: Node) -> Any:
        begin = {source: 1.0} if is_personal else None
        return nx.pagerank(graph, 0.85, begin, 5_000, 1e-14, weight=weight)

    return ranks


def _numbered(groups: Any, nodes: Sequence[Node]) -> dict[Node, int]:
    """Groups by their first node, by type and id."""
    number = {node: n for n, group in enumerate(sorted(map(min, groups))) for node in [group]}
    of = {node: number[min(group)] for group in groups for node in group}
    return {node: of[node] for node in nodes}


def _simple(graph: Any) -> Any:
    """Without directions, loops and parallel edges."""
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return simple


def labels(graph: Any, weight: str | None, max_iterations: int = 30) -> dict[Node, int]:
    """The rule of label propagation, node by node."""
    order = sorted(graph.nodes)
    now = {node: place for place, node in enumerate(order)}
    heard: dict[Node, list[tuple[Node, float]]] = {node: [] for node in order}
    for here, there, data in graph.edges(data=True):
        weighed = 1.0 if weight is None else data[weight]
        heard[there].append((here, weighed))
        if not graph.is_directed() and here != there:
            heard[here].append((there, weighed))
    for _ in range(max_iterations):
        after = {}
        for node in order:
            votes: Counter[int] = Counter()
            votes[now[node]] += max((w for _, w in heard[node]), default=0) or 1.0  # type: ignore[assignment]
            for other, weighed in heard[node]:
                votes[now[other]] += weighed  # type: ignore[assignment]
            most = max(votes.values())
            after[node] = min(label for label, votes_ in votes.items() if votes_ >= most - 1e-9)
        if after == now:
            break
        now = after
    return _numbered([{n for n in order if now[n] == label} for label in set(now.values())], order)


def _degrees(graph: Any, weight: str | None) -> dict[Node, tuple[float, float, float]]:
    into, out = dict(graph.in_degree(weight=weight)), dict(graph.out_degree(weight=weight))
    return {node: (into[node] + out[node], into[node], out[node]) for node in graph}


def _between(graph: Any, *, normalized: bool) -> dict[Node, float]:
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    found: dict[Node, float] = nx.betweenness_centrality(simple, normalized=normalized)
    return found


def _between_some(graph: Any, samples: int) -> dict[Node, float]:
    simple = nx.DiGraph(graph)
    order = sorted(simple)
    chosen = [order[n] for n in sample(len(order), Betweenness(samples=samples, seed=7))]
    found = nx.betweenness_centrality_subset(simple, chosen, order)
    return {node: value * len(order) / len(chosen) for node, value in found.items()}


def _distances(graph: Any, source: Node, weight: str | None) -> dict[Node, float | None]:
    known = nx.single_source_dijkstra_path_length(graph, source, weight=weight or (lambda *_: 1))
    return {node: known.get(node) for node in graph}


def told_paths(graph: Any, weight: str | None) -> dict[Pair, tuple[float | None, Any]]:
    """The distance and the path of each pair of nodes: the smallest by distance, then by edges,
    then by the nodes from the last one to the first."""
    edges = [(a, b, 1 if weight is None else data[weight]) for a, b, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(b, a, weighed) for a, b, weighed in edges]
    found: dict[Pair, tuple[float | None, Any]] = {}
    for source in graph:
        best: dict[Node, tuple[float, int, tuple[Node, ...]]] = {source: (0, 0, (source,))}
        is_moving = True
        while is_moving:
            is_moving = False
            for here, there, weighed in edges:
                if here in best:
                    distance, hops, back = best[here]
                    path = distance + weighed, hops + 1, (there, *back)
                    if there not in best or path < best[there]:
                        best[there], is_moving = path, True
        for target in graph:
            distance_, _, back_ = best.get(target, (None, 0, None))
            found[source, target] = distance_, back_ and back_[::-1]
    return found


def _paths(a: Analytics, e: Any, _: Node, **more: Any) -> AnalyticsResult:
    """Of all pairs there are."""
    nodes = list(values(a.degrees(e)))
    pairs = [(source, target) for source in nodes for target in nodes]
    return a.shortest_paths(e, pairs=pairs, **more)


def _by_weight(a: Analytics, e: Any, s: Node, **more: Any) -> AnalyticsResult:
    return a.pagerank(e, weight="weight", **TIGHT | more)


QUESTIONS: dict[str, Question] = {
    "ranks": Question(lambda a, e, s, **m: a.pagerank(e, **TIGHT | m), _ranks(None)),
    "ranks without directions": Question(
        lambda a, e, s, **m: a.pagerank(e, directed=False, **TIGHT | m),
        _ranks(None),
        is_directed=False,
    ),
    "ranks by weight": Question(_by_weight, _ranks("weight")),
    "personal ranks": Question(
        lambda a, e, s, **m: a.pagerank(e, sources=[s], weight="weight", **TIGHT | m),
        _ranks("weight", is_personal=True),
    ),
    "components": Question(
        lambda a, e, s, **m: a.connected_components(e, **m),
        lambda g, _: _numbered(list(nx.weakly_connected_components(g)), list(g)),
    ),
    "strong components": Question(
        lambda a, e, s, **m: a.strongly_connected_components(e, **m),
        lambda g, _: _numbered(list(nx.strongly_connected_components(g)), list(g)),
    ),
    "labels": Question(
        lambda a, e, s, **m: a.label_propagation(e, **m),
        lambda g, _: labels(g, None),
        is_directed=False,
    ),
    "labels by weight": Question(
        lambda a, e, s, **m: a.label_propagation(e, directed=True, weight="weight", **m),
        lambda g, _: labels(g, "weight"),
    ),
    "triangles": Question(
        lambda a, e, s, **m: a.triangle_count(e, **m), lambda g, _: nx.triangles(_simple(g))
    ),
    "cores": Question(
        lambda a, e, s, **m: a.k_core(e, **m), lambda g, _: nx.core_number(_simple(g))
    ),
    "degrees": Question(lambda a, e, s, **m: a.degrees(e, **m), lambda g, _: _degrees(g, None)),
    "degrees by weight": Question(
        lambda a, e, s, **m: a.degrees(e, weight="weight", **m), lambda g, _: _degrees(g, "weight")
    ),
    "betweenness": Question(
        lambda a, e, s, **m: a.betweenness(e, samples=None, **m),
        lambda g, _: _between(g, normalized=True),
    ),
    "betweenness without directions": Question(
        lambda a, e, s, **m: a.betweenness(e, directed=False, normalized=False, **m),
        lambda g, _: _between(g, normalized=False),
        is_directed=False,
    ),
    "betweenness of some": Question(
        lambda a, e, s, **m: a.betweenness(e, samples=2, seed=7, normalized=False, **m),
        lambda g, _: _between_some(g, 2),
    ),
    "hops": Question(
        lambda a, e, s, **m: a.shortest_paths(e, source=s, **m),
        lambda g, s: _distances(g, s, None),
    ),
    "distances": Question(
        lambda a, e, s, **m: a.shortest_paths(e, source=s, weight="weight", directed=False, **m),
        lambda g, s: _distances(g, s, "weight"),
        is_directed=False,
    ),
    "paths": Question(_paths, lambda g, _: told_paths(g, None)),
    "paths without directions": Question(
        lambda a, e, s, **m: _paths(a, e, s, directed=False, **m),
        lambda g, _: told_paths(g, None),
        is_directed=False,
    ),
    "paths by weight": Question(
        lambda a, e, s, **m: _paths(a, e, s, weight="weight", **m),
        lambda g, _: told_paths(g, "weight"),
    ),
    "paths by weight without directions": Question(
        lambda a, e, s, **m: _paths(a, e, s, weight="weight", directed=False, **m),
        lambda g, _: told_paths(g, "weight"),
        is_directed=False,
    ),
}


def values(result: AnalyticsResult) -> dict[Any, Any]:
    """The answer by node: one value, or several as a tuple; by pair: its distance and its path."""
    if "path" in result.columns:
        return {
            ((row["source_type"], row["source"]), (row["target_type"], row["target"])): (
                row["distance"],
                row["path"] and tuple(zip(row["path_types"], row["path"], strict=True)),
            )
            for row in result
        }
    found: dict[Node, Any] = {}
    for row in result:
        node = row.pop("type"), row.pop("id")
        found[node] = tuple(row.values()) if len(row) > 1 else next(iter(row.values()))
    assert list(found) == sorted(found), "by type and id"
    return found
