"""BERT's uncased tokenizer: words, then the longest pieces of a vocabulary."""

import unicodedata
from pathlib import Path

__all__ = ["WordPiece"]

MAX_WORD_CHARACTERS = 100
"""A longer word is unknown as a whole."""

MAX_REMEMBERED_WORDS = 100_000

# Ideographs, each a word of its own.
CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
BLANKS = "\t\n\r"


class WordPiece:
    def __init__(self, vocabulary: Path, *, max_tokens: int) -> None:
        words = vocabulary.read_text("utf-8").split("\n")
        self._ids = {word: number for number, word in enumerate(words) if word}
        self._unknown, self._start, self._end = (
            self._ids[word] for word in ("[UNK]", "[CLS]", "[SEP]")
        )
        self._max_tokens = max_tokens
        self._known: dict[str, list[int]] = {}

    def tokens(self, text: str) -> list[int]:
        """The text's tokens between a start and an end; what is too many is cut off."""
        tokens = [self._start]
        for word in _words(text):
            tokens += self._pieces(word)
            if len(tokens) >= self._max_tokens:
                break
        return [*tokens[: self._max_tokens - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        if word not in self._known:
            pieces = self._split(word) if len(word) <= MAX_WORD_CHARACTERS else None
            if len(self._known) >= MAX_REMEMBERED_WORDS:
                self._known.clear()
            self._known[word] = pieces or [self._unknown]
            return pieces or [self._unknown]
        return self._known[word]

    def _split(self, word: str) -> list[int] | None:
        """The longest piece from the left, again and again; None: one of them is not known."""
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                if (piece := self._ids.get(mark + word[start:end])) is not None:
                    break
            else:
                return None
            pieces.append(piece)
            start = end
        return pieces


def _words(text: str) -> list[str]:
    plain = "".join(map(_spaced, text))
    letters = unicodedata.normalize("NFD", plain)
    bare = "".join(c for c in letters if unicodedata.category(c) != "Mn").lower()
    return "".join(f" {c} " if _is_punctuation(c) else c for c in bare).split()


def _spaced(character: str) -> str:
    """The character as the words are cut: nothing for a sign of control, blanks around CJK."""
    if character in BLANKS:
        return " "
    kind = unicodedata.category(character)
    if character in "\0\ufffd" or kind in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if kind == "Zs":
        return " "
    return f" {character} " if _is_cjk(ord(character)) else character


def _is_cjk(code: int) -> bool:
    return any(low <= code <= high for low, high in CJK)


def _is_punctuation(character: str) -> bool:
    return character in ASCII_PUNCTUATION or unicodedata.category(character)[0] == "P"
