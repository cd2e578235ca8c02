"""Every algorithm gives what networkx gives, on random graphs of several types."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analytics.worlds import ENDS, QUESTIONS, World, values, worlds

TYPES = [["Knows"], ["Knows", "Likes"], list(ENDS)]


@given(world=worlds(), types=st.sampled_from(TYPES))
def test_an_algorithm_finds_what_networkx_finds(world: World, types: list[str]) -> None:
    source = ("Person", min(world.people))
    with TemporaryDirectory() as folder:
        analytics = world.made(Path(folder) / "g.omni").analytics
        for name, question in QUESTIONS.items():
            network = world.network(types, is_directed=question.is_directed)
            result = question.asks(analytics, types, source)
            expected = dict(question.expects(network, source))
            assert values(result) == pytest.approx(expected, abs=1e-9), name
            assert result.converged or name.startswith("labels"), name
            assert result.node_count == len(network)
            assert result.edge_count == network.number_of_edges()


@given(world=worlds())
@settings(max_examples=max(4, settings().max_examples // 4))
def test_a_path_of_a_pair_is_as_long_as_it_says_and_leads_along_edges(world: World) -> None:
    with TemporaryDirectory() as folder:
        analytics = world.made(Path(folder) / "g.omni").analytics
        nodes = [("Person", name) for name in world.people]
        pairs = [(one, other) for one in nodes for other in nodes]
        for weight in (None, "weight"):
            network = world.network(list(ENDS), is_directed=True)
            result = analytics.shortest_paths(pairs=pairs, weight=weight)
            for (one, other), row in zip(pairs, result, strict=True):
                if not nx.has_path(network, one, other):
                    assert row["distance"] is None and row["path"] is None
                    continue
                path = list(zip(row["path_types"], row["path"], strict=True))
                assert (path[0], path[-1]) == (one, other)
                length = sum(
                    min(d["weight"] for d in network[a][b].values()) if weight else 1
                    for a, b in pairwise(path)
                )
                shortest = nx.dijkstra_path_length(
                    network, one, other, weight=weight or (lambda *_: 1)
                )
                assert row["distance"] == pytest.approx(length) == pytest.approx(shortest)
