"""On Spark an algorithm answers as it does in this process."""

from pathlib import Path

import pytest

from omnigraph.errors import ArgumentInvalid, EntityMissing, LimitExceeded
from omnigraph.pipeline.spark.session import Spark
from tests.analytics.test_policy import opened
from tests.analytics.worlds import QUESTIONS, World, values

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

# Two rings with a way from one to the other, a chain, parallel edges, a loop, and nodes alone.
WORLD = World(
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
FEW = {"ranks", "ranks without directions", "ranks by weight", "personal ranks"}


def test_every_algorithm_answers_as_in_this_process(tmp_path: Path, spark: Spark) -> None:
    analytics = opened(WORLD.made(tmp_path / "g.omni"), "some").analytics
    types = ["Knows", "Likes", "WorksAt"]
    for name, question in QUESTIONS.items():
        if question.is_on_spark:
            how = {"max_iterations": 3, "tolerance": 1e-12} if name in FEW else {}
            here = question.asks(analytics, types, ("Person", "a"), **how)
            there = question.asks(analytics, types, ("Person", "a"), spark=spark.session, **how)
            assert there.to_arrow().schema == here.to_arrow().schema, name
            assert values(there) == pytest.approx(values(here), abs=1e-12), name
            facts = ("node_count", "edge_count", "iterations", "converged", "graph_commit_id")
            assert [getattr(there, f) for f in facts] == [getattr(here, f) for f in facts], name
            assert (there.engine, here.engine) == ("spark", "local")


def test_what_does_not_fit_in_memory_runs_on_spark_and_says_no_in_the_same_words(
    tmp_path: Path, spark: Spark
) -> None:
    world = World(("a", "b"), (), {"Knows": (("a", "b", -1.0),)})
    run = world.made(tmp_path / "g.omni").analytics
    assert run.degrees("Knows", memory_bytes=100).engine == "spark"
    for call in (
        lambda **how: run.degrees("Knows", weight="weight", **how),
        lambda **how: run.degrees("Knows", weight="share", **how),
        lambda **how: run.shortest_paths("Knows", source="q", **how),
    ):
        told = []
        for how in ({"spark": spark.session}, {}):
            with pytest.raises((ArgumentInvalid, EntityMissing)) as refused:
                call(**how)
            told.append(refused.value.render())
        assert told[0] == told[1]
    with pytest.raises(LimitExceeded):
        run.degrees("Knows", spark=spark.session, timeout_s=0)
    with pytest.raises(ArgumentInvalid, match="work in this process can't use the Spark session"):
        run.degrees("Knows", spark=spark.session, engine="local")
