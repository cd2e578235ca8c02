"""Values of blob columns: where they lie, and how many of them fit into memory at once."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen

__all__ = ["BlobCell", "parts_within"]


@frozen
class BlobCell:
    """Where one value of a blob column lies."""

    row_id: int
    written_at: int
    """The version that last wrote the row. With the row id it names the bytes for ever: a
    compaction moves them and changes neither."""
    size: int | None
    """None is null, which is not the same as empty."""


def parts_within(
    rows: pa.RecordBatch, blobs: Sequence[str], limit_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The rows, cut so that the blobs described in each part stay within the limit together."""
    if not blobs:
        yield rows
        return
    sizes = np.zeros(rows.num_rows, dtype=np.int64)
    for name in blobs:
        size = pc.fill_null(pc.struct_field(rows[name], "size"), fill_value=0)
        sizes += size.to_numpy(zero_copy_only=False).astype(np.int64)
    start, filled = 0, 0
    for row, size_bytes in enumerate(sizes.tolist()):
        if row > start and filled + size_bytes > limit_bytes:
            yield rows.slice(start, row - start)
            start, filled = row, 0
        filled += size_bytes
    if start < rows.num_rows:
        yield rows.slice(start)
