"""Algorithms that give each node a value, and others from those of its neighbours, until it stays.

A frame of values has `n`, `value` and `before`. Each round is one frame, and one row of facts.
"""

from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as sql

from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.read.analytics.algorithms import Labels, PageRank, PathsFrom
from omnigraph.read.analytics.labels import SAME

__all__ = ["MAX_ROUNDS", "Settled", "cores", "distances", "labels", "ranks"]

MAX_ROUNDS = 10_000
"""Of algorithms that end by themselves: their time is over long before."""


class Settled(NamedTuple):
    values: Any
    """`n` and `value`."""
    iterations: int | None = None
    converged: bool = True


def ranks(network: SparkNetwork, asked: PageRank, *, is_directed: bool) -> Settled:
    links = network.links("out" if is_directed else "both")
    links = links.groupBy("s", "d").agg(sql.sum("weight").alias("weight"))
    out = links.groupBy("s").agg(sql.sum("weight").alias("out")).where("out > 0")
    out = network.settled(out)
    shares = network.joined(links, out, ["s"]).selectExpr("s as n", "d", "weight / out as share")
    shares = network.settled(shares)
    begin = _restarts(network, asked)
    begin = network.joined(begin, out.select(sql.col("s").alias("n"), "out"), ["n"], "left")
    begin = network.settled(begin.selectExpr("n", "begin", "out is null as is_stuck"))
    scores = begin.selectExpr("n", "begin as value", "begin", "is_stuck")
    stuck = _sum(network, scores.where("is_stuck"))
    for done in range(1, asked.max_iterations + 1):
        network.beat(done - 1, asked.max_iterations)
        given = network.joined(shares, scores.select("n", "value"), ["n"])
        given = given.groupBy(sql.col("d").alias("n"))
        given = given.agg(sql.sum(sql.col("value") * sql.col("share")).alias("given"))
        after = network.joined(scores.withColumnRenamed("value", "before"), given, ["n"], "left")
        passed = sql.coalesce("given", sql.lit(0.0)) + sql.lit(stuck) * sql.col("begin")
        mixed = asked.damping * passed + (1.0 - asked.damping) * sql.col("begin")
        scores = network.settled(
            after.select("n", mixed.alias("value"), "before", "begin", "is_stuck")
        )
        facts = network.one(
            scores.agg(
                sql.sum(sql.abs(sql.col("value") - sql.col("before"))).alias("change"),
                sql.sum(sql.when(sql.col("is_stuck"), sql.col("value"))).alias("stuck"),
            )
        )
        stuck = facts["stuck"] or 0.0
        if (facts["change"] or 0.0) <= asked.tolerance:
            return Settled(scores, done)
        scores = scores.drop("before")
    return Settled(scores, asked.max_iterations, converged=False)


def _restarts(network: SparkNetwork, asked: PageRank) -> Any:
    if asked.sources is None:
        even = 1.0 / max(network.node_count, 1)
        return network.nodes.select("n", sql.lit(even).alias("begin"))
    numbers = network.find([key for key, _ in asked.sources], "sources")
    whole = sum(share for _, share in asked.sources)
    begin: dict[int, float] = {}
    for number, (_, share) in zip(numbers, asked.sources, strict=True):
        begin[number] = begin.get(number, 0.0) + share / whole
    numbers, parts = pa.array(begin.keys(), pa.int64()), pa.array(begin.values(), pa.float64())
    known = network.given(pa.table({"n": numbers, "part": parts}))
    found = network.joined(network.nodes.select("n"), known, ["n"], "left")
    return found.selectExpr("n", "coalesce(part, 0.0D) as begin")


def _sum(network: SparkNetwork, frame: Any) -> float:
    found = network.one(frame.agg(sql.sum("value").alias("sum")))["sum"]
    return 0.0 if found is None else float(found)


