"""Pages that tell a story are true: their files, commands and Python run as they stand."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli import CommandLine

PAGES = Path(__file__).parents[2] / "docs/user"


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a shell block, one a line; a line may end within a quoted text."""
    lexer = shlex.shlex(block, posix=True, punctuation_chars="\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    command: list[str] = []
    for word in [*lexer, "\n"]:
        if word.strip("\n"):
            command.append(word)
        elif command:
            yield command
            command = []


@pytest.mark.parametrize("page", ["blobs.md", "export.md"])
def test_the_page_runs_as_it_stands(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_page(page, tmp_path, monkeypatch, capsys)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
def test_the_page_about_streams_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_page("streaming.md", tmp_path, monkeypatch, capsys)


def run_page(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    text = (PAGES / page).read_text()
    for name, contents in re.findall(r"`([\w.]+)`[):]*\n\n```\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(contents)
    story: dict[str, Any] = {}
    for language, block in re.findall(r"```(sh|python)\n(.*?)```", text, re.DOTALL):
        if language == "python":
            exec(block, story)
            continue
        for program, *arguments in commands(block):
            assert program == "omnigraph"
            answer = omnigraph(*arguments)
            assert answer.exit_code == 0, f"{arguments}: {answer.err}"
