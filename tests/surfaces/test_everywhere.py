"""What every command has: quiet, colours, signs of life, completion, and names that are near."""

import io
import json
import re
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

from omnigraph import Graph
from omnigraph.surfaces.cli import completing, output
from omnigraph.surfaces.cli.app import command_tree
from omnigraph.surfaces.cli.colour import paint_log, paint_said
from omnigraph.surfaces.cli.progress import waiting
from tests.surfaces.cli import CommandLine

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
QUERIES = """
query names() { match { $p: Person } return { $p.name } order { $p.name } }
query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }
"""
ASK = ["query", "names", "-q", "people.gq", "--store", "g.omni"]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def make(folder: Path) -> None:
    (folder / "people.pg").write_text(SCHEMA)
    (folder / "people.gq").write_text(QUERIES)
    graph = Graph.init(folder / "g.omni", SCHEMA)
    graph.mutate(QUERIES, "add", {"name": "Ada"})
    graph.branch_create("review/1")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everywhere")
    make(folder)
    return folder


@pytest.fixture
def store(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A graph to be read, in the current folder."""
    monkeypatch.chdir(shared)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    return "g.omni"


# Quiet --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "query names -q people.gq --store g.omni",
        "branch diff review/1 --store g.omni",
        "schema plan --schema people.pg g.omni",
        "snapshot g.omni",
        "show Person Ada --store g.omni",
        "lint --schema people.pg people.gq",
    ],
)
def test_quiet_leaves_the_answer_alone(store: str, omnigraph: CommandLine, line: str) -> None:
    said, silent = omnigraph(*line.split()), omnigraph(*line.split(), "--quiet")
    assert (silent.exit_code, silent.err) == (0, "") and said.err
    assert silent.out == said.out


def test_a_repeated_request_says_that_nothing_was_written(
    tmp_path: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    add = ("mutate", "add", "-q", "people.gq", "--params", '{"name": "Bob"}', "--store", "g.omni")
    first, again = (omnigraph(*add, "--request-id", "r1") for _ in range(2))
    assert first.err.startswith("1 node and 0 edges changed on")
    assert "nothing written: this request has changed 1 node and 0 edges before" in again.err
    assert first.err.split()[-1] == again.err.split()[-1]


def test_quiet_hides_no_error(store: str, omnigraph: CommandLine) -> None:
    assert "no branch named x" in omnigraph(*ASK, "--branch", "x", "--quiet").err
    Path("wrong.gq").write_text("query q() { match { $p: Persn } return { $p.name } }")
    assert "Persn" in omnigraph("lint", "--schema", "people.pg", "wrong.gq", "--quiet").err


# Traces -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--debug", *ASK], [*ASK, "--debug"]])
def test_a_trace_is_shown_if_asked_for(
    store: str, omnigraph: CommandLine, words: list[str]
) -> None:
    assert omnigraph(*words).exit_code == 0
    wrong = [word.replace("g.omni", "nowhere") for word in words]
    shown = omnigraph(*wrong)
    assert shown.exit_code == 3
    assert "error: no graph at nowhere" in shown.err and "Traceback" in shown.err
    plain = omnigraph(*(word for word in wrong if word != "--debug"))
    assert "Traceback" not in plain.err


# Colours ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_terminal", "setting", "is_coloured"),
    [
        (True, None, True),
        (False, None, False),
        (True, ("NO_COLOR", "1"), False),
        (True, ("NO_COLOR", ""), True),
        (True, ("TERM", "dumb"), False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    store: str,
    omnigraph: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    setting: tuple[str, str] | None,
    is_coloured: bool,
) -> None:
    plain = [omnigraph(*words) for words in (ASK, ["log", store], [*ASK, "--branch", "x"])]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if setting is not None:
        monkeypatch.setenv(*setting)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    shown = [omnigraph(*words) for words in (ASK, ["log", store], [*ASK, "--branch", "x"])]
    texts = [(answer.out + answer.err) for answer in shown]
    assert all(("\x1b[" in text) == is_coloured for text in texts)
    without_age = [re.sub(r"\d+ \w+ ago", "AGO", a.out + a.err) for a in plain]
    assert [re.sub(r"\d+ \w+ ago", "AGO", ESCAPE.sub("", text)) for text in texts] == without_age


def test_json_is_never_coloured(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b" not in omnigraph(*ASK, "--json").out


def test_data_can_not_paint(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("error: \x1b[31mred")
    assert "\x1b" not in capsys.readouterr().err


def test_the_words_that_matter_are_painted() -> None:
    said = paint_said("error[T6]: no\n1 | a\n  |   ^^\n  hint: go\nwarning: x\nan error: y")
    assert ESCAPE.findall(said).count("\x1b[0m") == 4
    assert said.endswith("an error: y")
    line = "* 01ARZ3NDEKTSV4RRFFQ69G5FAV  [main, side]  1 s ago  ada: [x]"
    assert paint_log(line) == (
        "* \x1b[33m01ARZ3NDEKTSV4RRFFQ69G5FAV\x1b[0m  \x1b[32m[main, side]\x1b[0m"
        "  1 s ago  ada: [x]"
    )


# Signs of life ------------------------------------------------------------------------------------


class Heard(io.StringIO):
    """Standard error that tells when something was said."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.said = Event()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        self.said.set()
        return written


@pytest.mark.parametrize(
    ("is_terminal", "as_json", "told"),
    [
        (True, False, "\r  export … 0 s\x1b[K"),
        (False, False, "  export … 0 s\n"),
        (True, True, '{"event": "progress", "phase": "export", "done": 0, "total": 0}\n'),
    ],
)
def test_work_that_takes_long_shows_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, as_json: bool, told: str
) -> None:
    heard = Heard(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", heard)
    with waiting("export", as_json=as_json, patience_s=0):
        assert heard.said.wait(60)
    assert heard.getvalue().startswith(told.split("0 s")[0])
    # A terminal's line is gone in the end.
    assert heard.getvalue().endswith("\r\x1b[K") == (is_terminal and not as_json)


@pytest.mark.parametrize("options", [{"patience_s": 3600.0}, {"is_silent": True, "patience_s": 0}])
def test_short_or_silent_work_says_nothing(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, float]
) -> None:
    heard = Heard(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", heard)
    with waiting("export", **options):  # type: ignore[arg-type]
        pass
    assert heard.getvalue() == ""


# Completion ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("query --store g.omni --branch |", {"main", "review/1"}),
        ("query --store g.omni --branch re|", {"review/1"}),
        ("branch delete --store g.omni |", {"main", "review/1"}),
        ("branch merge --store g.omni --into m|", {"main"}),
        ("export --store g.omni --type |", {"Person", "Knows"}),
        ("show --store g.omni P|", {"Person"}),
        ("query -q people.gq |", {"names", "add"}),
        ("mutate a|", {"add"}),
        ("profile show w|", {"work"}),
        ("branch list --server |", {"far"}),
        ("branch list --profile w|", {"work"}),
        ("query --profile work --branch |", {"main", "review/1"}),
        # Nothing to offer is nothing said.
        ("query --store nowhere --branch |", set()),
        ("query --store people.gq --branch |", set()),
        ("query -q nowhere.gq |", set()),
        ("export --type |", set()),
        ("query --server nobody --branch |", set()),
    ],
)
def test_a_shell_completes(
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    line: str,
    offered: set[str],
) -> None:
    monkeypatch.setattr(completing, "PATIENCE_S", 600.0)
    (tmp_path / "config.yaml").write_text(
        "servers: {far: {url: https://far.example.org}}\n"
        f"profiles: {{work: {{store: {Path.cwd()}/g.omni}}}}\n"
        "unknown: 1\n"
    )
    *words, incomplete = line.removesuffix("|").split(" ")
    found = _offered(get_command(command_tree()), words, incomplete)
    assert found == offered
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def _offered(command: Any, words: list[str], incomplete: str) -> set[str]:
    """What the class of a shell would print."""
    from typer._completion_classes import BashComplete

    shell = BashComplete(command, {}, "omnigraph", "_OMNIGRAPH_COMPLETE")
    return {item.value for item in shell.get_completions(words, incomplete)}


