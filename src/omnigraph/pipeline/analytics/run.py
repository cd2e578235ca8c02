"""One algorithm over a view, on Spark: the same answer as in process, from frames."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from omnigraph.lang.schema.catalog import EdgeType
from omnigraph.pipeline.analytics.betweenness import dependencies
from omnigraph.pipeline.analytics.components import strong, weak
from omnigraph.pipeline.analytics.counts import degrees, triangles
from omnigraph.pipeline.analytics.network import SparkNetwork, Values
from omnigraph.pipeline.analytics.paths import paths_of_pairs
from omnigraph.pipeline.analytics.rounds import cores, distances, labels, ranks
from omnigraph.pipeline.spark.session import Spark
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
from omnigraph.read.analytics.betweenness import sample, scaled
from omnigraph.read.analytics.components import numbered_by_first
from omnigraph.read.analytics.links import Beat, Found
from omnigraph.read.analytics.named_types import node_types_of
from omnigraph.read.analytics.run import Answer, distance_column, path_table
from omnigraph.read.view import View

__all__ = ["SparkAnswer", "run"]


class SparkAnswer(NamedTuple):
    answer: Answer
    node_count: int
    edge_count: int


def run(
    spark: Spark,
    view: View,
    edges: Sequence[EdgeType],
    algorithm: Algorithm,
    *,
    is_directed: bool,
    weight: str | None,
    beat: Beat,
) -> SparkAnswer:
    nodes = [view.catalog.node_by_name[name] for name in node_types_of(edges)]
    doing = f"running {algorithm.name}"
    with ExitStack() as until, spark.failures(doing):
        network = SparkNetwork.of(
            spark,
            view,
            edges,
            nodes,
            weight,
            beat=beat,
            doing=doing,
            until=until,
        )
        beat(0, 0)
        answer = _answer(network, algorithm, is_directed=is_directed, is_hops=weight is None)
        return SparkAnswer(answer, network.node_count, network.edge_count)


def _answer(
    network: SparkNetwork, algorithm: Algorithm, *, is_directed: bool, is_hops: bool
) -> Answer:
    if isinstance(algorithm, PathPairs):
        return _pairs(network, algorithm, is_directed=is_directed, is_hops=is_hops)
    if isinstance(algorithm, Degrees):
        return Answer(network.answer(degrees(network)), None, converged=True)
    found = _found(network, algorithm, is_directed=is_directed)
    match algorithm:
        case Components() | StrongComponents() | Labels():
            # As 0, 1, … in the order of their first nodes, as in process.
            values: Values = numbered_by_first(found.values)
        case PathsFrom():
            values = distance_column(found.values, is_hops=is_hops)
        case _:
            values = found.values
    return Answer(network.answer({algorithm.column: values}), found.iterations, found.converged)


def _found(network: SparkNetwork, algorithm: Algorithm, *, is_directed: bool) -> Found:
    match algorithm:
        case PageRank():
            return ranks(network, algorithm, is_directed=is_directed)
        case Components():
            return weak(network)
        case StrongComponents():
            return strong(network)
        case Labels():
            return labels(network, algorithm, is_directed=is_directed)
        case Triangles():
            return Found(triangles(network))
        case Cores():
            return cores(network)
        case PathsFrom():
            return distances(network, algorithm, is_directed=is_directed)
        case Betweenness():
            origins = sample(network.node_count, algorithm)
            total = dependencies(network, origins, is_directed=is_directed)
            return Found(scaled(total, algorithm, len(origins), is_directed=is_directed))
        case Degrees() | PathPairs():
            raise AssertionError("they have tables of their own")


def _pairs(network: SparkNetwork, asked: PathPairs, *, is_directed: bool, is_hops: bool) -> Answer:
    firsts, lasts = zip(*asked.pairs, strict=True)
    numbers = np.array(network.find([*firsts, *lasts], "pairs"), dtype=np.int64)
    sources, targets = np.split(numbers, 2)
    paths = paths_of_pairs(network, sources, targets, is_directed=is_directed, is_hops=is_hops)
    table = path_table(sources, targets, paths, network.names, is_hops=is_hops)
    return Answer(table, None, converged=True)
