from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.mcp.agents import Agent, agent_of
from tests.surfaces.server.world import make_graph, stored


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """An agent that only reads, of a graph that nobody writes."""
    place = tmp_path_factory.mktemp("read")
    return agent_of(make_graph(place), queries=stored(place))


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make_graph(tmp_path)


@pytest.fixture
def writer(graph: Graph, tmp_path: Path) -> Agent:
    return agent_of(graph, queries=stored(tmp_path), writes=True)
