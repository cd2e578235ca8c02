"""One algorithm over a network, in this process: which links it needs, and the table it answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.read.analytics.algorithms import (
    Algorithm,
    Betweenness,
    Components,
    Cores,
    Degrees,
    Labels,
    PageRank,
    PathPairs,
    PathsFrom,
    StrongComponents,
    Triangles,
)
from omnigraph.read.analytics.betweenness import betweenness, sample
from omnigraph.read.analytics.components import components, numbered_by_first
from omnigraph.read.analytics.cores import core_numbers
from omnigraph.read.analytics.labels import label_propagation
from omnigraph.read.analytics.links import Beat, Floats, Found, Links, Numbers
from omnigraph.read.analytics.network import Network, Way
from omnigraph.read.analytics.pagerank import pagerank
from omnigraph.read.analytics.paths import Path, distances_from, paths_of_pairs
from omnigraph.read.analytics.triangles import triangle_count

__all__ = ["Answer", "distance_column", "path_table", "run"]


class Answer(NamedTuple):
    table: pa.Table
    iterations: int | None
    converged: bool


def run(network: Network, algorithm: Algorithm, *, is_directed: bool, beat: Beat) -> Answer:
    """A row for each node, by type and id; for pairs of nodes, a row for each pair."""
    if isinstance(algorithm, PathPairs):
        return _pairs(network, algorithm, "out" if is_directed else "both", beat)
    if isinstance(algorithm, Degrees):
        ways = {"in_degree": network.degrees("in"), "out_degree": network.degrees("out")}
        columns = {"degree": ways["in_degree"] + ways["out_degree"], **ways}
        return Answer(_table(network, columns), None, converged=True)
    found = _found(network, algorithm, is_directed=is_directed, beat=beat)
    return Answer(
        _table(network, {algorithm.column: found.values}), found.iterations, found.converged
    )


def _found(network: Network, algorithm: Algorithm, *, is_directed: bool, beat: Beat) -> Found:
    out: Way = "out" if is_directed else "both"
    match algorithm:
        case PageRank():
            incoming = network.links("in" if is_directed else "both", is_set=False)
            return pagerank(incoming, algorithm, _restarts(network, algorithm), beat)
        case Components() | StrongComponents():
            is_strong = isinstance(algorithm, StrongComponents)
            found = components(network.links("out", is_set=True), is_strong=is_strong)
            return _renumbered(network, found)
        case Labels():
            around = network.links("in" if is_directed else "both", is_set=False)
            return _renumbered(network, label_propagation(around, algorithm, network.ranks, beat))
        case Triangles():
            return triangle_count(network.links("both", is_set=True).without_loops(), beat)
        case Cores():
            return core_numbers(network.links("both", is_set=True).without_loops(), beat)
        case Betweenness():
            links = network.links(out, is_set=True)
            origins = network.order[sample(network.nodes.size, algorithm)]
            return betweenness(links, algorithm, origins, is_directed=is_directed, beat=beat)
        case PathsFrom(source=source):
            (origin,) = network.find([source], "source")
            found = distances_from(_roads(network, out), int(origin))
            return found._replace(values=distance_column(found.values, is_hops=_is_hops(network)))
        case Degrees() | PathPairs():
            raise AssertionError("they have tables of their own")


def _renumbered(network: Network, found: Found) -> Found:
    """Groups as 0, 1, … in the order of their first nodes."""
    numbers = np.empty(network.nodes.size, dtype=np.int64)
    numbers[network.order] = numbered_by_first(found.values[network.order])
    return found._replace(values=numbers)


def _restarts(network: Network, algorithm: PageRank) -> Floats | None:
    if algorithm.sources is None:
        return None
    keys, shares = zip(*algorithm.sources, strict=True)
    restarts = np.zeros(network.nodes.size)
    np.add.at(restarts, network.find(keys, "sources"), np.array(shares, dtype=np.float64))
    return restarts


def _roads(network: Network, way: Way) -> Links:
    if _is_hops(network):
        return network.links(way, is_set=True)
    return network.links(way, is_set=False).lightest()


def _is_hops(network: Network) -> bool:
    return network.weight is None


def distance_column(distances: Floats, *, is_hops: bool) -> pa.Array:
    """Distances as they are answered: null where there is no path."""
    found = pa.array(distances, pa.float64(), mask=~np.isfinite(distances))
    return found.cast(pa.int64()) if is_hops else found


def _table(network: Network, columns: Mapping[str, Any]) -> pa.Table:
    types, ids = network.names(network.order)
    order = pa.array(network.order, pa.int64())
    values = {
        name: (column if isinstance(column, pa.Array) else pa.array(column)).take(order)
        for name, column in columns.items()
    }
    return pa.table({"type": types, "id": ids, **values})


# Pairs --------------------------------------------------------------------------------------------


def _pairs(network: Network, algorithm: PathPairs, way: Way, beat: Beat) -> Answer:
    firsts, lasts = zip(*algorithm.pairs, strict=True)
    ranks = network.ranks
    sources, targets = (ranks[network.find(keys, "pairs")] for keys in (firsts, lasts))
    # By the places in the order of ids: which of several shortest paths is told depends on it.
    roads = _roads(network, way).renumbered(ranks)
    paths = paths_of_pairs(roads, sources, targets, beat)

    def names(places: Numbers) -> tuple[pa.Array, pa.Array]:
        return network.names(network.order[places])

    table = path_table(sources, targets, paths, names, is_hops=_is_hops(network))
    return Answer(table, None, converged=True)


def path_table(
    sources: Numbers,
    targets: Numbers,
    paths: Sequence[Path],
    names: Callable[[Numbers], tuple[pa.Array, pa.Array]],
    *,
    is_hops: bool,
) -> pa.Table:
    """Paths as they are answered. `names` gives the types and the ids of nodes."""
    lengths = np.array([len(path.nodes) for path in paths], dtype=np.int64)
    walked = np.array([node for path in paths for node in path.nodes], dtype=np.int64)
    distances = np.array([path.distance for path in paths])
    is_known = lengths > 0
    count = len(paths)
    types, ids = names(np.concatenate((sources, targets, walked)))
    return pa.table(
        {
            "source_type": types[:count],
            "source": ids[:count],
            "target_type": types[count : 2 * count],
            "target": ids[count : 2 * count],
            "distance": distance_column(distances, is_hops=is_hops),
            "path": _lists(ids[2 * count :], lengths, is_known),
            "path_types": _lists(types[2 * count :], lengths, is_known),
        }
    )


def _lists(values: pa.Array, lengths: Numbers, is_known: np.ndarray) -> pa.Array:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~is_known))
