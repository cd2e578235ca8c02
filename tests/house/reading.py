"""Does what a page says, from top to bottom, and compares what comes of it with what it shows.

Blocks of `sh` and `python` are run. A block after a file's name is that file. A block of `text`
right behind one that is run is what it prints, and `--bless` writes it anew. A command may fail
only where the page shows an error.
"""

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.surfaces.wire import EXIT_TO_DO
from tests.house.terminal import Masks, Terminal

__all__ = ["FENCE", "FILE", "Block", "Reader", "blocks", "commands"]

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(
    r"`([\w.-]+)`[^\n`]*\n\n```(?!sh|python|text)\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
RUN = ("sh", "python")


@dataclass(frozen=True)
class Block:
    """A block that is run, and what the page says that it prints."""

    language: str
    text: str
    output: re.Match[str] | None


def blocks(text: str) -> Iterator[Block]:
    found = list(FENCE.finditer(text))
    for number, block in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        is_output = (
            following is not None
            and following[1] == "text"
            and not text[block.end() : following.start()].strip()
        )
        if block[1] in RUN:
            yield Block(block[1], block[2], following if is_output else None)


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a shell block, one a line; a line may end within a quoted text."""
    lexer = shlex.shlex(block.replace("\\\n", " "), posix=True, punctuation_chars="\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    command: list[str] = []
    for word in [*lexer, "\n"]:
        if word.strip("\n"):
            command.append(word)
        elif command:
            yield command
            command = []


@dataclass
class Reader:
    """Works in a folder of its own."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    is_blessing: bool = False
    story: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.terminal = Terminal(self.monkeypatch)
        self.masks = Masks(self.folder)

    def write_files(self, text: str) -> None:
        for name, contents in FILE.findall(text):
            (self.folder / name).write_text(contents)

    def read(self, page: Path) -> None:
        text = page.read_text()
        self.write_files(text)
        blessed = self.run(text)
        if self.is_blessing and blessed != text:
            page.write_text(blessed)
            text = blessed
        differences = "\n".join(unified_diff(text.splitlines(), blessed.splitlines(), n=1))
        assert not differences, (
            f"{page.name} shows another output: --bless writes it anew\n{differences}"
        )

    def run(self, text: str) -> str:
        """Run all blocks, and give back the text with what they print today."""
        pieces, end = [], 0
        for block in blocks(text):
            printed = self.masks(self.print_of(block)).strip("\n")
            if block.output is not None:
                pieces += [text[end : block.output.start(2)], f"{printed}\n"]
                end = block.output.end(2)
        return "".join([*pieces, text[end:]])

    def print_of(self, block: Block) -> str:
        filled_in = self._filled_in(block.text)
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(filled_in, self.story)
            return printed.getvalue()
        may_fail = block.output is not None and re.search(r"^error", block.output[2], re.MULTILINE)
        return "".join(self.do(*c, may_fail=bool(may_fail)) for c in commands(filled_in))

    def do(self, program: str, *arguments: str, may_fail: bool = False) -> str:
        if program == "export":
            for setting in arguments:
                self.monkeypatch.setenv(*setting.split("=", 1))
            return ""
        if program in ("cat", "cp", "mkdir", "mv", "rm"):
            return subprocess.run(
                [program, *arguments], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        assert program == "omnigraph", f"{program} is not run by pages"
        if arguments[-2:-1] == ("<",):
            self.monkeypatch.setattr("sys.stdin", io.StringIO(Path(arguments[-1]).read_text()))
            arguments = arguments[:-2]
        seen = self.terminal(*arguments)
        assert seen.exit_code in (0, EXIT_TO_DO) or may_fail, f"{arguments}: {seen.text}"
        return seen.text

    def _filled_in(self, block: str) -> str:
        """The block, with a commit of the graph for the one that the page only hints at."""
        if "01JZ…" not in block:
            return block
        return block.replace("01JZ…", Graph.open("people.omni").commits()[0].graph_commit_id)
