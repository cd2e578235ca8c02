"""`answer.graph()`: which nodes and edges a picture of an answer has, and where they go."""

import itertools
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.ids import CommitId, TypeName
from omnigraph.engine.drawable import Drawable
from omnigraph.engine.notebook.force import arrange
from omnigraph.errors import ArgumentInvalid, NameMissing
from omnigraph.lang.plan.ir import Direction
from omnigraph.lang.plan.links import Link, Way
from omnigraph.results import Drawing, QueryResult
from tests.notebook.pages import page_of

SCHEMA = """
interface Named { name: String }
node Person implements Named { name: String @key  age: I32? }
node Company implements Named { name: String @key }
node Note { id: String  text: String }
edge Knows: Person -> Person { since: I32? }
edge Likes: Person -> Person
edge WorksAt: Person -> Company
edge About: Note -> Person
"""
ROWS = [
    *(
        {"type": "Person", "data": {"name": name, "age": 30}}
        for name in ("ada", "bob", "cyd", "dan")
    ),
    # A person and a company of one name, and two notes that say the same of themselves.
    *({"type": "Company", "data": {"name": name}} for name in ("ada", "Engines")),
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": 1}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": 2}},
    {"edge": "Knows", "from": "bob", "to": "cyd"},
    {"edge": "Knows", "from": "bob", "to": "ada"},
    {"edge": "Likes", "from": "ada", "to": "cyd"},
    {"edge": "WorksAt", "from": "ada", "to": "ada"},
    {"edge": "WorksAt", "from": "bob", "to": "Engines"},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place = tmp_path_factory.mktemp("drawings") / "graph"
    with Graph.init(place, SCHEMA, durability="relaxed") as graph:
        graph.load(ROWS, mode="append", engine="local")
        for _ in range(2):
            graph.mutate('query note() { insert Note { id: "same", text: "same" } }')
        yield graph


def drawn(graph: Graph, match: str, returned: str, more: str = "") -> tuple[set[str], list[str]]:
    """`Type id` of the nodes, and the edges as `ada -Knows-> bob {…}`, sorted."""
    answer = graph.query(f"query q() {{ match {{ {match} }} return {more} {{ {returned} }} }}")
    picture = answer.graph()
    edges = []
    for edge in picture.edges:
        told = "".join(f" {name}={value}" for name, value in edge.properties.items())
        arrow = ">" if edge.is_directed else ""
        ends = picture.nodes[edge.source].id, picture.nodes[edge.target].id
        line = "." if edge.is_path else "-"
        edges.append(f"{ends[0]} {line}{edge.label}{line}{arrow} {ends[1]}{told}")
    nodes = [f"{node.type_name} {node.id}" for node in picture.nodes]
    assert len(nodes) == len(set(nodes)) == picture.node_count
    assert page_of(picture).count("circle", r="13") == len(nodes)
    return set(nodes), sorted(edges)


PEOPLE = {"Person ada", "Person bob", "Person cyd"}
KNOWN = ["ada -Knows-> bob", "bob -Knows-> ada", "bob -Knows-> cyd"]


