"""Answers packed as the client asks: zstd or gzip, piece by piece.

Arrow brings both. A piece is a frame or a flushed block of its own, so that a client can read it
before the next is made.
"""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, Protocol

import pyarrow as pa

from omnigraph.surfaces.server.calls import Pulled, Pushed, Reply, Sink, Whole

__all__ = ["packed", "packing_for"]

Packing = Literal["zstd", "gzip"]
PREFERRED: tuple[Packing, ...] = ("zstd", "gzip")

MIN_PACKED_BYTES = 1400
"""Less fits into one packet as it is."""
GZIP_LEVEL = 3
"""JSON of rows becomes hardly smaller with more, at twice the time."""
GZIP = 16 + zlib.MAX_WBITS


def packing_for(accepted: str | None) -> Packing | None:
    """The packing that an `Accept-Encoding` header asks for, if there is one of ours."""
    wanted = {}
    for choice in (accepted or "").lower().split(","):
        name, _, weight = choice.partition(";")
        wanted[name.strip()] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return next((name for name in PREFERRED if wanted.get(name)), None)


def packed(reply: Reply, packing: Packing | None) -> Reply:
    """The reply, packed where it may be and it is worth it."""
    if packing is None:
        return reply
    headers = {**reply.headers, "Content-Encoding": packing, "Vary": "Accept-Encoding"}
    match reply:
        case Whole(body=body, may_be_packed=True) if len(body) >= MIN_PACKED_BYTES:
            packer = _packer(packing)
            return replace(reply, body=packer.pack(body) + packer.end(), headers=headers)
        case Pulled(pieces=pieces, may_be_packed=True):
            return replace(
                reply, pieces=_packed(pieces, _packer(packing)), headers=headers, length=None
            )
        case Pushed(produce=produce):
            packer = _packer(packing)

            def write_packed(sink: Sink) -> None:
                produce(_PackedSink(sink, packer))
                if last := packer.end():
                    sink.write(last)

            return replace(reply, produce=write_packed, headers=headers)
        case _:
            return reply


class _Packer(Protocol):
    def pack(self, piece: bytes | memoryview) -> bytes: ...
    def end(self) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP)

    def pack(self, piece: bytes | memoryview) -> bytes:
        return self._stream.compress(piece) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


class _Zstd:
    def pack(self, piece: bytes | memoryview) -> bytes:
        frame: bytes = pa.compress(piece, codec="zstd", asbytes=True)
        return frame

    def end(self) -> bytes:
        return b""


class _PackedSink:
    def __init__(self, sink: Sink, packer: _Packer) -> None:
        self._sink = sink
        self._packer = packer

    def write(self, data: bytes | memoryview) -> None:
        if piece := self._packer.pack(data):
            self._sink.write(piece)


def _packer(packing: Packing) -> _Packer:
    return _Zstd() if packing == "zstd" else _Gzip()


def _packed(pieces: Iterator[bytes], packer: _Packer) -> Iterator[bytes]:
    for piece in pieces:
        yield packer.pack(piece)
    if last := packer.end():
        yield last
