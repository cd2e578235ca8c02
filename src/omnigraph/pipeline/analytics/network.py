"""Nodes and edges of a run as frames: nodes numbered by type and id, edges between the numbers.

Numbers go by the order of the answer, so labels and ties come out as they do in process. Nodes and
edges are *held*: the workers keep them until the run is over, and make again what is lost. What
rounds of joins make is *settled*: kept without what it was made of, which would become longer and
longer. This process holds an array with a number for each node, as it holds the answer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sql

from omnigraph.base.errors import SparkFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.lang.schema.catalog import EdgeType, NodeType
from omnigraph.pipeline.analytics.reading import (
    EDGES,
    NODES,
    edge_tasks,
    node_tasks,
    read_edges,
    read_given,
    read_nodes,
)
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.analytics.algorithms import NodeKey
from omnigraph.read.analytics.links import Beat, Numbers
from omnigraph.read.analytics.named_nodes import ids_named, number_of
from omnigraph.read.analytics.named_types import check_total, check_weights
from omnigraph.read.view import View

__all__ = ["SparkNetwork", "Values", "Way"]

MAX_SENT_NODES = 2_000_000
"""Ids and numbers of so many nodes are sent to every worker, some two hundred megabytes: edges are
several times as many, and sorting them costs more."""

Way = Literal["out", "in", "both"]

Values: TypeAlias = NDArray[Any] | pa.Array

ROW_BITS = 33
"""Spark numbers the rows of a partition in so many bits, below the number of the partition."""


@frozen(slots=False)
class SparkNetwork:
    spark: Spark
    types: tuple[TypeName, ...]
    nodes: Any
    """`n` from 0 on, `type`, `id`."""
    edges: Any
    """`s`, `d` and `weight`: an edge leads from number to number. Parallel ones stand apart."""
    node_count: int
    edge_count: int
    is_weighed: bool
    """False: every edge weighs 1."""
    beat: Beat
    doing: str
    until: ExitStack
    """What is undone when the run is over."""
    hold: Callable[[Any], Any]
    """Of a frame the same rows, which the workers keep that long."""

    @classmethod
    def of(
        cls,
        spark: Spark,
        view: View,
        edges: Sequence[EdgeType],
        nodes: Sequence[NodeType],
        weight: str | None,
        *,
        beat: Beat,
        doing: str,
        until: ExitStack,
    ) -> "SparkNetwork":
        raw = spark.frame(node_tasks(view, nodes), read_nodes, NODES)
        is_weighed, names = weight is not None, tuple(n.name for n in nodes)
        hold = until.enter_context(spark.held())
        self = cls(spark, names, None, None, 0, 0, is_weighed, beat, doing, until, hold)
        numbered, node_count = self._numbered(raw)
        # A round sends a number for each node: to hear that it can't is soon enough now.
        spark.require_sendable(node_count * np.dtype(np.int64).itemsize)
        found = spark.frame(edge_tasks(view, edges, nodes, weight), read_edges, EDGES)
        is_small = node_count <= MAX_SENT_NODES
        for end, number in (("source", "s"), ("target", "d")):
            named = numbered.select(
                sql.col("n").alias(number),
                sql.col("type").alias(f"{end}_type"),
                sql.col("id").alias(end),
            )
            found = _joined(found, named, [f"{end}_type", end], "inner", is_small=is_small)
        joined = hold(found.select("edge", "s", "d", "weight"))
        edge_count = self._checked(joined, [e.name for e in edges], weight)
        return replace(
            self,
            nodes=numbered,
            edges=joined.drop("edge"),
            node_count=node_count,
            edge_count=edge_count,
        )

    def _numbered(self, raw: Any) -> tuple[Any, int]:
        parts = max(1, self.spark.parallelism)
        ordered = raw.repartitionByRange(parts, "type", "id").sortWithinPartitions("type", "id")
        ordered = self.hold(ordered.withColumn("row", sql.monotonically_increasing_id()))
        # The order of a partition is in the upper bits: a number is what is before it, and the row.
        part = sql.shiftright("row", ROW_BITS)
        counted = self.rows(ordered.groupBy(part.alias("part")).count())
        sizes = sorted((row["part"], row["count"]) for row in counted)
        before = [0, *accumulate(size for _, size in sizes)]
        if not sizes:
            return ordered.withColumn("n", sql.col("row")).drop("row"), 0
        firsts = [
            sql.lit(v) for (p, _), start in zip(sizes, before, strict=False) for v in (p, start)
        ]
        first = sql.element_at(sql.create_map(*firsts), part)
        row = sql.col("row") - sql.shiftleft(part, ROW_BITS)
        numbered = ordered.select((first + row).cast("bigint").alias("n"), "type", "id")
        return numbered, before[-1]

    def _checked(self, edges: Any, names: Sequence[str], weight: str | None) -> int:
        lowest = sql.min("weight").alias("lowest")
        nulls = sql.count_if(sql.col("weight").isNull()).alias("nulls")
        total = sql.sum("weight").alias("total")
        count = sql.count("*").alias("count")
        found = self.rows(edges.groupBy("edge").agg(count, nulls, lowest, total))
        if weight is not None:
            for row in sorted(found, key=lambda row: int(row["edge"])):
                lowest_found = 0.0 if row["lowest"] is None else row["lowest"]
                name = names[row["edge"]]
                check_weights(name, weight, nulls=row["nulls"], lowest=lowest_found)
            check_total(weight, sum(row["total"] or 0.0 for row in found))
        return sum(row["count"] for row in found)

    # Frames ---------------------------------------------------------------------------------------

    def settled(self, frame: Any) -> Any:
        return self.spark.settled(frame, doing=self.doing, on_progress=self._looked)

    def table(self, frame: Any) -> pa.Table:
        return self.spark.table_of(frame, doing=self.doing, on_progress=self._looked)

    def rows(self, frame: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table(frame).to_pylist()
        return found

    def one(self, frame: Any) -> dict[str, Any]:
        (row,) = self.rows(frame)
        return row

    def given(self, table: pa.Table) -> Any:
        """Rows that this process has, as a frame."""
        return self.spark.frame([table], read_given, table.schema)

    def _looked(self, _: int) -> None:
        """While tasks run: raises when the time is over."""
        self.beat(-1, 0)

    def joined(
        self, left: Any, right: Any, on: list[str], how: str = "inner", *, times: int = 1
    ) -> Any:
        """`right` has at most so many rows for each node."""
        is_small = self.node_count * times <= MAX_SENT_NODES
        return _joined(left, right, on, how, is_small=is_small)

    def links(self, way: Way) -> Any:
        """`s`, `d`, `weight` along the edges, against them, or both ways; a loop stands once."""
        out = self.edges
        turned = out.select(sql.col("d").alias("s"), sql.col("s").alias("d"), "weight")
        if way == "both":
            return out.unionByName(turned.where("s != d"))
        return out if way == "out" else turned

    def simple(self) -> Any:
        """`s`, `d` of each pair of neighbours, both ways and once, without loops."""
        return self.links("both").where("s != d").select("s", "d").distinct()

    # Nodes ----------------------------------------------------------------------------------------

    def find(self, keys: Sequence[NodeKey], argument: str) -> list[int]:
        """The number of each node that a caller names."""
        ids = ids_named(keys)
        wanted = self.given(pa.table({"id": pa.array(ids, pa.string())}))
        rows = self.rows(self.nodes.join(sql.broadcast(wanted), ["id"], "left_semi"))
        known = {(self.types[row["type"]], row["id"]): int(row["n"]) for row in rows}

        def number(type_: TypeName, id_: str) -> int | None:
            return known.get((type_, id_))

        return [number_of(key, argument, self.types, number) for key in keys]

    def names(self, numbers: Numbers) -> tuple[pa.Array, pa.Array]:
        """The types and the ids of nodes."""
        wanted, places = np.unique(numbers, return_inverse=True)
        asked = self.given(pa.table({"n": pa.array(wanted, pa.int64())}))
        found = self.nodes.join(sql.broadcast(asked), ["n"]).orderBy("n").select("type", "id")
        named = self.table(found).take(pa.array(places, pa.int64()))
        return self._type_names(named["type"]), _ids(named).combine_chunks()

    def column(self, values: Any, name: str, kind: type[np.generic]) -> NDArray[Any]:
        """A column of a frame with a row for each node at most: 0 for the others."""
        table = self.table(values.select("n", name))
        found = np.zeros(self.node_count, dtype=kind)
        found[table["n"].to_numpy()] = table[name].to_numpy()
        return found

    def answer(self, columns: Mapping[str, Values]) -> pa.Table:
        """The values of all nodes, by type and id."""
        named = self.table(self.nodes.orderBy("n"))
        if not np.array_equal(named["n"].to_numpy(), np.arange(self.node_count)):
            reason = "rows that a worker had were made again, and came out in another order"
            raise SparkFailed(doing=self.doing, reason=reason, advice="ask again")
        names = {"type": self._type_names(named["type"]), "id": _ids(named)}
        return pa.table(names | {name: pa.array(values) for name, values in columns.items()})

    def _type_names(self, numbers: pa.ChunkedArray) -> pa.Array:
        types = pa.array([str(name) for name in self.types], pa.string())
        return types.take(numbers.combine_chunks().cast(pa.int64()))


def _ids(named: pa.Table) -> pa.ChunkedArray:
    # A session may be told to have all texts as large ones.
    return named["id"].cast(pa.string())


def _joined(left: Any, right: Any, on: list[str], how: str, *, is_small: bool) -> Any:
    """Spark takes what tasks read for a few bytes, so each join is told how it is done."""
    side = sql.broadcast(right) if is_small else right.hint("merge")
    return left.join(side, on, how)
