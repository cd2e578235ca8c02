"""Rows in a terminal of any width: nothing is lost without a sign, and nothing steers it."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from omnigraph import Graph
from omnigraph.base.words import visible
from omnigraph.surfaces.cli.tables import lay_out, value_text
from tests.surfaces.cli import Answer, CommandLine

ULIDS = st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26)
WHOLE: list[st.SearchStrategy[Any]] = [
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(timezones=st.just(UTC)),
    ULIDS,
    st.uuids().map(str),
]
LOOSE: list[st.SearchStrategy[Any]] = [
    st.text(max_size=80),
    st.lists(st.integers(), max_size=30),
    st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=4),
    st.booleans(),
]


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    kinds = draw(st.lists(st.sampled_from([*WHOLE, *LOOSE]), min_size=1, max_size=9))
    names = draw(st.lists(st.text(max_size=12), min_size=len(kinds), max_size=len(kinds)))
    row = st.tuples(*(st.none() | kind for kind in kinds)).map(list)
    return names, draw(st.lists(row, max_size=5))


def is_whole(value: Any) -> bool:
    """Whether it must be shown whole: a number, a time, or what may be an id."""
    if isinstance(value, str):
        return bool(re.fullmatch(r"[0-9A-Z]{26}|[0-9a-f-]{36}", value))
    return isinstance(value, int | float | date)


@given(answers(), st.integers(20, 250), st.booleans())
@example((["id", "made", "n"], [["01M7" + "0" * 22, datetime.now(UTC), 2**63]]), 60, True)
def test_numbers_times_and_ids_are_whole_at_any_width(
    answer: tuple[list[str], list[list[Any]]], width: int, may_shorten: bool
) -> None:
    names, rows = answer
    shown = lay_out(names, rows, width=width, may_shorten=may_shorten)
    text = "\n".join(shown.lines)
    for row in rows:
        for value in filter(is_whole, row):
            assert re.search(rf"(?<!\S){re.escape(value_text(value))}(?!\S)", text)
    if rows:
        assert all(visible(name) in text for name in names)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert may_shorten or not shown.is_shortened


@given(answers(), st.integers(20, 250))
def test_a_line_is_longer_than_the_terminal_only_for_a_value_or_a_name_that_is(
    answer: tuple[list[str], list[list[Any]]], width: int
) -> None:
    names, rows = answer
    values = [value_text(value) for row in rows for value in row]
    longest = max((cell_len(visible(text)) + 3 for text in (*values, *names)), default=0)
    for line in lay_out(names, rows, width=width).lines:
        assert cell_len(line) <= max(width, longest)


@given(answers())
def test_without_a_width_every_row_is_one_line_of_everything(
    answer: tuple[list[str], list[list[Any]]],
) -> None:
    names, rows = answer
    shown = lay_out(names, rows, width=None)
    assert len(shown.lines) == len(rows) + 2
    assert not shown.is_shortened
    for line, row in zip(shown.lines[2:], rows, strict=True):
        assert all(value_text(value).strip() in line for value in row)


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        ("Ada Lovelace of London", 20, "Ada Lovelace of Lon…"),
        ("in the year 1234567 or so", 20, "in the year 1234567…"),
        ("in the year 12345678901", 20, "in the year…"),
        ("ends at 10:15:20.250 today", 20, "ends at…"),
        ("日本語のとても長い文章です", 20, "日本語のとても長い…"),
        ([1234567, 7654321, 1112223], 20, "[1234567, …]"),
        ({"a": 1234567, "b": 7654321}, 20, '{"a": 1234567, …}'),
        ([1234567890] * 9, 12, "[…]"),
    ],
)
def test_a_text_or_a_list_is_shortened_with_a_sign_and_never_within_a_number(
    value: Any, width: int, shown: str
) -> None:
    answer = lay_out(["x"], [[value]], width=width)
    assert answer.lines[-1] == shown
    assert answer.is_shortened


def test_what_does_not_fit_becomes_a_record_and_null_is_not_empty_text() -> None:
    rows = [[1234567890123, "", None, "Ada of London"], [-1, "x", 0.5, "B"]]
    assert lay_out(["number", "word", "null", "name"], rows, width=30).lines == (
        "number: 1234567890123",
        'word: ""',
        "null:",
        "name: Ada of London",
        "",
        "number: -1",
        "word: x",
        "null: 0.5",
        "name: B",
    )
    assert lay_out(["number", "word", "null", "name"], rows, width=60).lines == (
        "       number   word   null   name",
        "───────────────────────────────────────────",
        '1234567890123   ""            Ada of London',
        "           -1   x       0.5   B",
    )


EVIL = "[red]x[/red] \x1b[31m\u202e\x9b2J\r\nnext"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    schema = "node Thing { name: String @key  n: I64  note: String?  at: DateTime }"
    row = {"name": "a", "n": 1234567890123, "note": EVIL, "at": "2026-01-02T03:04:05.678Z"}
    graph = Graph.init("g.omni", schema)
    graph.load([{"type": "Thing", "data": row}], mode="append", message=EVIL, actor="someone")
    graph.optimize()
    return "g.omni"


def in_a_terminal(
    omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch, columns: int, *arguments: str
) -> Answer:
    with monkeypatch.context() as terminal:
        terminal.setenv("COLUMNS", str(columns))
        terminal.setenv("NO_COLOR", "1")
        terminal.setattr(sys.stdout, "isatty", lambda: True)
        answer = omnigraph(*arguments)
    assert answer.exit_code == 0, answer.err
    assert max(map(cell_len, answer.out.splitlines())) <= columns
    return answer


ASK = "query q() { match { $t: Thing } return { $t.name, $t.n, $t.note, $t.at } }"


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_every_table_of_the_command_line_fits_a_terminal(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    head = Graph.open(store).commits(limit=1)[0]

    def shown(*arguments: str) -> str:
        answer = in_a_terminal(omnigraph, monkeypatch, columns, *arguments, "--store", store)
        assert "\x1b" not in answer.out + answer.err
        return answer.out

    rows = shown("query", "-e", ASK)
    assert "1234567890123" in rows and "2026-01-02 03:04:05.678+00:00" in rows
    assert "[red]x[/red]" in rows
    commits = shown("commit", "list")
    assert head.graph_commit_id in commits
    assert f"{head.created_at:%Y-%m-%dT%H:%M:%SZ}" in commits
    assert re.search(r"\bfragments\b(.*\n)*.*\bid 100%", shown("stats"))
    assert "main" in shown("branch", "list")


def test_text_that_is_shortened_is_said_to_be_and_where_all_of_it_is(
    store: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("query", "-e", ASK, "--store", store)
    assert "--format kv" in in_a_terminal(omnigraph, monkeypatch, 40, *ask).err
    assert omnigraph(*ask).err == "1 row\n"
    assert (
        "t.note: [red]x[/red] \\x1b[31m\\u202e\\x9b2J\\r\\nnext\n"
        in omnigraph(*ask, "--format", "kv").out
    )


@pytest.mark.parametrize("style", ["json", "jsonl", "csv"])
def test_programs_get_the_data_as_it_is(store: str, omnigraph: CommandLine, style: str) -> None:
    printed = omnigraph("query", "-e", ASK, "--store", store, "--format", style).out
    if style == "csv":
        assert f'a,1234567890123,"{EVIL}",' in printed
        return
    document = json.loads(printed)
    (row,) = document["rows"] if style == "json" else [document]
    assert row["t.note"] == EVIL
    assert not re.search(r"[\x1b\x9b\u202e]", printed)


def test_a_terminal_without_a_letter_for_a_character_gets_its_number(store: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "omnigraph", "commit", "list", "--store", store],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "\\u2500" in asked.stdout


def test_null_and_empty_text_come_back_from_csv_as_they_were(
    tmp_path: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["", None, " a ", 'b"c', "d,e", "f\ng", "h\r"]
    schema = "node Note { n: I64 @key  text: String? }"
    rows = [{"type": "Note", "data": {"n": n, "text": text}} for n, text in enumerate(texts)]
    Graph.init("a.omni", schema).load(rows, mode="append")
    ask = "query q() { match { $x: Note } return { $x.n as n, $x.text as text } order { n } }"
    printed = omnigraph("query", "-e", ask, "--store", "a.omni", "--format", "csv").out
    Path("Note.csv").write_text(printed, newline="")
    again = Graph.init("b.omni", schema)
    again.load("Note.csv", mode="append", engine="local")
    assert [row["text"] for row in again.query(ask)] == texts
