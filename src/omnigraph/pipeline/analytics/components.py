"""Components: weak ones by stars, strong ones by colours."""

from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as sql

from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.pipeline.analytics.rounds import MAX_ROUNDS, Settled

__all__ = ["strong", "weak"]


def weak(network: SparkNetwork) -> Settled:
    """`value` is the smallest node of a component.

    Edges are turned into stars around smaller nodes, by turns from the nodes with larger and with
    smaller neighbours. A path of any length takes about as many rounds as its length has digits in
    base two, where passing on the smallest node would take one for each step.
    """
    stars = network.links("out").where("s != d")
    stars = stars.select(sql.greatest("s", "d").alias("u"), sql.least("s", "d").alias("v"))
    stars = network.settled(stars.distinct())
    seen = None
    for done in range(MAX_ROUNDS):
        network.beat(done, 0)
        stars = network.settled(_small(_large(stars)))
        facts = network.one(
            stars.agg(
                sql.count("*").alias("count"),
                sql.sum(sql.col("u").cast("decimal(38,0)")).alias("u"),
                sql.sum(sql.col("v").cast("decimal(38,0)")).alias("v"),
            )
        )
        if facts == seen:
            break
        seen = facts
    least = stars.groupBy(sql.col("u").alias("n")).agg(sql.min("v").alias("star"))
    found = network.joined(network.nodes.select("n"), least, ["n"], "left")
    return Settled(network.settled(found.selectExpr("n", "coalesce(star, n) as value")))


def _large(stars: Any) -> Any:
    """The larger neighbours of each node, joined to its smallest one."""
    turned = stars.select(sql.col("v").alias("u"), sql.col("u").alias("v"))
    least = sql.least(sql.min("v").over(Window.partitionBy("u")), sql.col("u"))
    both = stars.unionByName(turned).withColumn("least", least).where("v > u")
    return both.selectExpr("v as u", "least as v").distinct()


def _small(stars: Any) -> Any:
    """A node and its smaller neighbours, joined to the smallest of them."""
    least = sql.min("v").over(Window.partitionBy("u"))
    joined = stars.withColumn("least", least)
    others = joined.where("v != least").selectExpr("v as u", "least as v")
    return others.unionByName(joined.selectExpr("u", "least as v")).distinct()


def strong(network: SparkNetwork) -> Settled:
    """`value` is the smallest node that reaches the others of a component, and is reached by them.

    Each node takes the smallest node that reaches it for a colour. Within a colour, those that
    reach that node back are a component. They go, and the others begin again.
    """
    left = network.nodes.select("n")
    edges = network.settled(network.links("out").where("s != d").select("s", "d").distinct())
    done = network.nodes.selectExpr("n", "n as value").where("false")
    for turn in range(MAX_ROUNDS):
        network.beat(turn, 0)
        colours = _spread(network, left.selectExpr("n", "n as value"), edges)
        inside = _inside(network, edges, colours)
        roots = colours.selectExpr("n", "value", "n = value as is_in")
        marked = _marked_back(network, roots, inside)
        done = network.settled(done.unionByName(marked.where("is_in").select("n", "value")))
        left = network.settled(marked.where("not is_in").select("n"))
        if not network.one(left.agg(sql.count("*").alias("count")))["count"]:
            return Settled(done)
        edges = _inside(network, inside, left.selectExpr("n", "1 as value"))
    return Settled(done, converged=False)


def _inside(network: SparkNetwork, edges: Any, values: Any) -> Any:
    """The edges between nodes of the same value."""
    for end in ("s", "d"):
        named = values.selectExpr(f"n as {end}", f"value as {end}_value")
        edges = network.joined(edges, named, [end])
    return network.settled(edges.where("s_value = d_value").select("s", "d"))


def _spread(network: SparkNetwork, colours: Any, edges: Any) -> Any:
    """The smallest value that reaches each node along the edges."""
    while True:
        network.beat(-1, 0)
        heard = network.joined(edges, colours.selectExpr("n as s", "value"), ["s"])
        heard = heard.groupBy(sql.col("d").alias("n")).agg(sql.min("value").alias("heard"))
        after = network.joined(colours.withColumnRenamed("value", "before"), heard, ["n"], "left")
        least = "least(before, coalesce(heard, before))"
        after = network.settled(after.selectExpr("n", f"{least} as value", "before"))
        changed = after.where("value != before").agg(sql.count("*").alias("count"))
        colours = after.select("n", "value")
        if not network.one(changed)["count"]:
            return colours


def _marked_back(network: SparkNetwork, marked: Any, edges: Any) -> Any:
    """Marks, and those of all nodes that lead to a marked one."""
    while True:
        network.beat(-1, 0)
        ends = marked.where("is_in").selectExpr("n as d")
        heard = network.joined(edges, ends, ["d"], "left_semi").select("s").distinct()
        heard = heard.selectExpr("s as n", "true as heard")
        after = network.joined(marked.withColumnRenamed("is_in", "before"), heard, ["n"], "left")
        after = after.selectExpr(
            "n", "value", "before or coalesce(heard, false) as is_in", "before"
        )
        after = network.settled(after)
        changed = after.where("is_in and not before").agg(sql.count("*").alias("count"))
        marked = after.drop("before")
        if not network.one(changed)["count"]:
            return marked
