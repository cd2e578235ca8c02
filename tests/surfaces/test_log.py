"""The log: a picture of who descends from whom, which can be traced back to the commits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from omnigraph import Graph
from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.log import Log
from omnigraph.engine.results import CommitInfo
from omnigraph.store.commits import Commit
from omnigraph.surfaces.cli.lanes import lanes
from omnigraph.surfaces.cli.log import picture
from tests.store_contract.histories import PlainLines, histories, reachable
from tests.surfaces.cli import CommandLine

# The picture --------------------------------------------------------------------------------------


def drawn(*commits: tuple[str, str]) -> list[str]:
    """A picture of commits of one letter, each with the letters of its parents."""
    return [f"{art} {id_ or ''}".rstrip() for art, id_ in lanes(commits)]


def test_branches_part_and_merges_join() -> None:
    assert drawn(("a", "b")) == ["* a"]
    assert drawn(("m", "ac"), ("c", "b"), ("a", "b"), ("b", "")) == [
        "* m",
        "├─╮",
        "│ * c",
        "* │ a",
        "├─╯",
        "* b",
    ]
    assert drawn(("x", "r"), ("y", "r"), ("z", "r"), ("m", "rx"), ("r", "")) == [
        "* x",
        "│ * y",
        "│ │ * z",
        "│ │ │ * m",
        "│ │ │ ├─╮",
        "├─┴─┴─╯ │",
        "*       │ r",
    ]


def test_a_merge_of_what_has_a_lane_already_leads_there() -> None:
    assert drawn(("s", "t"), ("m", "at"), ("t", "a"), ("a", "")) == [
        "* s",
        "│ * m",
        "├─┤",
        "* │ t",
        "├─╯",
        "* a",
    ]


def traced(lines: list[str], row: int, column: int, *, is_own: bool = True) -> set[tuple[int, int]]:
    """The places of the commits that lanes lead to from a place, by the lines of a picture."""
    for number in range(row + 1, len(lines)):
        line = lines[number].ljust(200)
        mark, found = line[column], set[tuple[int, int]]()
        if mark == "*":
            return {(number, column)}
        if mark in "╯┴":
            column = max(c for c in range(column) if line[c] == "├")
        elif is_own and mark in "├┤":
            # Of the commit right above it: to its merged parent too.
            step = 1 if mark == "├" else -1
            ends = "╮┤╯┴" if mark == "├" else "╭├"
            to = next(
                c for c in range(column + step, -1 if step < 0 else 200, step) if line[c] in ends
            )
            if line[to] not in "╯┴":
                found = traced(lines, number, to, is_own=False)
        else:
            assert mark in "│┼├┤", f"a lane is lost at {number}, {column}"
        if found:
            return found | traced(lines, number, column, is_own=False)
        is_own = False
    return set()


@given(histories(length=16))
def test_the_picture_can_be_traced_back_to_the_parents_of_every_commit(
    commits: list[Commit],
) -> None:
    log = PlainLines(commits).log
    shown = [*log.descent(log.heads(PlainLines(commits).names()).values())]
    lines = [*lanes((c.id, sorted({*c.parents}, key=c.parents.index)) for c in shown)]
    arts = [art for art, _ in lines]
    places = {(row, art.index("*")): id_ for row, (art, id_) in enumerate(lines) if id_}
    assert [*places.values()] == [c.id for c in shown]
    for (row, column), id_ in places.items():
        found = {places[place] for place in traced(arts, row, column)}
        assert found == {*log.get(CommitId(id_)).parents}


@given(histories(length=16), st.data())
def test_a_log_shows_each_commit_once_and_before_its_parents(
    commits: list[Commit], data: st.DataObject
) -> None:
    tips = PlainLines(commits).tips()
    some = data.draw(st.lists(st.sampled_from(sorted(tips)), min_size=1, unique=True))
    log = PlainLines(commits).log
    shown = [c.id for c in log.descent(log.heads(some).values())]
    assert len(shown) == len({*shown})
    assert {*shown} == {c for name in some for c in reachable(commits, tips[name].id)}
    for number, id_ in enumerate(shown):
        assert not {*log.get(id_).parents} & {*shown[:number]}


NOW = datetime(2030, 1, 1, tzinfo=UTC)


@given(
    histories(length=16), st.integers(20, 140), st.booleans(), st.text(max_size=80), st.integers(0)
)
def test_no_line_is_wider_than_the_terminal_nor_steers_it(
    commits: list[Commit], width: int, has_lanes: bool, message: str, age_s: int
) -> None:
    made = [CommitInfo.of(commit) for commit in reversed(commits)]
    age = timedelta(seconds=age_s % 10**9)
    said = tuple(replace(c, message=message, created_at=NOW - age) for c in made)
    log = Log(said, {BranchName("日本/x"): said[0].graph_commit_id})
    lines = [*picture(log, now=NOW, width=width, has_lanes=has_lanes)]
    assert all(
        cell_len(line) <= width and "\x1b" not in line and "\n" not in line for line in lines
    )
    assert len(lines) >= len(said)


# The command --------------------------------------------------------------------------------------

ADD = "query add($n: String) { insert City { name: $n } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Main, with the work of a branch that is gone, and a branch with work of its own."""
    graph = Graph.init(tmp_path / "g", "node City { name: String @key }", durability="relaxed")
    graph.mutate(ADD, params={"n": "a"}, actor="ada", message="the first")
    for branch in ("done", "open"):
        graph.branch_create(branch)
        graph.mutate(ADD, params={"n": branch}, branch=branch, actor="bob", message=f"on {branch}")
    graph.branch_merge("done", actor="ada", message="take it")
    graph.branch_delete("done")
    return graph


