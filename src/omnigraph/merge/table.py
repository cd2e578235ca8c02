"""One table of a merge: the rows that theirs changed, and which side each of them takes.

A row without a conflict takes the side that changed it. A row in conflict stays as it is on ours
until it is told to take a side, whole or column by column.
"""

from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.base.conflicts import Take
from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import DST, SRC, EntityType
from omnigraph.merge.three_way import Compared, Side, Sides, three_way, with_ours_in
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import RowEdits

__all__ = ["Pin", "TableMerge", "property_of"]


@frozen
class Pin:
    """A row, or one column of it, is what it is on one side."""

    entity: EntityType
    id: str
    take: Take
    column: str | None = None


def property_of(entity: EntityType, column: str) -> str:
    """The name of a column for people: that of its property, or of an end of an edge."""
    if column in (SRC, DST):
        return "from" if column == SRC else "to"
    return next(p.name for p in entity.properties if p.column == column)


class TableMerge:
    def __init__(self, entity: EntityType, sides: Sides, *, unknown: Collection[str] = ()) -> None:
        """`unknown` are columns that theirs does not have."""
        self.entity = entity
        self.sides = with_ours_in(sides, unknown)
        self._unknown = unknown
        self._rows: dict[int, Take] = {}
        self._columns: dict[tuple[int, str], Take] = {}

    @cached_property
    def compared(self) -> Compared:
        return three_way(self.sides)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each id stands."""
        return {id_: place for place, id_ in enumerate(self.sides.ids.to_pylist())}

    # Which side a row takes ----------------------------------------------------------------------

    def pin(self, pin: Pin) -> bool:
        """Let a row take a side; False if it has been told before, or is not one of these rows."""
        row = self.place.get(pin.id)
        if row is None or row in self._rows:
            return False
        if pin.column is None:
            self._rows[row] = pin.take
            return True
        is_new = (row, pin.column) not in self._columns
        self._columns.setdefault((row, pin.column), pin.take)
        return is_new

    def add(self, more: Sides) -> None:
        """Take up more rows."""
        old, more = self.sides, with_ours_in(more, self._unknown)
        self.sides = Sides(
            pa.concat_arrays([old.ids, more.ids]),
            _both(old.base, more.base),
            _both(old.ours, more.ours),
            _both(old.theirs, more.theirs),
            np.concatenate([old.is_disputed, more.is_disputed]),
        )
        for kept in ("compared", "place"):
            self.__dict__.pop(kept, None)

    @property
    def is_unsettled(self) -> np.ndarray:
        """The rows in conflict that nobody told which side to take, or not for all columns."""
        unsettled = self.compared.in_conflict.copy()
        unsettled[list(self._rows)] = False
        return unsettled

    def is_open(self, row: int, column: str) -> bool:
        """True if nobody told which side the row takes in this column."""
        return (row, column) not in self._columns

    @property
    def takes_theirs(self) -> np.ndarray:
        """The rows that become those of theirs, whole."""
        taken = self.compared.taken.copy()
        for row, take in self._rows.items():
            taken[row] = take == "theirs"
        return taken

    @property
    def mixed(self) -> list[int]:
        """The rows that take columns of both sides."""
        rows = {row for (row, _), take in self._columns.items() if take == "theirs"}
        return sorted(rows - self._rows.keys())

    # What comes of it ----------------------------------------------------------------------------

    def edits(self) -> RowEdits:
        """What turns our rows into the merged ones."""
        taken, ours, theirs = self.takes_theirs, self.sides.ours, self.sides.theirs
        is_other = self._is_other
        puts = np.flatnonzero(taken & theirs.has & is_other)
        upserts = theirs.rows.take(pa.array(puts))
        if mixed := self.mixed:
            upserts = pa.concat_tables([upserts, self._mixed_rows(mixed)])
        gone = pa.array(taken & ours.has & ~theirs.has)
        schema = table_schema(self.entity)
        return RowEdits(upserts.select(schema.names).cast(schema), self.sides.ids.filter(gone))

    @property
    def _is_other(self) -> np.ndarray:
        """Where theirs has a row that ours has not, or has otherwise."""
        is_other: np.ndarray = ~self.sides.ours.has
        for differs in self.compared.differs.values():
            is_other = is_other | differs
        return is_other

    def _mixed_rows(self, rows: list[int]) -> pa.Table:
        places = np.array(rows)
        columns = {}
        for name in self.sides.ours.rows.column_names:
            both = [*self.sides.ours.rows[name].chunks, *self.sides.theirs.rows[name].chunks]
            from_theirs = [self._columns.get((row, name)) == "theirs" for row in rows]
            at = places + np.where(from_theirs, len(self.sides), 0)
            columns[name] = pa.chunked_array(both).take(pa.array(at))
        return pa.table(columns)

    def rows_at(self, column: str, values: Iterable[str]) -> np.ndarray:
        """Which rows have one of the values in a column, on the base or on theirs."""
        wanted = pa.array(list(values), pa.string())
        found = np.zeros(len(self.sides), dtype=bool)
        for side in (self.sides.base, self.sides.theirs):
            found |= np.isin(side.rows[column].to_numpy(zero_copy_only=False), wanted) & side.has
        return found


def _both(one: Side, other: Side) -> Side:
    names = one.rows.column_names
    rows = pa.concat_tables([one.rows, other.rows.select(names)])
    return Side(rows, np.concatenate([one.has, other.has]))
