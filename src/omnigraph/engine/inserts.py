"""Inserts that follow each other, checked together.

The checks of rows work on columns. Called for one row at a time they would cost a millisecond per
statement, most of it for setting up columns of one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violation
from omnigraph.check.rows.validate import Checked, Rows, check_rows
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType

__all__ = ["FROM", "MAX_INSERTS_AT_ONCE", "TO", "CheckedInserts", "Inserts"]

MAX_INSERTS_AT_ONCE = 1024
"""Some hundredths of a second of work: the deadline is looked at before the next ones."""

FROM, TO = "from", "to"
"""The ends of an edge among its values; no property can have these names."""

Values = Mapping[str, pa.Scalar]


@frozen(slots=False, eq=False)
class CheckedInserts:
    rows: Mapping[TableKey, pa.Table]
    """As they are stored, in the order of the statements."""
    violations: tuple[Violation, ...]
    """In the order of the statements."""


class Inserts:
    """Rows that were inserted and not checked yet."""

    def __init__(self, catalog: Catalog, *, now_ms: int) -> None:
        self._catalog = catalog
        self._now_ms = now_ms
        self._batches: dict[TableKey, list[_Batch]] = {}
        self._count = 0

    @property
    def is_full(self) -> bool:
        return self._count >= MAX_INSERTS_AT_ONCE

    def add(self, entity: EntityType, values: Values) -> None:
        batches = self._batches.setdefault(entity.table_key, [])
        batch = next((each for each in batches if each.takes(values)), None)
        if batch is None:
            batch = _Batch(entity)
            batches.append(batch)
        batch.add(self._count, values)
        self._count += 1

    def checked(self) -> CheckedInserts:
        """Check all rows, and begin anew."""
        batches, self._batches, self._count = self._batches, {}, 0
        tables: dict[TableKey, pa.Table] = {}
        violations: list[tuple[int, Violation]] = []
        for key, of_table in batches.items():
            numbers, found = [], []
            for batch in of_table:
                checked = self._check(batch)
                statements = np.array(batch.statements)
                numbers.append(statements[checked.kept])
                found.append(checked.batch)
                violations += [(int(statements[row]), each) for row, each in checked.each()]
            order = np.argsort(np.concatenate(numbers), kind="stable")
            tables[key] = pa.Table.from_batches(found).take(pa.array(order))
        violations.sort(key=lambda numbered: numbered[0])
        return CheckedInserts(tables, tuple(each for _, each in violations))

    def _check(self, batch: "_Batch") -> Checked:
        return check_rows(batch.entity, batch.as_rows(), catalog=self._catalog, now_ms=self._now_ms)


@dataclass
class _Batch:
    """Rows of one type. The values of each property have one Arrow type, or are null."""

    entity: EntityType
    types: dict[str, pa.DataType] = field(default_factory=dict)
    """Of the values of each property; the type null while only nulls were given."""
    rows: list[Values] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)

    def takes(self, values: Values) -> bool:
        nothing = pa.null()
        return all(
            nothing
            in (
                v.type,
                self.types.get(n, nothing),
            )
            or v.type == self.types[n]
            for n, v in values.items()
        )

    def add(self, statement: int, values: Values) -> None:
        for name, value in values.items():
            if self.types.get(name, pa.null()) == pa.null():
                self.types[name] = value.type
        self.rows.append(values)
        self.statements.append(statement)

    def as_rows(self) -> Rows:
        ends = (FROM, TO) if isinstance(self.entity, EdgeType) else ()
        names = [name for name in self.types if name not in ends]
        sources, targets = (self._column(end) for end in ends) if ends else (None, None)
        return Rows(
            len(self.rows),
            {name: self._column(name) for name in names},
            left_out={name: np.array([name not in row for row in self.rows]) for name in names},
            sources=sources,
            targets=targets,
        )

    def _column(self, name: str) -> pa.Array:
        null = pa.nulls(1, self.types[name])
        given = (row.get(name) for row in self.rows)
        return pa.concat_arrays(
            pa.repeat(value, 1) if value is not None and value.is_valid else null for value in given
        )
