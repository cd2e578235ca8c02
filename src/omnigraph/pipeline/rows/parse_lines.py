"""Lines of NDJSON become rows of the graph's types, column by column.

Lines are sorted by type with one regular expression, and each type's lines are read as columns
(`line_columns`). Those that can't be go through `decode` one by one. So do lines that Arrow would
read more freely than JSON's rules allow: they are told apart before it sees them.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.check.rows.input_types import arriving_array, counted_array, is_count
from omnigraph.check.rows.validate import Rows
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType
from omnigraph.pipeline.rows.decode import Row, decode, without_nulls
from omnigraph.pipeline.rows.line_columns import optional_defaults, read_columns
from omnigraph.pipeline.rows.parsed import Parsed, ParsedRows, ViolationsByRow

__all__ = ["parse_lines"]

# The envelope as programs write it, with the type first and plain names. Any other order of the
# members is as good, and is decoded line by line.
KIND = r'^[ \t]*\{[ \t]*"(?P<member>type|edge)"[ \t]*:[ \t]*"(?P<name>[^"\\]*)"'

# Arrow's parser crashes on a null where a row should begin. Within a row, outside of a text, no
# null ever follows a closing brace.
NULL_AFTER_ROW = r"\}\s*null"

NEWLINE, RETURN, CLOSING_BRACE = 10, 13, 125
BLANKS = b" \t\r\n"


def parse_lines(data: bytes, *, catalog: Catalog, min_fast_lines: int) -> Parsed:
    """The rows of each type that the lines hold. Blank lines count as numbers, not as rows."""
    lines = _lines(data)
    groups: list[ParsedRows] = []
    by_hand = [lines.odd]
    for entity, numbers in lines.by_type(catalog):
        is_left = np.ones(len(numbers), dtype=bool)
        if entity is not None:
            taken = lines.take(numbers)
            for places, rows in read_columns(entity, taken, catalog, min_fast_lines):
                groups.append(ParsedRows(entity, numbers[places], rows))
                is_left[places] = False
        by_hand.append(numbers[is_left])
    violations: ViolationsByRow = {}
    odd = np.sort(np.concatenate(by_hand))
    groups += _decode_all(lines, odd, catalog, violations)
    return Parsed(
        count=lines.count,
        groups=tuple(groups),
        violations=violations,
        text=lambda number: _raw(lines.text, number).decode(errors="replace"),
        decoded=len(odd),
    )


# Lines by type ------------------------------------------------------------------------------------


@frozen(slots=False)
class _Lines:
    text: pa.Array
    """Every line of the block, its newline included."""
    plain: np.ndarray
    """Lines that the fast way may read, as numbers."""
    odd: np.ndarray
    """Lines that it may not. Blank lines are in neither."""
    members: pa.Array
    names: pa.Array

    @property
    def count(self) -> int:
        return len(self.plain) + len(self.odd)

    def take(self, numbers: np.ndarray) -> pa.Array:
        return self.text if len(numbers) == len(self.text) else self.text.take(pa.array(numbers))

    def by_type(self, catalog: Catalog) -> Iterator[tuple[EntityType | None, np.ndarray]]:
        """The plain lines of each type; None for a name the schema doesn't have."""
        kinds = pc.binary_join_element_wise(self.members, self.names, " ").dictionary_encode()
        order = np.argsort(codes := kinds.indices.to_numpy(), kind="stable")
        borders = np.flatnonzero(np.diff(codes[order])) + 1
        for group in np.split(order, borders) if len(order) else ():
            member, name = kinds.dictionary[int(codes[group[0]])].as_py().split(" ", 1)
            if member == "type":
                yield catalog.node_by_name.get(name), self.plain[group]
            else:
                yield catalog.edge_by_folded_name.get(name.casefold()), self.plain[group]


