"""From the ids of a table to its row numbers.

Three ways, the same answer: a few ids are found through sorted hashes of the table's ids, made when
first needed; many are joined against the ids in one linear pass, which builds a hash table of its
own and would be absurd for one id, unless the table is so long that building takes too long for one
call; and one id is hashed in plain Python, since calls over arrays of
one are nearly all of what a point read costs. A hash only proposes: the ids themselves are compared
before a row is reported.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.looks import Look, never
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.sorting import stable_order

__all__ = ["MAX_SHORT_OFFSETS_BYTES", "IdIndex"]

# How far the offsets of plain strings reach; past it they are large strings.
MAX_SHORT_OFFSETS_BYTES = 2**31 - 1

Hashes = NDArray[np.uint64]

# Joining costs about as much per id of the table as looking up costs per id asked for, times this.
LOOKUP_COST = 4

# Joining begins with a hash table of all ids of the table, in one call.
MAX_JOINED_IDS = 1 << 18
# Ids that are found between two looks at the clock. Each part of a join makes that table again.
JOINED_AT_ONCE = 1 << 19
LOOKED_UP_AT_ONCE = 1 << 19

MIX = np.uint64(0xFF51AFD7ED558CCD)
MIX_OF_ONE = int(MIX)
LOW_64_BITS = 2**64 - 1
WORD_BYTES = 8


class _Hashed(NamedTuple):
    hashes: Hashes
    """Ascending."""
    rows: Ordinals
    """The row that each hash comes from."""
    seed: int


class IdIndex:
    def __init__(self, ids: pa.Array, hashed: _Hashed | None = None) -> None:
        self.ids = ids
        """Texts without nulls or repeats; the position is the row number."""
        self._known = hashed
        """None until a few of the ids are first looked up."""

    @property
    def nbytes(self) -> int:
        """With the hashes, whether they are made yet or not."""
        return int(self.ids.nbytes) + 2 * WORD_BYTES * len(self.ids)

    def find(self, wanted: pa.Array, look: Look = never) -> Ordinals:
        """The row of each wanted id, or -1."""
        if not len(self.ids):
            return np.full(len(wanted), -1, dtype=np.int64)
        if wanted.type != self.ids.type:
            wanted = wanted.cast(self.ids.type)
        if len(wanted) == 1:
            return np.array([self._find_one(wanted[0].as_py())])
        is_many = len(wanted) * LOOKUP_COST > len(self.ids)
        if is_many and len(self.ids) <= MAX_JOINED_IDS:
            return _in_parts(wanted, JOINED_AT_ONCE, self._joined, look)
        self._hash_all(look)
        return _in_parts(wanted, LOOKED_UP_AT_ONCE, self._looked_up, look)

    def _joined(self, wanted: pa.Array) -> Ordinals:
        joined = pc.index_in(wanted, value_set=self.ids).fill_null(-1).to_numpy()
        return np.asarray(joined, dtype=np.int64)

    def _looked_up(self, wanted: pa.Array) -> Ordinals:
        table = self._hashed
        hashes = _hash(wanted, table.seed)
        if len(wanted) * LOOKUP_COST > len(self.ids):
            # Many are looked up in their order, since then what one meets is near to the last.
            order = np.argsort(hashes)
            at = np.empty(len(wanted), dtype=np.int64)
            at[order] = np.searchsorted(table.hashes, hashes[order])
        else:
            at = np.searchsorted(table.hashes, hashes)
        rows = table.rows[np.minimum(at, len(table.rows) - 1)]
        same = pc.equal(self.ids.take(pa.array(rows)), wanted)
        if same.null_count:
            same = same.fill_null(fill_value=False)
        return np.where(same.to_numpy(zero_copy_only=False), rows, -1)

    def _find_one(self, wanted: str | None) -> int:
        if wanted is None:
            return -1
        hashes, rows, seed = self._hashed
        at = int(hashes.searchsorted(np.uint64(_hash_of_one(wanted.encode(), seed))))
        row = int(rows[min(at, len(rows) - 1)])
        return row if self.ids[row].as_py() == wanted else -1

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The ids and their hashes as plain arrays."""
        texts = self.ids.cast(pa.large_string())
        _, offsets, data = texts.buffers()
        raw = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, np.uint8)
        hashed = self._hashed
        return {
            "offsets": np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1],
            "texts": raw,
            "hashes": hashed.hashes,
            "rows": hashed.rows,
            "seed": np.array([hashed.seed]),
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "IdIndex":
        offsets, texts = arrays["offsets"], arrays["texts"]
        ids = pa.LargeStringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(texts)
        )
        hashed = _Hashed(arrays["hashes"], arrays["rows"], int(arrays["seed"][0]))
        return cls(ids, hashed)

    def followed(
        self,
        kept: Ordinals | None,
        fresh: pa.Array | None,
        *,
        max_short_bytes: int = MAX_SHORT_OFFSETS_BYTES,
    ) -> "IdIndex":
        """The index of a later version: the rows of this one that are left, then fresh ones.

        Texts of more than `max_short_bytes` in all become large strings.
        """
        left = self.ids if kept is None else self.ids.take(pa.array(kept))
        if fresh is not None and left.nbytes + fresh.nbytes > max_short_bytes:
            left = left.cast(pa.large_string())
        ids = left if fresh is None else pa.concat_arrays([left, fresh.cast(left.type)])
        if self._known is None:
            return IdIndex(ids)
        hashes, rows, seed = self._known
        if kept is not None:
            numbers = np.full(len(self.ids), -1, dtype=np.int64)
            numbers[kept] = np.arange(len(kept))
            moved = numbers[rows]
            hashes, rows = hashes[moved >= 0], moved[moved >= 0]
        if fresh is not None and len(fresh):
            new = _hash(fresh.cast(left.type), seed)
            order = np.argsort(new, kind="stable")
            at = np.searchsorted(hashes, new[order])
            hashes = np.insert(hashes, at, new[order])
            rows = np.insert(rows, at, order + len(left))
        is_told_apart = not np.any(hashes[1:] == hashes[:-1])
        return IdIndex(ids, _Hashed(hashes, rows, seed) if is_told_apart else None)

    @property
    def _hashed(self) -> _Hashed:
        return self._hash_all(never)

    def _hash_all(self, look: Look) -> _Hashed:
        # Two ids with one hash are next to impossible by chance; another seed parts them.
        for seed in range(64):
            if self._known is not None:
                break
            look()
            hashes = _hash(self.ids, seed)
            look()
            order = stable_order(hashes, look)
            hashes = hashes[order]
            if not np.any(hashes[1:] == hashes[:-1]):
                self._known = _Hashed(hashes, order, seed)
        assert self._known is not None, "ids of a table repeat"
        return self._known


