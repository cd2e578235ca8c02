"""One algorithm over a view, on Spark: the same answer as in process, from frames."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.lang.schema.catalog import EdgeType
from omnigraph.pipeline.analytics.betweenness import dependencies
from omnigraph.pipeline.analytics.components import strong, weak
from omnigraph.pipeline.analytics.counts import degrees, triangles
from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.pipeline.analytics.paths import paths_of_pairs
from omnigraph.pipeline.analytics.rounds import Settled, cores, distances, labels, ranks
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
from omnigraph.read.analytics.links import Beat
from omnigraph.read.analytics.named_types import node_types_of
from omnigraph.read.analytics.run import Answer, path_table
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
    network = SparkNetwork.of(
        spark, view, edges, nodes, weight, beat=beat, doing=f"analytics {algorithm.name}"
    )
    answer = _answer(network, algorithm, is_directed=is_directed, weight=weight)
    return SparkAnswer(answer, network.node_count, network.edge_count)


def _answer(
    network: SparkNetwork, algorithm: Algorithm, *, is_directed: bool, weight: str | None
) -> Answer:
    number = pa.int64() if weight is None else pa.float64()
    match algorithm:
        case PageRank():
            return _of(network, ranks(network, algorithm, is_directed=is_directed), "score")
        case Components():
            return _grouped(network, weak(network), "component")
        case StrongComponents():
            return _grouped(network, strong(network), "component")
        case Labels():
            return _grouped(network, labels(network, algorithm, is_directed=is_directed), "label")
        case Triangles():
            table = network.answer(triangles(network), ["triangles"], [pa.int64()])
            filled = table["triangles"].fill_null(0)
            return Answer(table.set_column(2, "triangles", filled), None, converged=True)
        case Degrees():
            columns = ["degree", "in_degree", "out_degree"]
            table = network.answer(degrees(network), columns, [number] * 3)
            return Answer(table, None, converged=True)
        case Cores():
            return _of(network, cores(network), "core", pa.int64())
        case PathsFrom():
            found = distances(network, algorithm, is_directed=is_directed)
            return _of(network, found, "distance", number)
        case Betweenness():
            return _scores(network, algorithm, is_directed=is_directed)
        case PathPairs():
            return _pairs(network, algorithm, is_directed=is_directed, is_hops=weight is None)


def _of(
    network: SparkNetwork, found: Settled, column: str, kind: pa.DataType | None = None
) -> Answer:
    values = found.values.select("n", "value").withColumnRenamed("value", column)
    table = network.answer(values, [column], [kind or pa.float64()])
    return Answer(table, found.iterations, found.converged)


def _grouped(network: SparkNetwork, found: Settled, column: str) -> Answer:
    """Groups as 0, 1, … in the order of their first nodes, as in process."""
    answer = _of(network, found, column, pa.int64())
    labels_found = np.asarray(answer.table[column].combine_chunks().to_numpy(), dtype=np.int64)
    numbers = pa.array(numbered_by_first(labels_found), pa.int64())
    return answer._replace(table=answer.table.set_column(2, column, numbers))


def _scores(network: SparkNetwork, asked: Betweenness, *, is_directed: bool) -> Answer:
    origins = sample(network.node_count, asked)
    found = Settled(dependencies(network, origins, is_directed=is_directed))
    answer = _of(network, found, asked.column)
    total = np.asarray(answer.table[asked.column].combine_chunks().to_numpy(), dtype=np.float64)
    scores = pa.array(scaled(total, asked, len(origins), is_directed=is_directed))
    return answer._replace(table=answer.table.set_column(2, asked.column, scores))


def _pairs(network: SparkNetwork, asked: PathPairs, *, is_directed: bool, is_hops: bool) -> Answer:
    firsts, lasts = zip(*asked.pairs, strict=True)
    numbers = np.array(network.find([*firsts, *lasts], "pairs"), dtype=np.int64)
    sources, targets = np.split(numbers, 2)
    paths = paths_of_pairs(network, sources, targets, is_directed=is_directed, is_hops=is_hops)
    table = path_table(sources, targets, paths, network.names, is_hops=is_hops)
    return Answer(table, None, converged=True)
