"""Reads a set of numbers in the portable form of Roaring bitmaps, in which Lance keeps many
deletions.

Numbers that share their upper 16 bits are one container, which lists the lower bits, or is a map of
bits, or lists runs. The form is described at https://github.com/RoaringBitmap/RoaringFormatSpec.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["numbers_of"]

WITH_RUNS, WITHOUT_RUNS = 12347, 12346

# A container with more numbers is a map of bits.
MAX_LISTED, MAP_BYTES = 4096, 8192

# With runs, the places of the containers are written only where there are so many of these.
MIN_WITH_PLACES = 4

Numbers = NDArray[np.int64]


def numbers_of(data: bytes) -> Numbers | None:
    """The numbers, ascending; None: these bytes are something else."""
    first = int.from_bytes(data[:4], "little")
    if first & 0xFFFF == WITH_RUNS:
        count, at = (first >> 16) + 1, 4
        flags = np.unpackbits(_read(data, at, (count + 7) // 8, "u1"), bitorder="little")
        at += (count + 7) // 8
        has_places = count >= MIN_WITH_PLACES
    elif first == WITHOUT_RUNS:
        count, at = int.from_bytes(data[4:8], "little"), 8
        flags, has_places = np.zeros(count, np.uint8), True
    else:
        return None
    keys = _read(data, at, 2 * count, "<u2").astype(np.int64).reshape(-1, 2)
    at += 4 * count * (2 if has_places else 1)
    found = [np.empty(0, np.int64)]
    for (upper, size_less_one), has_runs in zip(keys.tolist(), flags.tolist(), strict=False):
        lower, at = _container(data, at, size=size_less_one + 1, has_runs=bool(has_runs))
        found.append(lower + (upper << 16))
    return np.concatenate(found)


def _container(data: bytes, at: int, *, size: int, has_runs: bool) -> tuple[Numbers, int]:
    """The lower bits of a container's numbers, and where the next one begins."""
    if has_runs:
        count = int.from_bytes(data[at : at + 2], "little")
        runs = _read(data, at + 2, 2 * count, "<u2").astype(np.int64).reshape(-1, 2)
        lower = np.concatenate([np.arange(start, start + more + 1) for start, more in runs])
        return lower, at + 2 + 4 * count
    if size <= MAX_LISTED:
        return _read(data, at, size, "<u2").astype(np.int64), at + 2 * size
    bits = np.unpackbits(_read(data, at, MAP_BYTES, "u1"), bitorder="little")
    return np.flatnonzero(bits), at + MAP_BYTES


def _read(data: bytes, at: int, count: int, type_: str) -> NDArray[np.unsignedinteger]:
    return np.frombuffer(data, dtype=type_, count=count, offset=at)