# Names that are near, and flags that don't apply --------------------------------------------------


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("qurey", "did you mean query?"),
        ("branch lits g.omni", "did you mean list?"),
        ("query names -q people.gq --stor g.omni", "did you mean --store?"),
        ("query nmes -q people.gq --store g.omni", "did you mean names?"),
        ("query names -q people.gq --store g.omni --branch reveiw/1", "did you mean review/1?"),
        ("export --type Persn --store g.omni", "did you mean Person?"),
        ("show Persn Ada --store g.omni", "did you mean Person?"),
        ("load --data x --mode apend g.omni", "'append', 'merge', 'overwrite'"),
        (
            "query -e query_q(){match{$p:Person}return{$p.nmae}} --store g.omni",
            "did you mean name?",
        ),
        (
            "query -e query_q(){match{$p:Persn}return{$p.name}} --store g.omni",
            "did you mean Person?",
        ),
    ],
)
def test_a_name_that_is_near_is_offered(
    store: str, omnigraph: CommandLine, line: str, hint: str
) -> None:
    answer = omnigraph(*(word.replace("query_q", "query q") for word in line.split(" ")))
    assert answer.exit_code in (1, 2, 3) and answer.out == ""
    assert hint in answer.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "query names -q people.gq --store g.omni --json --format csv",
            "with --json or with --format",
        ),
        ("load --data x --mode merge g.omni --resume a --load-id b", "leave out --load-id"),
        ("branch merge review/1 g.omni --preview --delete-branch", "leave out --delete-branch"),
        ("embed g.omni --out x", "give --data FILE too"),
        ("embed g.omni --schema people.pg", "give --data FILE too"),
        ("embed --data x --schema people.pg --branch side", "--branch is about a graph"),
        ("embed --data x --schema people.pg g.omni", "GRAPH is about a graph"),
        ("blob get node Person Ada photo --store g.omni --json", "name a file with --out"),
        ("optimize g.omni --yes", "there is no option --yes"),
        ("version --quiet", "there is no option --quiet"),
    ],
)
def test_a_flag_that_does_not_apply_is_an_error_that_says_what_to_do(
    store: str, omnigraph: CommandLine, line: str, told: str
) -> None:
    answer = omnigraph(*line.split(" "))
    assert answer.exit_code == 2
    assert told in (answer.json["error"] if "--json" in line else answer.err)


