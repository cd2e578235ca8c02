"""Merges as a caller asks for them: outcomes, refusals, choices that fit nothing, deletion."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.history import branch_delete
from omnigraph.engine.requests import BranchDelete
from omnigraph.errors import (
    ArgumentInvalid,
    BranchMissing,
    CommitMissing,
    MergeConflicts,
    PreconditionFailed,
)
from tests.merge.world import edge, gone, image_of, item, make_graph, write_rows


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Two items; both branches have changed `x`."""
    graph = make_graph(tmp_path / "g")
    write_rows(graph, "main", [item("x", a=0), item("y")])
    graph.branch_create("feature")
    write_rows(graph, "main", [item("x", a=1)])
    write_rows(graph, "feature", [item("x", a=2)])
    return graph


def choice(**values: Any) -> dict[str, Any]:
    return {"type": "Item", "id": "x", "property": "a", "take": "theirs", **values}


@pytest.mark.parametrize(
    ("resolve", "named"),
    [
        ("mine", "mine"),
        (7, "7"),
        ([choice(id="nobody")], "Item nobody, property a"),
        ([choice(type="Thing")], "Thing x"),
        ([choice(property="b")], "property b"),
        ([choice(), choice(id="y")], "Item y"),
        ([choice(take="both")], "both"),
        ([choice(take=None)], "null"),
        ([choice(), choice(take="ours")], "Item x"),
        ([choice(taken="ours")], "taken"),
        ([{"id": "x", "take": "ours"}], "names no type"),
        ([choice(id=5)], "quote it"),
        (["x"], "x"),
    ],
)
def test_a_choice_that_is_wrong_or_fits_nothing_is_named(
    graph: Graph, resolve: Any, named: str
) -> None:
    before = image_of(graph, "main")
    with pytest.raises(ArgumentInvalid) as caught:
        graph.branch_merge("feature", resolve=resolve)
    assert named in caught.value.message and caught.value.argument == "resolve"
    assert image_of(graph, "main") == before


def test_a_branch_is_not_merged_into_itself_nor_one_that_is_not_there(graph: Graph) -> None:
    with pytest.raises(ArgumentInvalid):
        graph.branch_merge("feature", "feature")
    with pytest.raises(BranchMissing):
        graph.branch_merge("nowhere")
    with pytest.raises(BranchMissing):
        graph.branch_merge("feature", "nowhere")


def test_what_was_previewed_is_merged_or_nothing(graph: Graph) -> None:
    preview = graph.branch_merge("feature", preview=True)
    heads: dict[str, Any] = {
        "if_commit": preview.target_commit_id,
        "if_source_commit": preview.source_commit_id,
    }
    for moved, argument in (("main", "if_commit"), ("feature", "if_source_commit")):
        write_rows(graph, moved, [item(f"new on {moved}")])
        with pytest.raises(PreconditionFailed) as caught:
            graph.branch_merge("feature", resolve="ours", **{argument: heads[argument]})
        assert caught.value.branch == moved
    preview = graph.branch_merge("feature", preview=True)
    graph.optimize("main")  # moves no row
    merged = graph.branch_merge(
        "feature",
        resolve="ours",
        if_commit=preview.target_commit_id,
        if_source_commit=preview.source_commit_id,
    )
    assert merged.outcome == "merged"


def test_the_source_goes_after_the_merge_if_it_can(graph: Graph) -> None:
    graph.branch_create("child", "feature")
    kept = graph.branch_merge("feature", resolve="theirs", delete=True)
    assert not kept.branch_deleted and "child" in str(kept.branch_delete_error)
    assert kept.commit is not None
    graph.branch_delete("child")
    again = graph.branch_merge("feature", delete=True)
    assert (again.outcome, again.branch_deleted) == ("already_up_to_date", True)
    assert graph.branches() == ["main"]
    refused = graph.commit(str(kept.commit.merged_parent_commit_id))
    assert refused.graph_branch == "feature"


def test_a_source_that_moved_on_is_not_deleted(graph: Graph) -> None:
    merged = graph.commits("feature")[0].graph_commit_id
    graph.optimize("feature")  # moves no row
    write_rows(graph, "feature", [item("late")])
    delete = BranchDelete(branch=BranchName("feature"), if_commit=CommitId(merged))
    with pytest.raises(PreconditionFailed):
        branch_delete(graph.engine, delete)
    now = CommitId(graph.commits("feature")[0].graph_commit_id)
    graph.optimize("feature")
    branch_delete(graph.engine, replace(delete, if_commit=now))
    assert graph.branches() == ["main"]


def test_choices_for_a_merge_without_conflicts_are_an_error(graph: Graph) -> None:
    graph.branch_merge("feature", resolve="theirs")
    with pytest.raises(ArgumentInvalid, match="fits no conflict"):
        graph.branch_merge("feature", resolve=[choice()])


def test_a_preview_deletes_nothing(graph: Graph) -> None:
    preview = graph.branch_merge("feature", preview=True, delete=True)
    assert (preview.branch_deleted, preview.branch_delete_error) == (False, None)
    assert len(preview.conflicts) == 1 and "feature" in graph.branches()


