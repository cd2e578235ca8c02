"""The command line: answers on standard output, words on standard error, exit codes that mean."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from omnigraph import Graph
from omnigraph.surfaces.cli.load_report import ROWS_TO_RATE, say_loaded
from omnigraph.surfaces.cli.options import spark_settings
from tests.graph.people import QUERIES, SCHEMA, write_ndjson
from tests.surfaces.cli import CommandLine

FOUNDING = """
query found() {
    insert Company { name: "Engines" }
    insert Person { email: "ada@x", name: "Ada", age: 36 }
    insert WorksAt { from: "ada@x", to: "Engines" }
}
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, omnigraph: CommandLine) -> str:
    monkeypatch.chdir(tmp_path)
    Path("people.pg").write_text(SCHEMA)
    Path("people.gq").write_text(QUERIES)
    assert omnigraph("init", "--schema", "people.pg", "g.omni").exit_code == 0
    assert omnigraph("mutate", "-e", FOUNDING, "--store", "g.omni").exit_code == 0
    return "g.omni"


def test_a_query_prints_a_table_and_json_prints_one_document(
    store: str, omnigraph: CommandLine
) -> None:
    table = omnigraph("query", "everyone", "-q", "people.gq", "--store", store)
    assert table.exit_code == 0
    assert "ada@x" in table.out and "1 row" in table.err
    document = omnigraph("query", "everyone", "-q", "people.gq", "--store", store, "--json").json
    assert document["rows"] == [{"p.email": "ada@x", "p.age": 36}]
    assert document["columns"] == ["p.email", "p.age"]
    assert (document["query_name"], document["row_count"]) == ("everyone", 1)
    assert document["target"] == {"branch": "main", "snapshot": None}


@pytest.mark.parametrize(
    ("style", "printed"),
    [
        ("jsonl", '{"p.email": "ada@x", "p.age": 36}\n'),
        ("csv", "p.email,p.age\nada@x,36\n"),
        ("kv", "p.email: ada@x\np.age: 36\n"),
    ],
)
def test_rows_come_in_the_format_asked_for(
    store: str, omnigraph: CommandLine, style: str, printed: str
) -> None:
    answer = omnigraph("query", "everyone", "-q", "people.gq", "--store", store, "--format", style)
    assert answer.out == printed


def test_a_program_hears_of_a_loads_progress_as_events(store: str, omnigraph: CommandLine) -> None:
    write_ndjson(Path("bob.jsonl"), [{"type": "Person", "data": {"email": "bob@x", "name": "Bob"}}])
    load = ("load", "--data", "bob.jsonl", "--mode", "merge", "--engine", "local", store)
    told = omnigraph(*load, "--json")
    target, *events = [json.loads(line) for line in told.err.splitlines()]
    assert target == {"event": "target", "uri": Graph.open(store).uri, "branch": "main"}
    assert told.json["read"] == 1
    assert {event["event"] for event in events} == {"progress"}
    size = Path("bob.jsonl").stat().st_size
    done = [(event["phase"], event["done"], event["total"]) for event in events]
    assert done[0] == ("start", 0, 0)
    assert list(dict.fromkeys(one for one in done if one[1] == one[2] > 0)) == [
        ("parse", size, size),
        ("check", 1, 1),
        ("publish", 1, 1),
    ]
    assert omnigraph(*load, "--json", "--quiet").err == ""


