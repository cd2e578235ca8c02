"""Handles: a graph, one branch of it, and a moment; who acts through them, and who may."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import ArgumentInvalid, BranchMissing, ReadOnly
from tests.graph.people import QUERIES, SCHEMA

ADA = 'query q() { insert Person { email: "ada@x", name: "Ada", age: 1 } }'
COUNT = "query n() { match { $p: Person } return { count($p) as n } }"
ROWS = [{"type": "Person", "data": {"email": "bob@x", "name": "Bob"}}]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(
        tmp_path / "g.omni", SCHEMA, durability="relaxed", actor="founder", message="first"
    )
    graph.branch_create("side")
    return graph


def test_a_branch_is_read_and_written_by_itself(graph: Graph, tmp_path: Path) -> None:
    with graph.branch("side") as side:
        before = side.snapshot()
        assert side.mutate(ADA, message="why").affected_nodes == 1
        assert side.load(ROWS, mode="append").branch == "side"
        assert side.query(COUNT).to_pylist() == [{"n": 2}]
        assert side.at(before).query(COUNT).to_pylist() == [{"n": 0}]
        assert side.explain(COUNT).steps and side.export(tmp_path / "x").total_entities == 2
        assert side.stats().tables["node:Person"].row_count == 2  # type: ignore[index]
        assert side.optimize().branch == "side" and side.indexes()
        kinds = [commit.kind for commit in side.commits()]
        assert kinds[-3:] == ["load", "mutation", "init"]
        assert side.schema().text == graph.schema(snapshot=before).text == SCHEMA
    assert graph.query(COUNT).to_pylist() == [{"n": 0}]
    assert repr(side) == f"<Branch side of {graph.uri}>"


def test_a_branch_that_is_not_there_has_no_handle(graph: Graph) -> None:
    with pytest.raises(BranchMissing):
        graph.branch("nowhere")


def test_who_acts_is_said_once_for_a_handle_or_for_a_call(graph: Graph) -> None:
    graph.mutate(ADA)
    graph.load(ROWS, mode="append", actor="loader", message="Monday")
    graph.branch("side").mutate(ADA, actor="agent", message="a first one")
    graph.branch("side").optimize(message="tidy")
    said = [(c.kind, c.actor_id, c.message) for c in graph.commits()]
    assert said == [
        ("load", "loader", "Monday"),
        ("mutation", "founder", None),
        ("init", "founder", "first"),
    ]
    tidied, made, *_ = graph.commits("side")
    assert (tidied.actor_id, tidied.message) == ("founder", "tidy")
    assert (made.actor_id, made.message) == ("agent", "a first one")
    graph.branch_create("late", "side", actor="agent")
    graph.branch("late").load([{**ROWS[0]}], mode="append")
    merged = graph.branch_merge("late", into="side", message="reviewed").commit
    assert merged is not None and (merged.actor_id, merged.message) == ("founder", "reviewed")
    other = Graph.open(graph.uri, durability="relaxed", actor="reader")
    optimized = other.branch("late").optimize().commit
    assert optimized is not None and optimized.actor_id == "reader"


def test_the_log_says_who_made_and_deleted_a_branch(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="omnigraph"):
        graph.branch_create("draft", actor="ada", message="to try")
        graph.branch_delete("draft")
    assert [record.getMessage() for record in caplog.records] == [
        "branch draft was made from main by ada: to try",
        "branch draft was deleted by founder: None",
    ]


WRITES: dict[str, Callable[[Graph], Any]] = {
    "mutate": lambda g: g.mutate(ADA),
    "load": lambda g: g.load(ROWS, mode="append"),
    "a dry run": lambda g: g.load(ROWS, mode="append", dry_run=True),
    "branch_create": lambda g: g.branch_create("b"),
    "branch_delete": lambda g: g.branch_delete("side"),
    "branch_merge": lambda g: g.branch_merge("side"),
    "embed": lambda g: g.embed(),
    "analytics": lambda g: g.analytics.degrees(write_to="age"),
    "import_": lambda g: g.import_("nowhere"),
    "optimize": lambda g: g.optimize(),
    "stream": lambda g: g.stream(object(), mode="append", checkpoint="c"),
    "a branch": lambda g: g.branch("side").mutate(ADA),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_handle_that_was_opened_to_read_writes_nothing(graph: Graph, name: str) -> None:
    reader = Graph.open(graph.uri, read_only=True)
    with pytest.raises(ReadOnly) as refused:
        WRITES[name](reader)
    assert refused.value.code == "read_only" and graph.uri in str(refused.value)
    assert reader.query(QUERIES, "everyone").to_pylist() == []
    assert reader.branches() == ["main", "side"] and len(reader.commits()) == 1


def test_a_stream_that_could_load_no_batch_never_begins(graph: Graph) -> None:
    with pytest.raises(ArgumentInvalid, match=r"max_errors '1': .* on_error is quarantine"):
        graph.stream(object(), mode="append", checkpoint="c", max_errors=1)
    wrong: Any = "whole"
    with pytest.raises(ArgumentInvalid, match="it must be append, complete or update"):
        graph.stream(object(), mode="append", checkpoint="c", output_mode=wrong)
