"""Row checks: rows of one type as they arrive become rows as they are stored, or are reported.

Load, mutation and merge all come through here, so a rule means the same whichever way a row takes.
A check sees one batch and nothing else; what needs other rows (unique, endpoints, cardinality) is
in `rules`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.types import INTEGER_RANGES, EnumOf, Scalar, Value
from omnigraph.base.violations import MAX_EXAMPLES_PER_RULE, Violation, Violations
from omnigraph.base.words import clipped
from omnigraph.check.rows.coerce import Coerced, coerce
from omnigraph.check.rows.input_types import expectation
from omnigraph.check.rows.wording import worded
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    Catalog,
    Check,
    EdgeType,
    EntityType,
    Index,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.store.arrays import short_floats
from omnigraph.store.arrow import arrow_type, table_schema
from omnigraph.store.identity import derive_ids, fresh_ids

__all__ = ["Checked", "RowViolations", "Rows", "check_rows", "endpoint_ids", "key_of"]

# A date given as an endpoint: ids of dates are plain integers, so the two can't be confused.
LOOKS_LIKE_A_DATE = r"^\d{4}-\d{2}"


@frozen(slots=False)
class Rows:
    """Rows of one type as they arrive, column by column."""

    count: int
    properties: Mapping[str, pa.Array]
    """By property name. A property that is not here is left out of every row."""
    left_out: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Rows that leave a property out although others give it. They take its default; a null that
    was given stays null."""
    ids: pa.Array | None = None
    sources: pa.Array | None = None
    """Edges only: node ids, or values of the node's single key property."""
    targets: pa.Array | None = None

    def take(self, rows: np.ndarray) -> "Rows":
        """Some of the rows, by their places."""
        places = pa.array(rows, pa.int64())

        def some(column: pa.Array | None) -> pa.Array | None:
            return None if column is None else column.take(places)

        return Rows(
            count=len(rows),
            properties={name: column.take(places) for name, column in self.properties.items()},
            left_out={name: marks[rows] for name, marks in self.left_out.items()},
            ids=some(self.ids),
            sources=some(self.sources),
            targets=some(self.targets),
        )


@frozen(slots=False)
class RowViolations:
    """One rule and the rows of a batch that break it."""

    kind: str
    property_name: str | None
    rows: np.ndarray
    describe: Callable[[int], str] = field(repr=False)
    """The sentence about one of the rows."""


@frozen(slots=False)
class Checked:
    entity: EntityType
    batch: pa.RecordBatch
    """The rows that break no rule, as they are stored."""
    kept: np.ndarray
    """Where each row of the batch stood among the rows that came."""
    ids: pa.Array
    """Of all rows that came; null where the id could not be told, or was made for the row."""
    row_violations: tuple[RowViolations, ...]

    def report(self, place: Callable[[int], tuple[str, int]] | None = None) -> Violations:
        """All of them as a report; `place` tells the file and line of a row that came."""
        report = Violations()
        for found in self.row_violations:
            unnamed = max(0, len(found.rows) - MAX_EXAMPLES_PER_RULE)
            for row in found.rows[:MAX_EXAMPLES_PER_RULE].tolist():
                violation = self._violation(found, row)
                if place is not None:
                    file, line = place(row)
                    violation = replace(violation, file=file, line=line)
                report.add(violation, count=1 + unnamed)
                unnamed = 0
        return report

    def each(self) -> Iterator[tuple[int, Violation]]:
        """Every row that breaks a rule, once for each rule, in words."""
        for found in self.row_violations:
            for row in found.rows.tolist():
                yield row, self._violation(found, row)

    def _violation(self, found: RowViolations, row: int) -> Violation:
        return Violation(
            kind=found.kind,
            message=found.describe(row),
            type_name=self.entity.name,
            property_name=found.property_name,
            entity_id=self.ids[row].as_py(),
        )


