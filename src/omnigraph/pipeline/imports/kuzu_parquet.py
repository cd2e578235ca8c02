"""Parquet files of Kuzu and Ladybug, which have a fault that other readers refuse.

Columns of the type SERIAL are written as 64-bit integers with a converted type, 22, that Parquet
does not have. In the footer it is a byte that can be told by what stands before it; the same footer
with the right byte is read instead.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.words import clipped
from omnigraph.pipeline.imports.files import SourceFile
from omnigraph.pipeline.sources.columnar import READ_OPTIONS
from omnigraph.pipeline.sources.opening import opened

__all__ = ["opened_parquet"]

MARK = b"PAR1"
# A column of the schema, in Thrift's compact form: its type is INT64, and it is required, optional
# or repeated; then comes its name.
WHOLE_NUMBER = re.compile(rb"\x15\x04\x25[\x00\x02\x04]\x18([\x01-\x7f])", re.DOTALL)
SERIAL, INT_64 = b"\x25\x2c", b"\x25\x24"


@contextmanager
def opened_parquet(source: SourceFile) -> Iterator[pq.ParquetFile]:
    # Parquet knows which bytes it wants: a bucket is asked for those, many at once.
    with opened(source, ahead_bytes=0) as file:
        footer = _footer(file.read(4), file)
        file.seek(0)
        try:
            mended = _mended(footer)
            metadata = None if mended == footer else _metadata(mended)
            with pq.ParquetFile(
                file, metadata=metadata, pre_buffer=True, **READ_OPTIONS
            ) as parquet:
                yield parquet
        # Names of columns may be any bytes.
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"it can't be read as Parquet ({clipped(str(error), 200)})"
            raise SourceInvalid(file=source.file, reason=reason) from error


def _footer(head: bytes, file: BinaryIO) -> bytes:
    """The description at the end of the file; nothing if there is none."""
    size = file.seek(0, io.SEEK_END)
    if head != MARK or size < 12:
        return b""
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    if length > size - 12:
        return b""
    file.seek(size - 8 - length)
    return file.read(length)


def _mended(footer: bytes) -> bytes:
    data = bytearray(footer)
    for match in WHOLE_NUMBER.finditer(footer):
        end = match.end() + match[1][0]
        if footer[end : end + 2] == SERIAL:
            data[end : end + 2] = INT_64
    return bytes(data)


def _metadata(footer: bytes) -> pq.FileMetaData:
    return pq.read_metadata(
        io.BytesIO(MARK + footer + len(footer).to_bytes(4, "little") + MARK),
    )
