"""Parquet files in which Spark has counted early days by the Julian calendar.

Spark before version 3 did so, and later versions do when they are told to (`LEGACY`). Such a file
has a mark in its footer. Up to the days below, its numbers stand for other days than the numbers of
every other program; Spark itself corrects them by tables of time zones that we do not have.
"""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from omnigraph.base.errors import SourceInvalid

__all__ = ["has_julian_days", "refuse_julian_days"]

MARKS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")

# From here on both calendars agree. Times also depend on the offset of a time zone, and offsets
# were the local mean time of a city until the end of the 19th century.
FIRST_DATE, FIRST_TIME = datetime.date(1582, 10, 15), datetime.datetime(1900, 1, 1)


def has_julian_days(metadata: pq.FileMetaData) -> bool:
    """True if early days and times of the file are not what they seem."""
    return any(mark in (metadata.metadata or {}) for mark in MARKS)


def refuse_julian_days(batch: pa.RecordBatch, *, file: str, first_row: int) -> None:
    """Raise if a row has an early day or time. `first_row` rows of the file come before it."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        row = _first_early_row(column)
        if row is not None:
            raise SourceInvalid(
                file=file,
                column=name,
                reason=f"row {first_row + row + 1} has an early date in the Julian calendar, which "
                "old versions of Spark used and the file is marked with",
                advice="have Spark write the file again, with "
                "spark.sql.parquet.datetimeRebaseModeInWrite and "
                "spark.sql.parquet.int96RebaseModeInWrite set to CORRECTED",
            )


def _first_early_row(column: pa.Array) -> int | None:
    rows = np.arange(len(column))
    while pa.types.is_list(column.type):
        rows = rows[pc.list_parent_indices(column).to_numpy()]
        column = pc.list_flatten(column)
    if pa.types.is_date32(column.type):
        early = pc.less(column, pa.scalar(FIRST_DATE))
    elif pa.types.is_timestamp(column.type):
        early = pc.less(column.cast(pa.timestamp("us"), safe=False), pa.scalar(FIRST_TIME))
    else:
        return None
    found = rows[pc.fill_null(early, fill_value=False).to_numpy(zero_copy_only=False)]
    return int(found[0]) if len(found) else None