def check_rows(entity: EntityType, rows: Rows, *, catalog: Catalog, now_ms: int) -> Checked:
    """Coerce, fill in defaults, derive ids and apply every rule that looks at one row."""
    violations: list[RowViolations] = []
    columns: dict[str, pa.Array] = {}
    for property_ in entity.properties:
        columns[property_.column], found = _property_column(entity, property_, rows)
        violations += found
    for constraint in entity.constraints:
        match constraint:
            case Range() | Check():
                column = columns[entity.by_name[constraint.property].column]
                violations += _apply(entity, constraint, column)
            case Unique() | Index():
                pass
    if isinstance(entity, EdgeType):
        assert rows.sources is not None and rows.targets is not None, "an edge arrives with ends"
        source, target = catalog.node_by_name[entity.source], catalog.node_by_name[entity.target]
        columns[SRC], found = _end_column(entity, "from", rows.sources, source)
        violations += found
        columns[DST], found = _end_column(entity, "to", rows.targets, target)
        violations += found
    columns[ID], found = _identities(entity, rows, columns, now_ms)
    violations += found
    # A key that lacks a value or holds a wrong one has been reported as such.
    unnamed = _where(pc.is_null(columns[ID]))
    if len(unnamed):
        unnamed = np.intersect1d(unnamed, _rows_without(violations, rows.count))
    key = ", ".join(entity.key)
    violations.append(_violations("key", None, unnamed, lambda _: f"{entity.name} has no {key}"))
    kept = _rows_without(violations, rows.count)
    schema = table_schema(entity)
    batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    if len(kept) < rows.count:
        batch = batch.take(pa.array(kept))
    known = columns[ID] if entity.key else rows.ids
    ids = known if known is not None else pa.nulls(rows.count, pa.string())
    return Checked(entity, batch, kept, ids, tuple(v for v in violations if len(v.rows)))


def endpoint_ids(node: NodeType, references: pa.Array) -> Coerced:
    """The ids that an edge's ends name: node ids as they are, values of a single key as its ids."""
    key = node.by_name[node.key[0]] if len(node.key) == 1 else None
    if pa.types.is_null(references.type):
        return Coerced(references.cast(pa.string()), np.empty(0, dtype=np.int64))
    if pa.types.is_string(references.type):
        if key is None or key.type not in (Scalar.DATE, Scalar.DATETIME):
            return Coerced(references, np.empty(0, dtype=np.int64))
        is_date = pc.match_substring_regex(references, LOOKS_LIKE_A_DATE)
        dates = coerce(pc.if_else(is_date, references, pa.scalar(None, pa.string())), key.type)
        derived = derive_ids(node, {key.column: dates.values})
        return Coerced(pc.if_else(is_date, derived, references), dates.misfits)
    if key is None or not _can_be(key, references.type):
        every = np.flatnonzero(references.is_valid().to_numpy(zero_copy_only=False))
        return Coerced(pa.nulls(len(references), pa.string()), every)
    values = coerce(references, key.type)
    return Coerced(derive_ids(node, {key.column: values.values}), values.misfits)


def key_of(node: NodeType) -> str:
    """How a message names what an end must be."""
    if len(node.key) != 1:
        return f"the id of a {node.name}"
    return f"the id of a {node.name} ({node.key[0]}: {node.by_name[node.key[0]].type})"


def _can_be(key: Property, arrives: pa.DataType) -> bool:
    if not isinstance(key.type, Scalar):
        return False
    if pa.types.is_boolean(arrives):
        return key.type is Scalar.BOOL
    if pa.types.is_floating(arrives):
        return key.type.is_float
    if pa.types.is_date(arrives):
        return key.type is Scalar.DATE
    if pa.types.is_timestamp(arrives):
        return key.type is Scalar.DATETIME
    return pa.types.is_integer(arrives) and key.type.is_numeric


# Properties ---------------------------------------------------------------------------------------


def _property_column(
    entity: EntityType, property_: Property, rows: Rows
) -> tuple[pa.Array, list[RowViolations]]:
    arrived = rows.properties.get(property_.name)
    if arrived is None:
        column = Coerced(
            pa.nulls(rows.count, arrow_type(property_.type)), np.empty(0, dtype=np.int64)
        )
        left_out = np.ones(rows.count, dtype=bool)
    else:
        column = coerce(arrived, property_.type)
        left_out = rows.left_out.get(property_.name, np.zeros(rows.count, dtype=bool))
    values = column.values
    if property_.default is not None:
        if not property_.is_nullable:
            left_out = values.is_null().to_numpy(zero_copy_only=False)
        values = _fill(values, left_out, property_.default)
    found = _property_violations(entity, property_, arrived, column.misfits, values)
    return values, list(found)


def _fill(values: pa.Array, where: np.ndarray, default: Value) -> pa.Array:
    if not where.any():
        return values
    item = pa.array([list(default) if isinstance(default, tuple) else default], values.type)
    places = np.where(where, len(values), np.arange(len(values)))
    return pa.concat_arrays([values, item]).take(pa.array(places))


def _property_violations(
    entity: EntityType,
    property_: Property,
    arrived: pa.Array | None,
    misfits: np.ndarray,
    values: pa.Array,
) -> Iterator[RowViolations]:
    name = f"{entity.name}.{property_.name}"
    if len(misfits):
        assert arrived is not None, "what did not arrive fits"
        expected = expectation(property_.type)
        yield _violations(
            "type",
            property_,
            misfits,
            lambda row: f"{name} is {_shown(arrived, row)}, not {expected}",
        )
    if not property_.is_nullable and values.null_count:
        missing = np.setdiff1d(_where(pc.is_null(values)), misfits)
        yield _violations("required", property_, missing, lambda _: f"{name} is required")
    if isinstance(property_.type, EnumOf):
        words = property_.type.values
        known = pc.is_in(values, value_set=pa.array(words, pa.string()))
        strange = _where(pc.and_not(pc.is_valid(values), known))
        yield _violations(
            "enum",
            property_,
            strange,
            lambda row: f"{name} is {_shown(values, row)}, not one of {', '.join(words)}",
        )


