"""Syntax errors in a reader's words: never the name of a rule or a token.

"expected '{' after match, found $p" says what, where and instead of what; a hint is added where the
text looks like another language's way of saying a thing.
"""

import re
from collections.abc import Collection

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from omnigraph.base.errors import Diagnostic
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.span import Span
from omnigraph.base.words import clipped
from omnigraph.lang.query.text.comments import COMMENT, OPEN_TEXT
from omnigraph.lang.query.text.other_languages import hint_for_sign, hint_for_word

__all__ = ["KEY_WORDS", "NAME_WORDS", "describe"]

TOKEN = re.compile(rf'{COMMENT}|{OPEN_TEXT}"|\$?[A-Za-z_0-9]+|[!<>]=|\S')

VALUES = frozenset(
    {"VARIABLE", "NAME", "COUNT", "INT", "FLOAT", "STRING", "TRUE", "FALSE", "NULL", "LBRACKET"}
)
CLAUSES = VALUES | {"NOT", "EXISTS", "OPTIONAL", "OR", "TOP"}
# Keywords that are names where a name may stand.
NAME_WORDS = frozenset(
    {"NOT", "EXISTS", "OPTIONAL", "COUNT", "OR", "TOP", "CONTAINS", "STARTS_WITH", "IN", "IS"}
    | {"AND", "INSERT", "UPDATE", "DELETE"}
)
KEY_WORDS = NAME_WORDS | {"AS", "ASC", "DESC", "TRUE", "FALSE", "NULL"}
TESTS = frozenset({"COMPARE", "CONTAINS", "STARTS_WITH", "IN", "IS"})
# The tests of a `where` by themselves may have been read whole, at a token that could end them in
# a mutation. The parser then has nowhere to go.
AFTER_CONDITIONS = frozenset({"AND", "$END"})
GROUPS = (
    (AFTER_CONDITIONS, AFTER_CONDITIONS, "'and' or the end of the text"),
    ({"OPTIONAL", "TOP"}, CLAUSES, "a clause"),
    ({"STRING", "INT"}, VALUES, "a value"),
    ({"COMPARE", "IN"}, TESTS, "a comparison"),
    ({"COMPARE", "CONTAINS"}, TESTS, "a comparison"),
)

WORDS = {
    "VARIABLE": "a variable such as $x",
    "NAME": "a name",
    "WORD": "a word",
    "INT": "a whole number",
    "FLOAT": "a number",
    "STRING": 'a text in "quotes"',
    "COMPARE": "a comparison",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "CLOSE": "')'",
    "LPAR": "'('",
    "COLON": "':'",
    "COMMA": "','",
    "DOT": "'.'",
    "VBAR": "'|'",
    "MORETHAN": "'>'",
    "UNDIRECTED": "'<'",
    "QUESTION": "'?'",
    "AT": "'@'",
    "QUERY": "a query: query name(…) { … }",
    "$END": "the end of the text",
}

NAMES_AFTER = {
    "query": "the query's name",
    ":": "a type",
    ".": "a property's name",
    "as": "a name for the column",
    "insert": "a type",
    "update": "a type",
    "delete": "a type",
    "by": "nearest(…), bm25(…) or rrf(…)",
    "@": "description or instruction",
}

# Words that begin a body: at the beginning of a text the query around them is missing.
BODY = frozenset({"match", "return", "insert", "update", "delete"})

# Never worth naming beside what else could stand there.
QUIET = frozenset({"QUESTION", "VBAR", "UNDIRECTED", "AT", "DOT"})


def describe(
    error: UnexpectedToken | UnexpectedCharacters, piece: str, *, is_last: bool
) -> Diagnostic:
    """The one error of a piece of text (a query); `is_last` if no other query follows it."""
    if isinstance(error, UnexpectedCharacters):
        return _bad_character(error, piece)
    token = error.token
    is_end = token.type == "$END"
    position = len(piece) if is_end else (token.start_pos or 0)
    before = _previous(piece, position)
    expected = _expected(
        error.accepts or error.expected or AFTER_CONDITIONS, before[0] if before else ""
    )
    after = f" after {_shown(before[0])}" if before else ""
    if is_end:
        found = "the end of the text" if is_last else "the next query"
        span = _span(piece, before[1], len(before[0])) if before else Span(1, 1)
        return Diagnostic("Q000", f"expected {expected}{after}, found {found}", span)
    text = str(token)
    return Diagnostic(
        "Q000",
        f"expected {expected}{after}, found {_shown(text)}",
        _span(piece, position, len(text)),
        _hint(text, before[0] if before else "", error.accepts or set()),
    )


def _bad_character(error: UnexpectedCharacters, piece: str) -> Diagnostic:
    position = error.pos_in_stream or 0
    rest = piece[position : position + 2]
    span = _span(piece, position, 1)
    match rest[:1]:
        case '"':
            return Diagnostic("Q000", "the text that begins here is not closed", span, 'add a "')
        case "'" | "“" | "”" | "\u2018" | "\u2019" | "`" as quote:
            hint = 'texts are written in double quotes: "…"'
            return Diagnostic("Q000", f"unexpected {quote}", span, hint)
        case "$":
            return Diagnostic("Q000", "a variable needs a name after $", span)
        case "/" if rest == "/*":
            return Diagnostic(
                "Q000", "the comment that begins here is not closed", span, "add a */"
            )
        case character if character.isprintable():
            before = _previous(piece, position)
            known = hint_for_sign(piece, position, before[0] if before else "")
            return Diagnostic("Q000", f"unexpected {character}", span, known)
        case character:
            code = f"U+{ord(character):04X}" if character else "the end"
            return Diagnostic("Q000", f"unexpected character {code}", span)


def _expected(accepted: Collection[str], before: str) -> str:
    left = set(accepted)
    if "QUERY" in left:
        left = {"QUERY"}
    if before == "by":
        left = {"NAME"}
    if "NAME" in left and left >= NAME_WORDS:
        left -= KEY_WORDS if left >= KEY_WORDS and "STRING" not in left else NAME_WORDS
    words = []
    for signs, members, name in GROUPS:
        if signs <= left:
            words.append(name)
            left -= members
    if len(left - QUIET) + len(words) > 0:
        left -= QUIET
    for terminal in sorted(left, key=lambda t: (t in WORDS, t)):
        word = WORDS.get(terminal, terminal.lower())
        words.append(NAMES_AFTER.get(before, word) if terminal == "NAME" else word)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _hint(text: str, before: str, accepted: Collection[str]) -> str | None:
    if text == "or" and accepted == AFTER_CONDITIONS:
        return "all tests hold, joined by and: filter the frame for alternatives"
    if known := hint_for_word(text, before, accepted):
        return known
    if not before and text in BODY:
        return "give the query a name, and its body braces: query name() { … }"
    keywords = [t.lower() for t in accepted if t not in WORDS]
    if text.casefold() in keywords:
        return f"keywords are written in lower case: {text.casefold()}"
    return did_you_mean(text, keywords)


def _previous(piece: str, position: int) -> tuple[str, int] | None:
    """The token before a position, and where it begins; comments are passed over."""
    last = None
    for found in TOKEN.finditer(piece, 0, position):
        if not found[0].startswith(("//", "/*")):
            last = found[0], found.start()
    return last


def _shown(text: str) -> str:
    short = clipped(text)
    return short if re.match(r'[A-Za-z0-9_$"]', short) else f"'{short}'"


def _span(piece: str, position: int, length: int) -> Span:
    line_start = piece.rfind("\n", 0, position) + 1
    return Span(piece.count("\n", 0, position) + 1, position - line_start + 1, max(1, length))
