"""What may be a secret in a text that is shown, such as the line of a mistake in a log of CI."""

import re

from omnigraph.base.span import SourceText, Span

__all__ = ["is_hidden", "without_secrets"]

# A key whose name speaks of a secret, with the rest of its line. All is bounded: a file may be
# large.
WORDS = "key|token|secret|pass|pwd|auth|cred|bearer|signature"
KEYED = re.compile(rf"""(?:{WORDS})[\w-]{{0,20}}["']?\s{{0,9}}:""", re.IGNORECASE)
# `? key` begins a key whose value stands on a line of its own, after a colon.
ASKED = re.compile(rf"\?\s{{1,9}}\S{{0,20}}(?:{WORDS})", re.IGNORECASE)
VARIABLE = re.compile(r"""\s*["']?\$\{\w+\}["']?\s*(?:[,}#].*)?""")
# A graph may be called `keys`, and a query `tokens`: what they declare is no secret.
DECLARING = re.compile(r"""\s*\{[^{}]*\b(?:schema|file)["']?\s*:""")
DECLARED = re.compile(r"""\s*["']?(?:schema|file)["']?\s*:""")
IN_AN_ADDRESS = re.compile(r"""(?<=://)[^/\s"']*(?=@)|(?<=[?#])[^\s"',}]+""")


def without_secrets(text: str) -> str:
    """The text, as long as it was, with stars for what may be a secret."""
    lines = text.split("\n")
    shown, number = list[str](), 0
    while number < len(lines):
        line, end = lines[number], number + 1
        begin = _secret_from(line)
        if begin is not None:
            is_empty = not line[begin:].strip()
            while end < len(lines) and (is_empty or _goes_on(lines[end], _indent(line))):
                is_empty = is_empty and not lines[end].strip()
                end += 1
        below = lines[number + 1 : end]
        if begin is None or any(map(DECLARED.match, below)):
            shown.append(_without_addresses(line))
            number += 1
            continue
        value = line[begin:]
        is_kept = VARIABLE.fullmatch(value) is not None
        shown.append(_without_addresses(line[:begin]) + (value if is_kept else _stars(value)))
        shown += map(_stars, below)
        number = end
    return "\n".join(shown)


def is_hidden(source: SourceText, shown: SourceText, span: Span) -> bool:
    """True if what is at this place of the source is not shown."""
    begin = span.column - 1
    return source.line(span.line)[begin:] != shown.line(span.line)[begin:]


def _secret_from(line: str) -> int | None:
    """Where the value of a key begins that may be a secret."""
    for found in KEYED.finditer(line):
        if DECLARING.match(line, found.end()) is None:
            return found.end()
    asked = ASKED.search(line)
    return None if asked is None else asked.end()


def _goes_on(line: str, indent: int) -> bool:
    """True if the line belongs to the value of a key that stands so far to the right."""
    own, text = _indent(line), line.strip()
    return not text or own > indent or (own == indent and text[0] in "-:")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _without_addresses(line: str) -> str:
    if "://" not in line:
        return line
    return IN_AN_ADDRESS.sub(lambda found: "*" * len(found[0]), line)


def _stars(text: str) -> str:
    """As many stars as letters; spaces stay, and so does how a line ends."""
    return re.sub(r"\S", "*", text)