def _apply(entity: EntityType, rule: Range | Check, column: pa.Array) -> Iterator[RowViolations]:
    property_ = entity.by_name[rule.property]
    name = f"{entity.name}.{property_.name}"
    match rule:
        case Range(low=low, high=high):
            outside = _where(_outside(column, low, high))
            bounds = f"{'' if low is None else low}..{'' if high is None else high}"
            yield _violations(
                "range",
                property_,
                outside,
                lambda row: f"{name} is {_shown(column, row)}, outside {bounds}",
            )
        case Check(pattern=pattern):
            other = _where(pc.invert(pc.match_substring_regex(column, pattern)))
            yield _violations(
                "check",
                property_,
                other,
                lambda row: f"{name} is {_shown(column, row)}, which does not match {pattern}",
            )


def _outside(column: pa.Array, low: float | None, high: float | None) -> pa.Array:
    """Compared in the column's own type, so that 0.1 as F32 lies within ..0.1."""
    if pa.types.is_integer(column.type):
        type_ = next(s for s in INTEGER_RANGES if arrow_type(s) == column.type)
        least, most = INTEGER_RANGES[type_]
        # A bound that the type can't reach: nothing is below it, or nothing within it.
        low = None if low is None or low <= least else min(math.ceil(low), most + 1)
        high = None if high is None or high >= most else max(math.floor(high), least - 1)
        if (low is not None and low > most) or (high is not None and high < least):
            return pc.is_valid(column)
    outside = pa.array(np.zeros(len(column), dtype=bool))
    if low is not None:
        outside = pc.or_(outside, pc.less(column, pa.scalar(low, column.type)))
    if high is not None:
        outside = pc.or_(outside, pc.greater(column, pa.scalar(high, column.type)))
    return outside


# Ends and identity --------------------------------------------------------------------------------


def _end_column(
    edge: EdgeType, member: str, references: pa.Array, node: NodeType
) -> tuple[pa.Array, list[RowViolations]]:
    found = endpoint_ids(node, references)
    missing = np.setdiff1d(_where(pc.is_null(found.values)), found.misfits)
    return found.values, [
        _violations(
            "required",
            member,
            missing,
            lambda _: f'{edge.name} needs "{member}", the id of a {node.name}',
        ),
        _violations(
            "type",
            member,
            found.misfits,
            lambda row: (
                f'{edge.name}: "{member}" is {_shown(references, row)}, '
                f"which can't be {key_of(node)}"
            ),
        ),
    ]


def _identities(
    entity: EntityType, rows: Rows, columns: Mapping[str, pa.Array], now_ms: int
) -> tuple[pa.Array, list[RowViolations]]:
    given = rows.ids
    if not entity.key:
        fresh = fresh_ids(rows.count, now_ms)
        if given is None:
            return fresh, []
        ids = pc.coalesce(given, fresh)
        empty = _where(pc.equal(ids, ""))
        message = f"the id of a {entity.name} is empty"
        return ids, [_violations("key", None, empty, lambda _: message)]
    ids = derive_ids(entity, columns)
    if given is None:
        return ids, []
    key = ", ".join(entity.key)
    other = _where(pc.not_equal(given, ids))
    return ids, [
        _violations(
            "key",
            None,
            other,
            lambda row: (
                f"id {_shown(given, row)} contradicts the key of {entity.name} "
                f"({key}), which gives {_shown(ids, row)}"
            ),
        )
    ]


# Small things -------------------------------------------------------------------------------------


def _violations(
    kind: str, about: Property | str | None, rows: np.ndarray, say: Callable[[int], str]
) -> RowViolations:
    name = about.name if isinstance(about, Property) else about
    return RowViolations(kind, name, rows, say)


def _where(mask: pa.Array) -> np.ndarray:
    """Rows for which the claim is true; a null is not."""
    return np.flatnonzero(pc.fill_null(mask, fill_value=False).to_numpy(zero_copy_only=False))


def _rows_without(violations: list[RowViolations], count: int) -> np.ndarray:
    fine = np.ones(count, dtype=bool)
    for found in violations:
        fine[found.rows] = False
    return np.flatnonzero(fine)


def _shown(column: pa.Array, row: int) -> str:
    return clipped(repr(worded(short_floats(column.slice(row, 1))[0])))
