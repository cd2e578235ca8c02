"""What a large merge leaves behind: its commit, whole or not at all, and no file without one."""

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, MergeConflicts, StorageFailed
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.merge.writer import MergeWriter
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.merge.large import LargeMerge
from omnigraph.pipeline.staging.area import Ending, StagingArea
from omnigraph.store.commits import CommitKind
from omnigraph.write.work import CommitNote, Replacement, Target
from omnigraph.write.writer import write
from tests.pipeline.conftest import ON_SPARK
from tests.pipeline.merge.world import (
    change,
    data_files,
    in_files,
    named_files,
    new_graph,
    rows,
    staging,
)

OURS = ['update Person set { age: 5 } where name = "a"', 'insert Person { name: "mine" }']
THEIRS = [
    *(f'insert Person {{ name: "new {n}", age: {n} }}' for n in range(5)),
    'update Person set { age: 6 } where name = "b"',
    'delete Person where name = "d"',
    'insert Likes { from: "new 1", to: "b", since: 2 }',
]
CLASHING = [f'update Person set {{ age: 7 }} where name = "{name}"' for name in "abc"]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return graph_that_moved(tmp_path)


def graph_that_moved(place: Path | str) -> Graph:
    """A branch with changes, and main with others."""
    graph = new_graph(place)
    graph.branch_create("night")
    change(graph, "main", *OURS)
    change(graph, "night", *THEIRS)
    return graph