@pytest.mark.parametrize(
    ("options", "environment", "told"),
    [
        (["--remote", "sc://127.0.0.1:1"], {}, "connecting to sc://127.0.0.1:1"),
        ([], {"OMNIGRAPH_SPARK_REMOTE": "sc://127.0.0.1:1"}, "connecting to sc://127.0.0.1:1"),
        (["--master", "local[1]", "--remote", "sc://127.0.0.1:1"], {}, "--master or --remote"),
        (["--master", "local[1]", "--engine", "local"], {}, "write --engine spark"),
    ],
)
def test_where_spark_runs_is_said_by_options_or_by_the_environment(
    store: str,
    omnigraph: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    told: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    write_ndjson(Path("bob.jsonl"), [{"type": "Person", "data": {"email": "bob@x", "name": "Bob"}}])
    refused = omnigraph("load", "--data", "bob.jsonl", "--mode", "merge", *options, store)
    assert refused.exit_code != 0
    assert told in refused.err


def test_a_query_that_runs_here_has_no_master(store: str, omnigraph: CommandLine) -> None:
    asked = "query q() { match { $p: Person } return { $p.name } }"
    refused = omnigraph("query", "-e", asked, "--master", "local[1]", "--store", store)
    assert refused.exit_code == 2
    assert "write --engine spark" in refused.err


def test_a_master_on_the_command_line_wins_over_a_server_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_REMOTE", "sc://127.0.0.1:1")
    chosen = spark_settings("spark://host:7077", None, engine=None)
    assert (chosen.spark_master, chosen.spark_remote) == ("spark://host:7077", None)


def test_a_load_says_what_it_did_and_does_it_once(store: str, omnigraph: CommandLine) -> None:
    envelopes: list[dict[str, object]] = [
        {"type": "Person", "data": {"email": "ada@x", "name": "Ada"}},
        {"type": "Person", "data": {"email": "bob@x", "name": "Rob"}},
        {"type": "Person", "data": {"email": "bob@x", "name": "Bob"}},
    ]
    write_ndjson(Path("people.jsonl"), envelopes)
    load = ("load", "--data", "people.jsonl", "--mode", "merge", "--engine", "local", store)
    done = omnigraph(*load, "--load-id", "monday", "--json").json
    counts = {"inserted": 1, "updated": 1, "unchanged": 0, "removed": 0}
    assert done["nodes"] == [{"name": "Person", "entities_loaded": 2, **counts}]
    assert (done["read"], done["superseded"], done["inserted"], done["updated"]) == (3, 1, 1, 1)
    assert (done["engine"], done["is_repeat"], done["load_id"]) == ("local", False, "monday")
    again = omnigraph(*load, "--load-id", "monday", "--json").json
    assert (again["is_repeat"], again["commit"], again["read"]) == (True, done["commit"], 0)
    told = omnigraph(*load, "--load-id", "monday")
    assert f"monday was loaded before: commit {done['commit']['graph_commit_id']}" in told.err
    assert re.search(
        r"loaded 2 entities and nothing changed \(.*publish [\d.]+ s\)",
        omnigraph(*load).err,
    )
    ask = omnigraph("query", "everyone", "-q", "people.gq", "--store", store, "--json").json
    assert ask["rows"] == [{"p.email": e, "p.age": None} for e in ("ada@x", "bob@x")]


def test_a_load_tells_its_rate_where_its_rows_took_the_time(
    tmp_path: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("alone.pg").write_text("node Person { email: String @key }")
    store = str(tmp_path / "alone.omni")
    assert omnigraph("init", "--schema", "alone.pg", store).exit_code == 0
    for count, has_rate in ((ROWS_TO_RATE - 1, False), (ROWS_TO_RATE, True)):
        people = ({"email": f"{n}@x"} for n in range(count))
        write_ndjson(Path("people.jsonl"), [{"type": "Person", "data": p} for p in people])
        load = ("load", "--data", "people.jsonl", "--mode", "overwrite", "--engine", "local")
        said = omnigraph(*load, "--yes", store).err
        assert bool(re.search(r"[1-9][\d,]* rows a second", said)) == has_rate, said
        assert " 0 rows a second" not in said


def test_a_load_tells_what_became_of_the_rows_of_each_type(
    store: str, omnigraph: CommandLine
) -> None:
    works: dict[str, object] = {"edge": "WorksAt", "from": "bob@x", "to": "Engines"}
    bob: dict[str, object] = {"type": "Person", "data": {"email": "bob@x", "name": "Bob"}}
    ada: dict[str, object] = {"type": "Person", "data": {"email": "ada@x", "name": "Ada"}}
    write_ndjson(Path("people.jsonl"), [bob, works])
    load = ("load", "--data", "people.jsonl", "--engine", "local", store, "--mode")
    first = omnigraph(*load, "merge").err
    assert "  Person: 1 inserted\n  WorksAt: 1 inserted\n" in first and "hint" not in first
    write_ndjson(Path("people.jsonl"), [bob, ada, works])
    again = omnigraph(*load, "merge").err
    assert "  Person: 1 updated, 1 unchanged\n  WorksAt: 1 inserted\n" in again
    assert "hint: WorksAt edges were added that equal earlier ones" in again
    assert "name the load with --load-id" in again
    write_ndjson(Path("people.jsonl"), [bob, ada])
    assert "  Person: 2 inserted, 2 removed before\n" in omnigraph(*load, "overwrite").err


@pytest.mark.parametrize(
    ("engine", "start_s", "is_told"),
    [("spark", 9.0, True), ("spark", 1.0, False), ("local", 9.0, False)],
)
def test_a_load_that_waited_for_spark_above_all_tells_of_the_other_way(
    store: str,
    capsys: pytest.CaptureFixture[str],
    engine: Literal["spark", "local"],
    start_s: float,
    is_told: bool,
) -> None:
    done = Graph.open(store).load([{"type": "Company", "data": {"name": "Looms"}}], mode="append")
    seconds = {"start": start_s, "parse": 1.0, "publish": 2.0}
    say_loaded(replace(done, engine=engine, seconds=seconds))
    assert ("--engine local" in capsys.readouterr().err) == is_told


def test_branch_change_merge_and_travel(store: str, omnigraph: CommandLine) -> None:
    before = omnigraph("commit", "list", "--store", store, "--json").json["commits"][0]
    assert omnigraph("branch", "create", "side", "--store", store).exit_code == 0
    assert omnigraph("branch", "list", "--store", store, "--json").json == {
        "branches": ["main", "side"]
    }
    birthday = ("mutate", "birthday", "-q", "people.gq", "--params", '{"email":"ada@x","age":37}')
    done = omnigraph(*birthday, "--branch", "side", "--as", "me", "--store", store, "--json").json
    assert (done["affected_nodes"], done["affected_edges"], done["actor_id"]) == (1, 0, "me")
    assert done["commit"]["graph_branch"] == "side"
    merged = omnigraph("branch", "merge", "side", "--into", "main", "--store", store, "--json").json
    assert (merged["outcome"], merged["branch_deleted"]) == ("fast_forward", False)
    ask = ("query", "everyone", "-q", "people.gq", "--store", store, "--json")
    assert omnigraph(*ask).json["rows"][0]["p.age"] == 37
    past = omnigraph(*ask, "--snapshot", before["graph_commit_id"]).json
    assert past["rows"][0]["p.age"] == 36
    assert past["graph_commit_id"] == before["graph_commit_id"]
    listed = omnigraph("commit", "list", "--store", store)
    assert "merge side" in listed.out
    assert before["graph_commit_id"] in listed.out


def test_the_past_can_be_asked_by_time_on_any_branch(store: str, omnigraph: CommandLine) -> None:
    before = omnigraph("commit", "list", "--store", store, "--json").json["commits"][0]
    birthday = ("mutate", "birthday", "-q", "people.gq", "--params", '{"email":"ada@x","age":37}')
    assert omnigraph(*birthday, "--store", store).exit_code == 0
    omnigraph("branch", "create", "side", "--store", store)
    ask = ("query", "everyone", "-q", "people.gq", "--store", store, "--json")
    for branch in ("main", "side"):
        past = omnigraph(*ask, "--snapshot", before["created_at"], "--branch", branch).json
        assert past["rows"][0]["p.age"] == 36
        assert past["graph_commit_id"] == before["graph_commit_id"]
    both = omnigraph(*ask, "--snapshot", before["graph_commit_id"], "--branch", "main")
    assert both.exit_code == 2
    assert omnigraph(*ask, "--snapshot", "1999-12-31").json["code"] == "not_found"


def test_a_graph_is_optimized_measured_and_pruned(store: str, omnigraph: CommandLine) -> None:
    omnigraph("branch", "create", "side", "--store", store)
    tidied = omnigraph("optimize", "--store", store, "--json").json
    assert tidied["indexed"] == ["edge:WorksAt", "node:Company", "node:Person"]
    assert "nothing to do" in omnigraph("optimize", "--store", store).err
    measured = omnigraph("stats", "--store", store, "--json").json
    assert measured["tables"]["node:Person"]["indexed_rows"] == {"id": 1}
    assert "id 100%" in omnigraph("stats", "--store", store).out
    listed = omnigraph("indexes", "--store", store, "--json").json["indexes"]
    assert {"node:Person", "edge:WorksAt"} <= {index["table"] for index in listed}
    assert "the table is empty" in omnigraph("indexes", "--store", store).out
    assert omnigraph("branch", "delete", "side", "--store", store).exit_code == 0
    assert omnigraph("branch", "list", "--store", store, "--json").json == {"branches": ["main"]}


def test_a_graph_is_cleaned_up_when_that_is_confirmed(store: str, omnigraph: CommandLine) -> None:
    omnigraph("optimize", "--store", store)
    clean = ("cleanup", "--keep", "1", "--grace", "0s", "--store", store)
    refused = omnigraph(*clean)
    assert refused.exit_code != 0 and "confirm" in refused.err
    would = omnigraph(*clean, "--dry-run", "--json").json
    assert would["dry_run"] and would["files"] and would["commits"]
    assert omnigraph(*clean, "--dry-run").out.count("\n") >= len(would["tables"])
    done = omnigraph(*clean, "--confirm", "--json").json
    assert done == {**would, "dry_run": False}
    again = omnigraph(*clean, "--confirm")
    assert "removed 0 files" in again.err and "1 newest" in again.err
    gone = omnigraph(
        "query", "-e", "query q() { match { $p: Person } return { count($p) as n } }",
        "--snapshot", would["commits"][0], "--store", store, "--json",
    )  # fmt: skip
    assert gone.json["code"] == "not_found" and "cleanup" in gone.err + gone.out
    assert omnigraph(*clean, "--older-than", "soon", "--confirm").exit_code != 0


def test_a_graph_that_is_well_is_told_so(store: str, omnigraph: CommandLine) -> None:
    assert "nothing is wrong" in omnigraph("repair", "--store", store).err
    assert omnigraph("repair", "--confirm", "--store", store, "--json").json == {
        "findings": [],
        "commits": [],
    }
    (Path(store) / "nodes" / "feed" / "data").mkdir(parents=True)
    (Path(store) / "nodes" / "feed" / "data" / "1.lance").write_bytes(b"")
    assert "unnamed_table" in omnigraph("repair", "--store", store).out
    assert omnigraph("repair", "--force", "--store", store).exit_code != 0


def test_a_graph_is_named_by_argument_or_by_option_but_once(
    store: str, omnigraph: CommandLine
) -> None:
    by_option = omnigraph("branch", "list", "--uri", store, "--json")
    by_argument = omnigraph("branch", "list", store, "--json")
    assert by_argument == by_option and by_argument.exit_code == 0
    assert omnigraph("branch", "create", "side", store).exit_code == 0
    assert omnigraph("commit", "list", store).exit_code == 0
    assert omnigraph("commit", "list").exit_code == 2
    assert omnigraph("commit", "list", store, "--store", store).exit_code == 2


def test_a_write_says_where_it_went_unless_told_to_be_quiet(
    store: str, omnigraph: CommandLine
) -> None:
    birthday = ("mutate", "birthday", "-q", "people.gq", "--store", store)
    said = omnigraph(*birthday, "--params", '{"email":"ada@x","age":37}')
    assert "g.omni" in said.err and said.out == ""
    silent = omnigraph(*birthday, "--params", '{"email":"ada@x","age":38}', "--quiet")
    assert (silent.exit_code, silent.err, silent.out) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (("query", "everyone", "-q", "people.gq", "--store", "nowhere"), 3, "not_found"),
        (("query", "everyone", "-q", "nowhere.gq", "--store", "g.omni"), 3, "not_found"),
        (("query", "nobody", "-q", "people.gq", "--store", "g.omni"), 3, "not_found"),
        (("query", "-q", "people.gq", "--store", "g.omni"), 3, "not_found"),
        (("query", "friends_of", "-q", "people.gq", "--store", "g.omni"), 1, "param_error"),
        (("query", "-e", "query q( {", "--store", "g.omni"), 1, "parse_error"),
        (("branch", "create", "main", "--store", "g.omni"), 4, "branch_exists"),
        (("branch", "merge", "nowhere", "--store", "g.omni"), 3, "not_found"),
        (("branch", "delete", "nowhere", "--store", "g.omni"), 3, "not_found"),
        (("branch", "delete", "main", "--store", "g.omni"), 1, "invalid_argument"),
        (("init", "--schema", "people.pg", "g.omni"), 4, "already_initialized"),
        (
            ("query", "everyone", "-q", "people.gq", "--params", "[", "--store", "g.omni"),
            1,
            "invalid_argument",
        ),
    ],
)
def test_an_error_is_text_with_a_hint_or_one_json_document(
    store: str, omnigraph: CommandLine, arguments: tuple[str, ...], exit_code: int, code: str
) -> None:
    as_text = omnigraph(*arguments)
    assert as_text.exit_code == exit_code
    assert as_text.err.startswith("error") and "Traceback" not in as_text.err
    assert as_text.out == ""
    as_json = omnigraph(*arguments, "--json")
    assert as_json.exit_code == exit_code
    assert as_json.json["code"] == code


