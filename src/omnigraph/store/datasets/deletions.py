"""Which rows of a fragment are gone, and which row ids stand at which offsets, from small files.

A scan would tell both, and read all rows of the fragment for it. What is not understood here is
left to a scan.
"""

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.store.datasets.roaring import numbers_of
from omnigraph.store.datasets.version_file import fields_of

__all__ = ["MalformedDeletionFile", "ReadFile", "deleted_offsets", "row_ids_at"]

ReadFile = Callable[[str], bytes | None]
"""Gives the bytes of a file of the graph by its name, None where there is no such file."""

ARRAY_SUFFIX = ".arrow"

# The smallest bitmap: its mark, and the number of its containers.
MIN_FILE_BYTES = 8

# Field numbers of Lance's `RowIdSequence`, and of the kind of its segments that is one range.
SEGMENT, RANGE, START, END = 1, 1, 1, 2

Offsets = NDArray[np.int64]


class MalformedDeletionFile(ValueError):
    """These bytes are not a whole deletion file; the text says why."""


def deleted_offsets(data: bytes, path: str) -> Offsets | None:
    """The offsets that a deletion file lists, ascending; None: it has a form not known here.

    Raises `MalformedDeletionFile` if the file is incomplete.
    """
    if len(data) < MIN_FILE_BYTES:
        raise MalformedDeletionFile(f"has {len(data)} bytes")
    if not any(data[:MIN_FILE_BYTES]):
        raise MalformedDeletionFile("begins with zeros")
    try:
        if not path.endswith(ARRAY_SUFFIX):
            return numbers_of(data)
        offsets = pa.ipc.open_file(pa.BufferReader(data)).read_all().column(0).to_numpy()
    except (ValueError, OSError, IndexError) as error:
        raise MalformedDeletionFile(f"is incomplete: {error}") from error
    return np.sort(offsets.astype(np.int64))


def row_ids_at(row_id_meta: str, offsets: Offsets) -> NDArray[np.uint64] | None:
    """The row ids at these offsets, where row ids run on in ranges; None: they don't."""
    stored = json.loads(row_id_meta).get("Inline")
    ranges = None if stored is None else _ranges(bytes(stored))
    if ranges is None:
        return None
    starts = np.array([start for start, _ in ranges], dtype=np.int64)
    lengths = np.array([end - start for start, end in ranges], dtype=np.int64)
    first_offset = np.cumsum(lengths) - lengths
    which = np.searchsorted(first_offset, offsets, side="right") - 1
    return (starts[which] + offsets - first_offset[which]).astype(np.uint64)


def _ranges(sequence: bytes) -> list[tuple[int, int]] | None:
    found = []
    for segment in fields_of(sequence):
        kinds = list(fields_of(segment.bytes_value))
        if segment.number != SEGMENT or [kind.number for kind in kinds] != [RANGE]:
            return None
        bounds = {bound.number: bound.number_value for bound in fields_of(kinds[0].bytes_value)}
        found.append((bounds.get(START, 0), bounds.get(END, 0)))
    return found or None
