"""The language commands: lint, fmt, explain, schema plan, schema diagram."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.graph.people import QUERIES, SCHEMA
from tests.surfaces.cli import CommandLine


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.pg").write_text(SCHEMA)
    Path("people.gq").write_text(QUERIES)
    Path("wrong.gq").write_text(
        "query q() { match { $p: Person  $p likes $q  $p.agee > 1 } return { $p.nme } }\n"
    )
    Path("broken.gq").write_text("query q( { match\n")
    Path("broken.pg").write_text("node Person { age I32 }\nnode Person { }\n")


def test_lint_passes_what_is_right(omnigraph: CommandLine) -> None:
    answer = omnigraph("lint", "--schema", "people.pg", "people.gq")
    assert (answer.exit_code, answer.out) == (0, "")


def test_lint_reports_every_mistake_of_a_query_at_once(omnigraph: CommandLine) -> None:
    answer = omnigraph("lint", "--schema", "people.pg", "wrong.gq")
    assert answer.exit_code == 1
    assert answer.err.count("error[") == 3
    assert "did you mean" in answer.err
    document = omnigraph("lint", "--schema", "people.pg", "wrong.gq", "--json").json
    assert [f["code"] for f in document["files"][1]["queries"][0]["findings"]] == ["T4", "T6", "T6"]


def test_lint_looks_at_the_schema_too(omnigraph: CommandLine) -> None:
    Path("people.pg").write_text(SCHEMA.replace("email: String @key", "email: String @key @unqiue"))
    answer = omnigraph("lint", "--schema", "people.pg", "people.gq")
    assert answer.exit_code == 0
    assert "warning[L101]" in answer.err


def test_lint_describes_what_a_query_gives_reads_and_writes(omnigraph: CommandLine) -> None:
    document = omnigraph("lint", "--schema", "people.pg", "people.gq", "--json").json
    by_name = {q["name"]: q["operation"] for q in document["files"][1]["queries"]}
    assert [field["name"] for field in by_name["staff"]["result"]] == ["company", "n"]
    assert {"kind": "edge", "type_name": "WorksAt"} in by_name["staff"]["reads"]
    assert {"kind": "node", "type_name": "Person"} in by_name["hire"]["writes"]


@pytest.mark.parametrize("name", ["people.pg", "people.gq"])
def test_fmt_rewrites_once_and_then_leaves_alone(omnigraph: CommandLine, name: str) -> None:
    assert omnigraph("fmt", "--check", name).exit_code == 1
    assert omnigraph("fmt", name, "--json").json == {"changed": [name]}
    assert omnigraph("fmt", "--check", name).exit_code == 0
    assert omnigraph("lint", "--schema", "people.pg", "people.gq").exit_code == 0


def test_explain_prints_the_plan(omnigraph: CommandLine) -> None:
    answer = omnigraph("explain", "friends_of", "-q", "people.gq", "--schema", "people.pg")
    assert answer.exit_code == 0
    assert "Knows" in answer.out and "Person" in answer.out


def test_schema_plan_lists_the_steps_or_refuses(omnigraph: CommandLine) -> None:
    Path("wider.pg").write_text(SCHEMA.replace("I32?", "I64?"))
    wider = omnigraph("schema", "plan", "people.pg", "wider.pg", "--json").json
    assert (wider["supported"], wider["applied"]) == (True, False)
    assert [(s["kind"], s["name"]) for s in wider["steps"]] == [("change_type", "Person.age")]
    Path("other.pg").write_text(SCHEMA.replace("I32?", "String?"))
    refused = omnigraph("schema", "plan", "people.pg", "other.pg")
    assert refused.exit_code == 1
    assert "OG-MF-106" in refused.err
    same = omnigraph("schema", "plan", "people.pg", "people.pg")
    assert (same.exit_code, same.out) == (0, "")


def test_schema_diagram_draws_mermaid_and_svg(omnigraph: CommandLine) -> None:
    assert omnigraph("schema", "diagram", "people.pg").out.startswith("erDiagram")
    drawn = omnigraph("schema", "diagram", "people.pg", "--format", "svg", "-o", "people.svg")
    assert drawn.exit_code == 0
    picture = ElementTree.parse("people.svg").getroot()
    words = {text.strip() for element in picture.iter() if (text := element.text)}
    assert {"Person", "Company", "Knows", "WorksAt"} <= words


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (("explain", "-q", "broken.gq", "--schema", "people.pg"), 1, "parse_error"),
        (("explain", "-q", "people.gq", "--schema", "people.pg"), 3, "not_found"),
        (("explain", "x", "-q", "people.gq", "--schema", "people.pg"), 3, "not_found"),
        (("schema", "plan", "people.pg", "broken.pg"), 1, "parse_error"),
        (("fmt", "broken.gq"), 1, "parse_error"),
        (("fmt", "people.txt"), 1, "invalid_argument"),
        (("lint", "--schema", "nowhere.pg", "people.gq"), 3, "not_found"),
    ],
)
def test_a_mistake_is_a_typed_error(
    omnigraph: CommandLine, arguments: tuple[str, ...], exit_code: int, code: str
) -> None:
    answer = omnigraph(*arguments, "--json")
    assert (answer.exit_code, answer.json["code"]) == (exit_code, code)


def test_explain_runs_a_query_only_on_a_graph(omnigraph: CommandLine) -> None:
    assert omnigraph("init", "--schema", "people.pg", "people.omni").exit_code == 0
    asked = ("explain", "friends_of", "-q", "people.gq", "--params", '{"email": "x"}', "--analyze")
    ran = omnigraph(*asked, "--store", "people.omni")
    assert ran.exit_code == 0
    assert " ms " in ran.out
    assert omnigraph(*asked, "--schema", "people.pg").exit_code == 2


def test_plans_and_sizes_of_the_past_are_asked_as_answers_are(omnigraph: CommandLine) -> None:
    assert omnigraph("init", "--schema", "people.pg", "past.omni").exit_code == 0
    first = omnigraph("commit", "list", "past.omni", "--json").json["commits"][0]
    moment = ("--store", "past.omni", "--snapshot", first["graph_commit_id"])
    asked = ("explain", "friends_of", "-q", "people.gq", "--json")
    plan = omnigraph(*asked, *moment).json
    assert plan["graph_commit_id"] == first["graph_commit_id"] and not plan["is_analyzed"]
    lines = plan["plan"].splitlines()
    for line, step in zip(lines, plan["steps"], strict=True):
        assert line.startswith("    " * step["depth"] + step["text"])
    assert plan["steps"][0]["depth"] == 0
    assert omnigraph("stats", *moment, "--json").json["graph_commit_id"] == plan["graph_commit_id"]
    assert omnigraph(*asked, *moment, "--branch", "main").exit_code == 2
    assert omnigraph(*asked, "--schema", "people.pg", "--branch", "main").exit_code == 2
