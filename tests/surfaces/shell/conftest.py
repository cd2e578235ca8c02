from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.cli import CommandLine
from tests.surfaces.client.served import served
from tests.surfaces.server.world import make_graph, serve_here

__all__ = ["graph", "omnigraph", "shared"]


@pytest.fixture
def omnigraph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Ada, who knows Bob, who knows Cleo. Tests may add people of their own."""
    return make_graph(tmp_path_factory.mktemp("shell"))


@pytest.fixture(params=["here", "on a server"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Graph]:
    """The same graph, which no other test uses."""
    local = make_graph(tmp_path)
    if request.param == "here":
        yield local
        return
    with served(serve_here(local).app) as url, Graph.connect(url, graph="people") as remote:
        yield remote
