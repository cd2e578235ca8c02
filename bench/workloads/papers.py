"""Papers with words and vectors, from a seed, and what is asked of them.

Words go by frequency as those of a language do; a third of a paper's words, and its vector, belong
to its topic. A question has two words of a topic, a frequent one, and a vector near the topic's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

TOPICS = 200
WORDS = 20_000
WORDS_OF_A_TOPIC = 50
SHELVES = 10
"""A filter on one of them keeps one paper in so many."""
ASKED_ROWS = 10


class Question(NamedTuple):
    text: str
    vector: list[float]
    shelf: int


@dataclass(frozen=True)
class Papers:
    papers: pa.Table
    """`number`, `shelf`, `body` and `vector`."""
    wrote: pa.Table
    """`author` and `paper`, two of each paper."""
    authors: int


class Searches(Protocol):
    """What a system must offer. An answer is the numbers of papers, best first."""

    def version(self) -> str: ...
    def make(self, papers: Papers, place: Path) -> None: ...
    def vector(self, asked: Question) -> list[int]: ...
    def filtered_vector(self, asked: Question) -> list[int]: ...
    def bm25(self, asked: Question) -> list[int]: ...
    def filtered_bm25(self, asked: Question) -> list[int]: ...
    def hybrid(self, asked: Question) -> list[int]: ...
    def hybrid_and_hop(self, asked: Question) -> list[int]:
        """The authors of what `hybrid` finds, ascending."""


def papers_of(count: int, width: int) -> Papers:
    random = np.random.default_rng(10)
    words = np.array([_word(number) for number in range(WORDS)])
    topics = random.integers(0, TOPICS, count)
    lengths = random.integers(20, 80, count)
    flat = np.minimum(random.zipf(1.2, lengths.sum()), WORDS) - 1
    own = np.repeat(topics, lengths) * WORDS_OF_A_TOPIC
    own = 1_000 + (own + random.integers(0, WORDS_OF_A_TOPIC, len(own))) % (WORDS - 1_000)
    flat = np.where(random.random(len(flat)) < 0.3, own, flat)
    ends = np.cumsum(lengths)
    bodies = [" ".join(words[part]) for part in np.split(flat, ends[:-1])]
    vectors = _centres(width)[topics] + 0.4 * random.standard_normal((count, width))
    numbers = np.arange(count)
    flat_vectors = pa.array(vectors.astype(np.float32).reshape(-1))
    papers = pa.table(
        {
            "number": numbers,
            "shelf": (numbers % SHELVES).astype(np.int32),
            "body": bodies,
            "vector": pa.FixedSizeListArray.from_arrays(flat_vectors, width),
        }
    )
    authors = max(count // 5, 1)
    written = {"author": random.integers(0, authors, 2 * count), "paper": np.repeat(numbers, 2)}
    return Papers(papers, pa.table(written).group_by(["author", "paper"]).aggregate([]), authors)


def questions(count: int, width: int) -> list[Question]:
    random = np.random.default_rng(11)
    found = []
    for topic in random.integers(0, TOPICS, count):
        first = topic * WORDS_OF_A_TOPIC + random.integers(0, WORDS_OF_A_TOPIC, 2)
        words = [_word(1_000 + number % (WORDS - 1_000)) for number in first]
        text = " ".join([*words, _word(int(random.integers(0, 30)))])
        vector = _centres(width)[topic] + 0.2 * random.standard_normal(width)
        shelf = int(random.integers(0, SHELVES))
        found.append(Question(text, [float(x) for x in vector.astype(np.float32)], shelf))
    return found


def _centres(width: int) -> np.ndarray:
    return np.random.default_rng(12).standard_normal((TOPICS, width))


def _word(number: int) -> str:
    """A word that no stemmer changes: consonants and vowels in turn, and an x."""
    letters = []
    for _ in range(3):
        number, syllable = divmod(number, 50)
        letters.append("bdfgklmnpr"[syllable // 5] + "aeiou"[syllable % 5])
    return "".join(letters) + "x"
