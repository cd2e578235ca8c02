"""The paths of pairs, by the rule of `read.analytics.paths`: to the bit, and node by node.

First distances from all origins, where edges weigh. Then level by level along tight edges: a node
takes the smallest distance, of these the fewest hops, of these the smallest node before it. Then
back from the targets, a node of each path at a time.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.pipeline.analytics.walks import Block, blocks
from omnigraph.read.analytics.links import Numbers
from omnigraph.read.analytics.paths import Path

__all__ = ["paths_of_pairs"]

FAR = (1 << 31) - 1
"""The hops to a node that no level has come to yet."""
NOBODY = -1
"""The node before an origin."""


class _Step(NamedTuple):
    distance: float
    before: int


Place = tuple[int, int]
"""An origin, and a node that a walk from there comes to."""


def paths_of_pairs(
    network: SparkNetwork, sources: Numbers, targets: Numbers, *, is_directed: bool, is_hops: bool
) -> Sequence[Path]:
    links = network.links("out" if is_directed else "both").where("s != d")
    links = network.settled(links.groupBy("s", "d").agg(sql.min("weight").alias("weight")))
    pairs = list(zip(sources.tolist(), targets.tolist(), strict=True))
    found: dict[Place, Path] = {}
    for block in blocks(network, np.unique(sources)):
        origins = set(block.origins.tolist())
        wanted = {(origin, target) for origin, target in pairs if origin in origins}
        known = block.starts().selectExpr("origin", "n", "0.0D as value")
        if not is_hops:
            known = _distances(block, links, known)
        steps = _walked_back(block, _levels(block, links, known), wanted)
        found |= {place: _path(steps, place) for place in wanted}
    return [found[pair] for pair in pairs]


def _distances(block: Block, links: Any, starts: Any) -> Any:
    """`origin`, `n`, `value`: on from the nodes that came nearer in a round to their neighbours."""
    network = block.network
    found = moved = network.settled(starts)
    while True:
        block.beat()
        front = moved.selectExpr("n as s", "origin", "value")
        reached = block.along(links, front, "s")
        reached = reached.selectExpr("origin", "d as n", "value + weight as value")
        known = found.withColumn("before", sql.col("value"))
        both = known.unionByName(reached, allowMissingColumns=True).groupBy("origin", "n")
        after = both.agg(sql.min("value").alias("value"), sql.min("before").alias("before"))
        after = network.settled(after)
        found, moved = after.drop("before"), after.where("before is null or value < before")
        if not network.one(moved.agg(sql.count("*").alias("count")))["count"]:
            return found


def _levels(block: Block, links: Any, known: Any) -> Any:
    """`origin`, `n` and `step` of the nodes reached. `known` has their distances, or the origins.

    A step that is compared by its distance first leaves out all edges that are not tight.
    """
    network, level = block.network, 0
    hops, nobody = f"if(n = origin, 0, {FAR})", f"cast({NOBODY} as bigint)"
    step = f"struct(value, {hops} as hops, {nobody} as before) as step"
    found = network.settled(known.selectExpr("origin", "n", step))
    while True:
        block.beat()
        front = found.where(f"step.hops = {level}")
        front = front.selectExpr("n as s", "origin", "step.value as value")
        level += 1
        step = f"struct(value + weight as value, {level} as hops, s as before) as step"
        reached = block.along(links, front, "s").selectExpr("origin", "d as n", step)
        both = found.unionByName(reached).groupBy("origin", "n")
        found = network.settled(both.agg(sql.min("step").alias("step")))
        came = found.where(f"step.hops = {level}")
        if not network.one(came.agg(sql.count("*").alias("count")))["count"]:
            return found


def _walked_back(block: Block, found: Any, wanted: set[Place]) -> dict[Place, _Step]:
    """The steps of all paths to the places; none to a place that can't be reached."""
    network, steps = block.network, dict[Place, _Step]()
    while wanted:
        block.beat()
        origins, nodes = zip(*sorted(wanted), strict=True)
        asked = network.given(
            pa.table({"origin": pa.array(origins, pa.int64()), "n": pa.array(nodes, pa.int64())})
        )
        here = found.join(sql.broadcast(asked), ["origin", "n"])
        rows = network.rows(here.selectExpr("origin", "n", "step.value", "step.before"))
        came = {(row["origin"], row["n"]): _Step(row["value"], row["before"]) for row in rows}
        steps |= came
        before = {(origin, step.before) for (origin, _), step in came.items()}
        wanted = {place for place in before if place[1] != NOBODY} - steps.keys()
    return steps


def _path(steps: dict[Place, _Step], place: Place) -> Path:
    if place not in steps:
        return Path(np.inf, ())
    origin, nodes = place[0], [place[1]]
    while nodes[-1] != origin:
        nodes.append(steps[origin, nodes[-1]].before)
    return Path(steps[place].distance, tuple(reversed(nodes)))
