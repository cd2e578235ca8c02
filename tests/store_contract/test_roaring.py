"""Roaring bitmaps are read as their specification describes them."""

import struct

import numpy as np
import pytest

from omnigraph.store.datasets.roaring import numbers_of

LISTED, MAPPED, RUN = range(3)


def container(kind: int, lower: np.ndarray) -> bytes:
    match kind:
        case 0:
            return lower.astype("<u2").tobytes()
        case 1:
            bits = np.zeros(1 << 16, np.uint8)
            bits[lower] = 1
            return np.packbits(bits, bitorder="little").tobytes()
        case _:
            starts = np.flatnonzero(np.diff(lower, prepend=-2) != 1)
            lengths = np.diff(np.append(starts, len(lower)))
            runs = [
                number for s, n in zip(starts, lengths, strict=True) for number in (lower[s], n - 1)
            ]
            return struct.pack(f"<H{len(runs)}H", len(starts), *runs)


def written(containers: list[tuple[int, int, np.ndarray]]) -> bytes:
    """By upper bits: the kind of a container, and its numbers."""
    count, has_runs = len(containers), any(kind == RUN for _, kind, _ in containers)
    keys = b"".join(struct.pack("<HH", upper, len(lower) - 1) for upper, _, lower in containers)
    if has_runs:
        flags = np.packbits([kind == RUN for _, kind, _ in containers], bitorder="little")
        head = struct.pack("<I", 12347 | (count - 1) << 16) + flags.tobytes()
    else:
        head = struct.pack("<II", 12346, count)
    places = b"\0" * (4 * count) if not has_runs or count >= 4 else b""
    return head + keys + places + b"".join(container(kind, lower) for _, kind, lower in containers)


FEW = np.array([0, 1, 7, 65_535])
MANY = np.arange(0, 65_536, 3)
RUNS = np.concatenate([np.arange(5, 500), np.arange(9_000, 20_000)])


@pytest.mark.parametrize(
    "containers",
    [
        [],
        [(0, LISTED, FEW)],
        [(0, MAPPED, MANY), (3, LISTED, FEW)],
        [(0, LISTED, FEW), (1, RUN, RUNS), (9, MAPPED, MANY)],
        [(0, RUN, RUNS), (1, RUN, RUNS), (2, LISTED, FEW), (3, MAPPED, MANY), (15, RUN, RUNS)],
    ],
)
def test_every_kind_of_container_is_read(containers: list[tuple[int, int, np.ndarray]]) -> None:
    expected = [upper * 65_536 + number for upper, _, lower in containers for number in lower]
    found = numbers_of(written(containers))
    assert found is not None and found.tolist() == expected


def test_other_bytes_are_not_taken_for_a_bitmap() -> None:
    assert numbers_of(b"ARROW1\0\0") is None
