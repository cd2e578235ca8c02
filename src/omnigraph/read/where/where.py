"""The `where` of an update or delete, over committed rows and rows not written yet.

It is asked in two steps, since a mutation sees what it did before: `candidates` are committed rows,
found by key or by what Lance can test; `matching` decides, row by row, about the rows that are left
of them and those staged meanwhile.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import Predicate
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.values.rows import columns_in, matching
from omnigraph.read.view import View
from omnigraph.read.where.key_lookup import ids_to_look_up
from omnigraph.read.where.pushdown import pushed
from omnigraph.read.where.served import served_by
from omnigraph.store.row_filters import HasWords, RowFilter

__all__ = ["Where"]


@frozen
class Where:
    entity: EntityType
    predicates: tuple[Predicate, ...]
    parameters: Mapping[str, Value]
    now_ms: int

    def columns(self, wanted: Sequence[str]) -> list[str]:
        """The wanted columns and those that the predicates look at, `id` first."""
        return list(dict.fromkeys([*columns_in(self.predicates, self.entity), *wanted]))

    def candidates(self, view: View, columns: Sequence[str]) -> pa.Table:
        """Visible rows, among them all for which the predicates hold.

        They have these columns, which `columns` gave, and their row ids and addresses.
        """
        if (ids := self.ids) is not None:
            return view.rows_of(self.entity, ids, columns[1:])
        return view.scan(self.entity, columns[1:], self.tested())

    @property
    def ids(self) -> pa.Array | None:
        """The ids of all rows that the predicates can hold for; None: they name no ids."""
        return ids_to_look_up(self.entity, self.predicates, self.parameters)

    def tested(self) -> RowFilter | None:
        """What Lance tests: all that it compares as we do, or else one part of a text or a list."""
        given, now_ms = self.parameters, self.now_ms
        if (
            tested := pushed(self.predicates, self.entity, parameters=given, now_ms=now_ms)
        ) is not None:
            return tested
        for predicate in self.predicates:
            part = served_by(predicate, self.entity, parameters=given, now_ms=now_ms)
            # Without an index Lance knows other words than we do.
            if part is not None and not isinstance(part.filter, HasWords):
                return part.filter
        return None

    def matching(self, rows: pa.Table) -> pa.Table:
        """The rows for which every predicate holds."""
        return matching(
            rows, self.predicates, self.entity, parameters=self.parameters, now_ms=self.now_ms
        )
