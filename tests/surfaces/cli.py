"""Run a command in this process and catch what a person would see."""

import json
import logging
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from omnigraph.surfaces.cli import progress
from omnigraph.surfaces.cli.main import main


@dataclass(frozen=True)
class Answer:
    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document and nothing else."""
        return json.loads(self.out)


class CommandLine:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        self._capsys.readouterr()
        # A slow machine would make commands say that they still work.
        self._monkeypatch.setattr(progress, "PATIENCE_S", 3600.0)
        self._monkeypatch.setattr(sys, "argv", ["omnigraph", *arguments])
        # A server takes the log of its process: here it is that of all tests.
        root, interval = logging.getLogger(), sys.getswitchinterval()
        handlers, level = root.handlers[:], root.level
        try:
            with pytest.raises(SystemExit) as leaving:
                main()
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
            sys.setswitchinterval(interval)
        printed = self._capsys.readouterr()
        return Answer(int(leaving.value.code or 0), printed.out, printed.err)
