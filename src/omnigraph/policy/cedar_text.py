"""Texts of Cedar before Cedar reads them: where each policy stands, and whether it is safe to read.

Cedar tells neither the line of a mistake nor that of a policy, and its parser ends the process when
brackets are nested a thousand deep. So a file is cut into its policies here, and each is given to
Cedar by itself.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from omnigraph.base.span import Span

__all__ = ["CedarPolicyText", "excess", "policies_in"]

# A twentieth of what Cedar's parser can take on the stack of a thread.
MAX_NESTING = 50
MAX_IFS = 100
MAX_CHARACTERS = 100_000

# A text that no quote ends goes on to the end.
TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*(?:"|$))|(?P<comment>//[^\n]*)|[\w]+|\S', re.DOTALL)


class CedarPolicyText(NamedTuple):
    text: str
    span: Span
    """Of its first word."""


def policies_in(text: str) -> Iterator[CedarPolicyText]:
    """The policies of a file, each up to its semicolon; the last may lack one, and is no policy."""
    begin: int | None = None
    for token in TOKEN.finditer(text):
        if token["comment"]:
            continue
        if begin is None:
            begin = token.start()
        if token[0] == ";":
            yield _cut(text, begin, token.end())
            begin = None
    if begin is not None:
        yield _cut(text, begin, len(text))


def excess(text: str) -> str | None:
    """What of this text is too much to be read; None: nothing."""
    if len(text) > MAX_CHARACTERS:
        return f"it has more than {MAX_CHARACTERS:,} characters"
    depth = ifs = 0
    for token in TOKEN.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        ifs += token[0] == "if"
        if depth > MAX_NESTING:
            return f"brackets are nested more than {MAX_NESTING} deep"
        if ifs > MAX_IFS:
            return f"there are more than {MAX_IFS} ifs"
    return None


def _cut(text: str, begin: int, end: int) -> CedarPolicyText:
    line = text.count("\n", 0, begin) + 1
    column = begin - (text.rfind("\n", 0, begin) + 1) + 1
    length = min(end, (text.find("\n", begin) + 1 or end + 1) - 1) - begin
    return CedarPolicyText(text[begin:end], Span(line, column, max(1, length)))
