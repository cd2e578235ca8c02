"""Stored queries: a typed catalog, calls by name, and what a change of the schema does to them."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.stored_queries import read_queries
from omnigraph.errors import ArgumentInvalid, OmnigraphError, ParseFailed, TypeCheckFailed
from tests.surfaces.server.world import SCHEMA, G, World


def param(name: str, kind: str, **more: Any) -> dict[str, Any]:
    plain = {"nullable": True, "item_kind": None, "vector_dim": None}
    return {"name": name, "kind": kind, **plain, **more}


def test_the_catalog_says_what_a_caller_must_know(shared: World) -> None:
    queries = {entry["name"]: entry for entry in shared.get(f"{G}/queries").json()["queries"]}
    assert list(queries) == ["add_person", "find_person", "of_types", "with_big"]
    assert queries["find_person"] == {
        "name": "find_person",
        "tool_name": "find_person",
        "mutation": False,
        "params": [param("name", "string", nullable=False)],
        "description": "Find one.",
        "instruction": "Ask by name.",
    }
    assert queries["add_person"]["mutation"] is True
    assert queries["with_big"]["params"] == [param("big", "bigint", nullable=False)]
    assert queries["of_types"]["params"] == [
        param("names", "list", item_kind="string"),
        param("on", "date"),
        param("ok", "bool"),
        param("x", "float"),
    ]


def test_a_stored_query_reads_by_name(shared: World) -> None:
    body = {"params": {"name": "ada"}, "expect_mutation": False}
    answer = shared.post(f"{G}/queries/find_person", json=body).json()
    assert answer["rows"] == [{"p.name": "ada", "p.age": 36}]
    assert answer["graph_commit_id"]


@pytest.mark.parametrize("big", [9007199254740993, "9007199254740993"])
def test_a_64_bit_integer_may_come_as_text(shared: World, big: int | str) -> None:
    answer = shared.post(f"{G}/queries/with_big", json={"params": {"big": big}}).json()
    assert [row["p.name"] for row in answer["rows"]] == ["bob"]


@pytest.mark.parametrize("big", ["", "-", "1.5", "0x10", "9" * 30, "१", " 1", True, None])
def test_text_that_is_no_integer_is_none(shared: World, big: Any) -> None:
    answer = shared.post(f"{G}/queries/with_big", json={"params": {"big": big}})
    assert (answer.status_code, answer.json()["details"]["reason"]) == (400, "P002")


def test_a_stored_mutation_is_one_commit_on_a_condition_or_without(world: World) -> None:
    path, name = f"{G}/queries/add_person", "Omnigraph-If-Graph-Commit"
    first = world.post(path, json={"params": {"name": "zoe"}, "expect_mutation": True}).json()
    head = first["commit"]["graph_commit_id"]
    body = {"params": {"name": "yan", "age": 3}}
    done = world.post(f"{path}/if-graph-commit", json=body, headers={name: head})
    assert done.json()["affected_nodes"] == 1
    again = world.post(f"{path}/if-graph-commit", json=body, headers={name: head})
    assert again.json()["precondition_failure"]["expected"] == head
    assert world.post(f"{path}/if-graph-commit", json=body).status_code == 400
    assert world.post(path, json=body, headers={name: head}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("find_person", {"params": {"name": "ada"}, "expect_mutation": True}, 400),
        ("add_person", {"params": {"name": "x"}, "expect_mutation": False}, 400),
        ("add_person", {"params": {"name": "x"}, "snapshot": "2026-01-01"}, 404),
        ("find_person", {"params": {"name": "ada", "nam": "x"}}, 400),
        ("find_person", {"params": []}, 400),
        ("find_person", None, 400),
        ("nobody", {}, 404),
        ("find_person/if-graph-commit", {"params": {"name": "ada"}}, 400),
    ],
)
def test_a_wrong_call_is_refused(shared: World, path: str, body: Any, status: int) -> None:
    headers = {"Omnigraph-If-Graph-Commit": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
    more = headers if path.endswith("commit") else {}
    answer = shared.post(f"{G}/queries/{path}", json=body, headers=more)
    assert answer.status_code == status, answer.json()


def test_a_query_without_needed_parameters_takes_no_body(shared: World) -> None:
    assert shared.post(f"{G}/queries/of_types").json()["row_count"] == 3


def test_when_the_schema_changes_the_catalog_does_too(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(world.get(f"{G}/queries").json()["queries"]) == 4
    narrower = SCHEMA.replace("  big: I64?\n", "")
    applied = world.post(
        f"{G}/schema/apply", json={"schema_source": narrower, "allow_data_loss": True}
    )
    assert applied.json()["applied"] is True, applied.json()
    names = [entry["name"] for entry in world.get(f"{G}/queries").json()["queries"]]
    assert names == ["add_person", "find_person", "of_types"]
    assert "with_big" in caplog.text
    gone = world.post(f"{G}/queries/with_big", json={"params": {"big": 1}})
    assert (gone.status_code, gone.json()["details"]["code"]) == (400, "type_error")


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.gq": "query a() {"}, ParseFailed),
        ({"a.gq": "query a() { match { $x: Nobody } return { $x.id } }"}, TypeCheckFailed),
        (
            {
                "a.gq": "query a() { match { $x: Note } return { $x.id } }",
                "b.gq": "query a() { match { $x: Note } return { $x.id } }",
            },
            ArgumentInvalid,
        ),
        ({}, ArgumentInvalid),
    ],
)
def test_queries_that_do_not_fit_are_refused_before_they_are_offered(
    shared: World, tmp_path: Path, files: dict[str, str], error: type[OmnigraphError]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(error):
        read_queries([tmp_path]).require_fit(shared.graph)


def test_a_query_is_checked_against_the_branch_it_runs_on(world: World, graph: Graph) -> None:
    world.post(f"{G}/branches", json={"name": "old"})
    wider = SCHEMA.replace("node Note { text: String }", "node Note { text: String  by: String? }")
    assert world.post(f"{G}/schema/apply", json={"schema_source": wider}).is_success
    body = {"params": {"name": "ada"}, "branch": "old"}
    assert world.post(f"{G}/queries/find_person", json=body).json()["row_count"] == 1
