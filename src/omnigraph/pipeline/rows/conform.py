"""The rows of a split, conformed to the schema: typed batches, and a reason for each row left over.

A split gives several blocks if it is large. Every row is accounted for: it is in a batch, or it is
rejected. The text of a rejected row, and every reason against it, is put into words only when asked
for (`Conformed.rejected_rows`): a file in which every row is wrong should not cost more than a good
one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation, Violations
from omnigraph.check.rows.validate import Checked, check_rows
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.parse_lines import parse_lines
from omnigraph.pipeline.rows.parse_table import Cells, parse_batch, parse_cells
from omnigraph.pipeline.rows.parsed import Parsed
from omnigraph.pipeline.sources import Position, Split, position_in
from omnigraph.pipeline.sources.columnar import table_batches
from omnigraph.pipeline.sources.delimited import record_blocks
from omnigraph.pipeline.sources.lines import line_blocks
from omnigraph.pipeline.sources.splits import (
    CsvFile,
    CsvRange,
    InlineLines,
    InlineTable,
    LanceRows,
    LineRange,
    LinesFile,
    RowGroups,
    ScratchRows,
)

__all__ = [
    "Conformed",
    "RejectedRow",
    "TypedRows",
    "conform_split",
]


@frozen(slots=False)
class TypedRows:
    """Rows of one type that passed the row checks, and where each came from."""

    entity: EntityType
    batch: pa.RecordBatch
    lines: np.ndarray
    """Counted from 0 within the split."""
    gives_ids: bool
    """Whether ids came with the rows: only then can those of a type without a key clash."""


@frozen
class RejectedRow:
    """A row of the input that is not loaded."""

    number: int
    """Counted from 0 within the split."""
    text: str
    """The input as it came: a line, or a table's row as JSON."""
    reasons: tuple[Violation, ...]
    """At least one; they agree on file and line."""
    type_name: str | None
    entity_id: str | None


@frozen(slots=False)
class Conformed:
    """One block of a split."""

    read: int
    """Rows; blank lines are none."""
    rejected: int
    rows: tuple[TypedRows, ...]
    violations: Violations
    _reasons: "_Reasons" = field(repr=False)

    def __post_init__(self) -> None:
        loaded = sum(typed.batch.num_rows for typed in self.rows)
        assert self.read == loaded + self.rejected, "every row is loaded or is rejected"

    @cached_property
    def rejected_rows(self) -> tuple[RejectedRow, ...]:
        """Every rejected row in the order of the input, with all that is wrong with it."""
        rows = self._reasons.rows() if self.rejected else ()
        assert len(rows) == self.rejected, "every rejected row has a reason"
        return rows

    def without(self, faults: Sequence[tuple[TypedRows, int, Violation]]) -> "Conformed":
        """The same block; these rows, told by their number among those of a type, are rejected."""
        if not faults:
            return self
        reasons = self._reasons.with_more(
            (int(typed.lines[row]), violation) for typed, row, violation in faults
        )
        rows = []
        for typed in self.rows:
            is_kept = np.ones(len(typed.lines), np.bool_)
            is_kept[[row for of, row, _ in faults if of is typed]] = False
            batch = typed.batch.filter(pa.array(is_kept))
            rows.append(replace(typed, batch=batch, lines=typed.lines[is_kept]))
        left = tuple(typed for typed in rows if len(typed.lines))
        rejected = self.read - sum(len(typed.lines) for typed in left)
        return Conformed(self.read, rejected, left, reasons.report(), reasons)


def conform_split(
    split: Split, *, catalog: Catalog, now_ms: int, limits: InputLimits
) -> Iterator[Conformed]:
    """The split's rows, block by block in order."""
    position = position_in(split, limits)
    for first, parsed in _parsed(split, catalog, limits):
        yield _conform(parsed, first=first, position=position, catalog=catalog, now_ms=now_ms)


def _parsed(split: Split, catalog: Catalog, limits: InputLimits) -> Iterator[tuple[int, Parsed]]:
    """Blocks of the split before their rows are checked, and the number of the first in each."""
    match split:
        case LineRange() | LinesFile() | InlineLines():
            for first, data in line_blocks(split, limits):
                parsed = parse_lines(data, catalog=catalog, min_fast_lines=limits.min_fast_lines)
                yield first, parsed
        case CsvRange(table=layout, feed=feed) | CsvFile(table=layout, feed=feed):
            for records in record_blocks(split, limits):
                yield records.first, parse_cells(Cells(records, layout, feed), catalog=catalog)
        case RowGroups() | LanceRows() | InlineTable() | ScratchRows():
            for first, batch in table_batches(split, limits):
                yield first, parse_batch(batch, feed=split.feed, catalog=catalog)


def _conform(
    parsed: Parsed, *, first: int, position: Position, catalog: Catalog, now_ms: int
) -> Conformed:
    reasons = _Reasons(parsed, first, position)
    typed = []
    for group in parsed.groups:
        checked = check_rows(group.entity, group.rows, catalog=catalog, now_ms=now_ms)
        reasons.add(checked, group.numbers)
        lines = first + group.numbers[checked.kept]
        gives_ids = group.rows.ids is not None
        typed.append(TypedRows(group.entity, checked.batch, lines, gives_ids))
    rows = tuple(t for t in typed if len(t.lines))
    rejected = parsed.count - sum(len(t.lines) for t in rows)
    return Conformed(parsed.count, rejected, rows, reasons.report(), reasons)


class _Reasons:
    """What is wrong with the rows of a block: a short report at once, all of it on demand."""

    def __init__(self, parsed: Parsed, first: int, position: Position) -> None:
        self._parsed = parsed
        self._first = first
        self._position = position
        self._checked: list[tuple[Checked, np.ndarray]] = []
        self._later: tuple[tuple[int, Violation], ...] = ()

    def with_more(self, found: Iterable[tuple[int, Violation]]) -> "_Reasons":
        """The same, and what was found after the row checks, by the line within the split."""
        more = _Reasons(self._parsed, self._first, self._position)
        more._checked = self._checked
        more._later = tuple((line - self._first, violation) for line, violation in found)
        return more

    def add(self, checked: Checked, numbers: np.ndarray) -> None:
        if checked.row_violations:
            self._checked.append((checked, numbers))

    def report(self) -> Violations:
        report = Violations()
        for number, violations in sorted(self._parsed.violations.items()):
            for violation in violations:
                report.add(self._placed(violation, number))
        for checked, numbers in self._checked:
            report.merge(checked.report(self._position_of_rows(numbers)))
        report.merge(Violations.of(self._placed(each, number) for number, each in self._later))
        return report

    def rows(self) -> tuple[RejectedRow, ...]:
        reasons: dict[int, list[Violation]] = defaultdict(list)
        for number, violations in self._parsed.violations.items():
            reasons[number] += violations
        for checked, numbers in self._checked:
            for row, violation in checked.each():
                reasons[int(numbers[row])].append(violation)
        for number, violation in self._later:
            reasons[number].append(violation)
        return tuple(
            RejectedRow(
                number=self._first + number,
                text=self._parsed.text(number),
                reasons=tuple(self._placed(violation, number) for violation in found),
                type_name=found[0].type_name,
                entity_id=found[0].entity_id,
            )
            for number, found in sorted(reasons.items())
        )

    def _position_of_rows(self, numbers: np.ndarray) -> Position:
        return lambda row: self._position(self._first + int(numbers[row]))

    def _placed(self, violation: Violation, number: int) -> Violation:
        file, line = self._position(self._first + number)
        return replace(violation, file=file, line=line)
