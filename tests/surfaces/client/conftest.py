from collections.abc import Iterator

import pytest

from omnigraph import Graph
from tests.surfaces.client.pairs import Pair, make
from tests.surfaces.client.served import served
from tests.surfaces.server.conftest import shared
from tests.surfaces.server.world import serve_here

__all__ = ["pair", "shared", "twins"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """One graph by both handles."""
    graph = make(tmp_path_factory.mktemp("pair"))
    with served(serve_here(graph).app) as url, Graph.connect(url, graph="people") as remote:
        yield Pair(graph, remote)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two equal graphs, one by each handle."""
    one, other = make(tmp_path_factory.mktemp("one")), make(tmp_path_factory.mktemp("other"))
    with served(serve_here(other).app) as url, Graph.connect(f"{url}/graphs/people") as remote:
        yield Pair(one, remote)
