"""The main job: load on Spark, ask, branch, change, merge, travel back."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph, OmnigraphError
from omnigraph.pipeline.spark.session import Spark
from tests.graph.people import ENVELOPES, QUERIES, SCHEMA, write_ndjson

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

HIRE = {"email": "eve@x", "name": "Eve", "company": "Engines"}


@pytest.fixture
def graph(tmp_path: Path, spark: Spark) -> Graph:
    graph = Graph.init(str(tmp_path / "people.omni"), SCHEMA, durability="relaxed")
    graph.load(write_ndjson(tmp_path / "people.jsonl"), mode="overwrite", spark=spark)
    return graph


def rows(graph: Graph, name: str, **given: Any) -> list[dict[str, Any]]:
    at = {key: given.pop(key) for key in ("branch", "snapshot") if key in given}
    return graph.query(QUERIES, name, given, **at).to_pylist()


def test_a_load_is_one_commit_made_by_spark_tasks(tmp_path: Path, spark: Spark) -> None:
    graph = Graph.init(str(tmp_path / "people.omni"), SCHEMA, durability="relaxed")
    files = [
        write_ndjson(tmp_path / f"{number}.jsonl", [envelope])
        for number, envelope in enumerate(ENVELOPES)
    ]
    result = graph.load(files, mode="append", spark=spark, actor="loader", message="all of it")
    assert (result.nodes, result.edges) == ({"Company": 1, "Person": 3}, {"Knows": 3, "WorksAt": 1})
    assert (result.engine, result.tasks > 0) == ("spark", True)
    newest, first = graph.commits()
    assert result.commit == newest
    assert (newest.kind, newest.actor_id, newest.message) == ("load", "loader", "all of it")
    assert newest.parent_commit_id == first.graph_commit_id


def test_queries_answer_from_the_loaded_rows(graph: Graph) -> None:
    assert rows(graph, "friends_of", email="ada@x") == [{"name": "Alan"}]
    assert rows(graph, "friends_of_friends", email="ada@x") == [{"name": "Ada"}, {"name": "Grace"}]
    assert rows(graph, "older_than", age=36) == [{"n": 1}]
    assert rows(graph, "staff") == [{"company": "Engines", "n": 1}]


def test_a_branch_changes_alone_until_it_is_merged_and_the_past_stays(graph: Graph) -> None:
    before = graph.commits()[0].graph_commit_id
    graph.branch_create("hiring")
    hired = graph.mutate(QUERIES, "hire", HIRE, branch="hiring", actor="boss")
    assert (hired.affected_nodes, hired.affected_edges) == (1, 1)
    graph.mutate(QUERIES, "birthday", {"email": "eve@x", "age": 30}, branch="hiring")
    assert rows(graph, "staff", branch="hiring") == [{"company": "Engines", "n": 2}]
    assert rows(graph, "staff") == [{"company": "Engines", "n": 1}]

    merged = graph.branch_merge("hiring", into="main")
    assert merged.outcome == "fast_forward"
    assert rows(graph, "staff") == [{"company": "Engines", "n": 2}]
    assert rows(graph, "everyone")[2] == {"p.email": "eve@x", "p.age": 30}
    assert rows(graph, "staff", snapshot=before) == [{"company": "Engines", "n": 1}]
    assert graph.branch_merge("hiring", into="main").outcome == "already_up_to_date"


def test_a_merge_is_a_commit_with_two_parents(graph: Graph) -> None:
    graph.branch_create("hiring")
    on_branch = graph.mutate(QUERIES, "hire", HIRE, branch="hiring").commit
    main = graph.commits()[0].graph_commit_id
    merged = graph.branch_merge("hiring").commit
    assert merged is not None and on_branch is not None
    assert merged.parent_commit_id == main
    assert merged.merged_parent_commit_id == on_branch.graph_commit_id


def test_another_process_sees_the_commit(graph: Graph) -> None:
    graph.mutate(QUERIES, "hire", HIRE)
    script = (
        "import sys; from omnigraph import Graph;"
        "print(Graph.open(sys.argv[1], read_only=True).query(sys.argv[2], 'staff').to_pylist())"
    )
    seen = subprocess.run(
        [sys.executable, "-c", script, graph.uri, QUERIES],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip() == "[{'company': 'Engines', 'n': 2}]"


def test_an_append_adds_rows_and_an_overwrite_replaces_the_types_it_names(
    graph: Graph, tmp_path: Path, spark: Spark
) -> None:
    zoe: dict[str, object] = {"type": "Person", "data": {"email": "zoe@x", "name": "Zoe"}}
    more = write_ndjson(tmp_path / "more.jsonl", [zoe])
    graph.load(more, mode="append", spark=spark)
    assert [r["p.email"] for r in rows(graph, "everyone")] == [
        "ada@x",
        "alan@x",
        "grace@x",
        "zoe@x",
    ]
    knows = write_ndjson(
        tmp_path / "knows.jsonl", [{"edge": "Knows", "from": "ada@x", "to": "zoe@x"}]
    )
    graph.load(knows, mode="overwrite", spark=spark)
    assert rows(graph, "friends_of", email="ada@x") == [{"name": "Zoe"}]
    assert len(rows(graph, "everyone")) == 4


BROKEN_LINES = {
    "malformed JSON": ('{"type": "Person", "data": {"email"', "parse_error", "json"),
    "an unknown type": ('{"type": "Robot", "data": {}}', "parse_error", "envelope"),
    "an unknown property": (
        '{"type": "Company", "data": {"name": "X", "size": 3}}',
        "constraint_violation",
        "type",
    ),
    "a wrong type": (
        '{"type": "Person", "data": {"email": "x", "name": "X", "age": "old"}}',
        "constraint_violation",
        "type",
    ),
    "a missing property": (
        '{"type": "Person", "data": {"email": "x"}}',
        "constraint_violation",
        "required",
    ),
    "a dangling edge": (
        '{"edge": "Knows", "from": "ada@x", "to": "nobody"}',
        "constraint_violation",
        "endpoint",
    ),
    "an id that is taken": (
        '{"type": "Person", "data": {"email": "ada@x", "name": "Ada"}}',
        "key_conflict",
        "key",
    ),
}


@pytest.mark.parametrize("mistake", BROKEN_LINES)
def test_a_bad_line_names_its_file_and_line_and_nothing_is_loaded(
    graph: Graph, tmp_path: Path, spark: Spark, mistake: str
) -> None:
    line, code, kind = BROKEN_LINES[mistake]
    file = tmp_path / "bad.jsonl"
    good = '{"type": "Company", "data": {"name": "Fine"}}\n'
    file.write_text(f"{good}{line}\n", encoding="utf-8")
    head = graph.commits()[0]
    with pytest.raises(OmnigraphError) as caught:
        graph.load(str(file), mode="append", spark=spark)
    assert caught.value.code == code
    assert caught.value.details["kind"] == kind
    assert (
        caught.value.details["examples"][0]["file"],
        caught.value.details["examples"][0]["line"],
    ) == (
        str(file),
        2,
    )
    assert graph.commits()[0] == head


def test_a_load_from_a_branch_makes_its_own_and_a_failed_one_leaves_none(
    graph: Graph, tmp_path: Path, spark: Spark
) -> None:
    zoe = write_ndjson(
        tmp_path / "zoe.jsonl", [{"type": "Person", "data": {"email": "zoe@x", "name": "Zoe"}}]
    )
    done = graph.load(zoe, mode="append", branch="import", from_="main", spark=spark)
    assert (done.branch, done.base_branch) == ("import", "main")
    assert len(rows(graph, "everyone", branch="import")) == 4
    assert len(rows(graph, "everyone")) == 3
    bad = write_ndjson(tmp_path / "bad.jsonl", [{"type": "Person", "data": {}}])
    with pytest.raises(OmnigraphError):
        graph.load(bad, mode="append", branch="second", from_="main", spark=spark)
    assert graph.branches() == ["main", "import"]
