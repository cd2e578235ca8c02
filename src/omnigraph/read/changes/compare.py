"""Two views side by side: the rows that a caller sees differ, a page at a time.

First ids and places of all rows that may differ are found; values are read for the rows of a page
only. So a page takes little memory, whatever lies between the two moments.

A row that a view hides is not there: one that comes into sight is an insert, and one that goes out
of sight a delete. An edge goes with its ends, though nothing of the edge itself was written.
"""

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ChangeCursorRejected
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.types import Scalar
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.changes.diff import matched
from omnigraph.read.changes.filter import EVERYTHING, ChangeFilter
from omnigraph.read.changes.places import Places, places_between, places_of
from omnigraph.read.context import Budget
from omnigraph.read.limits import ReadLimits
from omnigraph.read.view import View
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import UPDATE, RowChanges
from omnigraph.store.datasets import ROW_ID, row_set

__all__ = ["Comparison", "FoundPlaces", "Page", "Place"]

# Rows without blobs whose values are read at a time.
ROWS_AT_ONCE = 4_096

NOTHING = pa.table({ID: pa.array([], pa.string()), ROW_ID: pa.array([], pa.uint64())})


class Place(NamedTuple):
    """A row of a comparison, which stands still: what comes after it is always the same."""

    table: TableKey
    id: str


FoundPlaces = dict[TableKey, Places]
"""Places by table. They hold for two views, whatever the filter."""


class Page(NamedTuple):
    tables: tuple[tuple[EntityType, RowChanges], ...]
    """In the order of types; a type may come more than once, later ids later."""
    last: Place | None
    """Where the next page goes on; None: there is nothing after this one."""

    @property
    def rows(self) -> int:
        return sum(len(changes) for _, changes in self.tables)

    @property
    def bytes(self) -> int:
        """How much its images take."""
        return sum(_bytes(changes) for _, changes in self.tables)