def expected_of(graph: Graph) -> Any:
    graph.branch_create("expected", "main")
    graph.branch_merge("night", "expected")
    return rows(graph, "expected")


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=ON_SPARK)])
def test_a_merge_is_one_commit_with_two_parents(
    graph: Graph, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    expected, head = expected_of(graph), graph.snapshot().stored.commit.id
    large = in_files(graph, engine=engine)
    preview = large.branch_merge("night", preview=True)
    result = large.branch_merge("night", if_commit=preview.target_commit_id)
    assert (result.outcome, result.counts) == ("merged", preview.counts)
    assert rows(graph, "main") == expected
    commit = graph.snapshot().stored.commit
    assert (commit.parent, commit.merged_parent) == (head, result.source_commit_id)
    assert large.branch_merge("night").outcome == "already_up_to_date"


def test_a_branch_that_is_ahead_is_followed(graph: Graph) -> None:
    graph.branch_merge("main", "night")
    result = in_files(graph).branch_merge("night")
    assert result.outcome == "fast_forward"
    assert rows(graph, "main") == rows(graph, "night")
    graph.branch_delete("night")
    assert rows(graph, "main")


def test_a_revert_goes_the_same_way(graph: Graph) -> None:
    before = rows(graph, "main")
    large = in_files(graph)
    merged = large.branch_merge("night")
    assert merged.commit is not None
    assert large.revert(merged.commit.graph_commit_id).outcome == "reverted"
    assert rows(graph, "main") == before


@pytest.mark.parametrize("preview", [False, True])
def test_what_is_not_published_leaves_no_file(graph: Graph, preview: bool) -> None:
    change(graph, "main", *CLASHING)
    change(graph, "night", *(text.replace("7", "8") for text in CLASHING))
    before = data_files(graph)
    large = in_files(graph)
    if preview:
        assert len(large.branch_merge("night", preview=True, resolve=None).conflicts) == 3
    else:
        with pytest.raises(MergeConflicts):
            large.branch_merge("night")
    assert data_files(graph) == before
    assert staging(graph) == []


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_published_merge_leaves_only_files_of_its_commit(graph: Graph, take: Any) -> None:
    change(graph, "main", *CLASHING, 'insert Person { name: "one", phone: "same" }')
    change(graph, "night", *(text.replace("7", "8") for text in CLASHING))
    change(graph, "night", 'insert Person { name: "other", phone: "same" }')
    before = data_files(graph)
    in_files(graph).branch_merge("night", resolve=take)
    assert data_files(graph) - before <= named_files(graph, "main")
    assert staging(graph) == []


def test_a_merge_in_a_bucket_is_refused_by_conflicts_or_done(bucket: str) -> None:
    graph = graph_that_moved(bucket)
    change(graph, "main", CLASHING[1])
    before, files = rows(graph, "main"), data_files(graph)
    large = in_files(graph)
    with pytest.raises(MergeConflicts) as caught:
        large.branch_merge("night")
    assert [(found.entity_id, found.property) for found in caught.value.conflicts] == [("b", "age")]
    assert (rows(graph, "main"), data_files(graph), staging(graph)) == (before, files, [])
    assert large.branch_merge("night", resolve="theirs").outcome == "merged"
    people = {row["name"]: row["age"] for row in rows(graph, "main")["Person"]}
    news = {f"new {n}": n for n in range(5)}
    assert people == {"a": 5, "b": 6, "c": 1, "mine": None, **news}
    assert data_files(graph) - files <= named_files(graph, "main")
    assert staging(graph) == []


def test_files_of_tasks_that_are_done_go_when_another_task_fails(graph: Graph) -> None:
    """The rows of the last task can't be read."""
    graph.branch_create("ahead", "main")
    change(graph, "ahead", *(f'insert City {{ code: "new {n}" }}' for n in range(4)))
    ahead = graph.snapshot("ahead").stored
    cities = ahead.catalog.node_by_name["City"]
    lost = ahead.dataset(cities).fragments[-1].files[0].path
    [file] = Path(graph.uri).rglob(str(lost))
    file.unlink()
    before = data_files(graph)
    with pytest.raises(StorageFailed):
        in_files(graph, task_bytes=1).branch_merge("ahead")
    assert data_files(graph) == before
    assert staging(graph) == []


def test_of_many_conflicts_the_first_are_told_and_the_others_counted(graph: Graph) -> None:
    change(graph, "main", *CLASHING)
    change(graph, "night", *(text.replace("7", "8") for text in CLASHING))
    large = in_files(graph, max_conflicts=1)
    with pytest.raises(MergeConflicts) as caught:
        large.branch_merge("night")
    assert [conflict.entity_id for conflict in caught.value.conflicts] == ["a"]
    assert caught.value.more == 2
    preview = large.branch_merge("night", preview=True)
    assert (len(preview.conflicts), preview.more_conflicts) == (1, 2)
    choice = {"type": "Person", "id": "c", "take": "theirs"}
    with pytest.raises(MergeConflicts) as caught:
        large.branch_merge("night", resolve=[choice])
    assert len(caught.value.conflicts) + caught.value.more == 2
    # All that was listed is settled; what was only counted is not.
    with pytest.raises(MergeConflicts) as caught:
        large.branch_merge("night", resolve=[{**choice, "id": "a"}])
    assert len(caught.value.conflicts) + caught.value.more == 2
    large.branch_merge("night", resolve="theirs")
    assert {row["name"]: row["age"] for row in rows(graph, "main")["Person"]}["c"] == 8


def test_a_preview_counts_no_row_of_a_conflict_as_in_memory(graph: Graph) -> None:
    change(graph, "main", *CLASHING, 'insert Person { name: "one", phone: "same" }')
    change(graph, "main", 'insert Likes { from: "a", to: "d", since: 1 }')  # d is gone there
    change(graph, "night", *(text.replace("7", "8") for text in CLASHING))
    change(graph, "night", 'insert Person { name: "other", phone: "same" }')
    of_memory = graph.branch_merge("night", preview=True)
    preview = in_files(graph).branch_merge("night", preview=True)
    kinds = {conflict.kind for conflict in of_memory.conflicts}
    assert kinds == {"divergent_update", "orphan_edge", "unique_violation"}
    assert preview.conflicts == of_memory.conflicts
    assert preview.counts == of_memory.counts
    assert preview.counts["Person"].inserted == 5


def test_a_choice_counts_for_a_rule_that_is_broken_past_those_told(graph: Graph) -> None:
    numbers = range(4)
    for branch, name in (("main", "one"), ("night", "other")):
        rows_ = (f'insert Person {{ name: "{name} {n}", phone: "same {n}" }}' for n in numbers)
        change(graph, branch, *rows_)
    large = in_files(graph, max_conflicts=1)
    choices = [{"type": "Person", "id": f"other {n}", "take": "ours"} for n in numbers]
    preview = large.branch_merge("night", preview=True, resolve=choices[-1:])
    assert len(preview.conflicts) + preview.more_conflicts == len(numbers) - 1
    with pytest.raises(ArgumentInvalid):
        large.branch_merge("night", resolve=[*choices[1:], {**choices[0], "id": "nobody"}])
    large.branch_merge("night", resolve=choices)
    names = {row["name"] for row in rows(graph, "main")["Person"]}
    assert {"one 0", "one 3", "new 0"} <= names and not any("other" in name for name in names)


def test_a_table_whose_rows_are_what_they_were_is_left_alone(graph: Graph) -> None:
    """Theirs has another version of it, and ours has other rows."""
    change(graph, "night", 'insert City { code: "z" }', 'delete City where code = "z"')
    change(graph, "main", 'insert City { code: "ours" }')
    expected = expected_of(graph)
    assert in_files(graph).branch_merge("night").outcome == "merged"
    assert rows(graph, "main") == expected


@pytest.mark.parametrize("point", Failpoint)
def test_a_crash_leaves_the_old_commit_or_the_new_one(graph: Graph, point: Failpoint) -> None:
    old, new = rows(graph, "main"), expected_of(graph)
    dying = in_files(graph, faults=CrashAt(point))
    with suppress(Crash):  # a merge does not come by every one of these places
        dying.branch_merge("night")
    healed = in_files(graph)
    assert rows(healed, "main") in (old, new)
    healed.branch_merge("night")
    assert rows(healed, "main") == new


@pytest.mark.parametrize(
    ("other", "is_touched"),
    [('insert Person { name: "late" }', True), ('insert City { code: "late" }', False)],
)
def test_an_overtaken_merge_writes_only_what_changed_under_it(
    graph: Graph, other: str, is_touched: bool
) -> None:
    store, area = graph.engine.store, StagingArea(graph.engine.store)
    area.open({}, name=None)
    assert area.for_tasks is not None
    large = LargeMerge(InProcess(), area.for_tasks, LoadLimits())
    seen: list[Any] = []

    def merge(*sides: Any, **options: Any) -> Any:
        merged = large.merge(*sides, **options)
        seen.append(merged)
        if len(seen) == 1:
            change(graph, "main", other)
        return merged

    note = CommitNote(CommitKind.MERGE)
    writer = MergeWriter(
        store=store,
        sql=graph.engine.sql,
        branch=MAIN,
        note=note,
        in_files=merge,
        source="night",
        theirs=store.snapshot(BranchName("night")),
    )
    written = write(store, writer, to=Target(MAIN), note=note)
    assert written is not None and written.commit is not None
    area.close(Ending.UNKNOWN)
    key = graph.snapshot().stored.catalog.node_by_name["Person"].table_key
    works = [merged.tables[key] for merged in seen]
    assert all(isinstance(work, Replacement) for work in works)
    # Cities decide whether edges to them may stay, so the rules are looked at again.
    assert len({work.fragments for work in works}) == (2 if is_touched else 1)
    names = {row["name"] for row in rows(graph, "main")["Person"]}
    assert {"mine", "new 0"} <= names and ("late" in names) == is_touched


def test_rows_with_blobs_are_merged_and_chosen(graph: Graph) -> None:
    text = 'update Person set {{ photo: "base64:{}" }} where name = "{}"'
    change(graph, "main", text.format("AAEC", "a"), text.format("AAEC", "c"))
    change(graph, "night", text.format("AwQF", "a"), text.format("AwQF", "b"))
    change(graph, "main", 'insert Person { name: "one", phone: "same" }')
    change(graph, "night", 'insert Person { name: "other", phone: "same" }')
    for take in ("ours", "theirs"):
        for branch in (take, f"{take}-large"):
            graph.branch_create(branch, "main")
    for (number, way), take in product(enumerate((graph, in_files(graph))), ("ours", "theirs")):
        target = take if number == 0 else f"{take}-large"
        way.branch_merge("night", target, resolve=take)
    for take in ("ours", "theirs"):
        assert rows(graph, take) == rows(graph, f"{take}-large")
