from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.server.world import World, make_graph, serve_here, stored


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A server whose graph a module only reads, or writes to branches and names of its own."""
    place = tmp_path_factory.mktemp("served")
    return serve_here(make_graph(place), queries=stored(place))


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make_graph(tmp_path)


@pytest.fixture
def world(graph: Graph, tmp_path: Path) -> World:
    return serve_here(graph, queries=stored(tmp_path))