@pytest.mark.parametrize(
    ("match", "returned", "nodes", "edges"),
    [
        pytest.param("$p knows $f", "$p, $f", PEOPLE, KNOWN, id="an edge once, whatever its rows"),
        pytest.param("$f: Person $p knows $f", "$f, $p", PEOPLE, KNOWN, id="the way it leads"),
        pytest.param(
            "$p knows $f", "$p", {"Person ada", "Person bob"}, [], id="one end is no edge"
        ),
        pytest.param(
            "$p knows $f $f knows $g $p != $g",
            "$p, $f, $g",
            PEOPLE,
            ["ada -Knows-> bob", "bob -Knows-> cyd"],
            id="one edge for two places of the pattern",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $p $k:knows $f',
            "$p, $f, $k.since",
            {"Person ada", "Person bob"},
            ["ada -Knows-> bob since=1", "ada -Knows-> bob since=2"],
            id="parallel edges where the answer tells them apart",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $p knows{1,2} $f',
            "$p, $f",
            PEOPLE,
            ["ada .Knows{1,2}.> bob", "ada .Knows{1,2}.> cyd"],
            id="a way of several hops",
        ),
        pytest.param(
            '$p: Person { name: "cyd" } $p <knows> $f',
            "$p, $f",
            {"Person cyd", "Person bob"},
            ["cyd -Knows- bob"],
            id="either direction",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $p knows|worksAt $x',
            "$p, $x",
            {"Person ada", "Person bob", "Company ada"},
            ["ada -Knows-> bob", "ada -WorksAt-> ada"],
            id="one of several edges, told by the types of the ends",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $p knows|likes $x',
            "$p, $x",
            PEOPLE,
            ["ada -Knows|Likes-> bob", "ada -Knows|Likes-> cyd"],
            id="one of several edges that nothing tells apart",
        ),
        pytest.param(
            "$p: Person optional { $p worksAt $c }",
            "$p, $c",
            {*PEOPLE, "Person dan", "Company ada", "Company Engines"},
            ["ada -WorksAt-> ada", "bob -WorksAt-> Engines"],
            id="an optional edge where it is",
        ),
        pytest.param(
            '$p: Person { name: "dan" } $q: Person { name: "ada" } optional { $p $k:knows $q }',
            "$p, $q",
            {"Person dan", "Person ada"},
            [],
            id="no edge between nodes that only might have one",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $q: Person or { $p knows $q } { $p likes $q }',
            "$p, $q",
            PEOPLE,
            [],
            id="no edge of an or",
        ),
        pytest.param(
            '$p: Person { name: "ada" } $q: Person exists { $p likes $q }',
            "$p, $q",
            {"Person ada", "Person cyd"},
            ["ada -Likes-> cyd"],
            id="an edge that exists",
        ),
        pytest.param(
            '$p: Person { name: "dan" } not { $p knows $q }', "$p", {"Person dan"}, [], id="a not"
        ),
        pytest.param(
            "$n: Named",
            "$n",
            {*PEOPLE, "Person dan", "Company ada", "Company Engines"},
            [],
            id="nodes of several types",
        ),
        pytest.param(
            "$p worksAt $c $n: Named $n.name = $c.name",
            "$p, $c, $n",
            {"Person ada", "Person bob", "Company ada", "Company Engines"},
            ["ada -WorksAt-> ada", "bob -WorksAt-> Engines"],
            id="a node of two columns is one node",
        ),
        pytest.param(
            "$p knows $f",
            "$p, $f, count($f) as n",
            PEOPLE,
            KNOWN,
            id="nodes that rows are counted by",
        ),
    ],
)
def test_a_picture_has_what_the_answer_says(
    graph: Graph, match: str, returned: str, nodes: set[str], edges: list[str]
) -> None:
    assert drawn(graph, match, returned) == (nodes, edges)


def test_distinct_rows_are_drawn_as_all_of_them_are(graph: Graph) -> None:
    assert drawn(graph, "$p knows $f", "$p, $f", "distinct") == (PEOPLE, KNOWN)


def test_nodes_that_look_the_same_are_as_many_as_they_are(graph: Graph) -> None:
    nodes, _ = drawn(graph, "$n: Note", "$n")
    assert len(nodes) == 2


def test_an_answer_without_rows_is_an_empty_picture(graph: Graph) -> None:
    assert drawn(graph, '$p: Person { name: "nobody" } $p knows $f', "$p, $f") == (set(), [])


def test_an_answer_without_whole_nodes_says_what_to_return(graph: Graph) -> None:
    answer = graph.query("query q() { match { $p: Person } return { $p.name } }")
    with pytest.raises(ArgumentInvalid, match="has no whole nodes") as refused:
        answer.graph()
    assert "return { $p, $f }" in str(refused.value.hint)


def test_nodes_are_called_by_the_property_that_is_asked_for(graph: Graph) -> None:
    answer = graph.query('query q() { match { $p: Person { name: "ada" } } return { $p } }')
    assert answer.graph().nodes[0].label == "ada"
    assert answer.graph(label="age").nodes[0].label == "30"
    with pytest.raises(NameMissing) as refused:
        answer.graph(label="agee")
    assert refused.value.hint == "did you mean age?"


@pytest.mark.parametrize("limit", [0, -1, 301])
def test_a_picture_of_too_many_nodes_is_refused(graph: Graph, limit: int) -> None:
    answer = graph.query("query q() { match { $p: Person } return { $p } }")
    with pytest.raises(ArgumentInvalid, match="from 1 to 300"):
        answer.graph(limit=limit)


def many(count: int) -> QueryResult:
    """An answer of so many rows: each node with the one after it."""

    def nodes(numbers: Iterator[int]) -> tuple[pa.Array, pa.Array]:
        ids = pa.array([f"n{number % count}" for number in numbers])
        types = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["T"])
        return pa.StructArray.from_arrays([ids], ["id"]), pa.StructArray.from_arrays(
            [types], ["type"]
        )

    one, other = nodes(iter(range(count))), nodes(iter(range(1, count + 1)))
    way = Way("Next", Direction.OUT, TypeName("T"), TypeName("T"))
    drawable = Drawable(
        (Link("a", "b", (way,), is_path=False),), pa.table({"a": one[1], "b": other[1]})
    )
    return QueryResult("q", CommitId("1"), pa.table({"a": one[0], "b": other[0]}), drawable)


def test_the_first_of_many_nodes_are_drawn_and_all_are_counted() -> None:
    answer = many(20_000)
    picture = answer.graph(limit=20)
    assert [node.id for node in picture.nodes] == [f"n{number}" for number in range(20)]
    assert len(picture.edges) == 19
    assert "the first 20 of 20,000 nodes, 19 edges" in page_of(picture).text
    assert len(answer.graph(limit=300)._repr_html_()) < 300_000