@frozen(slots=False, eq=False)
class Comparison:
    before: View
    after: View
    """Of the same schema, and for the same caller."""
    filter: ChangeFilter = EVERYTHING
    found: FoundPlaces = field(default_factory=dict, repr=False)
    """What was found out so far: comparisons of the same two views may share it."""
    limits: ReadLimits = field(default_factory=ReadLimits, repr=False)
    budget: Budget = field(default_factory=Budget, repr=False)
    """Its time and its cancellation are asked before rows of a table are looked for or read."""

    def __post_init__(self) -> None:
        hashes = {view.snapshot.schema_hash for view in (self.before, self.after)}
        assert len(hashes) == 1, "rows of two schemas can't be compared"
        assert self.before.identity == self.after.identity, "one caller looks at both"

    @property
    def entities(self) -> list[EntityType]:
        return self.filter.entities(self.after.catalog)

    def page(
        self, *, after: Place | None = None, limit: int, limit_bytes: int | None = None
    ) -> Page:
        """The next changes, at most so many and at least one if there is one."""
        limit_bytes = self.limits.max_page_bytes if limit_bytes is None else limit_bytes
        found: list[tuple[EntityType, RowChanges]] = []
        rows = size = 0
        for entity, changes in self._changes(after, at_once=limit):
            changes = _first(changes, limit - rows)
            found.append((entity, changes))
            rows += len(changes)
            size += _bytes(changes)
            if rows == limit or size >= limit_bytes:
                last = Place(entity.table_key, changes.id[-1].as_py())
                return Page(tuple(found), last if self._is_more(last) else None)
        return Page(tuple(found), None)

    def differing(self, entity: EntityType) -> Places | RowChanges:
        """All rows of a type that differ: with their images if they are few, else their places."""
        places, at_once = self._selected(entity), self._rows_at_once(entity)
        if len(places) <= at_once:
            return self._read(entity, places)
        unsure = places.filter(pc.equal(places.op, UPDATE))
        changed = [self._read(entity, part).id for part in _parts(unsure, at_once)]
        ids = pa.concat_arrays([pa.array([], pa.string()), *changed])
        is_sure = pc.not_equal(places.op, UPDATE)
        return places.filter(pc.or_(is_sure, pc.is_in(places.id, value_set=ids)))

    def changes_at(self, entity: EntityType, places: Places) -> Iterator[RowChanges]:
        """The rows with both images, a few at a time."""
        return (self._read(entity, part) for part in _parts(places, self._rows_at_once(entity)))

    # Values --------------------------------------------------------------------------------------

    def _changes(
        self, after: Place | None, *, at_once: int
    ) -> Iterator[tuple[EntityType, RowChanges]]:
        """The changes after a place, a few rows at a time, none of them empty."""
        for entity, places in self._from(after):
            for part in _parts(places, min(at_once, self._rows_at_once(entity))):
                changes = self._read(entity, part)
                if len(changes):
                    yield entity, changes

    def _is_more(self, last: Place) -> bool:
        if any(_is_sure(places) for _, places in self._from(last)):
            return True
        return next(self._changes(last, at_once=ROWS_AT_ONCE), None) is not None

    def _from(self, after: Place | None) -> Iterator[tuple[EntityType, Places]]:
        entities = self.entities
        if after is not None:
            keys = [entity.table_key for entity in entities]
            if after.table not in keys:
                # The place was told to another caller, who sees more types.
                explanation = "it was made for another caller, or under another policy"
                raise ChangeCursorRejected(reason="position", explanation=explanation)
            first = entities[keys.index(after.table)]
            yield first, self._selected(first).after(after.id)
            entities = entities[keys.index(after.table) + 1 :]
        for entity in entities:
            yield entity, self._selected(entity)

    def _read(self, entity: EntityType, places: Places) -> RowChanges:
        columns = table_schema(entity).names
        if not len(places):
            nothing = table_schema(entity).empty_table()
            return matched(nothing, nothing)
        self.budget.check(f"compare {entity.name}")
        old = _rows(self.before, entity, places.was, columns)
        return matched(old, _rows(self.after, entity, places.now, columns))

    # Places --------------------------------------------------------------------------------------

    def _selected(self, entity: EntityType) -> Places:
        places = self._all(entity)
        if self.filter.ops is None:
            return places
        wanted = pa.array(sorted(self.filter.ops), pa.string())
        return places.filter(pc.is_in(places.op, value_set=wanted))

    def _all(self, entity: EntityType) -> Places:
        key = entity.table_key
        if key not in self.found:
            self.budget.check(f"compare {entity.name}")
            self.found[key] = self._seen(entity)
        return self.found[key]

    def _seen(self, entity: EntityType) -> Places:
        places = self._raw(entity)
        if self.after.restriction(entity) is None:
            return places
        was = _shown(self.before, entity, places.was)
        now = _shown(self.after, entity, places.now)
        if isinstance(entity, EdgeType):
            ids = places.id
            was = pa.concat_tables([was, self._at_turned_ends(self.before, entity, ids)])
            now = pa.concat_tables([now, self._at_turned_ends(self.after, entity, ids)])
        return places_of(was, now)

    def _raw(self, entity: EntityType) -> Places:
        """Visible or not."""
        return places_between(self.before.snapshot, self.after.snapshot, entity)

    def _at_turned_ends(self, view: View, edge: EdgeType, known: pa.Array) -> pa.Table:
        """Visible edges beside the known ones that have an end which came into sight or left it."""
        found = [NOTHING]
        for node_name, end in ((edge.source, SRC), (edge.target, DST)):
            turned = self._turned(self.after.catalog.node_by_name[node_name])
            if len(turned):
                rows = view.snapshot.dataset(edge).rows_among(
                    end, turned, view.columns_to_judge(edge)
                )
                found.append(_locators(view.shown(edge, rows)))
        rows = pa.concat_tables(found)
        rows = rows.filter(pc.invert(pc.is_in(rows[ID], value_set=known)))
        # An edge may have both ends among them.
        _, first = np.unique(rows[ROW_ID].to_numpy(), return_index=True)
        return rows.take(pa.array(first))

    def _turned(self, node: NodeType) -> pa.Array:
        """The nodes that are there on both sides, and that only one of the two views shows."""
        if self.after.restriction(node) is None:
            return pa.array([], pa.string())
        raw, places = self._raw(node), self._all(node)
        there = raw.id.filter(pc.equal(raw.op, UPDATE))
        shown_once = places.id.filter(pc.not_equal(places.op, UPDATE))
        # Edges of a node that came or went came or went with it: they are known.
        return shown_once.filter(pc.is_in(shown_once, value_set=there))

    def _rows_at_once(self, entity: EntityType) -> int:
        has_blobs = any(p.type is Scalar.BLOB for p in entity.properties)
        return self.limits.max_blobs_at_once if has_blobs else ROWS_AT_ONCE


def _rows(view: View, entity: EntityType, row_ids: pa.Array, columns: list[str]) -> pa.Table:
    wanted = row_set(row_ids.drop_null().to_numpy())
    return view.snapshot.dataset(entity).rows_at(wanted, columns).select(columns)


def _shown(view: View, entity: EntityType, row_ids: pa.Array) -> pa.Table:
    """Of these rows the visible ones, by id and row id."""
    columns = list(dict.fromkeys([ID, *view.columns_to_judge(entity)]))
    wanted = row_set(row_ids.drop_null().to_numpy())
    rows = view.snapshot.dataset(entity).rows_at(wanted, columns)
    return _locators(view.shown(entity, rows))


def _locators(rows: pa.Table) -> pa.Table:
    """Without what a dataset's schema says of the columns, so that tables can be joined."""
    return pa.table([rows[ID], rows[ROW_ID]], [ID, ROW_ID])


def _is_sure(places: Places) -> bool:
    """True if one of them is a change, whatever its values are."""
    return bool(pc.any(pc.not_equal(places.op, UPDATE)).as_py())


def _parts(places: Places, rows: int) -> Iterator[Places]:
    for start in range(0, len(places), rows):
        yield places.slice(start, rows)


def _bytes(changes: RowChanges) -> int:
    return int(changes.before.nbytes + changes.after.nbytes)


def _first(changes: RowChanges, rows: int) -> RowChanges:
    if len(changes) <= rows:
        return changes
    parts = (changes.id, changes.op, changes.before, changes.after)
    return RowChanges(*(part.slice(0, rows) for part in parts))
