"""Merges in both directions, round after round: all work arrives and none is lost."""

from itertools import product
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import CommitReclaimed

SCHEMA = "node City { name: String @key  pop: I32? }\nedge Road: City -> City\n"
CITIES = "query q() { match { $c: City } return { $c.name as n, $c.pop as p } order { n } }"

WORK = {
    "insert": ['insert City { name: "new", pop: 9 }'],
    "update": ['update City set { pop: 9 } where name = "A"'],
    "delete": ['delete City where name = "B"'],
    # As many rows as before: counts alone would say that none is gone.
    "swap": ['delete City where name = "B"', 'insert City { name: "instead", pop: 9 }'],
    "road": ['insert Road { from: "A", to: "C" }'],
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    for name in "ABC":
        change(graph, f'insert City {{ name: "{name}", pop: 0 }}')
    graph.branch_create("feature")
    return graph


def change(graph: Graph, text: str, branch: str = "main") -> None:
    graph.mutate(f"query q() {{ {text} }}", branch=branch)


def work_on(graph: Graph, kind: str, branch: str, *, number: int = 0) -> None:
    for text in WORK[kind]:
        numbered = text.replace("9", f"9{number}").replace("new", f"new {number}")
        change(graph, numbered.replace("instead", f"instead {number}"), branch)


def cities(graph: Graph, branch: str) -> list[dict[str, object]]:
    return graph.query(CITIES, branch=branch).to_pylist()


def busy(graph: Graph, branch: str, commits: int) -> None:
    """So many commits, which count the versions of the branch's tables up."""
    for number in range(commits):
        change(graph, f'update City set {{ pop: {number + 1} }} where name = "C"', branch)


@pytest.mark.parametrize(("work", "towards"), list(product(WORK, ["main", "feature"])))
def test_work_on_a_branch_brought_up_to_date_arrives_where_it_is_merged(
    graph: Graph, work: str, towards: str
) -> None:
    """The branch that is merged counts fewer versions than the one that it is merged into."""
    other = "feature" if towards == "main" else "main"
    busy(graph, towards, commits=4)
    assert graph.branch_merge(towards, other).outcome == "fast_forward"
    work_on(graph, work, other)
    assert graph.branch_merge(other, towards).outcome == "fast_forward"
    assert cities(graph, towards) == cities(graph, other)
    assert whole(graph, towards) == whole(Graph.open(graph.uri), other)
    assert graph.branch_merge(other, towards).outcome == "already_up_to_date"


@pytest.mark.parametrize("optimizes", [False, True])
@pytest.mark.parametrize("one_way", [False, True])
def test_branches_stay_alike_over_any_number_of_rounds(
    graph: Graph, one_way: bool, optimizes: bool
) -> None:
    for number, (work, source) in enumerate(product(WORK, ["main", "feature"])):
        source = "feature" if one_way else source
        target = "main" if source == "feature" else "feature"
        work_on(graph, work, source, number=number)
        busy(graph, source, commits=number % 3)
        if optimizes:
            graph.optimize(branch=[source, target][number % 2])
        assert graph.branch_merge(source, target).outcome == "fast_forward"
        assert whole(graph, source) == whole(graph, target) == whole(Graph.open(graph.uri), target)


def test_a_branch_that_was_only_optimized_has_nothing_to_merge(graph: Graph) -> None:
    work_on(graph, "update", "feature")
    graph.branch_merge("feature", "main")
    graph.optimize(branch="feature")
    work_on(graph, "insert", "main")
    assert graph.branch_merge("feature", "main").outcome == "already_up_to_date"
    assert graph.branch_merge("main", "feature").outcome == "fast_forward"
    assert whole(graph, "main") == whole(graph, "feature")


def test_branches_that_both_moved_have_the_work_of_both(graph: Graph) -> None:
    work_on(graph, "update", "feature")
    work_on(graph, "insert", "main")
    merged = graph.branch_merge("feature", "main")
    assert merged.outcome == "merged" and merged.commit is not None
    assert {row["n"]: row["p"] for row in cities(graph, "main")}.items() >= {
        "A": 90,
        "new 0": 90,
    }.items()
    assert graph.branch_merge("main", "feature").outcome == "fast_forward"
    assert whole(graph, "main") == whole(Graph.open(graph.uri), "feature")


def test_what_a_deleted_branch_brought_is_followed_by_those_that_have_it(graph: Graph) -> None:
    work_on(graph, "update", "feature")
    graph.branch_merge("feature", "main")
    graph.branch_create("later", "main")
    graph.branch_delete("feature")
    work_on(graph, "swap", "later")
    assert graph.branch_merge("later", "main").outcome == "fast_forward"
    assert whole(graph, "main") == whole(graph, "later")


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_load_that_a_merge_brought_is_not_repeated(tmp_path: Path, is_deleted: bool) -> None:
    graph = Graph.init(tmp_path / "g", "node Note { text: String }", durability="relaxed")
    for branch in ("mid", "night"):
        graph.branch_create(branch)
    rows = [{"type": "Note", "data": {"text": "a"}}]
    graph.load(rows, mode="append", branch="night", load_id="night-1")
    graph.branch_merge("night", "mid")
    graph.branch_merge("mid", "main")
    if is_deleted:
        graph.branch_delete("night")
        graph.branch_delete("mid")
    assert graph.load(rows, mode="append", load_id="night-1").is_repeat
    assert not graph.load(rows, mode="append", load_id="night-2").is_repeat
    count = "query q() { match { $n: Note } return { count($n) as n } }"
    assert graph.query(count).to_pylist() == [{"n": 2}]


def whole(graph: Graph, branch: str) -> list[object]:
    roads = "query q() { match { $a: City  $a road $b } return { $a.name as a, $b.name as b } }"
    return [cities(graph, branch), graph.query(roads, branch=branch).to_pylist()]


def test_the_commits_of_a_merged_branch_stay_and_their_rows_go_with_it(graph: Graph) -> None:
    for kind in ("update", "insert"):
        work_on(graph, kind, "feature")
    graph.branch_create("side", "feature")
    work_on(graph, "delete", "side")
    graph.branch_merge("side", "feature")
    line, side = graph.commits("feature"), graph.commits("side")[0]
    graph.branch_merge("feature", "main")
    on_main = [commit.graph_commit_id for commit in graph.commits()]
    held, before = graph.at(side), whole(graph, "main")
    for name in ("side", "feature"):
        graph.branch_delete(name)
    for opened in (graph, Graph.open(graph.uri), Graph.open(graph.uri, read_only=True)):
        assert [opened.commit(c.graph_commit_id) for c in (*line, side)] == [*line, side]
        assert [c.graph_commit_id for c in opened.commits()] == on_main
        for moment in (side, line[0], line[1].graph_commit_id):
            with pytest.raises(CommitReclaimed, match="are gone"):
                opened.at(moment)
            id_ = moment if isinstance(moment, str) else moment.graph_commit_id
            with pytest.raises(CommitReclaimed) as caught:
                opened.query(CITIES, snapshot=id_)
            assert (caught.value.code, caught.value.commit) == ("not_found", id_)
            assert caught.value.hint is not None
        assert whole(opened, "main") == before
        assert opened.query(CITIES, snapshot=on_main[1]).to_pylist()
    with pytest.raises(CommitReclaimed):
        held.query(CITIES)


def test_what_one_branch_has_is_merged_though_the_rows_of_its_commit_are_gone(graph: Graph) -> None:
    """Main shows an early commit of a branch that is gone, and another branch its last one."""
    graph.branch_create("other")
    work_on(graph, "update", "feature")
    graph.branch_merge("feature", "main")
    work_on(graph, "swap", "feature")
    graph.branch_merge("feature", "other")
    graph.branch_delete("feature")
    assert graph.branch_merge("other", "main").outcome == "fast_forward"
    assert whole(graph, "main") == whole(graph, "other")


def test_work_that_came_by_way_of_a_branch_that_is_gone_is_still_known(graph: Graph) -> None:
    graph.branch_create("between")
    work_on(graph, "update", "feature")
    assert graph.branch_merge("feature", "between").outcome == "fast_forward"
    assert graph.branch_merge("between", "main").outcome == "fast_forward"
    graph.branch_delete("between")
    for opened in (graph, Graph.open(graph.uri)):
        assert opened.branch_merge("feature", "main").outcome == "already_up_to_date"
        assert opened.branch_merge("main", "feature").outcome == "already_up_to_date"
    work_on(graph, "delete", "feature")
    assert graph.branch_merge("feature", "main").outcome == "fast_forward"
    assert cities(graph, "main") == cities(graph, "feature")


@pytest.mark.parametrize("into", ["main", "team"])
def test_a_deletion_stays_though_the_branch_that_brought_the_row_is_gone(
    graph: Graph, into: str
) -> None:
    """The commit that both branches merged is their base: its rows outlive its branch."""
    graph.branch_create("team")
    change(graph, 'insert City { name: "new", pop: 9 }', "feature")
    for number, branch in enumerate(["main", "team"]):
        busy(graph, branch, commits=number + 1)
        assert graph.branch_merge("feature", branch).outcome == "merged"
    graph.branch_delete("feature")
    change(graph, 'delete City where name = "new"', "main")
    other = "team" if into == "main" else "main"
    assert graph.branch_merge(other, into, resolve="theirs").outcome == "merged"
    for handle in (graph, Graph.open(graph.uri)):
        assert "new" not in {city["n"] for city in cities(handle, into)}


@pytest.mark.parametrize("on_feature", ["insert", "road"])
def test_the_rows_of_a_base_outlive_the_branch_from_which_its_own_was_made(
    graph: Graph, on_feature: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The base has tables of both branches, or a table whose files lie on both."""
    graph.branch_create("team")
    work_on(graph, on_feature, "feature")
    graph.branch_create("side", "feature")
    change(graph, 'update City set { pop: 9 } where name = "A"', "side")
    for number, branch in enumerate(["main", "team"]):
        busy(graph, branch, commits=number + 1)
        assert graph.branch_merge("side", branch).outcome == "merged"
    for name in ("side", "feature"):
        graph.branch_delete(name)
    change(graph, 'delete City where name = "A"', "team")
    assert Graph.open(graph.uri).branch_merge("team", "main", resolve="ours").outcome == "merged"
    assert "A" not in {city["n"] for city in cities(graph, "main")}
    assert caplog.text == ""


@pytest.mark.parametrize("into", ["main", "feature"])
@pytest.mark.parametrize("more", [0, 3])
def test_what_came_by_two_branches_is_not_new_again(graph: Graph, into: str, more: int) -> None:
    """Two branches went into both sides, so that there are two bases, and none has both rows."""
    names = ["one", "two"]
    for name in names:
        graph.branch_create(name)
        change(graph, f'insert City {{ name: "{name}", pop: 9 }}', name)
    busy(graph, "two", commits=more)
    for name, branch in product(names, ["main", "feature"]):
        change(graph, f'insert City {{ name: "{branch} {name}" }}', branch)
        graph.branch_merge(name, branch)
    change(graph, 'delete City where name = "one"', "main")
    change(graph, 'delete City where name = "two"', "feature")
    change(graph, 'update City set { pop: 5 } where name = "A"', "main")
    other = "feature" if into == "main" else "main"
    assert graph.branch_merge(other, into).outcome == "merged"
    for handle in (graph, Graph.open(graph.uri)):
        found = {city["n"]: city["p"] for city in cities(handle, into)}
        assert not {"one", "two"} & found.keys()
        assert found["A"] == 5 and {"main one", "feature two"} <= found.keys()


def test_what_two_bases_dispute_is_a_conflict(graph: Graph) -> None:
    for pop, name in enumerate(["one", "two"], start=1):
        graph.branch_create(name)
        change(graph, f'update City set {{ pop: {pop} }} where name = "A"', name)
    for name, branch in product(["one", "two"], ["main", "feature"]):
        change(graph, f'insert City {{ name: "{branch} {name}" }}', branch)
        take = "theirs" if branch == "main" else "ours"
        graph.branch_merge(name, branch, resolve=take)
    assert [cities(graph, b)[0]["p"] for b in ("main", "feature")] == [2, 1]
    preview = graph.branch_merge("feature", preview=True)
    assert [(c.kind, c.entity_id) for c in preview.conflicts] == [("divergent_update", "A")]
