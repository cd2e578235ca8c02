"""The command line, as tests of surfaces have it."""

import pytest

from tests.surfaces.cli import CommandLine


@pytest.fixture
def omnigraph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)
