"""The known name that a mistyped one most likely meant, for "did you mean …?"."""

from collections.abc import Iterable

from omnigraph.base.words import clipped

__all__ = ["did_you_mean", "name_hint", "nearest", "suggestion"]

# A name is compared with at most so many others: a suggestion is worth milliseconds, not seconds.
MAX_COMPARED = 1000

# As many names as fit on a line.
MAX_LISTED_NAMES = 8


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The closest of `known`, or None where nothing is close: a wrong guess is worse than none.

    Close is one slip per four letters (a letter missing, added, changed, or two swapped), at
    least one; case never counts. Ties go to the first in alphabetical order.
    """
    allowed = max(1, len(name) // 4)
    folded = name.casefold()
    fitting = sorted({k for k in known if abs(len(k) - len(name)) <= allowed})
    scored = ((_slips(folded, k.casefold(), allowed), k) for k in fitting[:MAX_COMPARED])
    slips, best = min(scored, default=(allowed + 1, ""))
    return best if slips <= allowed and best != name else None


def did_you_mean(name: str, known: Iterable[str], *, sigil: str = "") -> str | None:
    """A hint that names the closest of `known`, with `sigil` before it; None if none is close."""
    near = nearest(name, known)
    return f"did you mean {sigil}{clipped(near)}?" if near else None


def name_hint(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of `known`, or else all of them, if they are few."""
    names = sorted(set(known))
    # Of one or two letters, any other is one slip away.
    if len(name.lstrip("$")) > 2 and (hint := did_you_mean(name, names)):
        return hint
    shown = ", ".join(map(clipped, names))
    return f"known here: {shown}" if 0 < len(names) <= MAX_LISTED_NAMES else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint to be put behind a message: ` (did you mean …?)`, or nothing."""
    hint = did_you_mean(name, known)
    return f" ({hint})" if hint else ""


def _slips(a: str, b: str, most: int) -> int:
    """How many slips lead from `a` to `b`; anything above `most` is just `most + 1`."""
    older: list[int] = []
    old = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        new = [i]
        for j, y in enumerate(b, start=1):
            cost = min(old[j] + 1, new[j - 1] + 1, old[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            new.append(cost)
        if min(new) > most:
            return most + 1
        older, old = old, new
    return old[-1]
