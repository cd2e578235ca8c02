"""The page about the client is true: its code is run as it stands, against a real server."""

import contextlib
import io
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.house.reading import FENCE, commands
from tests.surfaces.cli import CommandLine
from tests.surfaces.client.served import served
from tests.surfaces.server.world import make_graph, serve_here

PAGE = (Path(__file__).parents[3] / "docs/user/client.md").read_text()


def test_the_page_about_the_client_is_true(
    omnigraph: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_graph(tmp_path).close()
    steps = [
        c for language, block in FENCE.findall(PAGE) if language == "sh" for c in commands(block)
    ]
    assert len(steps) == PAGE.count("\nomnigraph ")
    with served(serve_here(Graph.open("people.omni")).app) as url:
        known: dict[str, object] = {}
        said = io.StringIO()
        blocks = [block for language, block in FENCE.findall(PAGE) if language == "python"]
        for block in blocks:
            with contextlib.redirect_stdout(said):
                exec(block.replace("http://127.0.0.1:8080", url), known)
        for _, *arguments in steps:
            ran = omnigraph(*(word.replace("http://127.0.0.1:8080", url) for word in arguments))
            assert ran.exit_code == 0, ran.err
    assert "Person  Eve  insert" in said.getvalue() and "fast_forward" in said.getvalue()
