"""The commands that show what changed, and their JSON."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.changes.people import age, made, remove
from tests.surfaces.cli import CommandLine


@pytest.fixture
def omnigraph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = made(tmp_path / "g")
    graph.branch_create("x")
    age(graph, "ada", 37, "x")
    return graph


def test_a_diff_is_a_table_or_one_document(graph: Graph, omnigraph: CommandLine) -> None:
    shown = omnigraph("branch", "diff", "x", "--store", graph.uri)
    assert shown.exit_code == 0
    assert shown.out.splitlines()[-1].split() == ["Person", "ada", "update", "age", "36", "37"]
    assert "1 change (Person ~1)" in shown.err
    back = omnigraph("branch", "diff", "x", "main", "--store", graph.uri, "--json").json
    assert back["to_commit_id"] == graph.commits()[0].graph_commit_id
    assert back["types"] == [{"name": "Person", "inserted": 0, "updated": 1, "deleted": 0}]
    (change,) = back["changes"]
    assert change["before"]["properties"]["age"] == 37
    assert change["after"]["properties"]["photo"] == "base64:aGk="
    age(graph, "alan", 50, "main")
    assert omnigraph("branch", "diff", "x", "--store", graph.uri).out == shown.out
    nothing = omnigraph("branch", "diff", "x", "--kind", "edge", "--store", graph.uri)
    assert (nothing.exit_code, nothing.out) == (0, "") and "0 changes" in nothing.err


def test_a_commit_is_shown_with_what_it_changed(graph: Graph, omnigraph: CommandLine) -> None:
    loaded = graph.commits()[0].graph_commit_id
    assert (
        f"graph_commit_id: {loaded}"
        in omnigraph("commit", "show", loaded, "--store", graph.uri).out
    )
    shown = omnigraph("commit", "show", loaded, "--store", graph.uri, "--json").json
    assert shown["graph_commit_id"] == loaded and shown["kind"] == "load"
    arguments = ["commit", "changes", loaded, "--store", graph.uri]
    page = omnigraph(*arguments, "--limit", "3", "--json").json
    assert set(page) == {"cause", "changes", "next_page_token"} and len(page["changes"]) == 3
    assert {"graph_commit_id", "authored_branch", "authored_at", "actor_id"} <= set(page["cause"])
    token = page["next_page_token"]
    rest = omnigraph(*arguments, "--limit", "3", "--page-token", token, "--json").json
    assert len(rest["changes"]) == 2 and rest["next_page_token"] is None
    edges = omnigraph(*arguments, "--kind", "edge", "--op", "insert", "--type", "Knows")
    assert "1 change (Knows +1)" in edges.err
    assert "--page-token" in omnigraph(*arguments, "--limit", "3").err


def test_a_consumer_polls_from_a_baseline_on(
    graph: Graph, omnigraph: CommandLine, tmp_path: Path
) -> None:
    store, out = ("--store", graph.uri), str(tmp_path / "start.jsonl")
    start = omnigraph("changes", "baseline", "--out", out, *store, "--json").json
    assert start["snapshot_commit_id"] == graph.commits()[0].graph_commit_id
    assert len(Path(out).read_text().splitlines()) == 5
    taken = omnigraph("changes", "baseline", "--out", out, *store)
    assert taken.exit_code == 4 and "--force" in taken.err
    printed = omnigraph("changes", "baseline", "--out", out, "--force", *store).out
    assert printed == f"cursor: {start['resume_cursor']}\n"
    remove(graph, "alan")
    page = omnigraph("changes", "poll", "--cursor", start["resume_cursor"], *store, "--json").json
    assert set(page) == {"blocks", "cursor", "caught_up", "next_page_token"} and page["caught_up"]
    assert [c["op"] for b in page["blocks"] for c in b["changes"]] == ["delete", "delete"]
    shown = omnigraph("changes", "poll", "--start", "beginning", "--limit", "1", *store)
    assert "cursor: ogc1_" in shown.out and "there is more" in shown.err


def test_refusals_have_codes_and_exit_codes(graph: Graph, omnigraph: CommandLine) -> None:
    store = ("--store", graph.uri)
    first = graph.commits()[-1].graph_commit_id
    cases = [
        (("branch", "diff", "nope"), "not_found", 3),
        (("commit", "show", "01JZ0000000000000000000000"), "not_found", 3),
        (("commit", "changes", first), "change_diff_refused", 1),
        (("changes", "poll", "--cursor", "torn"), "change_cursor_rejected", 1),
        (("changes", "poll", "--start", "then"), "invalid_argument", 1),
    ]
    for arguments, code, exit_code in cases:
        answer = omnigraph(*arguments, *store, "--json")
        said = json.loads(answer.out)
        assert (said["code"], answer.exit_code) == (code, exit_code)
        assert said["hint"]
    assert omnigraph("changes", "poll", *store).exit_code == 2