def test_a_mistake_in_a_query_is_pointed_at(store: str, omnigraph: CommandLine) -> None:
    text = "query q() {\n  match { $p: Persn }\n  return { $p.name }\n}"
    answer = omnigraph("query", "-e", text, "--store", store)
    assert "2 |   match { $p: Persn }" in answer.err
    assert "  |               ^^^^^" in answer.err
    assert "Person" in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "everyone", "--store", "g.omni"),
        ("query", "-e", "x", "-q", "people.gq", "--store", "g.omni"),
        ("query", "everyone", "-q", "people.gq"),
        ("query", "everyone", "-q", "people.gq", "--store", "g.omni", "--colour", "red"),
        ("nonsense",),
    ],
)
def test_wrong_usage_exits_with_two(
    store: str, omnigraph: CommandLine, arguments: tuple[str, ...]
) -> None:
    assert omnigraph(*arguments).exit_code == 2


WEB = {"starlette", "uvicorn", "uvloop", "opentelemetry", "prometheus_client"}


def test_help_loads_neither_arrow_nor_lance_nor_spark_nor_a_grammar_nor_a_server() -> None:
    heavy = {"pyarrow", "lance", "pyspark", "duckdb", "numpy", "lark", "cedarpy", "yaml", *WEB}
    heavy |= {"prompt_toolkit"}
    script = (
        "import sys; sys.argv = ['omnigraph', '--help']\n"
        "from omnigraph.surfaces.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


def test_ctrl_c_while_commands_are_imported_ends_quietly() -> None:
    script = (
        "import os, signal, sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Impatient()); sys.argv = ['omnigraph', 'version']\n"
        "from omnigraph.surfaces.cli.main import main\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_a_point_query_loads_neither_spark_nor_a_server_nor_pages(store: str) -> None:
    heavy = {"pyspark", "omnigraph.engine.notebook", *WEB}
    script = (
        "import sys; from omnigraph import Graph\n"
        "Graph.open(sys.argv[1]).query(sys.argv[2], 'everyone')\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, store, QUERIES], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_a_table_is_loaded_by_a_mapping_and_a_format(store: str, omnigraph: CommandLine) -> None:
    Path("staff").write_text("mail,name,age\nbob@x,Bob,20\n")
    Path("m.yaml").write_text("staff: {node: Person, properties: {email: mail}}\n")
    given = ("--data", "staff", "--format", "csv", "--mapping", "m.yaml", "--engine", "local")
    answer = omnigraph("load", *given, "--mode", "append", "--json", store)
    assert answer.exit_code == 0, answer.err
    refused = omnigraph("load", *given, "--mode", "append", "--format", "xml", store)
    assert (refused.exit_code, "'jsonl', 'csv', 'parquet'" in refused.err) == (2, True)


def test_a_dash_loads_what_comes_in(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = b'{"type":"Company","data":{"name":"Looms"}}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    answer = omnigraph("load", "--data", "-", "--mode", "append", store)
    assert answer.exit_code == 0, answer.err
    assert "Company: 1" in answer.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{\n")))
    refused = omnigraph("load", "--data", "-", "--mode", "append", store)
    assert (refused.exit_code, "stdin:1:2" in refused.err) == (1, True)


def test_commits_fit_a_terminal_of_80_columns(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = 'query q() { insert Company { name: "Looms" } }'
    why = ("--as", "ada", "-m", "a reason that takes more than a line of a terminal")
    assert omnigraph("mutate", "-e", ada, "--store", store, *why).exit_code == 0
    with monkeypatch.context() as terminal:
        terminal.setenv("COLUMNS", "80")
        terminal.setenv("NO_COLOR", "1")
        terminal.setattr(sys.stdout, "isatty", lambda: True)
        answer = omnigraph("commit", "list", store)
    lines = answer.out.splitlines()
    assert lines[0].split()[:3] == ["commit", "made", "kind"]
    assert len(lines) == 2 + len(omnigraph("commit", "list", store, "--json").json["commits"])
    assert max(len(line) for line in lines) <= 80
    assert lines[2].split()[2:5] == ["mutation", "ada:", "a"]
    assert "--json shows all of it" in answer.err