def test_a_picture_is_the_same_each_time_it_is_drawn(graph: Graph) -> None:
    answer = graph.query("query q() { match { $p knows $f } return { $p, $f } }")
    assert answer.graph()._repr_html_() == answer.graph()._repr_html_()
    assert answer.graph() == answer.graph()


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99))))
@settings(deadline=None, max_examples=15)
def test_no_label_covers_another(count: int, drawn: list[tuple[int, int]]) -> None:
    edges = [(source % count, target % count) for source, target in drawn]
    sizes = np.array([(40.0 + 10 * (n % 7), 43.0) for n in range(count)])
    places = arrange(sizes, edges)
    assert np.isfinite(places).all()
    assert (places >= sizes / 2 - 1e-6).all()
    for one, other in itertools.combinations(range(count), 2):
        between = np.abs(places[one] - places[other])
        assert (between >= (sizes[one] + sizes[other]) / 2 - 1.0).any()


def test_edges_of_one_pair_lie_beside_each_other() -> None:
    from omnigraph.results import DrawnEdge, DrawnNode

    nodes = tuple(DrawnNode("T", name, name, {}) for name in "ab")
    ends = [(0, 1), (1, 0), (0, 1), (0, 0)]
    edges = tuple(
        DrawnEdge(source, target, f"E{n}", is_directed=True, is_path=False, properties={})
        for n, (source, target) in enumerate(ends)
    )
    svg = Drawing(nodes, edges, 2)._repr_html_()
    middles = set(re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*font-size="10"', svg))
    assert len(middles) == len(ends)


# Captions -----------------------------------------------------------------------------------------

FLIGHTS = """
node Flight {
    hour: DateTime
    day: Date
    carrier: String
    number: I32
    @key(hour, day, carrier, number)
}
node Airport { code: String @key  title: String? }
node Pair { one: String  other: String  name: String?  @key(one, other) }
edge Leaves: Flight -> Airport
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    flight = {"hour": "2013-01-01T10:00:00Z", "day": "2013-01-01", "carrier": "D·L", "number": 7}
    rows: list[dict[str, object]] = [
        {"type": "Flight", "data": flight},
        {"type": "Airport", "data": {"code": '["x"', "title": None}},
        {"type": "Airport", "data": {"code": '["x", 1]'}},
        {"type": "Pair", "data": {"one": "a", "other": '"b"'}},
        {"type": "Pair", "data": {"one": "c", "other": "d", "name": "Both"}},
    ]
    with Graph.init(tmp_path_factory.mktemp("flights") / "f.omni", FLIGHTS) as graph:
        graph.load(rows, mode="append", engine="local")
        yield graph


CAPTIONS = {
    "Flight": {"2013-01-01 10:00 · 2013-01-01 · D·L · 7"},
    "Airport": {'["x"', '["x", 1]'},
    "Pair": {'a · "b"', "Both"},
}


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_node_with_a_key_of_several_parts_is_called_by_its_parts(
    flights: Graph, name: str
) -> None:
    picture = flights.query(f"query q() {{ match {{ $a: {name} }} return {{ $a }} }}").graph()
    assert {node.label for node in picture.nodes} == CAPTIONS[name]
    for node in picture.nodes:
        assert flights.entity("node", name, node.id).label == node.label
        around = flights.neighborhood(name, node.id)
        assert around.entity.label == node.label and around.entity.id == node.id


def pictured(labels: list[str]) -> Drawing:
    from omnigraph.results import DrawnEdge, DrawnNode

    nodes = tuple(DrawnNode("T", f"{n}", f"n{n}", {}) for n in range(len(labels) + 1))
    edges = tuple(
        DrawnEdge(0, n + 1, label, is_directed=True, is_path=False, properties={})
        for n, label in enumerate(labels)
    )
    return Drawing(nodes, edges, len(nodes))


@pytest.mark.parametrize(
    ("labels", "on_edges", "in_legend"),
    [
        (["Appears"] * 21, 0, ["Appears 21"]),
        (["Appears"] * 3, 3, []),
        (["Appears"] * 20 + ["Knows"], 21, []),
        (["Appears"] * 60 + ["Knows"] * 40, 0, ["Appears 60", "Knows 40"]),
        ([], 0, []),
    ],
)
def test_an_edge_type_is_named_at_its_edges_or_once_in_the_legend(
    labels: list[str], on_edges: int, in_legend: list[str]
) -> None:
    svg = pictured(labels).to_svg()
    assert (
        len(re.findall(r'<text [^>]*font-size="10"[^>]*>(?:Appears|Knows)</text>', svg)) == on_edges
    )
    assert re.findall(r">((?:Appears|Knows) \d+)</text>", svg) == in_legend
    # Pointing at an edge says its type in any case.
    assert svg.count("<title>Appears") == labels.count("Appears")