def _lines(data: bytes) -> _Lines:
    code = np.frombuffer(data, dtype=np.uint8)
    after = np.flatnonzero(code == NEWLINE) + 1
    offsets = np.concatenate([[0], after, [] if data.endswith(b"\n") or not data else [len(data)]])
    text = pa.StringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)
    )
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        # Not UTF-8, or a character cut in two: Arrow's functions on text may not see this.
        every = np.flatnonzero([bool(line.strip(BLANKS)) for line in data.split(b"\n")])
        return _Lines(text, every[:0], every, pa.array([], pa.string()), pa.array([], pa.string()))
    kinds = _kinds(text)
    is_plain = kinds.is_valid().to_numpy(zero_copy_only=False)
    is_plain = is_plain & _close(code, offsets.astype(np.int64))
    if b"null" in data:
        suspect = pc.match_substring_regex(text, NULL_AFTER_ROW)
        is_plain &= ~suspect.to_numpy(zero_copy_only=False)
    rest = np.flatnonzero(~is_plain)
    odd = [number for number in rest.tolist() if text[number].as_py().strip(BLANKS.decode())]
    members, names = (kinds.field(i).filter(pa.array(is_plain)) for i in (0, 1))
    return _Lines(text, np.flatnonzero(is_plain), np.array(odd, dtype=np.int64), members, names)


def _kinds(text: pa.Array) -> pa.StructArray:
    """The member that names each line's type, and the name."""
    # Most files hold one type, as programs write it: all lines begin alike.
    first = re.match(KIND, text[0].as_py()) if len(text) else None
    if first is not None and pc.all(pc.starts_with(text, first[0])).as_py():
        same = [pa.repeat(first[group], len(text)) for group in ("member", "name")]
        return pa.StructArray.from_arrays(same, ["member", "name"])
    return pc.extract_regex(text, KIND)


def _close(code: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Which lines end in a brace: rows that go on in the next line are no rows."""
    ends = offsets[1:].copy()
    for skipped in (NEWLINE, RETURN):
        ends -= code[ends - 1] == skipped
        ends = np.maximum(ends, offsets[:-1] + 1)
    closed: np.ndarray = code[ends - 1] == CLOSING_BRACE
    return closed


# The careful way ----------------------------------------------------------------------------------


def _decode_all(
    lines: _Lines, numbers: np.ndarray, catalog: Catalog, violations: ViolationsByRow
) -> Iterator[ParsedRows]:
    """Rows of the lines that can be decoded; the others are rejected."""
    groups: dict[_Form, list[tuple[int, Row]]] = defaultdict(list)
    for number in numbers.tolist():
        row = decode(_raw(lines.text, number), catalog)
        if isinstance(row, Row):
            groups[_form(row)].append((number, row))
        else:
            violations[number] = tuple(row)
    for form, group in groups.items():
        numbers = np.array([number for number, _ in group])
        rows = [row for _, row in group]
        yield ParsedRows(rows[0].entity, numbers, _columns(rows, form))


@frozen
class _Form:
    """What rows must have in common to be columns of one batch."""

    table_key: str
    source: pa.DataType
    target: pa.DataType
    """A column of ends holds ids or key values, never both."""
    counted: frozenset[str]
    """Dates and times that are numbers: a column holds numbers or texts."""


def _form(row: Row) -> _Form:
    by_name = row.entity.by_name
    return _Form(
        row.entity.table_key,
        _arrow_type_of(row.source),
        _arrow_type_of(row.target),
        frozenset(
            name
            for name, value in row.properties.items()
            if is_count(without_nulls(value), by_name[name].type)
        ),
    )


def _raw(text: pa.Array, number: int) -> bytes:
    line: bytes = text[number].as_buffer().to_pybytes()
    return line.strip(BLANKS)


def _columns(rows: Sequence[Row], form: _Form) -> Rows:
    entity = rows[0].entity
    ids = pa.array([row.id for row in rows], pa.string())
    is_edge = isinstance(entity, EdgeType)
    return Rows(
        count=len(rows),
        properties={
            p.name: (counted_array if p.name in form.counted else arriving_array)(
                [row.properties.get(p.name) for row in rows], p.type
            )
            for p in entity.properties
        },
        left_out={
            name: np.array([name not in row.properties for row in rows])
            for name in optional_defaults(entity)
        },
        ids=ids if ids.null_count < len(ids) else None,
        sources=pa.array([row.source for row in rows], form.source) if is_edge else None,
        targets=pa.array([row.target for row in rows], form.target) if is_edge else None,
    )


def _arrow_type_of(end: object) -> pa.DataType:
    # Between them the two halves hold every integer that can be a key.
    if isinstance(end, int) and not isinstance(end, bool):
        return pa.int64() if end < 0 else pa.uint64()
    return pa.scalar(end).type