def test_a_merge_after_a_merge_sees_only_what_is_new(graph: Graph) -> None:
    graph.branch_merge("feature", resolve="ours")
    write_rows(graph, "feature", [item("y", b="new")])
    merged = graph.branch_merge("feature")
    assert merged.outcome == "merged"
    assert merged.counts["Item"].updated == 1  # the choice of before stands: x is not asked again
    assert image_of(graph, "main")["Item"]["x"]["a"] == 1


def test_a_deletion_that_was_merged_stays(graph: Graph) -> None:
    write_rows(graph, "feature", [gone("Item", "y"), item("x", a=1)])
    graph.branch_merge("feature")
    write_rows(graph, "feature", [item("z")])
    graph.branch_merge("feature")
    assert set(image_of(graph, "main")["Item"]) == {"x", "z"}


def test_crossing_merges_come_to_one_image(graph: Graph) -> None:
    """Each takes the other's head of before: both are bases of what follows."""
    graph.branch_create("old-main", "main")
    write_rows(graph, "feature", [edge("Tie", "t", "x", "y")])
    graph.branch_create("old-feature", "feature")
    graph.branch_merge("old-feature", "main", resolve="ours")
    graph.branch_merge("old-main", "feature", resolve="theirs")
    assert image_of(graph, "main") == image_of(graph, "feature")
    write_rows(graph, "main", [item("from main")])
    write_rows(graph, "feature", [item("from feature")])
    for source, target in (("feature", "main"), ("main", "feature")):
        graph.branch_merge(source, target)
    assert image_of(graph, "main") == image_of(graph, "feature")
    assert {"from main", "from feature"} <= set(image_of(graph, "main")["Item"])


def test_a_branch_can_go_from_which_the_bases_of_two_others_came(graph: Graph) -> None:
    """Its commit is the base of both bases, so its rows must stay."""
    graph.branch_create("other", "feature")
    write_rows(graph, "other", [item("shared")])
    for side in ("main", "feature"):
        graph.branch_merge("other", side, resolve="ours")
        write_rows(graph, side, [item(side)])
        graph.branch_create(f"old-{side}", side)
    graph.branch_merge("old-feature", "main", resolve="ours")
    graph.branch_merge("old-main", "feature", resolve="theirs")
    for gone_branch in ("old-main", "old-feature", "other"):
        graph.branch_delete(gone_branch)
    write_rows(graph, "feature", [gone("Item", "shared")])
    assert graph.branch_merge("feature").outcome == "merged"
    assert set(image_of(graph, "main")["Item"]) == {"x", "y", "main", "feature"}


# Reverts ------------------------------------------------------------------------------------------


def test_a_revert_of_a_merge_takes_back_what_came_with_it(graph: Graph) -> None:
    before = image_of(graph, "main")
    write_rows(graph, "feature", [item("new"), gone("Item", "y")])
    merged = graph.branch_merge("feature", resolve="theirs")
    assert merged.commit is not None
    reverted = graph.revert(merged.commit)
    assert reverted.outcome == "reverted" and image_of(graph, "main") == before
    assert reverted.commit is not None and reverted.commit.kind == "revert"
    assert graph.branch_merge("feature").outcome == "already_up_to_date"


def test_what_was_changed_since_is_in_conflict_with_a_revert(graph: Graph) -> None:
    commit = graph.commits(limit=1)[0]
    write_rows(graph, "main", [item("x", a=3)])
    with pytest.raises(MergeConflicts) as caught:
        graph.revert(commit)
    assert [(c.property, c.base, c.ours, c.theirs) for c in caught.value.conflicts] == [
        ("a", 1, 3, 0)
    ]
    told = graph.revert(commit, preview=True)
    assert told.conflicts == caught.value.conflicts and told.commit is None
    assert graph.revert(commit, resolve="theirs").outcome == "reverted"
    assert image_of(graph, "main")["Item"]["x"]["a"] == 0


def test_commits_without_an_inverse_are_refused(graph: Graph) -> None:
    graph.optimize("main")
    for commit in (graph.commits()[-1], graph.commits(limit=1)[0]):
        with pytest.raises(ArgumentInvalid):
            graph.revert(commit)
    with pytest.raises(ArgumentInvalid):
        graph.revert(graph.commits("feature", limit=1)[0])  # not in the history of main
    with pytest.raises(CommitMissing):
        graph.revert("01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_a_choice_settles_no_conflict_that_it_brings_up(tmp_path: Path) -> None:
    """To take their code of x gives it to two rows. Nobody was told of the other, so it stays."""
    graph = make_graph(tmp_path / "g")
    write_rows(graph, "main", [item("x"), item("z", a=1)])
    graph.branch_create("feature")
    write_rows(graph, "feature", [item("x", u="T")])
    write_rows(graph, "main", [item("x", u="O"), item("z", a=99, u="T")])
    before, chosen = image_of(graph, "main"), choice(property="u")
    assert [c.kind for c in graph.branch_merge("feature", preview=True).conflicts] == [
        "divergent_update"
    ]
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge("feature", resolve=[chosen])
    assert [c.kind for c in caught.value.conflicts] == ["unique_violation"]
    assert image_of(graph, "main") == before
    with pytest.raises(ArgumentInvalid, match="kind of a choice"):
        graph.branch_merge("feature", resolve=[choice(property="u", kind="twin")])
    asked_for = [chosen, {**chosen, "kind": "unique_violation"}]
    assert graph.branch_merge("feature", resolve=asked_for).outcome == "merged"
