"""On Spark an algorithm answers as it does in this process."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.errors import ArgumentInvalid, EntityMissing, LimitExceeded
from omnigraph.pipeline.analytics import blocks, walks
from omnigraph.pipeline.spark.session import Spark
from omnigraph.results import AnalyticsResult
from tests.analytics.test_answers import VANISHING
from tests.analytics.test_policy import opened
from tests.analytics.worlds import QUESTIONS, World, values, worlds

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

# A ring, parallel edges, a loop, two types, a node alone, and one that is hidden.
SMALL = World(
    people=tuple("dcbax"),
    companies=("a",),
    edges={
        "Knows": (
            *(("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 0.5), ("a", "a", 1.0), ("a", "b", 3.0)),
            *(("b", "a", 0.5), ("c", "x", 0.0), ("x", "d", 1.0)),
        ),
        "Likes": (("a", "b", 4),),
        "WorksAt": (("a", "a", 1.0),),
    },
    hidden=frozenset("x"),
)
# Two rings with a way from one to the other, and a chain.
LARGER = World(
    people=tuple("hgfedcbaxyz"),
    companies=("a", "z"),
    edges={
        "Knows": (
            *(("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 0.5), ("a", "a", 1.0), ("a", "b", 3.0)),
            *(("c", "d", 0.0), ("d", "e", 1.0), ("e", "d", 2.0), ("e", "f", 0.5), ("f", "g", 1.0)),
            *(("x", "a", 1.0), ("d", "x", 2.0)),
        ),
        "Likes": (("a", "b", 4), ("b", "a", 1), ("e", "a", 0)),
        "WorksAt": (("a", "z", 1.0), ("g", "z", 2.0)),
    },
    hidden=frozenset("x"),
)
TYPES = ["Knows", "Likes", "WorksAt"]
ROUNDS: dict[str, Any] = {"max_iterations": 2, "tolerance": 1e-12}
"""As many as tell two engines apart, and no more: each is a job or two."""
SOME = [
    "personal ranks",
    "components",
    "labels by weight",
    "distances",
    "betweenness",
    "paths by weight",
]
"""A job takes some tenths of a second: `make deep` asks all of them, of two graphs."""


def compare(
    graph: Graph,
    spark: Spark,
    name: str,
    types: list[str] = TYPES,
    source: tuple[str, str] = ("Person", "a"),
    *,
    is_whole: bool = False,
) -> None:
    ask = QUESTIONS[name].asks
    how = (
        ROUNDS
        if "ranks" in name
        else {"max_iterations": 1}
        if "labels" in name and not is_whole
        else {}
    )
    here = ask(graph.analytics, types, source, **how)
    there = ask(graph.analytics, types, source, spark=spark.session, **how)
    assert there.to_arrow().schema == here.to_arrow().schema, name
    assert values(there) == pytest.approx(values(here), abs=1e-12), name
    for fact in ("node_count", "edge_count", "iterations", "converged", "graph_commit_id"):
        assert getattr(there, fact) == getattr(here, fact), (name, fact)
    assert (there.engine, here.engine) == ("spark", "local")


def test_an_algorithm_answers_as_in_this_process(tmp_path: Path, spark: Spark) -> None:
    graph = opened(SMALL.made(tmp_path / "g.omni"), "some")
    for name in SOME:
        compare(graph, spark, name)


@pytest.mark.deep
@pytest.mark.parametrize("world", [SMALL, LARGER], ids=["small", "larger"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_way_of_asking_answers_as_in_this_process(
    tmp_path: Path, spark: Spark, name: str, world: World
) -> None:
    compare(world.made(tmp_path / "g.omni"), spark, name, is_whole=True)


IS_DEEP = settings().max_examples > 50


@given(
    world=worlds(),
    types=st.sampled_from([["Knows"], ["Knows", "Likes"], TYPES]),
    names=st.sets(st.sampled_from(sorted(QUESTIONS)), min_size=2, max_size=2),
    links_of_a_block=st.sampled_from([1, 3, 1 << 17]),
)
@settings(
    max_examples=60 if IS_DEEP else 3,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_any_graph_in_any_blocks_has_the_answer_of_this_process(
    spark: Spark, world: World, types: list[str], names: set[str], links_of_a_block: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MIN_BLOCK_LINKS", links_of_a_block)
        patch.setattr(blocks, "MAX_BLOCK_LINKS", 2 * links_of_a_block)
        graph = world.made(Path(folder) / "g.omni")
        for name in sorted(names):
            compare(graph, spark, name, types, ("Person", min(world.people)), is_whole=IS_DEEP)


@pytest.mark.deep
def test_walks_in_two_blocks_lead_the_same_way_where_weights_vanish(
    tmp_path: Path, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "MAX_BLOCK_CELLS", 3 * len(VANISHING.people))
    graph = VANISHING.made(tmp_path / "g.omni")
    for name in ("paths by weight", "betweenness"):
        compare(graph, spark, name)


def test_chains_and_rings_take_few_rounds(tmp_path: Path, spark: Spark) -> None:
    """Rings of two, each with a way to the next: in the order of their ids, one colour after the
    other would be found."""
    names = [f"p{n:03}" for n in range(80)]
    ways = [(a, b, 1.0) for a, b in pairwise(names)]
    back = [(b, a, 1.0) for a, b in zip(names[::2], names[1::2], strict=True)]
    run = World(tuple(names), (), {"Knows": (*ways, *back)}).made(tmp_path / "g").analytics
    here = values(run.strongly_connected_components("Knows"))
    heard: list[int] = []

    def hear(phase: str, done: int, total: int) -> None:
        heard.append(done)

    for links in (1 << 20, 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "MAX_BLOCK_LINKS", links)
            # Every one of these blocks would be a task of its own.
            patch.setattr(blocks, "MIN_BLOCK_LINKS", 1 << 20)
            heard.clear()
            there = run.strongly_connected_components("Knows", spark=spark.session, progress=hear)
        assert values(there) == here
        assert len(heard) < 20, heard


def test_an_answer_has_the_types_of_this_process_whatever_the_session_does(
    tmp_path: Path, spark: Spark
) -> None:
    graph = SMALL.made(tmp_path / "g.omni")
    spark.session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        for name in ("degrees", "paths"):
            compare(graph, spark, name)
    finally:
        spark.session.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


@pytest.mark.deep
def test_a_run_goes_on_as_it_began_though_another_one_ends_meanwhile(
    tmp_path: Path, spark: Spark
) -> None:
    # More than Spark looks at to say where parts begin: it would say otherwise the next time.
    people = tuple(f"p{n:04}" for n in range(3_000))
    ways = tuple((a, b, 1.0) for a, b in pairwise(people))
    run = World(people, (), {"Knows": ways}).made(tmp_path / "g.omni").analytics
    others: list[AnalyticsResult] = []

    def hear(phase: str, done: int, total: int) -> None:
        if phase == "run" and not others:
            others.append(run.degrees("Knows", spark=spark.session))

    there = run.pagerank("Knows", max_iterations=1, spark=spark.session, progress=hear)
    here = run.pagerank("Knows", max_iterations=1)
    assert values(there) == pytest.approx(values(here), abs=1e-12)
    assert [values(other) for other in others] == [values(run.degrees("Knows"))]


def test_what_is_only_loops_is_dealt_out_too(tmp_path: Path, spark: Spark) -> None:
    loops = tuple((name, name, 1.0) for name in "abc")
    run = World(tuple("abc"), (), {"Knows": loops}).made(tmp_path / "g.omni").analytics
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MIN_BLOCK_LINKS", 1)
        assert values(run.k_core("Knows", spark=spark.session)) == values(run.k_core("Knows"))


@pytest.mark.deep
def test_walks_may_begin_at_any_number_of_nodes(tmp_path: Path, spark: Spark) -> None:
    people = tuple(f"p{n:04}" for n in range(5_000))
    run = World(people, (), {"Knows": (("p0000", "p0001", 1.0),)}).made(tmp_path / "g").analytics
    shares: dict[Any, float] = {name: 1 + n % 3 for n, name in enumerate(people[1:])}
    here = run.pagerank("Knows", sources=shares, max_iterations=1)
    there = run.pagerank("Knows", sources=shares, max_iterations=1, spark=spark.session)
    assert values(there) == pytest.approx(values(here), abs=1e-12)


def test_what_does_not_fit_in_memory_runs_on_spark_and_says_no_in_the_same_words(
    tmp_path: Path, spark: Spark
) -> None:
    world = World(("a", "b"), (), {"Knows": (("a", "b", -1.0),)})
    run = world.made(tmp_path / "g.omni").analytics
    assert run.degrees("Knows", memory_bytes=100).engine == "spark"
    calls: list[Callable[..., Any]] = [
        lambda **how: run.degrees("Knows", weight="weight", **how),
        lambda **how: run.shortest_paths("Knows", source="q", **how),
    ]
    for call in calls:
        told = []
        for how in ({"spark": spark.session}, {}):
            with pytest.raises((ArgumentInvalid, EntityMissing)) as refused:
                call(**how)
            told.append(refused.value.render())
        assert told[0] == told[1]
    large = World(("a", "b"), (), {"Knows": (("a", "b", 1e308),)}).made(tmp_path / "large.omni")
    with pytest.raises(ArgumentInvalid, match="more than a number can hold"):
        large.analytics.degrees("Knows", weight="weight", spark=spark.session)
    with pytest.raises(LimitExceeded):
        run.degrees("Knows", spark=spark.session, timeout_s=0)
    with pytest.raises(ArgumentInvalid, match="work in this process can't use the Spark session"):
        run.degrees("Knows", spark=spark.session, engine="local")
