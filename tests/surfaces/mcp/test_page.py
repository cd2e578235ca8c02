"""The page about agents is true: its session is run, and what it shows is compared."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.reading import FENCE, Reader
from tests.surfaces.cli import CommandLine

PAGE = Path(__file__).parents[3] / "docs/user/mcp.md"
SESSION, SHOWN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}"), "20260301-120000-3f2a"
SOURCE = Path(__file__).parents[3] / "src"


def test_the_session_on_the_page_about_agents_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_blessing: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin/omnigraph"
    program.parent.mkdir()
    # The client hands on hardly any of the environment.
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={SOURCE} exec {sys.executable} -m omnigraph "$@" 2>/dev/null\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    reader = Reader(tmp_path, monkeypatch, is_blessing)
    masked = reader.masks
    monkeypatch.setattr(reader, "masks", lambda text: SESSION.sub(SHOWN, masked(text)))
    reader.read(PAGE)


def test_command_lines_that_clients_are_told_are_understood(
    omnigraph: CommandLine, tmp_path: Path
) -> None:
    told = []
    for language, block in FENCE.findall(PAGE.read_text()):
        if language == "json" and "mcpServers" in block:
            told += json.loads(block)["mcpServers"].values()
        elif language == "toml":
            told += tomllib.loads(block)["mcp_servers"].values()
    assert len(told) == 3 and told[2]["url"].endswith("/graphs/people/mcp")
    for server in told[:2]:
        assert server["command"] == "omnigraph"
        ran = omnigraph(*server["args"])
        # All of it is understood, up to the graph, which is not there.
        assert "/data/people.omni" in ran.err and ran.exit_code == 3, ran.err


def test_the_page_names_every_tool_and_option(omnigraph: CommandLine) -> None:
    from omnigraph.surfaces.mcp.tools import TOOLS

    text = PAGE.read_text()
    assert [tool for tool in TOOLS if f"`{tool}`" not in text] == []
    shown = omnigraph("mcp", "--help").out
    offered = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help", "--debug", "--quiet", "--uri"}
    assert [option for option in sorted(offered) if f"`{option}" not in text] == []
