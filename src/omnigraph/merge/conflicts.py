"""Conflicts of rows: each with what it was, what both sides made of it, and what a choice would do.

Of two rows that differ, every property in which they do is a conflict of its own, so that a choice
can be made for each. A row that one side deleted is one conflict.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.conflicts import Conflict, ConflictKind, ConflictSide, Take
from omnigraph.base.frozen import frozen
from omnigraph.base.words import MAX_SHOWN_CHARACTERS, clipped, quoted
from omnigraph.lang.schema.catalog import ID, EdgeType, EntityType
from omnigraph.merge.table import Pin, TableMerge, property_of
from omnigraph.merge.three_way import Side, Sides
from omnigraph.store.arrays import with_short_floats
from omnigraph.store.identity import shown_id

__all__ = [
    "Found",
    "Images",
    "SideNames",
    "conflict_of",
    "images",
    "images_at",
    "row_conflicts",
]

Images = tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, Any] | None]
"""A row on the base, on ours and on theirs; None where there is no such row."""


@frozen
class SideNames:
    """How messages call the two sides."""

    ours: str
    theirs: str


@frozen
class Found:
    """A conflict, and the rows that take a side where the choice is ours or theirs."""

    conflict: Conflict
    effects: Mapping[Take, Sequence[Pin]]
    is_of_rows: bool
    """True if it is about one row on two sides; False if about rows beside each other."""


def row_conflicts(table: TableMerge, names: SideNames) -> Iterator[Found]:
    """The conflicts of one table that are not settled."""
    rows = np.flatnonzero(table.is_unsettled)
    if not len(rows):
        return
    sides, compared, entity = table.sides, table.compared, table.entity
    base, ours, theirs = (
        images(entity, side, rows) for side in (sides.base, sides.ours, sides.theirs)
    )
    ids = sides.ids.take(pa.array(rows)).to_pylist()
    for number, row in enumerate(rows.tolist()):
        id_, images_of = ids[number], (base[number], ours[number], theirs[number])
        if compared.delete_vs_update[row]:
            yield _deleted(entity, id_, images_of, names)
            continue
        for column, differs in compared.differs.items():
            if differs[row] and table.is_open(row, column):
                kind: ConflictKind = (
                    "divergent_insert" if compared.divergent_insert[row] else "divergent_update"
                )
                yield _diverged(entity, id_, column, images_of, kind, names)


def _deleted(entity: EntityType, id_: str, rows: Images, names: SideNames) -> Found:
    gone, there = (names.ours, names.theirs) if rows[1] is None else (names.theirs, names.ours)
    message = f"{_named(entity, id_)} was deleted on {gone} and updated on {there}"
    return _found(conflict_of("delete_vs_update", entity, id_, rows, (), message), entity, None)


def _diverged(
    entity: EntityType,
    id_: str,
    column: str,
    rows: Images,
    kind: ConflictKind,
    names: SideNames,
) -> Found:
    name = property_of(entity, column)
    base, ours, theirs = (None if row is None else row[name] for row in rows)
    was = "inserted on both sides" if kind == "divergent_insert" else f"it was {_shown(base)}"
    message = (
        f"{_named(entity, id_)}: {name} is {_shown(ours)} on {names.ours} "
        f"and {_shown(theirs)} on {names.theirs}; {was}"
    )
    return _found(conflict_of(kind, entity, id_, rows, (name,), message), entity, column)


def _found(conflict: Conflict, entity: EntityType, column: str | None) -> Found:
    takes: tuple[Take, Take] = ("ours", "theirs")
    pins = {take: [Pin(entity, conflict.entity_id, take, column)] for take in takes}
    return Found(conflict, pins, is_of_rows=True)


def conflict_of(
    kind: ConflictKind,
    entity: EntityType,
    id_: str,
    rows: Images,
    properties: Sequence[str],
    message: str,
) -> Conflict:
    """A conflict about these properties of a row; without any, about the whole row."""
    base, ours, theirs = (_part(row, properties) for row in rows)
    sides: tuple[ConflictSide, ...] = ("base", "ours", "theirs")
    return Conflict(
        kind,
        "edge" if isinstance(entity, EdgeType) else "node",
        entity.name,
        id_,
        ", ".join(properties) or None,
        base,
        ours,
        theirs,
        message,
        tuple(side for side, row in zip(sides, rows, strict=True) if row is None),
    )


def _part(row: dict[str, Any] | None, properties: Sequence[str]) -> Any:
    if row is None or not properties:
        return row
    values = [row[name] for name in properties]
    return values if len(values) > 1 else values[0]


# Values -------------------------------------------------------------------------------------------


def images_at(entity: EntityType, sides: Sides, row: int) -> Images:
    """One row on all sides."""
    rows = np.array([row])
    base, ours, theirs = (
        images(entity, side, rows)[0] for side in (sides.base, sides.ours, sides.theirs)
    )
    return base, ours, theirs


def images(entity: EntityType, side: Side, rows: np.ndarray) -> list[dict[str, Any] | None]:
    """Rows of a side by the names of their properties, in values that JSON can carry."""
    columns = [name for name in side.rows.column_names if name != ID]
    names = [property_of(entity, name) for name in columns]
    table = with_short_floats(side.rows.select(columns).take(pa.array(rows)))
    has = side.has[rows]
    return [
        dict(zip(names, map(_plain, row.values()), strict=True)) if there else None
        for row, there in zip(_pylist(table, len(rows)), has.tolist(), strict=True)
    ]


def _pylist(table: pa.Table, count: int) -> list[dict[str, Any]]:
    # A table without columns has forgotten how many rows it has.
    rows: list[dict[str, Any]] = table.to_pylist() if table.num_columns else [{}] * count
    return rows


def _plain(value: Any) -> Any:
    match value:
        case date():
            return value.isoformat()
        case bytes():
            return text_from_blob(value)
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _named(entity: EntityType, id_: str) -> str:
    return f"{entity.name} {clipped(shown_id(entity, id_))}"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return quoted(value, MAX_SHOWN_CHARACTERS)
        case _:
            return clipped(repr(value))