def labels(network: SparkNetwork, asked: Labels, *, is_directed: bool) -> Settled:
    """As in process: the heaviest label around a node, with a vote for its own."""
    heard = network.links("out" if is_directed else "both")
    heard = network.settled(
        heard.groupBy("s", "d").agg(
            sql.sum("weight").alias("weight"), sql.max("weight").alias("most")
        )
    )
    own = heard.groupBy(sql.col("d").alias("n")).agg(sql.max("most").alias("weight"))
    own = network.joined(network.nodes.select("n"), own, ["n"], "left")
    own = own.selectExpr("n as s", "n as d", "if(weight > 0, weight, 1.0D) as weight")
    votes = network.settled(heard.select("s", "d", "weight").unionByName(own))
    found = network.nodes.selectExpr("n", "n as value")
    for done in range(1, asked.max_iterations + 1):
        network.beat(done - 1, asked.max_iterations)
        named = found.selectExpr("n as s", "value as label")
        weighed = network.joined(votes, named, ["s"]).groupBy("d", "label")
        weighed = weighed.agg(sql.sum("weight").alias("weight"))
        most = sql.max("weight").over(Window.partitionBy("d"))
        heaviest = weighed.withColumn("most", most).where(f"weight >= most * {1 - SAME!r}")
        taken = heaviest.groupBy(sql.col("d").alias("n")).agg(sql.min("label").alias("value"))
        found, changed = _next(network, found, taken)
        if not changed:
            return Settled(found, done)
    return Settled(found, asked.max_iterations, converged=False)


def cores(network: SparkNetwork) -> Settled:
    """The h-index of the values around a node, round by round, from its degree down.

    A node with h neighbours of at least h keeps h: what stays is its core, and no order matters.
    """
    pairs = network.settled(network.simple())
    degrees = pairs.groupBy(sql.col("d").alias("n")).agg(sql.count("*").alias("value"))
    found = network.joined(network.nodes.select("n"), degrees, ["n"], "left").fillna(0, ["value"])
    found = network.settled(found)
    for done in range(1, MAX_ROUNDS):
        network.beat(done - 1, 0)
        named = found.selectExpr("n as s", "value")
        heard = network.joined(pairs, named, ["s"]).groupBy(sql.col("d").alias("n"))
        values = heard.agg(sql.sort_array(sql.collect_list("value"), asc=False).alias("values"))
        ranked = "array_max(transform(values, (value, place) -> least(value, place + 1L)))"
        taken = values.selectExpr("n", f"{ranked} as value")
        found, changed = _next(network, found, taken)
        if not changed:
            return Settled(found)
    return Settled(found, converged=False)


def distances(network: SparkNetwork, asked: PathsFrom, *, is_directed: bool) -> Settled:
    """From the nodes that came nearer in a round, on to their neighbours; null: not reached."""
    (source,) = network.find([asked.source], "source")
    links = network.links("out" if is_directed else "both")
    links = network.settled(links.groupBy("s", "d").agg(sql.min("weight").alias("weight")))
    found = network.nodes.select("n", sql.when(sql.col("n") == source, sql.lit(0.0)).alias("value"))
    moved = found.where("value is not null")
    for done in range(1, MAX_ROUNDS):
        network.beat(done - 1, 0)
        reached = network.joined(links, moved.selectExpr("n as s", "value"), ["s"])
        reached = reached.groupBy(sql.col("d").alias("n")).agg(
            sql.min(sql.col("value") + sql.col("weight")).alias("reached")
        )
        after = network.joined(found.withColumnRenamed("value", "before"), reached, ["n"], "left")
        nearer = "reached is not null and (before is null or reached < before)"
        after = after.selectExpr(
            "n", f"if({nearer}, reached, before) as value", f"{nearer} as moved"
        )
        after = network.settled(after)
        moved, found = after.where("moved"), after.select("n", "value")
        if not network.one(moved.agg(sql.count("*").alias("count")))["count"]:
            return Settled(found)
    return Settled(found, converged=False)


def _next(network: SparkNetwork, found: Any, taken: Any) -> tuple[Any, int]:
    """The values after a round, and how many are others; a node that takes none keeps its own."""
    taken = taken.withColumnRenamed("value", "taken")
    after = network.joined(found.withColumnRenamed("value", "before"), taken, ["n"], "left")
    after = network.settled(after.selectExpr("n", "coalesce(taken, before) as value", "before"))
    changed = network.one(after.agg(sql.count_if(sql.expr("value != before")).alias("changed")))
    return after.select("n", "value"), int(changed["changed"])
