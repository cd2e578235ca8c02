"""Vectors as columns: Arrow's lists of one length, and NumPy's matrices."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.embed.provider import Vectors

__all__ = ["has_text", "matrix_of", "vector_column"]


def matrix_of(column: pa.Array, width: int) -> tuple[Vectors, NDArray[np.bool_]]:
    """A row for each vector, of zeros where it is null; and which are not null."""
    is_there = column.is_valid().to_numpy(zero_copy_only=False)
    matrix = np.zeros((len(column), width), np.float32)
    matrix[is_there] = column.drop_null().flatten().to_numpy().reshape(-1, width)
    return matrix, is_there


def vector_column(matrix: Vectors, is_there: NDArray[np.bool_], type_: pa.DataType) -> pa.Array:
    values = pa.array(np.ascontiguousarray(matrix).reshape(-1), type_.value_type)
    return pa.FixedSizeListArray.from_arrays(
        values, type=type_, mask=pa.array(~is_there) if len(matrix) else None
    )


def has_text(texts: pa.Array) -> NDArray[np.bool_]:
    """Which texts say something: not those that are null, empty or blank."""
    blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    said = pc.invert(blank.fill_null(True))  # noqa: FBT003 - a value to fill in
    return np.asarray(said.to_numpy(zero_copy_only=False), dtype=np.bool_)
