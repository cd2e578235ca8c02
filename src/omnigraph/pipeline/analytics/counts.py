"""Degrees and triangles: joins, and no rounds."""

from typing import Any

import numpy as np
from pyspark.sql import functions as sql

from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.read.analytics.links import Numbers

__all__ = ["degrees", "triangles"]


def degrees(network: SparkNetwork) -> dict[str, Any]:
    """`degree`, `in_degree`, `out_degree`: weights, added up."""
    kind, found = np.float64 if network.is_weighed else np.int64, {}
    for name, end in (("in_degree", "d"), ("out_degree", "s")):
        ends = network.edges.groupBy(sql.col(end).alias("n"))
        found[name] = network.column(ends.agg(sql.sum("weight").alias(name)), name, kind)
    return {"degree": found["in_degree"] + found["out_degree"], **found}


def triangles(network: SparkNetwork) -> Numbers:
    """Every edge is pointed to the node with more neighbours."""
    pairs = network.settled(network.simple())
    counts = pairs.groupBy("s").agg(sql.count("*").alias("count"))
    ranks = network.settled(counts.select(sql.col("s").alias("n"), "count"))
    for end in ("s", "d"):
        named = ranks.select(sql.col("n").alias(end), sql.col("count").alias(f"{end}_count"))
        pairs = network.joined(pairs, named, [end])
    is_out = "s_count < d_count or (s_count = d_count and s < d)"
    pointed = network.settled(pairs.where(is_out).select("s", "d"))
    first = pointed.select(sql.col("s").alias("a"), sql.col("d").alias("b"))
    then = pointed.select(sql.col("s").alias("b"), sql.col("d").alias("c"))
    closing = pointed.select(sql.col("s").alias("a"), sql.col("d").alias("c"))
    # Pairs of edges may be many more than edges: none of the sides is sent around whole.
    found = first.hint("merge").join(then, ["b"]).hint("merge").join(closing, ["a", "c"])
    each = found.select(sql.explode(sql.array("a", "b", "c")).alias("n"))
    counted = each.groupBy("n").agg(sql.count("*").alias("triangles"))
    return network.column(counted, "triangles", np.int64)
