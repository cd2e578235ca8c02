"""Betweenness by Brandes, as in process: forward level by level, counting paths, and back."""

from typing import Any

import numpy as np
from pyspark.sql import functions as sql

from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.pipeline.analytics.walks import Block, blocks
from omnigraph.read.analytics.betweenness import check_counted
from omnigraph.read.analytics.links import Floats, Numbers

__all__ = ["dependencies"]


def dependencies(network: SparkNetwork, origins: Numbers, *, is_directed: bool) -> Floats:
    """What each node is part of, of the shortest paths from the origins."""
    links = network.links("out" if is_directed else "both").where("s != d")
    links = network.settled(links.select("s", "d").distinct())
    total = network.nodes.selectExpr("n", "0.0D as value")
    for block in blocks(network, origins):
        through = _back(block, links, *_forward(block, links))
        # An origin is an end of all its paths.
        through = through.where("depth > 0").selectExpr("n", "through as value")
        added = total.unionByName(through).groupBy("n").agg(sql.sum("value").alias("value"))
        total = network.settled(added)
    return network.column(total, "value", np.float64)


def _forward(block: Block, links: Any) -> tuple[Any, int]:
    """`origin`, `n`, `depth`, `paths`: how many shortest paths there are; and the last depth."""
    network, depth = block.network, 0
    starts = block.starts().selectExpr("origin", "n", "0 as depth", "1.0D as paths")
    found = network.settled(starts)
    while True:
        block.beat()
        front = found.where(f"depth = {depth}").selectExpr("n as s", "origin", "paths as more")
        reached = block.along(links, front, "s")
        reached = reached.selectExpr("origin", "d as n", f"{depth + 1} as depth", "more")
        both = found.unionByName(reached, allowMissingColumns=True).groupBy("origin", "n")
        after = both.agg(
            sql.min("depth").alias("depth"),
            sql.max("paths").alias("paths"),
            sql.sum("more").alias("more"),
        )
        # A node that was known has all its paths.
        after = after.selectExpr("origin", "n", "depth", "coalesce(paths, more) as paths")
        found = network.settled(after)
        here = found.where(f"depth = {depth + 1}")
        facts = network.one(here.agg(sql.count("*").alias("count"), sql.max("paths").alias("most")))
        if not facts["count"]:
            return found, depth
        check_counted(facts["most"])
        depth += 1


def _back(block: Block, links: Any, found: Any, deepest: int) -> Any:
    """The same with `through`: what a node is part of, of the paths from an origin."""
    found = found.selectExpr("*", "0.0D as through")
    for depth in range(deepest, 1, -1):
        block.beat()
        front = found.where(f"depth = {depth}")
        front = front.selectExpr("n as d", "origin", "(1.0D + through) / paths as heard")
        heard = block.along(links, front, "d").selectExpr("origin", "s as n", "heard")
        both = found.unionByName(heard, allowMissingColumns=True).groupBy("origin", "n")
        after = both.agg(
            *(sql.max(name).alias(name) for name in ("depth", "paths", "through")),
            sql.sum("heard").alias("heard"),
        )
        # Of all that lead to a level, those one step nearer are on shortest paths.
        is_before = f"depth = {depth - 1} and heard is not null"
        through = f"if({is_before}, paths * heard, through) as through"
        after = after.where("depth is not null").selectExpr(
            "origin", "n", "depth", "paths", through
        )
        found = block.network.settled(after)
    return found
