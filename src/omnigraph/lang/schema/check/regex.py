"""Whether a pattern is one that RE2 can run.

RE2 answers in time linear in the text because it leaves out what needs going back: references to
groups, and looking ahead or behind. Those are told apart here by name, before any data is read.
"""

import re
from collections.abc import Iterator

__all__ = ["pattern_error"]

# RE2's own limit.
MAX_REPEAT = 1000

UNSUPPORTED = {
    "(?=": "looks ahead",
    "(?!": "looks ahead",
    "(?<=": "looks behind",
    "(?<!": "looks behind",
    "(?>": "is an atomic group",
    "(?(": "is a condition",
    "(?#": "is a comment",
    "(?P=": "refers back to a group",
    "(?P>": "calls a group",
    "(?R": "calls itself",
}

# \1 to \7 before another octal digit is a character's number, not a reference.
ESCAPE = r"""\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP]\{\^?\w+\}|[pP][A-Z]
    |0[0-7]{0,2}|[1-7][0-7]{1,2}|[AbBzCdDsSwWafnrtv]|[^A-Za-z0-9\x80-\U0010ffff])"""

PIECE = re.compile(
    rf"""
      (?P<quoted>\\Q.*?(?:\\E|\Z))
    | (?P<escape>{ESCAPE}|\\E)
    | (?P<back>\\(?:[1-9]|[gk][{{<']))
    | (?P<bad_escape>\\.?)
    | (?P<set>\[\^?+\]?+(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
    | (?P<open_set>\[)
    | (?P<group>\((?:\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?:))?(?!\?))
    | (?P<flags>\(\?[imsU]*(?:-[imsU]+)?\))
    | (?P<bad_group>\(\?(?:<[=!]|P[=>]|.)?)
    | (?P<close>\))
    | (?P<repeat>(?:[*+?]|\{{(?P<least>\d+)(?:,(?P<most>\d*))?\}})\??)
    | (?P<bar>\|)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

NOT_IN_SETS = (r"\A", r"\b", r"\B", r"\z", r"\C")

# What stands between the brackets of a set.
ITEM = re.compile(
    rf"(?P<class>\[:\^?\w+:\])|(?P<low>{ESCAPE}|[^\\])(?:-(?P<high>{ESCAPE}|[^\]\\]))?|(?P<bad>\\.)",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def pattern_error(pattern: str) -> str | None:
    """The part of a pattern that RE2 would refuse, in a few words, or None."""
    return next(_errors(pattern), None)


def _errors(pattern: str) -> Iterator[str]:
    depth = 0
    has_subject = False  # whether a repetition here would have something to repeat
    has_repeat = False
    for match in PIECE.finditer(pattern):
        kind, text = match.lastgroup, match.group()
        if kind in ("least", "most"):
            kind = "repeat"
        if kind == "repeat":
            if not has_subject:
                yield f"'{text}' repeats nothing"
            if has_repeat:
                yield f"'{text}' repeats a repetition"
            if _repeats_too_often(match):
                yield f"'{text}' is not a count up to {MAX_REPEAT}"
        elif kind == "back":
            yield f"'{text}' refers back to a group"
        elif kind == "bad_escape":
            yield f"'{text}' is not an escape"
        elif kind == "open_set":
            yield "a '[' is never closed"
        elif kind == "set":
            yield from _set_errors(text)
        elif kind == "bad_group":
            yield f"'{text}' {UNSUPPORTED.get(text, 'is not a group')}"
        elif kind == "close" and depth == 0:
            yield "a ')' closes nothing"
        depth += (kind == "group") - (kind == "close")
        if kind == "flags":  # nothing to repeat in themselves, and what is before them still is
            has_repeat = False
            continue
        has_repeat = kind == "repeat"
        has_subject = kind not in ("group", "bar")
    if depth > 0:
        yield "a '(' is never closed"


def _set_errors(text: str) -> Iterator[str]:
    for item in ITEM.finditer(text.removeprefix("[").removeprefix("^")[:-1]):
        low, high, bad = item.group("low", "high", "bad")
        bad = low if low in NOT_IN_SETS else bad
        if bad:
            yield f"'{bad}' is not an escape"
        # Ends that are written as escapes are compared by RE2 itself.
        elif high and len(low) == len(high) == 1 and low > high:
            yield f"'{low}-{high}' is not a range"


def _repeats_too_often(match: re.Match[str]) -> bool:
    least, most = match.group("least"), match.group("most")
    if least is None:
        return False
    # Longer texts of digits are too large without being read.
    if max(len(least), len(most or "")) > 6:
        return True
    low, high = int(least), int(most) if most else int(least)
    return not low <= high <= MAX_REPEAT