def _in_parts(
    wanted: pa.Array, at_once: int, find: Callable[[pa.Array], Ordinals], look: Look
) -> Ordinals:
    if len(wanted) <= at_once:
        return find(wanted)
    rows = np.empty(len(wanted), dtype=np.int64)
    for start in range(0, len(wanted), at_once):
        look()
        rows[start : start + at_once] = find(wanted.slice(start, at_once))
    return rows


def _hash(texts: pa.Array, seed: int) -> Hashes:
    """A 64-bit hash of each text, from its bytes eight at a time for all texts at once."""
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=kind)[texts.offset :][: len(texts) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    # The last text may end in the middle of a word; what lies behind it must be there to be read.
    raw = np.zeros(last - first + WORD_BYTES, dtype=np.uint8)
    if last > first:
        raw[: last - first] = np.frombuffer(data, dtype=np.uint8)[first:last]
    words = np.ndarray((last - first + 1,), dtype=np.uint64, buffer=raw.data, strides=(1,))
    starts = offsets[:-1].astype(np.int64) - first
    lengths = np.diff(offsets).astype(np.int64)
    hashes = (lengths.astype(np.uint64) + np.uint64(seed << 32)) * MIX
    # Once even if all texts are empty: an empty text has one hash, whatever stands beside it.
    for position in range(0, max(1, int(lengths.max(initial=0))), WORD_BYTES):
        rows = slice(None) if position == 0 else np.flatnonzero(lengths > position)
        left = np.minimum(lengths[rows] - position, WORD_BYTES)
        word = words[starts[rows] + position] << ((WORD_BYTES - left) * 8 % 64).astype(np.uint64)
        word[left <= 0] = 0
        mixed = (hashes[rows] ^ word) * MIX
        hashes[rows] = mixed ^ (mixed >> np.uint64(32))
    return hashes


def _hash_of_one(text: bytes, seed: int) -> int:
    """What `_hash` gives for the text."""
    mixed = ((len(text) + (seed << 32)) * MIX_OF_ONE) & LOW_64_BITS
    for position in range(0, max(1, len(text)), WORD_BYTES):
        word = text[position : position + WORD_BYTES]
        # The bytes of a short word are the high ones, as if what it lacks lay before it.
        number = int.from_bytes(word, "little") << (WORD_BYTES - len(word)) * 8
        mixed = ((mixed ^ number & LOW_64_BITS) * MIX_OF_ONE) & LOW_64_BITS
        mixed ^= mixed >> 32
    return mixed
