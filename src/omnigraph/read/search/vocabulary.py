"""The terms of texts, ascending by their bytes, in two arrays."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.topology.csr import Ordinals, Ranges

__all__ = ["Vocabulary", "edits_allowed"]

# A signature has a bit for each of so many groups of letters.
SIGNATURE_BITS = 61

# The letters that are compared between two looks at the clock: of a word and many terms at once,
# and of a word and some terms one by one.
LETTERS_PER_CHECK = 64
LETTERS_PER_CHECK_OF_ONE = 65_536

# The most letters of a word of which none, and of which one, may differ.
MAX_EXACT_LETTERS = 2
MAX_LETTERS_OF_ONE_EDIT = 5


def edits_allowed(term: str) -> int:
    """How many letters of a term may differ where the query does not say."""
    if len(term) <= MAX_EXACT_LETTERS:
        return 0
    return 1 if len(term) <= MAX_LETTERS_OF_ONE_EDIT else 2


class _SameLength(NamedTuple):
    """The terms of one length."""

    places: Ordinals
    letters: NDArray[np.uint32]
    """A row of code points for each term."""
    signatures: NDArray[np.uint64]


class _ByLength(NamedTuple):
    """The terms in the order of their lengths in letters."""

    lengths: Ordinals
    places: Ordinals


class Vocabulary:
    def __init__(self, letters: NDArray[np.uint8], ends: Ordinals) -> None:
        self.letters = letters
        """The UTF-8 of all terms, side by side."""
        self.ends = ends
        """Where each term ends, after a zero."""
        self._of_length: dict[int, _SameLength] = {}

    @classmethod
    def of(cls, ascending: pa.LargeStringArray) -> "Vocabulary":
        start, count = ascending.offset, len(ascending)
        _, offsets, data = ascending.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[start : start + count + 1]
        letters = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
        return cls(letters, ends - ends[0])

    @classmethod
    def of_all(cls, terms: pa.LargeStringArray) -> tuple["Vocabulary", Ordinals]:
        """Each of the terms once; and the place of each of those given."""
        encoded = terms.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        places = np.empty(len(order), dtype=np.int64)
        places[order.to_numpy()] = np.arange(len(order))
        return cls.of(encoded.dictionary.take(order)), places[encoded.indices.to_numpy()]

    @property
    def nbytes(self) -> int:
        """With the code points and signatures that fuzzy searches may work out."""
        return 5 * self.letters.nbytes + 4 * self.ends.nbytes

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def terms(self) -> pa.LargeStringArray:
        buffers = pa.py_buffer(self.ends), pa.py_buffer(self.letters)
        return pa.LargeStringArray.from_buffers(len(self), *buffers)

    def place(self, term: str) -> int | None:
        """Where a term stands; None: nowhere."""
        wanted, low, high = term.encode(), 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._term(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._term(low) == wanted else None

    def near(self, term: str, max_edits: int, pace: Pace = UNHURRIED) -> Ordinals:
        """The terms that so many letters added, left out or replaced make of this one."""
        pace.check()
        letters = _code_points(term)
        signature = _signatures(letters[None, :])[0]
        found = [np.empty(0, dtype=np.int64)]
        for length in range(max(1, len(letters) - max_edits), len(letters) + max_edits + 1):
            same = self._terms_of(length)
            # An edit takes away one letter and adds one, at most.
            is_near = np.bitwise_count(same.signatures ^ signature) <= 2 * max_edits
            if len(at := np.flatnonzero(is_near)):
                few = len(at) < len(letters)
                edits = (_edits_one_by_one if few else _edits)(
                    letters, same.letters[at], max_edits, pace
                )
                found.append(same.places[at[edits <= max_edits]])
        return np.concatenate(found)

    def _term(self, place: int) -> bytes:
        return self.letters[self.ends[place] : self.ends[place + 1]].tobytes()

    @cached_property
    def _by_length(self) -> _ByLength:
        # The bytes of UTF-8 that begin a letter are not of the form 10xxxxxx.
        begins = np.concatenate(([0], np.cumsum((self.letters & 0xC0) != 0x80)))
        lengths = np.diff(begins[self.ends])
        places = np.argsort(lengths, kind="stable")
        return _ByLength(lengths[places], places)

    def _terms_of(self, length: int) -> _SameLength:
        if length not in self._of_length:
            low, high = np.searchsorted(self._by_length.lengths, (length, length + 1))
            places = self._by_length.places[low:high]
            runs = Ranges(self.ends[places], self.ends[places + 1] - self.ends[places])
            points = _code_points(self.letters[runs.positions()].tobytes().decode())
            letters = points.reshape(len(places), length)
            self._of_length[length] = _SameLength(places, letters, _signatures(letters))
        return self._of_length[length]


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _signatures(letters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """For each row of letters the groups that occur in it."""
    bits = np.uint64(1) << (letters % SIGNATURE_BITS).astype(np.uint64)
    signatures: NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return signatures


def _edits_one_by_one(
    wanted: NDArray[np.uint32], terms: NDArray[np.uint32], max_edits: int, pace: Pace
) -> NDArray[np.int16]:
    """The same as `_edits`, for few terms of many letters."""
    found = np.empty(len(terms), dtype=np.int16)
    stride = 1 + LETTERS_PER_CHECK_OF_ONE // len(wanted)
    for number, term in enumerate(terms, start=1):
        if number % stride == 0:
            pace.check()
        found[number - 1] = _edits_between(wanted, term, max_edits)
    return found


def _edits_between(wanted: NDArray[np.uint32], term: NDArray[np.uint32], max_edits: int) -> int:
    """How many edits a term is away, or more than allowed: equal stretches cost one look each.

    On each diagonal, the shift of the term against the word that is wanted, so many letters of that
    word can be had by so many edits.
    """
    had = {0: _equal_letters(wanted, term)}
    for edits in range(max_edits + 1):
        if had.get(len(term) - len(wanted)) == len(wanted):
            return edits
        further: dict[int, int] = {}
        for shift in range(-edits - 1, edits + 2):
            # By a letter replaced, added or left out.
            ways = [had.get(shift, -2) + 1, had.get(shift - 1, -1), had.get(shift + 1, -2) + 1]
            letters = min(max(ways), len(wanted), len(term) - shift)
            if letters >= max(0, -shift):
                further[shift] = letters + _equal_letters(wanted[letters:], term[letters + shift :])
        had = further
    return max_edits + 1


def _equal_letters(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """How many letters two texts begin with in common."""
    count = min(len(one), len(other))
    differs = one[:count] != other[:count]
    return int(differs.argmax()) if differs.any() else count


def _edits(
    wanted: NDArray[np.uint32], terms: NDArray[np.uint32], max_edits: int, pace: Pace
) -> NDArray[np.int16]:
    """How many edits each of the terms is away, or more than allowed: Levenshtein, in a band.

    For many terms of few letters: every letter is a step, and costs as much as the terms are long.
    """
    count, length = terms.shape
    far = np.full(count, max_edits + 1, dtype=np.int16)
    # One entry for each place in a term; places farther from the diagonal are too far away.
    before = [far] * (length + 1)
    for place in range(min(max_edits, length) + 1):
        before[place] = np.full(count, place, dtype=np.int16)
    for number, letter in enumerate(wanted.tolist(), start=1):
        if number % LETTERS_PER_CHECK == 0:
            pace.check()
        now = [far] * (length + 1)
        if number <= max_edits:
            now[0] = np.full(count, number, dtype=np.int16)
        for place in range(max(1, number - max_edits), min(length, number + max_edits) + 1):
            replaced = before[place - 1] + (terms[:, place - 1] != letter)
            now[place] = np.minimum(replaced, np.minimum(before[place], now[place - 1]) + 1)
        before = now
    return before[length]
