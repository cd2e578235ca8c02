"""Frames over tables: one scan by tasks, and the joins that a policy asks for.

A frame is lazy, and reads the files again each time that Spark asks it. It knows its version, so
later commits change nothing.
"""

import operator
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.base.errors import NameMissing, Unsupported
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.plan.ir import Predicate
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.pipeline.frames.tables import TableScan, Wanted, parts_of, read_table
from omnigraph.pipeline.spark.session import MAX_BROADCAST_ROWS, Spark
from omnigraph.read.view import View
from omnigraph.read.where.where import Where
from omnigraph.store.arrow import arrow_type, table_schema

__all__ = ["joined", "rows_frame", "type_frame"]

ENDS = {SRC: "from", DST: "to"}
"""The ends of an edge, named as exports name them."""


def type_frame(
    spark: Spark,
    view: View,
    entity: EntityType,
    *,
    columns: Sequence[str] | None,
    where: tuple[Predicate, ...],
    now_ms: int,
) -> Any:
    """The rows of a type that the view shows, with columns named as in an export."""
    wanted = _chosen(entity, columns)
    asked = Where(entity, where, {}, now_ms)
    ends = [end for _, end, _ in view.judged_ends(entity)]
    # What tells whether an edge is shown is read beside what the caller wants, and then dropped:
    # under a name that no property can have.
    hidden = {end: f"^{end}" for end in ends}
    beside = [Wanted(hidden[end], pa.string(), end) for end in ends]
    frame = rows_frame(spark, view, asked, (*wanted, *beside), own_ends=hidden)
    return frame.drop(*hidden.values()) if hidden else frame


def rows_frame(
    spark: Spark,
    view: View,
    where: Where,
    wanted: tuple[Wanted, ...],
    *,
    own_ends: dict[str, str],
    max_broadcast_rows: int = MAX_BROADCAST_ROWS,
) -> Any:
    """The visible rows for which all predicates hold, with these columns.

    `own_ends` says which columns hold the ends of edges: some are hidden with the nodes there.
    """
    entity = where.entity
    restriction = view.restriction(entity)
    condition = ALWAYS if restriction is None else restriction.own
    frame = _scanned(spark, view, TableScan(where, wanted, condition))
    for node, end, seen_if in view.judged_ends(entity):
        seen = _seen(spark, view, node, seen_if)
        rows = view.snapshot.dataset(node).row_count
        frame = joined(
            frame,
            seen,
            [(own_ends[end], "_seen")],
            "left_semi",
            is_small=rows <= max_broadcast_rows,
        )
    return frame


def joined(
    left: Any,
    right: Any,
    pairs: Sequence[tuple[str, str]],
    how: str,
    *,
    is_small: bool,
    is_left_small: bool = False,
    with_nulls: frozenset[str] = frozenset(),
) -> Any:
    """Rows of both frames that agree in each pair of columns.

    How is said by us: Spark takes a frame that tasks read for as large as the list of tasks, and
    would send it whole to every worker. `is_small` says that the right side may be. Null equals
    null where `with_nulls` has the left column.
    """
    if is_small:
        right = sql.broadcast(right)
    elif is_left_small and how == "inner":
        left = sql.broadcast(left)
    elif pairs:
        right = right.hint("merge")
    if not pairs:
        return left.crossJoin(right) if how == "inner" else left.join(right, sql.expr("true"), how)
    return left.join(
        right, reduce(operator.and_, [_equal(*pair, with_nulls) for pair in pairs]), how
    )


def _equal(here: str, there: str, with_nulls: frozenset[str]) -> Any:
    one, other = sql.col(here), sql.col(there)
    return one.eqNullSafe(other) if here in with_nulls else one == other


def _scanned(spark: Spark, view: View, scan: TableScan) -> Any:
    snapshot = view.snapshot
    dataset = snapshot.dataset(scan.where.entity)
    parts = parts_of(snapshot.root, dataset, parallelism=spark.parallelism)
    return spark.frame(parts, partial(read_table, scan), scan.schema)


def _seen(spark: Spark, view: View, node: NodeType, condition: Condition) -> Any:
    """The ids of nodes that meet the condition, as `_seen`."""
    where = Where(node, (), {}, 0)
    return _scanned(spark, view, TableScan(where, (Wanted("_seen", pa.string(), ID),), condition))


# The columns of a type ----------------------------------------------------------------------------


def _chosen(entity: EntityType, columns: Sequence[str] | None) -> tuple[Wanted, ...]:
    known = _columns(entity)
    if columns is None:
        return tuple(w for w in known.values() if not pa.types.is_large_binary(w.type))
    for name in columns:
        if name not in known:
            raise NameMissing(what=f"column of {entity.name}", name=name, known=tuple(known))
    return tuple(known[name] for name in dict.fromkeys(columns))


def _columns(entity: EntityType) -> dict[str, Wanted]:
    """All that a frame of the type can have: as a Parquet export, and under the same names."""
    if ID in entity.by_name and not entity.key:
        raise Unsupported(
            what=f"a frame of {entity.name}, which has a property {ID} and no key,",
            instead="ask for its properties with a query: graph.spark(source)",
        )
    own = {ID: ID} if ID not in entity.by_name else {}
    ends = {ENDS[end]: end for end in (SRC, DST)} if isinstance(entity, EdgeType) else {}
    schema = table_schema(entity)
    system = [Wanted(n, schema.field(c).type, c) for n, c in (own | ends).items()]
    properties = [Wanted(p.name, arrow_type(p.type), p.column) for p in entity.properties]
    return {w.name: w for w in (*system, *properties)}
