"""Rows that go to a server or come from it, as JSON lines."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from omnigraph.base.errors import LocalOnly
from omnigraph.base.frozen import frozen
from omnigraph.engine.requests import Load
from omnigraph.pipeline.export.files import Sink
from omnigraph.pipeline.sources.files import Form, InputFile, find_files
from omnigraph.pipeline.sources.in_memory import is_frame, lines_of_file, lines_of_rows
from omnigraph.pipeline.sources.opening import CHUNK_BYTES, is_packed, opened, unpacked_chunks
from omnigraph.pipeline.sources.plan import paths_in

__all__ = ["LastLine", "Outgoing", "rows_to_send"]

BY_STORAGE = ("quarantine", "spark")
"""Arguments of a load that only a process beside the storage can follow."""


@frozen
class Outgoing:
    """The rows of a load on their way, in pieces that are made as they are taken."""

    name: str
    """What messages call them."""
    pieces: Callable[[], Iterator[bytes]]
    """The bytes as an upload has them; called once."""
    form: Form = Form.JSONL
    size: int | None = None
    """Of all pieces, where it is known before they are read."""
    plain: Callable[[], Iterator[bytes]] | None = None
    """The same as JSON lines, of a file that is packed."""

    def at_once(self, limit_bytes: int) -> "tuple[bytes | None, Outgoing]":
        """All lines, where they are no more than so many bytes; and what can be sent otherwise."""
        if self.form is not Form.JSONL or (self.size or 0) > limit_bytes:
            return None, self
        pieces = (self.plain or self.pieces)()
        taken, size = [], 0
        for piece in pieces:
            taken.append(piece)
            size += len(piece)
            if size > limit_bytes:
                # A packed file is sent as it lies there, and begins anew.
                return None, self if self.plain is not None else self._going_on(taken, pieces)
        rows = b"".join(taken)
        return rows, self if self.plain is not None else self._going_on([rows], iter(()))

    def _going_on(self, taken: list[bytes], rest: Iterator[bytes]) -> "Outgoing":
        return Outgoing(self.name, lambda: itertools.chain(taken, rest), size=self.size)


def rows_to_send(request: Load) -> Outgoing:
    """The rows of a load; raises LocalOnly for sources that can't be sent."""
    _check_options(request)
    paths, source = paths_in(request.source)
    if paths is not None:
        return _rows_of_files(paths, request)
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return Outgoing("bytes", lambda: iter((data,)), size=len(data))
    if is_frame(source) or isinstance(source, Mapping):
        raise LocalOnly("loading a frame", "pass its rows as dicts: frame.to_pylist(), say")
    if hasattr(source, "read"):
        name = str(getattr(source, "name", "file"))
        return Outgoing(name, lambda: _data(lines_of_file(name, source, cut_bytes=CHUNK_BYTES)))
    if isinstance(source, Iterable):
        rows = lines_of_rows("rows", source, cut_bytes=CHUNK_BYTES)
        return Outgoing("rows", lambda: _data(rows))
    raise LocalOnly(f"loading a {type(source).__name__}", "pass a path, bytes, a file or dicts")


def _check_options(request: Load) -> None:
    for name in BY_STORAGE:
        if getattr(request, name) is not None:
            raise LocalOnly(f"loading with {name}")
    if request.on_error != "fail":
        raise LocalOnly(f"loading with on_error {request.on_error}")
    if isinstance(request.mapping, str | os.PathLike):
        raise LocalOnly("loading with a mapping in a file", "pass the mapping as a dict")
    if request.resume:
        raise LocalOnly("going on with a load")


def _rows_of_files(paths: list[str], request: Load) -> Outgoing:
    if any("://" in path for path in paths):
        raise LocalOnly("loading from a bucket")
    files = find_files(paths, form=Form.named(request.format))
    if len(files) != 1:
        raise LocalOnly(f"loading {len(files)} files at once", "load them one after the other")
    (file,) = files
    if file.form is Form.LANCE:
        raise LocalOnly("loading a Lance dataset", "send JSON lines, CSV or Parquet")
    plain = None
    if file.form is Form.JSONL and is_packed(os.fspath(file.name)):
        plain = partial(unpacked_chunks, file, CHUNK_BYTES)
    return Outgoing(file.file, partial(_bytes_of, file), file.form, file.size, plain)


def _bytes_of(file: InputFile) -> Iterator[bytes]:
    with opened(file) as reading:
        while piece := reading.read(CHUNK_BYTES):
            yield piece


def _data(parts: Iterable[Any]) -> Iterator[bytes]:
    return (part.data for part in parts)


class LastLine:
    """Passes lines on, all but the last: that one tells what they came to."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held = b""

    def take(self, piece: bytes) -> None:
        held = self._held + piece
        # The end of the line before the last one, if the last has its own end already.
        cut = held.rfind(b"\n", 0, len(held) - 1) + 1
        if cut:
            self._sink.write(memoryview(held)[:cut])
        self._held = held[cut:]

    @property
    def line(self) -> bytes | None:
        """None: the answer has no end."""
        return self._held if self._held.endswith(b"\n") else None
