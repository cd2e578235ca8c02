"""A command as a person sees it: both streams in the order in which they were written.

What differs from run to run (ids, times, folders) becomes what a page shows of it, so that pages
and pictures can be compared with a run of today.
"""

import io
import random
import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest

from omnigraph.surfaces.cli.main import main

__all__ = ["Masks", "Seen", "Terminal"]

WHEN = "2026-03-02T09:15:00Z"
FOLDER = "/data"

# Crockford's letters, as in an id of ours.
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# A colour may stand right before any of these, and ends in a letter.
ULID = re.compile(rf"(?<![A-Z\d])01[{LETTERS}]{{24}}(?![A-Z\d])")
MOMENT = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)")
TOOK_MS = re.compile(r" *(?<!\d)[\d,]+\.\d{3} ms")
# A log has a line as each phase begins, which a terminal shows as a bar and removes. Both have a
# line with the seconds so far if a command takes long, as it may on a busy machine.
PHASE = re.compile(r"^  [a-z ]+ …(?: \d+ s)?\n|\r  [a-z ]+ … \d+ s\x1b\[K|\r\x1b\[K", re.MULTILINE)


@dataclass
class Masks:
    """What stands on a page for ids, times and folders; an id is the same wherever it comes."""

    folder: Path
    _ids: dict[str, str] = field(default_factory=dict)
    _letters: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, text: str) -> str:
        text = PHASE.sub("", text)
        text = text.replace(str(self.folder.resolve()), FOLDER).replace(str(self.folder), FOLDER)
        text = ULID.sub(lambda found: self._id(found[0]), text)
        text = MOMENT.sub(_moment, text)
        text = re.sub(r"ogc1_[\w-]+", "ogc1_GvCU8nUotylbIjAx…", text)
        text = re.sub(r"(?<!\d)\d+ (?:s|min) ago", "1 min ago", text)
        text = re.sub(r"(?<!\d)\d+\.\d+ s\b", "0.1 s", text)
        text = re.sub(r"(?<!\d)[\d,]+ rows a second", "50 rows a second", text)
        some_ms = cycle(("0.021", "0.164", "0.352", "0.087", "0.240"))
        text = TOOK_MS.sub(lambda found: f"{next(some_ms)} ms".rjust(len(found[0])), text)
        return "\n".join(line.rstrip() for line in text.splitlines())

    def _id(self, real: str) -> str:
        if real not in self._ids:
            tail = "".join(self._letters.choices(LETTERS, k=20))
            self._ids[real] = f"01KJP{len(self._ids) % 10}{tail}"
        return self._ids[real]


def _moment(found: re.Match[str]) -> str:
    # A time of long ago is data. Midnight may lie between a run and this line.
    age = datetime.now(UTC).date() - datetime.fromisoformat(found[1]).date()
    return WHEN if abs(age) <= timedelta(days=1) else found[0]


@dataclass(frozen=True)
class Seen:
    exit_code: int
    text: str


class _Screen(io.TextIOWrapper):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def shown(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@dataclass(frozen=True)
class Terminal:
    """Runs commands in this process."""

    monkeypatch: pytest.MonkeyPatch
    is_terminal: bool = False

    def __call__(self, *arguments: str) -> Seen:
        screen = _Screen(is_terminal=self.is_terminal)
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["omnigraph", *arguments])
            patch.setattr(sys, "stdout", screen)
            patch.setattr(sys, "stderr", screen)
            with pytest.raises(SystemExit) as leaving:
                main()
        return Seen(int(leaving.value.code or 0), screen.shown())
