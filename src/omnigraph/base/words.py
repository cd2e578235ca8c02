"""Pieces of sentences: numbers of things, lists, and a user's text as a message can show it."""

from collections.abc import Callable, Iterable, Iterator
from unicodedata import category

__all__ = [
    "JOINERS",
    "MAX_SHOWN_CHARACTERS",
    "amount",
    "clipped",
    "in_bytes",
    "is_whole",
    "listed",
    "quoted",
    "visible",
]

# Of a long name or value, a message shows this many characters.
MAX_SHOWN_CHARACTERS = 60

# Joiners hold one emoji, or the letters of some scripts, together.
JOINERS = "\u200c\u200d"


def amount(count: int, noun: str) -> str:
    """`1 node`, `2,000 entities`. The noun is given as of one."""
    return f"{count:,} {noun if count == 1 else _many(noun)}"


def in_bytes(count: int) -> str:
    """`1.2 MiB`: a size as people compare it."""
    size, units = float(count), ["KiB", "MiB", "GiB"]
    if count < 1024:
        return amount(count, "byte")
    while units[1:] and size >= 1024 * 1024:
        size /= 1024
        del units[0]
    return f"{size / 1024:.1f} {units[0]}".replace(".0 ", " ")


def listed(names: Iterable[str], word: str = "or") -> str:
    """`A`, `A or B`, `A, B or C`."""
    *firsts, last = names
    return f"{', '.join(firsts)} {word} {last}" if firsts else last


def clipped(text: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """The text as a message can show it: not too long, on one line, `visible`."""
    if len(text) <= max_characters and text.isascii() and text.isprintable():
        return text
    shown, room = list[str](), max_characters
    for piece in _pieces(text[: max_characters + 1], "", _escaped):
        shown.append(piece)
        room -= len(piece)
        if room < 0:
            break
    else:
        return "".join(shown)
    while room < 1:  # an escape is shown whole or not at all
        room += len(shown.pop())
    return "".join([*shown, "…"])


def visible(text: str, *, keep: str = "", escape: Callable[[str], str] | None = None) -> str:
    """Text that is seen and not obeyed: `\\x1b[31m` for the order to turn red.

    Characters that steer a terminal or turn text around become escapes, and so do marks with no
    letter of the text to stand on. The characters of `keep` stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_pieces(text, keep, escape or _escaped))


def quoted(text: str, max_characters: int | None = None) -> str:
    """The text in quotes, `visible`; of a long one the beginning, if so many are to be shown."""
    shown = visible(text) if max_characters is None else clipped(text, max_characters)
    quote = '"' if "'" in shown and '"' not in shown else "'"
    return f"{quote}{shown}{quote}"


def _pieces(text: str, keep: str, escape: Callable[[str], str]) -> Iterator[str]:
    """The characters, or their escapes."""
    has_letter = False
    for character in text:
        is_mark = category(character)[0] == "M"
        if character in keep or not (_steers(character) or (is_mark and not has_letter)):
            yield character
            has_letter = not character.isspace()
        else:
            yield escape(character)
            has_letter = False


def _steers(character: str) -> bool:
    """True if a terminal may take it for an order, or show nothing for it."""
    if character.isprintable() or character in JOINERS:
        return False
    # Blanks of other widths are blanks; private letters are letters that a font may know.
    return category(character) not in ("Zs", "Co")


def is_whole(text: str) -> bool:
    """True if every character of the text is whole: half of a surrogate pair is stored nowhere."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _many(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
