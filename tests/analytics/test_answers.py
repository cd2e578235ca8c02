"""What an algorithm answers, and what it refuses: names, weights, sources, limits."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.errors import (
    ArgumentInvalid,
    EntityMissing,
    LimitExceeded,
    NameMissing,
    OmnigraphError,
    QueryCancelled,
)
from omnigraph.read.analytics.algorithms import Betweenness
from omnigraph.read.analytics.betweenness import betweenness
from omnigraph.read.analytics.links import Links, quiet
from omnigraph.results import AnalyticsResult
from tests.analytics.worlds import SCHEMA, World

WORLD = World(
    people=("d", "c", "b", "a"),
    companies=("a", "z"),
    edges={
        "Knows": (("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 0.5), ("a", "a", 1.0)),
        "Likes": (("a", "b", 3),),
        "WorksAt": (("a", "z", 1.0),),
    },
)
CHAIN = World(
    tuple(f"p{n:02}" for n in range(40)),
    (),
    {
        "Knows": tuple((f"p{n:02}", f"p{n + 1:02}", 1.0) for n in range(39)),
        "Likes": (),
        "WorksAt": (),
    },
)

VANISHING = World(
    tuple("abcde"),
    (),
    {
        "Knows": (
            *(("a", "b", 0.0), ("b", "c", 1e-20), ("a", "c", 2e-20), ("c", "d", 1.0)),
            *(("d", "e", 1e-20), ("e", "d", 0.0), ("d", "b", 0.0)),
        )
    },
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return WORLD.made(tmp_path_factory.mktemp("answers") / "g.omni")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return CHAIN.made(tmp_path_factory.mktemp("chain") / "g.omni")


def test_an_answer_is_a_table_that_says_how_it_was_come_by(graph: Graph) -> None:
    result = graph.analytics.pagerank("Knows")
    assert isinstance(result, AnalyticsResult)
    assert (result.query_name, result.edges, result.engine) == ("pagerank", ("Knows",), "local")
    assert (result.node_count, result.edge_count) == (4, 4)
    assert result.iterations is not None and result.converged
    assert result.graph_commit_id == graph.commits()[0].graph_commit_id
    assert result.columns == ["type", "id", "score"]
    assert list(result.to_pandas()["id"]) == list(result.to_polars()["id"]) == list("abcd")
    assert "<table" in result._repr_html_() and result.to_arrow().num_rows == len(result) == 4
    assert repr(result).startswith("<AnalyticsResult of pagerank over Knows: 4 rows, ")


def test_all_edge_types_are_followed_unless_some_are_named(graph: Graph) -> None:
    assert graph.analytics.degrees().edges == ("Knows", "Likes", "WorksAt")
    assert graph.analytics.degrees(["Likes", "Knows", "Likes"]).edges == ("Knows", "Likes")


def test_a_branch_and_a_moment_have_answers_of_their_own(graph: Graph) -> None:
    before = graph.snapshot()
    graph.branch_create("more")
    with graph.branch("more") as more:
        more.load([{"type": "Person", "data": {"name": "e"}}], mode="append", engine="local")
        assert more.analytics.degrees("Knows").node_count == 5
    assert graph.analytics.degrees("Knows").node_count == 4
    held = graph.branch("more").snapshot().analytics.connected_components("Knows")
    assert held.node_count == 5 and held.to_pylist()[-1] == {
        "type": "Person",
        "id": "e",
        "component": 2,
    }
    assert before.analytics.degrees("Knows").to_pylist() == (
        graph.analytics.degrees("Knows").to_pylist()
    )


def test_a_graph_without_edges_has_an_answer_for_each_node(tmp_path: Path) -> None:
    graph = World(("a", "b"), (), {}).made(tmp_path / "g.omni")
    run = graph.analytics
    assert [r["score"] for r in run.pagerank("Knows")] == [0.5, 0.5]
    assert [r["component"] for r in run.connected_components("Knows")] == [0, 1]
    assert [r["component"] for r in run.strongly_connected_components("Knows")] == [0, 1]
    assert [r["label"] for r in run.label_propagation("Knows", weight="weight")] == [0, 1]
    assert [r["triangles"] for r in run.triangle_count("Knows")] == [0, 0]
    assert [r["core"] for r in run.k_core("Knows")] == [0, 0]
    assert [r["score"] for r in run.betweenness("Knows")] == [0, 0]
    assert [r["degree"] for r in run.degrees("Knows")] == [0, 0]
    assert [r["distance"] for r in run.shortest_paths("Knows", source="a")] == [0, None]


def test_a_graph_without_nodes_has_an_empty_answer(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed", settings=Settings())
    run = graph.analytics
    for algorithm in (
        run.pagerank,
        run.connected_components,
        run.label_propagation,
        run.triangle_count,
        run.k_core,
        run.betweenness,
        run.degrees,
    ):
        assert algorithm().to_pylist() == []
    with pytest.raises(EntityMissing):
        run.shortest_paths("Knows", source="a")


def test_a_schema_without_edges_has_nothing_to_follow(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g.omni", "node A { n: String @key }", durability="relaxed")
    with pytest.raises(ArgumentInvalid, match="the schema has no edge type"):
        graph.analytics.degrees()


def test_a_run_that_does_not_converge_is_bounded_and_says_so(graph: Graph, chain: Graph) -> None:
    cut_off = graph.analytics.pagerank("Knows", tolerance=1e-12, max_iterations=3)
    assert (cut_off.iterations, cut_off.converged) == (3, False)
    assert sum(row["score"] for row in cut_off) == pytest.approx(1)
    assert "3 rounds, not converged" in repr(cut_off)
    spreading = chain.analytics.label_propagation("Knows", max_iterations=2)
    assert (spreading.iterations, spreading.converged) == (2, False)
    assert len({row["label"] for row in spreading}) > 1


def test_weights_of_several_types_are_numbers_of_one_scale(graph: Graph) -> None:
    """A whole number and a fraction weigh what they are, whichever type they come from."""
    (a, *_) = graph.analytics.degrees(["Knows", "Likes"], weight="weight")
    assert (a["out_degree"], a["in_degree"]) == (5.0, 1.5)


def test_a_source_may_be_named_with_its_type(graph: Graph) -> None:
    run = graph.analytics
    one = run.shortest_paths(source=("Person", "a")).to_pylist()
    assert one == run.shortest_paths(source="Person:a").to_pylist()
    assert one != run.shortest_paths(source="Company:a").to_pylist()
    assert run.shortest_paths("Knows", source="a").to_pylist() == [
        {"type": "Person", "id": "a", "distance": 0},
        {"type": "Person", "id": "b", "distance": 1},
        {"type": "Person", "id": "c", "distance": 2},
        {"type": "Person", "id": "d", "distance": None},
    ]


def test_walks_begin_at_sources_as_often_as_they_weigh(graph: Graph) -> None:
    run = graph.analytics
    even = run.pagerank("Likes", sources=["c", "d"])
    assert [row["score"] for row in even] == pytest.approx([0, 0, 0.5, 0.5])
    uneven = run.pagerank("Likes", sources={"c": 1, ("Person", "d"): 3})
    assert [row["score"] for row in uneven] == pytest.approx([0, 0, 0.25, 0.75])


REFUSED: dict[str, tuple[Callable[[Any], Any], type[OmnigraphError], str]] = {
    "an edge": (lambda a: a.pagerank("Know"), NameMissing, "no edge type named Know"),
    "no edge": (lambda a: a.pagerank([]), ArgumentInvalid, "one edge type or more"),
    "a property": (
        lambda a: a.degrees("Knows", weight="wieght"),
        NameMissing,
        "no property of Knows named wieght",
    ),
    "a property of one": (
        lambda a: a.degrees(["Knows", "Likes"], weight="share"),
        NameMissing,
        "no property of Likes named share",
    ),
    "a text": (
        lambda a: a.degrees("Knows", weight="since"),
        ArgumentInvalid,
        "Knows.since is a String, and a weight is a number",
    ),
    "a null": (
        lambda a: a.degrees("Knows", weight="share"),
        ArgumentInvalid,
        "4 edges of Knows have no value of it",
    ),
    "damping 0": (lambda a: a.pagerank(damping=0), ArgumentInvalid, "between 0 and 1"),
    "damping 1": (lambda a: a.pagerank(damping=1.0), ArgumentInvalid, "between 0 and 1"),
    "damping nan": (lambda a: a.pagerank(damping=float("nan")), ArgumentInvalid, "between 0 and"),
    "a tolerance": (lambda a: a.pagerank(tolerance=0), ArgumentInvalid, "above 0"),
    "rounds": (lambda a: a.pagerank(max_iterations=0), ArgumentInvalid, "from 1 to 10,000"),
    "samples": (lambda a: a.betweenness(samples=0), ArgumentInvalid, "above 0, or None"),
    "a seed": (lambda a: a.betweenness(seed=-1), ArgumentInvalid, "not negative"),
    "a source": (
        lambda a: a.shortest_paths("Knows", source="q"),
        EntityMissing,
        "no Person has the id q",
    ),
    "a source of two": (
        lambda a: a.shortest_paths(source="a"),
        ArgumentInvalid,
        "Company and Person each have a node with this id",
    ),
    "a type of a source": (
        lambda a: a.shortest_paths("Knows", source=("Company", "a")),
        NameMissing,
        "no node type at these edges named Company",
    ),
    "no source": (lambda a: a.shortest_paths("Knows"), ArgumentInvalid, "pass the node to begin"),
    "a number for a node": (
        lambda a: a.shortest_paths("Knows", source=7),
        ArgumentInvalid,
        "a node is an id, or a type and an id",
    ),
    "half a pair": (
        lambda a: a.shortest_paths("Knows", pairs=["ab"]),
        ArgumentInvalid,
        "a pair is two nodes",
    ),
    "no pairs": (lambda a: a.shortest_paths("Knows", pairs=[]), ArgumentInvalid, "1 to 100,000"),
    "no sources": (lambda a: a.pagerank(sources=[]), ArgumentInvalid, "one node or more"),
    "sources of no weight": (
        lambda a: a.pagerank("Knows", sources={"a": 0}),
        ArgumentInvalid,
        "one node or more",
    ),
    "sources beyond measure": (
        lambda a: a.pagerank("Knows", sources={"a": 1e308, "b": 1e308}),
        ArgumentInvalid,
        "one node or more",
    ),
    "a source beyond measure": (
        lambda a: a.pagerank("Knows", sources={"a": 10**400}),
        ArgumentInvalid,
        "one node or more",
    ),
    "damping beyond measure": (lambda a: a.pagerank(damping=10**400), ArgumentInvalid, "between"),
    "a number for an edge": (lambda a: a.degrees(5), ArgumentInvalid, "it must be a name"),
    "numbers for edges": (lambda a: a.degrees([5]), ArgumentInvalid, "it must be a name"),
    "a number for a weight": (lambda a: a.degrees(weight=5), ArgumentInvalid, "it must be a name"),
    "a number for sources": (
        lambda a: a.pagerank(sources=5),
        ArgumentInvalid,
        "a node is an id, or a type and an id",
    ),
    "a number for pairs": (
        lambda a: a.shortest_paths(pairs=5),
        ArgumentInvalid,
        "a pair is two nodes",
    ),
    "a word for a direction": (
        lambda a: a.pagerank(directed="no"),
        ArgumentInvalid,
        "it must be true or false",
    ),
    "a word for a scale": (
        lambda a: a.betweenness(normalized="no"),
        ArgumentInvalid,
        "it must be true or false",
    ),
    "what can't be set": (lambda a: a.degrees(cancel=True), ArgumentInvalid, "threading.Event"),
    "an edge of no name": (lambda a: a.degrees(""), NameMissing, "no edge type named ''"),
    "a source of no name": (
        lambda a: a.shortest_paths("Knows", source="Person:"),
        EntityMissing,
        "no Person has the id ''",
    ),
    "an engine": (lambda a: a.degrees(engine="sparks"), ArgumentInvalid, "auto, spark or local"),
    "memory": (lambda a: a.pagerank(memory_bytes=10, engine="local"), LimitExceeded, "pagerank"),
    "time": (lambda a: a.pagerank(timeout_s=0), LimitExceeded, "the time in milliseconds"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_t_be_run_is_refused_in_words(graph: Graph, case: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error) as refused:
        call(graph.analytics)
    assert words in str(refused.value)


def test_a_negative_weight_is_refused(tmp_path: Path) -> None:
    world = World(("a", "b"), (), {"Knows": (("a", "b", -1.5),)})
    graph = world.made(tmp_path / "g.omni")
    for run in (graph.analytics.pagerank, graph.analytics.degrees):
        with pytest.raises(ArgumentInvalid, match=r"below 0: the lowest is -1\.5"):
            run("Knows", weight="weight")
    assert graph.analytics.pagerank("Knows").converged


def test_weights_too_large_to_be_added_up_are_refused(tmp_path: Path) -> None:
    # A sum that is infinite would be a distance of no node, and a score of nothing.
    edges = (("a", "b", 1e308), ("b", "c", 1e308), ("b", "d", 1.0))
    run = World(tuple("abcd"), (), {"Knows": edges}).made(tmp_path / "g.omni").analytics
    calls: list[Callable[[], AnalyticsResult]] = [
        lambda: run.degrees("Knows", weight="weight"),
        lambda: run.pagerank("Knows", weight="weight"),
        lambda: run.label_propagation("Knows", weight="weight"),
        lambda: run.shortest_paths("Knows", source="a", weight="weight"),
        lambda: run.shortest_paths("Knows", pairs=[("a", "c")], weight="weight"),
    ]
    for refused in calls:
        with pytest.raises(ArgumentInvalid, match="more than a number can hold"):
            refused()
    assert run.degrees("Knows").edge_count == 3


def test_weights_next_to_nothing_are_weights(tmp_path: Path) -> None:
    def ranks(weight: float, folder: str) -> list[float]:
        edges = (("a", "b", weight), ("a", "c", weight), ("b", "a", 3 * weight))
        graph = World(tuple("abc"), (), {"Knows": edges}).made(tmp_path / folder)
        return [row["score"] for row in graph.analytics.pagerank("Knows", weight="weight")]

    assert ranks(1e-310, "little.omni") == pytest.approx(ranks(1.0, "much.omni"))


def test_a_weight_that_vanishes_in_a_sum_still_counts_on_the_way(tmp_path: Path) -> None:
    # Both ways to d weigh 1.0 in the end, and one of the two has an edge less.
    run = VANISHING.made(tmp_path / "g.omni").analytics
    (row,) = run.shortest_paths("Knows", pairs=[("a", "d")], weight="weight")
    assert (row["distance"], row["path"]) == (1.0, ["a", "b", "c", "d"])


def test_more_shortest_paths_than_can_be_counted_are_refused() -> None:
    def counted(fans: int, width: int = 100) -> np.ndarray:
        """From each hub ways through so many nodes lead to the next: the paths multiply."""
        step = width + 1
        hubs = np.arange(fans) * step
        ends = np.hstack(
            [hubs[:, None] + np.arange(1, step), np.repeat(hubs + step, width).reshape(fans, width)]
        ).astype(np.int32)
        counts = np.array([*[width, *[1] * width] * fans, 0], dtype=np.int64)
        asked, first = Betweenness(normalized=False), np.array([0])
        links = Links.of(counts, ends.ravel())
        found = betweenness(links, asked, first, is_directed=True, beat=quiet)
        return found.values / links.size

    # Of the paths from the first hub, each node of a fan is part of as many as the others.
    assert counted(150)[1] == pytest.approx((1 + 149 * 101) / 100)
    with pytest.raises(LimitExceeded, match="the number of shortest paths between two nodes"):
        counted(160)


def test_an_argument_that_there_is_not_is_a_type_error(graph: Graph) -> None:
    with pytest.raises(TypeError, match="degrees\\(\\) has no argument 'wait'"):
        graph.analytics.degrees("Knows", wait=True)  # type: ignore[call-arg]


def test_progress_is_told_and_a_run_ends_when_it_is_cancelled(chain: Graph) -> None:
    told: list[tuple[str, int, int]] = []
    cancel = threading.Event()

    def tell(phase: str, done: int, total: int) -> None:
        told.append((phase, done, total))
        if (phase, done) == ("run", 2):
            cancel.set()

    with pytest.raises(QueryCancelled) as ended:
        chain.analytics.pagerank("Knows", tolerance=1e-13, cancel=cancel, progress=tell)
    assert "analytics pagerank" in str(ended.value)
    assert told == [("read", 0, 0), *(("run", done, 100) for done in range(3))]


def test_a_node_whose_id_is_empty_can_be_named(tmp_path: Path) -> None:
    graph = Graph.init(
        tmp_path / "g.omni", "node A { name: String @key }\nedge To: A -> A", durability="relaxed"
    )
    rows = [{"type": "A", "data": {"name": name}} for name in ("", "b")]
    graph.load([*rows, {"edge": "To", "from": "", "to": "b"}], mode="append")
    for source in ("", "A:", ("A", "")):
        found = graph.analytics.shortest_paths(source=source).to_pylist()
        assert [row["distance"] for row in found] == [0, 1]