@pytest.mark.parametrize(
    ("given", "line", "column", "why"),
    [
        ('{"a": 1,}', 1, 9, "expecting property name"),
        ('{"a" 1}', 1, 6, "expecting ':' delimiter"),
        ("{", 1, 2, "expecting property name"),
        ('{\n  "a": tru\n}', 2, 8, "expecting value"),
        ("", 1, 1, "expecting value"),
        ("[" * 100_000, None, None, "it is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", None, None, "a number is too long"),
    ],
    ids=["comma", "colon", "no_end", "second_line", "empty", "deep", "long"],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_parameters_that_are_no_json_are_pointed_at(
    store: str,
    omnigraph: CommandLine,
    is_file: bool,
    given: str,
    line: int | None,
    column: int | None,
    why: str,
) -> None:
    Path("params.json").write_text(given)
    option = ("--params-file", "params.json") if is_file else ("--params", given)
    answer = omnigraph(*ASK, *option)
    assert answer.exit_code == 1 and f"it is not JSON: {why}" in answer.err
    if line is not None and column is not None:
        name = "params.json" if is_file else "--params"
        _, place, shown, caret, *_ = answer.err.splitlines()
        assert place == f"{name}:{line}:{column}"
        assert caret.index("^") - caret.index("| ") - 1 == column
        assert shown == f"{line} | {given.split(chr(10))[line - 1]}"
    details = omnigraph(*ASK, *option, "--json").json["details"]
    assert (details["line"], details["column"]) == (line, column)


# Targets and formats ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        'mutate add -q people.gq --params {"name":"Bob"} --store g.omni',
        "branch create other g.omni",
        "branch delete review/1 g.omni",
        "branch merge review/1 g.omni",
        "revert {head} g.omni",
        "optimize g.omni",
        "cleanup --confirm g.omni",
        "repair --confirm g.omni",
        "schema apply --schema people.pg g.omni",
        "load --data p.jsonl --mode merge --engine local g.omni",
        "init --schema people.pg new.omni",
    ],
)
def test_a_write_names_its_target_on_standard_error(
    tmp_path: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    Path("p.jsonl").write_text('{"type": "Person", "data": {"name": "Cy"}}\n')
    head = Graph.open("g.omni").commits()[0].graph_commit_id
    words = line.replace("{head}", head).split(" ")
    uri = str(Path("new.omni" if words[0] == "init" else "g.omni").resolve())
    told = omnigraph(*words, "--json")
    assert told.exit_code == 0, told
    events = [json.loads(each) for each in told.err.splitlines()]
    assert [event["uri"] for event in events if event["event"] == "target"] == [uri]


@pytest.mark.parametrize("style", ["arrow", "parquet"])
def test_rows_with_their_types_go_to_programs(
    store: str, capfdbinary: pytest.CaptureFixture[bytes], style: str
) -> None:
    command_tree()([*ASK, "--format", style, "--quiet"], standalone_mode=False)
    data = pa.BufferReader(capfdbinary.readouterr().out)
    rows = pa.ipc.open_stream(data).read_all() if style == "arrow" else pq.read_table(data)
    assert rows.to_pylist() == [{"p.name": "Ada"}]


def test_rows_for_programs_are_not_shown_to_a_person(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    refused = omnigraph(*ASK, "--format", "arrow")
    assert refused.exit_code == 1 and "> rows.arrow" in refused.err
