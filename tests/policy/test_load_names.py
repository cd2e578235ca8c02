"""The name of a load counts for those who may know of the load, and is free for everybody else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.backend import engine_of
from omnigraph.errors import ArgumentInvalid, OmnigraphError, StagedLoadMissing
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.pipeline.staging.record import LoadRecord, begin_load

SCHEMA = "node Note { text: String }"
POLICY = """
version: 1
rules:
  - id: boss
    allow: {actors: [boss], actions: [read, change, branch_create, branch_merge, branch_delete]}
  - {id: others, allow: {actors: [ann, bob], actions: [read, change]}}
  - {id: hush, deny: {actors: [ann], actions: [read], when: 'context.branch like "hush*"'}}
"""
NOTES = "query q() { match { $n: Note } return { $n.text } order { $n.text } }"


def note(text: str) -> list[dict[str, object]]:
    return [{"type": "Note", "data": {"text": text}}]


def texts(graph: Graph) -> list[str]:
    return [row["n.text"] for row in graph.query(NOTES).to_pylist()]


@pytest.fixture
def boss(tmp_path: Path) -> Iterator[Graph]:
    (tmp_path / "policy.yaml").write_text(POLICY)
    Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed", actor="boss")
    policy = tmp_path / "policy.yaml"
    with Graph.open(tmp_path / "g.omni", policy=policy, actor="boss") as graph:
        yield graph


def load(graph: Graph, text: str, load_id: str, branch: str = "main") -> bool:
    """Whether the load was a repetition."""
    return graph.load(note(text), mode="append", branch=branch, load_id=load_id).is_repeat


def test_a_name_that_was_used_on_a_hidden_branch_is_free_for_those_who_may_not_read_it(
    boss: Graph,
) -> None:
    boss.branch_create("hush")
    load(boss, "secret", "monday", "hush")
    boss.branch_merge("hush")
    ann = boss.as_actor("ann")
    assert not load(ann, "hers", "monday")
    assert load(ann, "hers", "monday"), "her own load is one that she knows of"
    assert texts(boss) == ["hers", "secret"]
    assert load(boss, "other", "monday") and load(boss.as_actor("bob"), "other", "monday")


def test_a_name_is_free_too_where_it_came_by_way_of_several_branches(boss: Graph) -> None:
    boss.branch_create("hush")
    load(boss, "secret", "monday", "hush")
    boss.branch_create("open")
    boss.branch_merge("hush", into="open")
    boss.branch_merge("open")
    assert not load(boss.as_actor("ann"), "hers", "monday")


def test_a_load_that_came_from_a_branch_that_its_caller_reads_is_a_repetition(
    boss: Graph,
) -> None:
    boss.branch_create("open")
    load(boss, "open", "monday", "open")
    boss.branch_create("hush", "open")
    load(boss, "secret", "tuesday", "hush")
    boss.branch_merge("hush")
    ann = boss.as_actor("ann")
    again = ann.load(note("open"), mode="append", load_id="monday")
    assert again.is_repeat and again.commit is not None
    assert again.commit.message == "merge", "the name of the branch that was merged is hidden"
    rehearsed = ann.load(note("hers"), mode="append", load_id="tuesday", dry_run=True)
    assert not rehearsed.is_repeat


def test_a_reverted_load_does_not_count_when_a_hidden_one_brings_its_name_back(
    boss: Graph,
) -> None:
    load(boss, "first", "monday")
    boss.revert(boss.commits()[0].graph_commit_id)
    boss.branch_create("hush")
    load(boss, "secret", "monday", "hush")
    boss.branch_merge("hush")
    assert not load(boss.as_actor("ann"), "hers", "monday")


def test_a_load_that_waits_to_be_resumed_names_no_hidden_branch(boss: Graph) -> None:
    boss.branch_create("hush")
    store = engine_of(boss.backend).store
    head = boss.commits("hush")[0].graph_commit_id
    record = LoadRecord(mode="append", branch="hush", base_commit=head, parallelism=1)
    begin_load(store, StagingArea(store), record, "monday", knows=lambda branch: True)
    told = {}
    for actor in ("bob", "ann"):
        graph = boss.as_actor(actor)
        with pytest.raises(ArgumentInvalid) as taken:
            load(graph, "other", "monday")
        with pytest.raises(OmnigraphError) as missing:
            graph.load(note("other"), mode="append", load_id="monday", resume=True)
        with pytest.raises(StagedLoadMissing) as unknown:
            graph.load(note("other"), mode="append", load_id="sunday", resume=True)
        told[actor] = repr([e.value.to_json() for e in (taken, missing, unknown)])
        assert ("monday" in unknown.value.known) == (actor == "bob")
    assert "hush" in told["bob"] and "hush" not in told["ann"]
