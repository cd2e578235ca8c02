"""Pieces of sentences: numbers of things, lists, and a user's text as a message can show it."""

from collections.abc import Iterable

__all__ = ["MAX_SHOWN_CHARACTERS", "amount", "clipped", "listed"]

# Of a long name or value, a message shows this many characters.
MAX_SHOWN_CHARACTERS = 60


def amount(count: int, noun: str) -> str:
    """`1 node`, `2,000 entities`. The noun is given as of one."""
    return f"{count:,} {noun if count == 1 else _many(noun)}"


def listed(names: Iterable[str], word: str = "or") -> str:
    """`A`, `A or B`, `A, B or C`."""
    *firsts, last = names
    return f"{', '.join(firsts)} {word} {last}" if firsts else last


def clipped(text: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """The text as a message can show it: not too long, on one line, printable."""
    shown = text if len(text) <= max_characters else f"{text[: max_characters - 1]}…"
    return "".join(c if c.isprintable() else "·" for c in shown)


def _many(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