def test_the_command_draws_what_the_graph_holds(graph: Graph, omnigraph: CommandLine) -> None:
    answer = omnigraph("log", "--graph", "--store", graph.uri)
    assert answer.exit_code == 0
    lines = answer.out.splitlines()
    for said in ("[main]", "ada: take it", "[open]", "bob: on open", "bob: on done", "the first"):
        assert sum(said in line for line in lines) == 1, said
    assert sum("*" in line for line in lines) == 5
    assert any("╯" in line for line in lines) and any("╮" in line for line in lines)
    assert all(commit.graph_commit_id in answer.out for commit in graph.log().commits)
    plain = omnigraph("log", "--store", graph.uri, "--limit", "2").out.splitlines()
    assert len(plain) == 2 and "*" not in plain[0]


def test_the_log_of_a_branch_is_what_it_descends_from(graph: Graph, omnigraph: CommandLine) -> None:
    told = omnigraph("log", "--branch", "main", "--json", "--store", graph.uri).json
    found = graph.log("main")
    assert [c["graph_commit_id"] for c in told["commits"]] == [
        c.graph_commit_id for c in found.commits
    ]
    assert told["branches"] == {"main": graph.commits()[0].graph_commit_id} == dict(found.heads)
    assert {c.message for c in found.commits} == {None, "the first", "on done", "take it"}
    assert {*graph.log().heads} == {"main", "open"}
    with pytest.raises(BranchMissing):
        graph.log("nowhere")
    assert omnigraph("log", "--branch", "nowhere", "--store", graph.uri).exit_code == 3


def test_commits_are_listed_by_actor(graph: Graph, omnigraph: CommandLine) -> None:
    assert [c.message for c in graph.commits(actor="ada")] == ["take it", "the first"]
    assert [c.message for c in graph.commits(actor="ada", limit=1)] == ["take it"]
    assert graph.branch("open").commits(actor="eve") == []
    command = ("commit", "list", "--json", "--store", graph.uri, "--branch", "open")
    told = omnigraph(*command, "--filter", "actor=bob").json["commits"]
    assert [c["actor_id"] for c in told] == ["bob"]
    for wrong in ("bob", "actor=", "kind=merge"):
        assert omnigraph(*command, "--filter", wrong).exit_code == 2


@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_log_shows_ids_that_commands_take(graph: Graph, width: int) -> None:
    lines = [*picture(graph.log(), now=NOW, width=width, has_lanes=False)]
    shown = [line.split()[0] for line in lines]
    assert [graph.commit(id_).graph_commit_id for id_ in shown] == shown
