"""Rows of a table become rows of a type, through the feed that says which column is what.

Cells of CSV are text whatever they mean; other tables come with types of their own. Both leave here
as `Rows`, and what single values are worth is decided where all rows are checked. Ends of edges are
the exception: several columns or a key of any type must become one id first.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from omnigraph.base.types import EnumOf, Scalar
from omnigraph.base.violations import Violation
from omnigraph.base.words import clipped
from omnigraph.check.rows.coerce import Coerced, coerce
from omnigraph.check.rows.input_types import arriving_array, as_plain, plain_type
from omnigraph.check.rows.validate import Rows, key_of
from omnigraph.check.rows.wording import worded
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, EntityType, NodeType
from omnigraph.pipeline.rows.parsed import Parsed, ParsedRows, ViolationsByRow
from omnigraph.pipeline.sources.delimited import Records
from omnigraph.pipeline.sources.feed import Feed, key_types
from omnigraph.pipeline.sources.in_memory import json_value
from omnigraph.pipeline.sources.splits import TextTable
from omnigraph.store.arrays import one_array
from omnigraph.store.identity import derive_ids

__all__ = ["Cells", "parse_batch", "parse_cells", "row_as_text"]


def parse_batch(batch: pa.RecordBatch | pa.Table, *, feed: Feed, catalog: Catalog) -> Parsed:
    """The rows of a typed table."""
    numbers = np.arange(batch.num_rows)
    group, violations = _rows(batch, numbers, feed, catalog)
    return Parsed(batch.num_rows, group, violations, text=lambda number: row_as_text(batch, number))


class Cells:
    """A block of CSV taken apart: a table of its rows, and the records that are none."""

    def __init__(self, records: Records, layout: TextTable, feed: Feed) -> None:
        self._records, self._layout, self.feed = records, layout, feed
        self.broken = _broken_records(records, layout)
        is_row = ~records.is_blank
        is_row[list(self.broken)] = False
        self.numbers = np.flatnonzero(is_row)
        self.table = records.table(is_row, layout, feed.columns)

    def text(self, number: int) -> str:
        if number in self.broken:
            return _record_as_text(self._records.raw(number), self._layout)
        return row_as_text(self.table, int(np.searchsorted(self.numbers, number)))


def parse_cells(cells: Cells, *, catalog: Catalog) -> Parsed:
    group, violations = _rows(cells.table, cells.numbers, cells.feed, catalog)
    count = len(cells.numbers) + len(cells.broken)
    return Parsed(count, group, {**cells.broken, **violations}, text=cells.text)


def row_as_text(table: pa.RecordBatch | pa.Table, row: int) -> str:
    """The row as a JSON object, by the names of its columns."""
    cells = {name: worded(table[name][row]) for name in table.schema.names}
    return json.dumps(cells, default=json_value, ensure_ascii=False)


def _record_as_text(raw: bytes, layout: TextTable) -> str:
    """A record that fits no header: its cells as a JSON array, as far as they can be told."""
    text = raw.decode(errors="replace")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter)
    return json.dumps(next(reader, []), ensure_ascii=False)


# Records that are no rows -------------------------------------------------------------------------


def _broken_records(records: Records, layout: TextTable) -> ViolationsByRow:
    broken: ViolationsByRow = {}
    width = len(layout.columns)
    is_misplaced = records.is_misplaced()
    widths = records.widths(layout.delimiter)
    wrong = np.flatnonzero(((widths != width) | is_misplaced) & ~records.is_blank)
    for number in wrong.tolist():
        broken[number] = _no_row(
            "a quote or a carriage return stands out of place, or a quote is never closed"
            if is_misplaced[number]
            else f"the record has {widths[number]} fields, and the header {width}"
        )
    if not _is_utf8(records.data):
        for number in range(len(records.ends)):
            if number not in broken and not _is_utf8(records.raw(number)):
                broken[number] = _no_row("the record is not UTF-8")
    return broken


def _no_row(message: str) -> tuple[Violation, ...]:
    return (Violation(kind="csv", message=message),)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# Columns ------------------------------------------------------------------------------------------


def _rows(
    table: pa.RecordBatch | pa.Table, numbers: np.ndarray, feed: Feed, catalog: Catalog
) -> tuple[tuple[ParsedRows, ...], ViolationsByRow]:
    entity = feed.entity(catalog)
    names: dict[str, pa.Array] = {}
    violations: ViolationsByRow = {}
    for member, named, violation in _named(table, feed, entity, catalog):
        names[member] = named.values
        _reject(violations, numbers, named.misfits, violation)
    rows = _columns(table, feed, entity, names)
    if violations:
        kept = np.flatnonzero(~np.isin(numbers, list(violations)))
        rows, numbers = rows.take(kept), numbers[kept]
    return ((ParsedRows(entity, numbers, rows),) if rows.count else ()), violations


def _columns(
    table: pa.RecordBatch | pa.Table, feed: Feed, entity: EntityType, names: dict[str, pa.Array]
) -> Rows:
    properties = {
        name: as_plain(one_array(table[column]), entity.by_name[name].type)
        for name, column in feed.properties
    }
    for name, value in feed.constants:
        one = arriving_array([json.loads(value)], entity.by_name[name].type)
        properties[name] = one.take(pa.array(np.zeros(table.num_rows, dtype=np.int64)))
    ids = names.get(ID)
    return Rows(
        count=table.num_rows,
        properties=properties,
        ids=None if ids is None or ids.null_count == len(ids) else ids,
        sources=names.get("from"),
        targets=names.get("to"),
    )


# Ids and ends ------------------------------------------------------------------------------------


def _named(
    table: pa.RecordBatch | pa.Table, feed: Feed, entity: EntityType, catalog: Catalog
) -> Iterator[tuple[str, Coerced, Callable[[int], Violation]]]:
    """Each member that names a node or an edge: its ids, and what to say where a row gives none."""
    if feed.id is not None:
        given = [one_array(table[feed.id])]
        yield ID, _ids(given[0]), _misfit(entity, ID, given, "an id: text or a whole number")
    if isinstance(entity, EdgeType):
        for end, columns, name in (
            ("from", feed.source, entity.source),
            ("to", feed.target, entity.target),
        ):
            node = catalog.node_by_name[name]
            given = [one_array(table[column]) for column in columns]
            yield end, _end(node, given), _misfit(entity, end, given, key_of(node))


def _ids(column: pa.Array) -> Coerced:
    if plain_type(Scalar.STRING, column.type) is not None:
        return coerce(as_plain(column, Scalar.STRING), Scalar.STRING)
    whole = Scalar.U64 if pa.types.is_uint64(column.type) else Scalar.I64
    numbers = coerce(as_plain(column, whole), whole)
    return Coerced(numbers.values.cast(pa.string()), numbers.misfits)


def _end(node: NodeType, columns: list[pa.Array]) -> Coerced:
    """The references that the columns make."""
    if len(columns) == 1 and _names_nodes(node, columns[0].type):
        return coerce(as_plain(columns[0], Scalar.STRING), Scalar.STRING)
    keys: dict[str, pa.Array] = {}
    misfits = np.empty(0, dtype=np.int64)
    for name, type_, column in zip(node.key, key_types(node), columns, strict=True):
        coerced = coerce(as_plain(column, type_), type_)
        keys[node.by_name[name].column] = coerced.values
        misfits = np.union1d(misfits, coerced.misfits)
    return Coerced(derive_ids(node, keys), misfits)


def _names_nodes(node: NodeType, arrives: pa.DataType) -> bool:
    """Whether a column holds ids as they are: text, unless it is a number's or a truth value's."""
    if plain_type(Scalar.STRING, arrives) is None:
        return False
    key = key_types(node)[0] if len(node.key) == 1 else Scalar.STRING
    return isinstance(key, EnumOf) or key in (Scalar.STRING, Scalar.DATE, Scalar.DATETIME)


def _misfit(
    entity: EntityType, member: str, given: list[pa.Array], expected: str
) -> Callable[[int], Violation]:
    def violation(row: int) -> Violation:
        shown = ", ".join(clipped(repr(worded(column[row]))) for column in given)
        message = f'{entity.name}: "{member}" is {shown}, which can\'t be {expected}'
        return Violation(kind="type", message=message, type_name=entity.name, property_name=member)

    return violation


def _reject(
    violations: ViolationsByRow,
    numbers: np.ndarray,
    rows: np.ndarray,
    violation: Callable[[int], Violation],
) -> None:
    for row in rows.tolist():
        number = int(numbers[row])
        violations[number] = (*violations.get(number, ()), violation(row))
