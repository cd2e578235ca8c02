"""From texts to terms: the one analysis of stored texts, of fresh ones and of queries.

A term is a word as `words_of` gives it for a text in NFC. A column holds few distinct words many
times over, so each distinct chunk of it is analysed once. A chunk ends at any ASCII character but a
letter or a digit: such a character is never part of a word, so no word lies across two chunks.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.read.search.vocabulary import Vocabulary
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.datasets import words_of

__all__ = ["ANALYSIS_VERSION", "Analysed", "analyse", "terms_of"]

# Part of the names of what is kept on disk: another analysis is another number.
ANALYSIS_VERSION = 1

# Chunks that are analysed in one call.
CHUNKS_PER_CALL = 512

SPACE = ord(" ")


def _chunk_bytes() -> NDArray[np.uint8]:
    """What each byte of UTF-8 becomes before chunks are told apart."""
    table = np.arange(256, dtype=np.uint8)
    for code in range(128):
        letter = chr(code)
        table[code] = ord(letter.lower()) if letter.isalnum() else SPACE
    return table


CHUNK_BYTES = _chunk_bytes()


class Analysed(NamedTuple):
    """The terms of each text of a column, side by side."""

    lengths: Ordinals
    """How many terms each text has; a null has none."""
    terms: Ordinals
    """The term of each word, as its place in the vocabulary."""
    vocabulary: Vocabulary


def terms_of(text: str) -> list[str]:
    """The terms of one text, in order."""
    return words_of(pc.utf8_normalize(text, form="NFC").as_py())


def analyse(texts: pa.Array) -> Analysed:
    """The terms of a column of texts."""
    chunks = _chunks(texts)
    flat = chunks.flatten().dictionary_encode()
    chunk_terms = _terms_of_chunks(flat.dictionary.to_pylist())
    codes = flat.indices.to_numpy()
    # Each chunk gives way to its terms, however many it has.
    per_chunk = np.array([len(terms) for terms in chunk_terms], dtype=np.int64)
    found = pa.array([t for terms in chunk_terms for t in terms], pa.large_string())
    vocabulary, places = Vocabulary.of_all(found)
    counts = per_chunk[codes]
    first = (np.cumsum(per_chunk) - per_chunk)[codes]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    terms = places[np.repeat(first, counts) + within]
    until = np.concatenate(([0], np.cumsum(counts)))
    ends = np.asarray(chunks.offsets.to_numpy(), dtype=np.int64)
    return Analysed(until[ends[1:]] - until[ends[:-1]], terms, vocabulary)


def _chunks(texts: pa.Array) -> pa.LargeListArray:
    texts = pc.utf8_normalize(texts.cast(pa.large_string()).fill_null(""), form="NFC")
    count = len(texts)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + count + 1]
    raw = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    plain = pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(ends - ends[0]), pa.py_buffer(CHUNK_BYTES[raw])
    )
    return pc.ascii_split_whitespace(plain)


def _terms_of_chunks(chunks: list[str]) -> list[list[str]]:
    terms: list[list[str]] = [[] for _ in chunks]
    plain = [number for number, chunk in enumerate(chunks) if chunk and chunk.isascii()]
    for start in range(0, len(plain), CHUNKS_PER_CALL):
        part = plain[start : start + CHUNKS_PER_CALL]
        words = words_of(" ".join(chunks[number] for number in part))
        for number, word in zip(part, words, strict=True):
            terms[number] = [word]
    for number, chunk in enumerate(chunks):
        if not chunk.isascii():
            terms[number] = words_of(chunk)
    return terms
