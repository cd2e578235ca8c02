"""Inside a task: rows of a table, written again with the vectors that were made for them.

A row keeps its row id. Rows whose vectors come out as they were are not written.
"""

from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.embed.columns import matrix_of, vector_column
from omnigraph.embed.digests import DIGEST, vector_digests
from omnigraph.embed.kept import kept_vectors
from omnigraph.embed.targets import VectorTarget
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.embed.find import Found
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import (
    ROW_ADDRESS,
    ROW_ID,
    DatasetRef,
    Datasets,
    TableHome,
    row_set,
    with_row_ids,
    write_fragments,
)
from omnigraph.store.location import Location
from omnigraph.store.objects import Objects

__all__ = ["Fill", "FillTask", "Filled", "fill_rows"]


@frozen
class Fill:
    """The vectors of one column."""

    target: VectorTarget
    found: Found = field(repr=False)
    kept_in: tuple[str, ...] = field(repr=False)
    """The objects that hold them."""


@frozen
class FillTask:
    root: Location
    ref: DatasetRef
    home: TableHome
    """Where files of the table go."""
    entity: EntityType
    fills: tuple[Fill, ...]


@frozen(slots=False, eq=False)
class Filled:
    fragments: tuple[str, ...]
    addresses: NDArray[np.uint64]
    """Of the rows that the files replace."""
    facts: pa.Table
    """The digests of each text and of its vector."""
    made: dict[str, int]
    """Rows that got another vector, by property."""
    emptied: int


def fill_rows(task: FillTask) -> Filled:
    schema, objects = table_schema(task.entity), task.root.objects()
    row_ids = np.unique(
        np.concatenate([part for f in task.fills for part in (f.found.row_ids, f.found.emptied)])
    )
    dataset = Datasets(task.root).open(task.ref)
    read = dataset.rows_at(row_set(row_ids), schema.names, with_row_address=True)
    # Neighbours stay neighbours, and row ids in order take a fraction of the room.
    rows = read.take(pc.sort_indices(read[ROW_ID])).combine_chunks()
    is_changed = np.zeros(len(row_ids), np.bool_)
    facts, made, emptied = [], {}, 0
    for fill in task.fills:
        vectors, is_other, about = _with_vectors(fill, rows, row_ids, objects)
        made[fill.target.name] = int(is_other.sum()) - len(fill.found.emptied)
        emptied += len(fill.found.emptied)
        facts.append(about)
        is_changed |= is_other
        at = rows.schema.get_field_index(fill.target.column)
        rows = rows.set_column(at, rows.schema.field(at), vectors)
    changed = rows.filter(pa.array(is_changed))
    return Filled(
        fragments=_written(task, changed.select(schema.names).cast(schema), row_ids[is_changed]),
        addresses=changed[ROW_ADDRESS].to_numpy().astype(np.uint64),
        facts=pa.concat_tables(facts),
        made=made,
        emptied=emptied,
    )


def _with_vectors(
    fill: Fill, rows: pa.Table, row_ids: NDArray[np.uint64], objects: Objects
) -> tuple[pa.Array, NDArray[np.bool_], pa.Table]:
    """The column as it will be, which rows of it are other than before, and facts about it."""
    target, found = fill.target, fill.found
    column = rows[target.column].combine_chunks()
    before, was_there = matrix_of(column, target.width)
    after, is_there = before.copy(), was_there.copy()
    made, is_found = kept_vectors(objects, fill.kept_in, found.texts, target.width)
    assert is_found.all(), "one embedding of a branch runs at a time"
    at = np.searchsorted(row_ids, found.row_ids)
    after[at], is_there[at] = made, True
    is_there[np.searchsorted(row_ids, found.emptied)] = False
    is_other = (was_there != is_there) | (is_there & (before != after).any(axis=1))
    facts = pa.table({"text": found.texts.cast(DIGEST), "vector": vector_digests(made)})
    return vector_column(after, is_there, column.type), is_other, facts


def _written(task: FillTask, rows: pa.Table, row_ids: NDArray[np.uint64]) -> tuple[str, ...]:
    if not rows.num_rows:
        return ()
    fragments = write_fragments(task.home, iter(rows.to_batches()), rows.schema)
    return with_row_ids(fragments, row_ids)
