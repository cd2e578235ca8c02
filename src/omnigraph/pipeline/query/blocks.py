"""Rows and the sub-patterns that restrict or extend them: not, exists, count, optional, or.

A sub-pattern is worked out for each distinct combination of the variables that it uses, and joined
back to the rows by them. Null is a value there: an optional variable may bind nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import functions as sql

from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.ir import AntiJoin, CountJoin, LeftJoin, SemiJoin, Union
from omnigraph.pipeline.query.counts import added, multiplied
from omnigraph.pipeline.query.filters import counts_hold
from omnigraph.pipeline.query.rows import Rows, Types, key_of, tagged
from omnigraph.pipeline.query.tables import Tables, united

__all__ = ["begin", "count_join", "exist_join", "left_join", "union"]


def begin(rows: Rows, variables: Iterable[VariableName], tables: Tables) -> Rows:
    """Where a sub-pattern begins: each combination of the variables once."""
    used = [v for v in rows.types if v in set(variables)]
    if not used:
        return tables.unit()
    frame = rows.frame.select(*map(key_of, used)).distinct()
    types = {v: rows.types[v] for v in used}
    return Rows(frame, rows.most, types, rows.optional & frozenset(used), held=frozenset(used))


def exist_join(
    rows: Rows, begun: Rows, matched: Rows, op: AntiJoin | SemiJoin, tables: Tables
) -> Rows:
    """Rows that have, or have not, a row of the sub-pattern."""
    how = "left_anti" if isinstance(op, AntiJoin) else "left_semi"
    if not begun.types:
        found = matched.frame.select(_one(tables)).limit(1)
        return rows.over(tables.join(rows, found, [], how, most=1))
    found, pairs = _keyed(begun, matched, [], tables)
    nulls = rows.nulls_in(begun.types)
    return rows.over(tables.join(rows, found, pairs, how, most=matched.most, with_nulls=nulls))


def count_join(rows: Rows, begun: Rows, matched: Rows, op: CountJoin, tables: Tables) -> Rows:
    """Rows whose number of rows of the sub-pattern compares with a bound."""
    count = tables.fresh("n")
    each = sql.lit(1) if matched.weight is None else sql.col(matched.weight)
    found, pairs = _keyed(begun, matched, [each.cast("bigint").alias(count)], tables)
    there = [name for _, name in pairs]
    counts = found.groupBy(*there).agg(added(sql.col(count)).alias(count))
    nulls, most = rows.nulls_in(begun.types), begun.most
    frame = tables.join(rows, counts, pairs, "left", most=most, with_nulls=nulls)
    number = sql.coalesce(sql.col(count), sql.lit(0).cast("bigint"))
    frame = frame.where(counts_hold(number, op.op, op.bound, tables))
    return rows.over(frame.drop(count, *there))


def left_join(rows: Rows, begun: Rows, matched: Rows, op: LeftJoin, tables: Tables) -> Rows:
    """Each row with each of its matches, or once with nulls."""
    made = [v for v in op.variables if v in matched.types]
    weight = tables.fresh("w")
    each = sql.lit(1) if matched.weight is None else sql.col(matched.weight)
    columns = [sql.col(key_of(v)) for v in made]
    found, pairs = _keyed(begun, matched, [*columns, each.cast("bigint").alias(weight)], tables)
    nulls = rows.nulls_in(begun.types)
    frame = tables.join(rows, found, pairs, "left", most=matched.most, with_nulls=nulls)
    frame = frame.drop(*(name for _, name in pairs))
    kept = rows.weight
    if matched.weight is not None:
        kept = tables.fresh("w")
        times = sql.coalesce(sql.col(weight), sql.lit(1))
        product = times if rows.weight is None else multiplied(sql.col(rows.weight), times)
        frame = frame.withColumn(kept, product)
    bound = {v: matched.types[v] for v in made}
    most = rows.most * max(1, matched.most)
    optional = rows.optional | frozenset(made)
    return rows.bind(frame.drop(weight), bound, most=most, optional=optional, weight=kept)


def union(
    rows: Rows,
    op: Union,
    used: frozenset[VariableName],
    block_rows: Callable[[Any, Rows], Rows],
    tables: Tables,
) -> Rows:
    """Each row with each distinct combination of the variables that any block gives it."""
    begun = begin(rows, used, tables)
    blocks = [block_rows(block, begun) for block in op.blocks]
    types = {v: _together([block.types[v] for block in blocks]) for v in op.variables}
    optional = frozenset(v for v in op.variables if any(v in b.optional for b in blocks))
    names = {v: tables.fresh("k") for v in begun.types}
    frames = [
        block.frame.select(
            *(_renamed(v, names[v]) for v in begun.types),
            *(_as_types(v, block.types[v], types[v]) for v in op.variables),
            _one(tables, "one"),
        )
        for block in blocks
    ]
    found = united(frames).distinct()
    most = sum(block.most for block in blocks)
    pairs = [(key_of(v), names[v]) for v in begun.types]
    nulls = rows.nulls_in(begun.types)
    frame = tables.join(rows, found, pairs, "inner", most=most, with_nulls=nulls)
    frame = frame.drop("one", *names.values())
    return rows.bind(frame, types, most=rows.most * most, optional=rows.optional | optional)


def _keyed(
    begun: Rows, matched: Rows, columns: Sequence[Any], tables: Tables
) -> tuple[Any, list[tuple[str, str]]]:
    """What the sub-pattern gives, with its outer variables under names of their own."""
    names = {v: tables.fresh("k") for v in begun.types}
    frame = matched.frame.select(*(_renamed(v, names[v]) for v in begun.types), *columns)
    return frame, [(key_of(v), name) for v, name in names.items()]


def _renamed(variable: VariableName, name: str) -> Any:
    return sql.col(key_of(variable)).alias(name)


def _one(tables: Tables, name: str | None = None) -> Any:
    return sql.lit(1).alias(name or tables.fresh("one"))


def _together(types: Sequence[Types]) -> Types:
    return tuple(sorted({name for each in types for name in each}))


def _as_types(variable: VariableName, was: Types, now: Types) -> Any:
    column = sql.col(key_of(variable))
    if len(was) == 1 < len(now):
        column = tagged(column, was[0])
    return column.alias(key_of(variable))
