"""`schema plan`, `apply` and `show`: what they print, and how they end."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.cli import CommandLine

OLD = "node Person { email: String @key  age: I32? }\n"
NEW = "node Person { email: String @key  age: I64?  name: String? }\n"
WRONG = "node Person { email: String @key  age: String? }\n"


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name, text in {"old.pg": OLD, "new.pg": NEW, "wrong.pg": WRONG}.items():
        Path(name).write_text(text)
    graph = Graph.init("g.omni", OLD)
    graph.load([{"type": "Person", "data": {"email": "a@x", "age": 1}}], mode="append")
    return "g.omni"


def test_a_plan_lists_its_steps_and_changes_nothing(uri: str, omnigraph: CommandLine) -> None:
    shown = omnigraph("schema", "plan", "--schema", "new.pg", uri)
    assert shown.exit_code == 0
    assert "add_property" in shown.out and "Person.age widens from I32 to I64" in shown.out
    told = json.loads(omnigraph("schema", "plan", "--schema", "new.pg", "--json", uri).out)
    assert told["supported"] is True and told["applied"] is False
    assert {"kind", "name", "mode", "code", "tier", "message"} == set(told["steps"][0])
    assert omnigraph("schema", "show", uri).out.strip() == OLD.strip()


def test_an_apply_is_one_commit_and_the_second_is_none(uri: str, omnigraph: CommandLine) -> None:
    done = omnigraph("schema", "apply", "--schema", "new.pg", "--json", "--as", "ada", uri)
    value = json.loads(done.out)
    assert value["applied"] is True and value["commit"]["actor_id"] == "ada"
    assert [step["kind"] for step in value["steps"]] == ["add_property", "change_type"]
    again = omnigraph("schema", "apply", "--schema", "new.pg", uri)
    assert again.exit_code == 0 and "nothing to do" in again.err
    shown = json.loads(omnigraph("schema", "get", "--json", uri).out)
    assert shown == {
        "schema": NEW,
        "graph_commit_id": value["commit"]["graph_commit_id"],
    }
    before = value["commit"]["parent_commit_id"]
    assert omnigraph("schema", "show", "--snapshot", before, uri).out.strip() == OLD.strip()


def test_a_change_that_is_not_supported_ends_with_its_code(
    uri: str, omnigraph: CommandLine
) -> None:
    plan = omnigraph("schema", "plan", "--schema", "wrong.pg", uri)
    assert plan.exit_code == 1 and "error[OG-MF-106]" in plan.err
    told = json.loads(omnigraph("schema", "plan", "--schema", "wrong.pg", "--json", uri).out)
    assert told["supported"] is False and told["refusals"][0]["code"] == "OG-MF-106"
    applied = omnigraph("schema", "apply", "--schema", "wrong.pg", "--json", uri)
    assert applied.exit_code == 1
    error = json.loads(applied.out)
    assert error["code"] == "migration_unsupported" and error["details"]["code"] == "OG-MF-106"


def test_a_row_that_breaks_a_new_rule_is_named(uri: str, omnigraph: CommandLine) -> None:
    Path("rule.pg").write_text(OLD.replace("}", "@range(age, 5..9) }"))
    for command in ("plan", "apply"):
        refused = omnigraph("schema", command, "--schema", "rule.pg", uri)
        assert refused.exit_code == 1
        assert "row a@x: Person.age is 1, outside 5..9" in refused.err


def test_branches_in_the_way_are_named(uri: str, omnigraph: CommandLine) -> None:
    omnigraph("branch", "create", "review/1", uri)
    planned = omnigraph("schema", "plan", "--schema", "new.pg", uri)
    assert planned.exit_code == 1 and "in the way: review/1" in planned.err
    refused = omnigraph("schema", "apply", "--schema", "new.pg", uri)
    assert refused.exit_code == 4 and "review/1" in refused.err


def test_a_plan_is_of_two_files_or_of_a_file_and_a_graph(uri: str, omnigraph: CommandLine) -> None:
    assert omnigraph("schema", "plan", "old.pg", "new.pg").exit_code == 0
    assert omnigraph("schema", "plan", "old.pg", "wrong.pg").exit_code == 1
    for wrong in (["old.pg"], ["--schema", "new.pg"], ["--schema", "new.pg", uri, "old.pg"], []):
        assert omnigraph("schema", "plan", *wrong).exit_code == 2
