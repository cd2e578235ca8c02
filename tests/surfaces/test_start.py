"""A command imports what it needs, and a process ends as its command says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from omnigraph.surfaces.cli.app import COMMANDS, command_tree
from tests.surfaces.cli import CommandLine

# Each takes longer to import than a small query takes to run, or is of no use to it.
NOT_FOR_A_QUERY = {
    "asyncio",
    "cedarpy",
    "duckdb",
    "obstore",
    "prompt_toolkit",
    "pydantic",
    "pyspark",
    "rich.console",
    "scipy",
    "starlette",
    "uvicorn",
    "yaml",
    "omnigraph.engine.diff",
    "omnigraph.engine.history",
    "omnigraph.engine.load",
    "omnigraph.engine.maintain",
    "omnigraph.engine.merge",
    "omnigraph.engine.mutate",
    "omnigraph.engine.schema",
    "omnigraph.lang.schema.check",
    "omnigraph.merge.three_way",
    "omnigraph.pipeline.load",
    "omnigraph.pipeline.sources",
    "omnigraph.pipeline.spark",
    "omnigraph.policy",
    "omnigraph.surfaces.cli.history",
    "omnigraph.surfaces.client",
    "omnigraph.surfaces.mcp",
    "omnigraph.surfaces.server",
    "omnigraph.write",
}

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
QUERY = "query q() { match { $p: Person  $p knows $f } return { $f.name, $f.age } }"

# What a command imports may register a handler of exits, as this does.
LISTED = """
import atexit, sys
sys.argv = ["omnigraph", *sys.argv[1:]]
from omnigraph.surfaces.cli.process import program
class Registering:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
class Late:
    def __del__(self): print("taken down", file=sys.stderr)
sys.meta_path.insert(0, Registering())
late = Late()
program()
"""


def start(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", LISTED, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_a_cold_query_imports_what_it_needs_and_leaves_at_once(tmp_path: Path) -> None:
    from omnigraph import Graph

    with Graph.init(tmp_path / "g.omni", SCHEMA) as graph:
        people = [{"type": "Person", "data": {"name": name}} for name in ("Ada", "Alan")]
        knows = {"edge": "Knows", "from": "Ada", "to": "Alan", "data": {}}
        graph.load([*people, knows], mode="append", engine="local")
    ran = start("query", "-e", QUERY, "--store", "g.omni", "--format", "csv", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "f.name,f.age\nAlan,\n")
    assert set(ran.stderr.split()) & NOT_FOR_A_QUERY == set()
    # The handler of this test has run. What only Python's own ending does has not.
    assert "omnigraph.engine.query" in ran.stderr and "taken down" not in ran.stderr


def test_a_process_ends_with_the_exit_code_of_its_command(tmp_path: Path) -> None:
    ran = start("query", "-e", QUERY, "--store", "nowhere.omni", cwd=tmp_path)
    assert ran.returncode == 3 and ran.stderr.startswith("error: ")


def in_a_shell(line: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """A line of bash; `omnigraph` is a process of its own, and exits are those of a pipe's head."""
    function = f'omnigraph() {{ "{sys.executable}" -m omnigraph "$@"; }}\n'
    command = ["bash", "-c", f"unset PYTHONUNBUFFERED\n{function}{line}; exit ${{PIPESTATUS[0]}}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("command", ["version", "version --json", "version --jsom --json"])
def test_an_answer_that_can_not_be_written_is_an_error(tmp_path: Path, command: str) -> None:
    ran = in_a_shell(f"omnigraph {command} > /dev/full", tmp_path)
    assert ran.returncode in (1, 2)
    assert ran.stderr == "error: the output can't be written: No space left on device\n"


INTERRUPTED = """
import signal, sys
sys.argv = ["omnigraph", "version"]
from omnigraph.surfaces.cli.process import program
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "omnigraph.surfaces.cli.language":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, CtrlC())
program()
"""


def test_ctrl_c_while_commands_are_imported_ends_the_program_silently() -> None:
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


FAILING = """
import sys
sys.argv = ["omnigraph", "version"]
from omnigraph.surfaces.cli import app
from omnigraph.surfaces.cli.process import program
import duckdb
def command_tree(words):
    def run(prog_name):
        raise {error}
    return run
app.command_tree = command_tree
program()
"""


@pytest.mark.parametrize(
    "error",
    [
        "KeyboardInterrupt",
        'duckdb.InvalidInputException("counting the rows of claims failed: KeyboardInterrupt: ")',
    ],
)
def test_ctrl_c_in_a_command_is_told_as_that_and_not_as_a_defect(error: str) -> None:
    command = [sys.executable, "-c", FAILING.format(error=error)]
    ran = subprocess.run(command, capture_output=True, text=True)
    told = "interrupted: what had not been committed was not written\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", told)


def test_a_reader_that_goes_away_gets_no_complaint(tmp_path: Path) -> None:
    ran = in_a_shell("omnigraph version --json | true", tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "2>/dev/full"])
def test_a_command_works_without_the_streams_it_does_not_need(tmp_path: Path, closed: str) -> None:
    (tmp_path / "people.pg").write_text(SCHEMA)
    ran = in_a_shell(f"omnigraph init --schema people.pg g.omni {closed}", tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert (tmp_path / "g.omni" / "_graph.json").exists()


def test_what_is_said_stands_behind_the_answer_where_both_go_to_one_file(tmp_path: Path) -> None:
    from omnigraph import Graph

    Graph.init(tmp_path / "g.omni", SCHEMA).close()
    ran = in_a_shell(f"omnigraph query -e '{QUERY}' --store g.omni 2>&1", tmp_path)
    assert ran.stdout.startswith("f.name") and ran.stdout.endswith("0 rows\n")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_a_script_is_utf_8_and_json_is_json_in_every_environment(
    tmp_path: Path, encoding: str
) -> None:
    from omnigraph import Graph

    Graph.init(tmp_path / "g.omni", SCHEMA).close()
    script = 'insert Person { name: "Zoë 😀" };\nmatch { $p: Person } return { $p.name };'
    ran = subprocess.run(
        [sys.executable, "-m", "omnigraph", "shell", "g.omni", "--format", "jsonl"],
        input=script.encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert json.loads(ran.stdout) == {"p.name": "Zoë 😀"}


def test_the_table_of_commands_names_them_all() -> None:
    tree: Any = typer.main.get_command(command_tree())
    listed = {name for names in COMMANDS.values() for name in names}
    assert listed | {"version", "demo"} == set(tree.commands), "see COMMANDS in surfaces/cli/app.py"


@pytest.mark.parametrize("module", sorted(COMMANDS))
def test_a_command_alone_is_the_same_as_in_the_whole_tree(module: str) -> None:
    whole: Any = typer.main.get_command(command_tree())
    for name in COMMANDS[module]:
        alone: Any = typer.main.get_command(command_tree([name]))
        assert set(alone.commands) == {*COMMANDS[module], "version", "demo"}
        assert helped(alone, name) == helped(whole, name)


def helped(tree: Any, name: str) -> str:
    context = typer.Context(tree, info_name="omnigraph")
    return str(tree.commands[name].get_help(context))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["commit", "list", "--limit", "none"], "--limit"),
        (["commit", "list", "--limit", "0"], "--limit"),
        (["query", "--format", "colours"], "--format"),
        (["load", "--data", "x.jsonl", "--mode", "glue"], "--mode"),
    ],
)
def test_a_value_that_must_be_converted_is_still_checked(
    omnigraph: CommandLine, words: list[str], said: str
) -> None:
    refused = omnigraph(*words, "--store", "g.omni")
    assert refused.exit_code == 2 and said in refused.err
