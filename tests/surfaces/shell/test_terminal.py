"""Keys go in, a screen comes out: multi-line editing, Tab, Ctrl-C, Ctrl-D, history; or a script."""

import io
import os
import pty
import re
import select
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import fragment_list_to_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from omnigraph import Graph
from omnigraph.surfaces.cli.shell.command import converse, known_to
from omnigraph.surfaces.cli.shell.completing import Known
from omnigraph.surfaces.cli.shell.editor import HISTORY_FILE, Editor, Highlighting, history_in
from omnigraph.surfaces.cli.shell.session import Session
from tests.processes import PATIENCE_S
from tests.surfaces.cli import CommandLine

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


def typed(*keys: str) -> list[str]:
    """What an editor makes of keys: each text that was ended, up to Ctrl-D."""
    found = []
    with create_pipe_input() as terminal:
        editor = Editor(Known, InMemoryHistory(), terminal=terminal, screen=DummyOutput())
        terminal.send_text("".join(keys) + CTRL_D)
        while True:
            try:
                found.append(editor.read("g main"))
            except KeyboardInterrupt:
                found.append("Ctrl-C")
            except EOFError:
                return found


def test_enter_ends_what_is_complete_and_nothing_else() -> None:
    for line in (".help", "match { $p: Person } return { $p };"):
        assert typed(line, ENTER) == [line]
    body = ("match {", "$p: Person", "}", "return { $p }", "")
    assert typed(*(f"{line}{ENTER}" for line in body)) == [
        "match {\n    $p: Person\n}\nreturn { $p }\n"
    ]
    whole = ("query n() {", "match { $p: Person }", "return { $p }", "}")
    assert typed(*(f"{line}{ENTER}" for line in whole)) == [
        "query n() {\n    match { $p: Person }\n    return { $p }\n}"
    ]


def test_ctrl_c_takes_back_what_was_typed() -> None:
    assert typed("match {", ENTER, "$p", CTRL_C, ".log", ENTER) == ["Ctrl-C", ".log"]


def test_every_character_that_is_typed_is_shown() -> None:
    text = ' .mode kv\n\nmatch { $p: "x\n12 /* a\nb */ };;query q() { }\n.explain analyze match {'
    line = Highlighting().lex_document(Document(text))
    lines = text.split("\n")
    assert [fragment_list_to_text(line(n)) for n in range(len(lines))] == lines
    assert line(len(lines)) == []


def test_a_conversation_goes_on_after_an_error_and_after_ctrl_c(
    shared: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(shared)
    with create_pipe_input() as terminal:
        editor = Editor(
            lambda: known_to(session), InMemoryHistory(), terminal=terminal, screen=DummyOutput()
        )
        terminal.send_text(f"match {{ $p: Nobody }} return {{ $p }};{ENTER}")
        terminal.send_text(f"half a line{CTRL_C}{ENTER}")
        terminal.send_text(f".mode csv{ENTER}match {{ $c: Company }} return {{ $c.name }};{ENTER}")
        terminal.send_text(f".quit{ENTER}.branches{ENTER}")
        converse(session, editor)
    printed = capsys.readouterr()
    assert printed.out == "c.name\nAnalytical\n"
    assert "no node type is called Nobody" in printed.err and "half" not in printed.err


# History ------------------------------------------------------------------------------------------


def test_what_was_typed_is_kept_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    home = tmp_path / "home"
    kept = home / HISTORY_FILE
    history_in(home).append_string("match {\n}")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.chmod(0o644)
    again = history_in(home)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [*again.load_history_strings()] == ["match {\n}"]
    kept.unlink()
    kept.mkdir()
    again.append_string("the disk says no")


def test_a_home_that_can_not_be_written_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    history_in(tmp_path / "file" / "home").append_string("x")
    assert "warning: what you type is not kept" in capsys.readouterr().err
    assert isinstance(history_in(None), InMemoryHistory)


# A script -----------------------------------------------------------------------------------------


def test_what_is_piped_in_runs_to_the_first_error(
    omnigraph: CommandLine, shared: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(text: str, *more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        answer = omnigraph("shell", shared.uri, *more)
        return answer.exit_code, answer.out, answer.err

    ask = "match { $c: Company }\nreturn { $c.name }\n"
    assert piped(ask, "--format", "csv") == (0, "c.name\nAnalytical\n", "")
    assert piped(f".quit\n{ask}")[1] == ""
    code, out, err = piped(f"{ask}\n  .checkout nowhere\n{ask}", "--format", "csv")
    assert (code, out) == (3, "c.name\nAnalytical\n") and "no branch named nowhere" in err
    code, _, err = piped(f"// one\n{ask};  match {{ $p: Nobody }}\nreturn {{ $p }}")
    assert code == 1 and "<stdin>:4:16" in err
    code, _, err = piped(f"{ask}  .help")
    assert code == 1 and "hint: end the statement above with ;" in err
    assert piped('insert Person { name: "x" };', "--read-only")[0] == 1
    assert piped(".checkout", "--branch", "nowhere")[0] == 3


# A real terminal ----------------------------------------------------------------------------------


# Colours, cursor movements and blanks: some blanks are drawn as movements.
NOT_TEXT = re.compile(r"\x1b\][^\x07]*\x07|\x1b[\[(][0-?]*[ -/]*[@-~]|[\x00-\x20]")


@dataclass
class Screen:
    """A process on a terminal of its own."""

    master: int
    _written: bytes = b""
    _seen: int = 0

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until the text has come, behind what was waited for before."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = text.replace(" ", "")
        while (found := self._text().find(wanted, self._seen)) < 0:
            assert time.monotonic() < deadline, self._text()[self._seen :]
            if select.select([self.master], [], [], 1.0)[0]:
                self._written += os.read(self.master, 1 << 16)
        self._seen = found + len(wanted)

    def _text(self) -> str:
        return NOT_TEXT.sub("", self._written.decode(errors="replace"))


@contextmanager
def on_a_terminal(*words: str, home: Path) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    master, slave = pty.openpty()
    environment = {**os.environ, "OMNIGRAPH_HOME": str(home), "TERM": "xterm"}
    # Nobody answers here when a program asks where its cursor is.
    environment["PROMPT_TOOLKIT_NO_CPR"] = "1"
    script = "from omnigraph.surfaces.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Screen(master), process
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(master)


def test_a_person_types_completes_takes_back_and_leaves(shared: Graph, tmp_path: Path) -> None:
    with on_a_terminal("shell", shared.uri, home=tmp_path) as (screen, process):
        screen.wait_for("people main>")
        screen.type("match {\r$p: Comp\t")
        # Only what is new is drawn.
        screen.wait_for("any")
        screen.type("\r}\rreturn { $p.\t")
        screen.wait_for("name")
        screen.type("name }\r\r")
        screen.wait_for("Analytical")
        screen.wait_for("1 row")
        screen.wait_for("people main>")
        screen.type("never ended {\x03")
        screen.wait_for("people main>")
        screen.type("\x1b[A")
        screen.wait_for("return { $p.name }")
        screen.type("\x03")
        screen.wait_for("people main>")
        screen.type(".checkout nowhere\r")
        screen.wait_for(".branch nowhere makes it here")
        screen.wait_for("people main>")
        screen.type("\x04")
        assert process.wait(PATIENCE_S) == 0
    assert "match {" in (tmp_path / HISTORY_FILE).read_text()
