"""A new user with an empty home types the quickstart into a shell, and sees what it shows.

The walk is recorded in `new_user.txt`: all that stood on their screen. `--bless` records it anew.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.house.reading import FILE, blocks
from tests.house.terminal import Masks
from tests.processes import PATIENCE_S

QUICKSTART = (Path(__file__).parents[2] / "docs/user/quickstart.md").read_text()
RECORD = Path(__file__).with_name("new_user.txt")
PROMPT = "$ "
WIDTH = 110


class Shell:
    """A shell in a terminal, typed into."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    def type(self, text: str) -> str:
        """What the screen shows from the typed line to the next prompt."""
        os.write(self._terminal, f"{text}\n".encode())
        return self.until_prompt()

    def until_prompt(self) -> str:
        shown, end = b"", time.monotonic() + PATIENCE_S
        while not f"\n{shown.decode(errors='replace')}".endswith(f"\n{PROMPT}"):
            assert time.monotonic() < end, shown.decode()
            if select.select([self._terminal], [], [], 1)[0]:
                shown += os.read(self._terminal, 65536)
        return shown.decode().replace("\r\n", "\n").removesuffix(PROMPT)


@contextmanager
def shell(home: Path) -> Iterator[Shell]:
    """A plain shell that knows nothing but where the program is."""
    program = Path(sys.executable).parent
    environment = {
        "HOME": str(home),
        "OMNIGRAPH_HOME": str(home / ".omnigraph"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PATH": f"{program}:/usr/bin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TERM": "dumb",
        "NO_COLOR": "1",
        "LANG": "C.UTF-8",
        "PS1": PROMPT,
        "PS2": "",
        "HISTFILE": "",
    }
    terminal, inside = pty.openpty()
    termios.tcsetwinsize(terminal, (40, WIDTH))
    with subprocess.Popen(
        ["/bin/sh", "-i"],
        cwd=home,
        env=environment,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    ) as process:
        os.close(inside)
        try:
            screen = Shell(terminal)
            screen.until_prompt()
            yield screen
        finally:
            process.kill()
            process.wait()
            os.close(terminal)


def test_a_new_user_types_the_quickstart_in_a_fresh_home(tmp_path: Path, is_blessing: bool) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name, contents in FILE.findall(QUICKSTART):
        (home / name).write_text(contents)
    typed = [block.text for block in blocks(QUICKSTART) if block.language == "sh"]
    (program,) = [block.text for block in blocks(QUICKSTART) if block.language == "python"]
    (home / "people.py").write_text(program)
    masks, record = Masks(home), []
    with shell(home) as screen:
        for text in [*typed, "python people.py", "ls -A"]:
            for command in text.replace("\\\n    ", "").strip().splitlines():
                shown = [line for line in masks(screen.type(command)).splitlines() if line]
                record.append(PROMPT + "\n".join(shown) + "\n")
    recorded = "".join(record)
    if is_blessing:
        RECORD.write_text(recorded)
    assert recorded == RECORD.read_text()
    shutil.rmtree(home)


@pytest.mark.parametrize("name", ["made", "merged hiring into main", "error[T6]", "Ada 37"])
def test_the_record_of_the_walk_reaches_every_part_of_the_page(name: str) -> None:
    assert name in RECORD.read_text() and name in QUICKSTART
