"""Inside a task: the rows of a table whose vectors are to be made, or to go."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.choices import EmbedOnly
from omnigraph.base.frozen import frozen
from omnigraph.embed.columns import has_text, matrix_of
from omnigraph.embed.digests import DIGEST, text_digests, vector_digests
from omnigraph.embed.origins import Origins, read_origins
from omnigraph.embed.targets import VectorTarget
from omnigraph.pipeline.load.row_sources import CommittedRows
from omnigraph.store.datasets import ROW_ID, Dataset, row_set

__all__ = ["FindTask", "Found", "find_rows", "united"]

# Rows of which texts and vectors are in memory at a time.
STRIDE_ROWS = 16_384

RowIds = NDArray[np.uint64]


@frozen
class FindTask:
    rows: CommittedRows
    target: VectorTarget
    only: EmbedOnly
    model: str


@frozen(slots=False, eq=False)
class Found:
    """Rows of one table, for one of its vectors."""

    row_ids: RowIds
    """Of rows that get a vector, ascending."""
    texts: pa.Array
    """The digests of their texts."""
    emptied: RowIds
    """Of rows whose vector was ours, and that have no text any more."""


def find_rows(task: FindTask) -> Found:
    dataset = task.rows.open()
    if task.only == "missing":
        return united(_without_vector(task, dataset))
    origins = read_origins(task.rows.root.objects(), task.model)
    return united(_with_any(task, dataset, origins))


def united(parts: Iterator[Found] | list[Found]) -> Found:
    parts = list(parts)
    row_ids = np.concatenate([np.empty(0, np.uint64), *(part.row_ids for part in parts)])
    texts = pa.concat_arrays([pa.array([], DIGEST), *(part.texts for part in parts)])
    order = np.argsort(row_ids)
    emptied = np.concatenate([np.empty(0, np.uint64), *(part.emptied for part in parts)])
    return Found(row_ids[order], texts.take(pa.array(order)), np.sort(emptied))


def _without_vector(task: FindTask, dataset: Dataset) -> Iterator[Found]:
    """Rows that have a text and no vector; vectors themselves are not read."""
    target = task.target
    row_ids = dataset.row_ids_without(target.column, fragment_ids=task.rows.fragment_ids)
    for start in range(0, len(row_ids), STRIDE_ROWS):
        stride = row_set(row_ids[start : start + STRIDE_ROWS])
        rows = dataset.rows_at(stride, [target.source])
        texts = rows[target.source].combine_chunks()
        says = has_text(texts)
        yield Found(
            rows[ROW_ID].to_numpy()[says],
            text_digests(texts.filter(pa.array(says)).to_pylist()),
            np.empty(0, np.uint64),
        )


def _with_any(task: FindTask, dataset: Dataset, origins: Origins) -> Iterator[Found]:
    """Rows whose vector is missing or stale, or all that have a text."""
    target = task.target
    for fragment_id in task.rows.fragment_ids:
        start = 0
        while True:
            rows = dataset.scan(
                [target.source, target.column],
                with_row_id=True,
                fragment_ids=[fragment_id],
                rows=range(start, start + STRIDE_ROWS),
            ).combine_chunks()
            if not rows.num_rows:
                break
            yield _judged(task, rows, origins)
            start += rows.num_rows


def _judged(task: FindTask, rows: pa.Table, origins: Origins) -> Found:
    target, row_ids = task.target, rows[ROW_ID].to_numpy()
    texts = rows[target.source].combine_chunks()
    matrix, has_vector = matrix_of(rows[target.column].combine_chunks(), target.width)
    says = has_text(texts)
    digests = text_digests(text or "" for text in texts.to_pylist())
    vectors = vector_digests(matrix)
    is_ours = has_vector & _mask(origins.are_ours(vectors))
    is_wanted = says
    if task.only == "stale":
        is_stale = is_ours & ~_mask(origins.are_fresh(digests, vectors))
        is_wanted = says & (~has_vector | is_stale)
    emptied = ~says & is_ours & target.is_nullable
    return Found(row_ids[is_wanted], digests.filter(pa.array(is_wanted)), row_ids[emptied])


def _mask(claims: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(claims.to_numpy(zero_copy_only=False), dtype=np.bool_)
