"""A `.pg` text as tokens and comments. Nothing stops it: what can't be read becomes a finding.

One regular expression finds every token, so time grows with the text and nothing else. After a
finding a token of the meant kind still goes on to the parser: one slip is reported once.
"""

import math
import re

from lark import Token

from omnigraph.base.errors import Diagnostic
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped
from omnigraph.lang.schema.codes import SYNTAX
from omnigraph.lang.schema.text.ast import Comment, Extent

__all__ = ["KEYWORDS", "Scanned", "extent_of", "scan", "unquoted"]

KEYWORDS = {
    "interface": "INTERFACE",
    "node": "NODE",
    "edge": "EDGE",
    "implements": "_IMPLEMENTS",
    "enum": "ENUM",
}
"""Names everywhere else: whether `node` opens a declaration is for the parser to say."""

SIGNS = {
    "@": "AT",
    "{": "LBRACE",
    "}": "RBRACE",
    "(": "_LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ",": "_COMMA",
    ":": "_COLON",
    "=": "_EQUALS",
    "..": "_DOTS",
    "*": "STAR",
    "?": "QUESTION",
}

# The largest F64 has 309 digits before its point. Reading thousands would take quadratic time.
MAX_DIGITS = 400

TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w-]))
    | (?P<word>\w+(?:-\w+)*)
    | (?P<arrow><?[-=]+>|<[-=]+|→)
    | (?P<sign>\.\.|[@{}()\[\],:=*?])
    | (?P<open_comment>/\*.*)
    | (?P<open_string>"[^\n)}]*)
    | (?P<quoted>'[^'\n]*'|“[^”\n]*”|`[^`\n]*`)
    | (?P<hash>\#[^\n]*)
    | (?P<stray>[^\s\w"'“`\#@{}()\[\],:=*?/<→-]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Za-z0-9_-]+")
SURROGATE = re.compile(r"[\ud800-\udfff]")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}


@frozen
class Scanned:
    tokens: list[Token]
    comments: list[Comment]
    findings: list[Diagnostic]


def scan(source: SourceText) -> Scanned:
    result = Scanned([], [], [])
    text, line, line_start = source.text, 1, 0
    for match in TOKEN.finditer(text):
        start, end = match.span()
        first_line, column = line, start - line_start + 1
        breaks = text.count("\n", start, end)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", start, end) + 1
        if match.lastgroup != "space":
            at = Extent(first_line, column, line, end - line_start + 1)
            _take(result, match, at)
    return result


def unquoted(written: str) -> str:
    """The text that a string token stands for; its escapes were checked by `scan`."""
    return ESCAPE.sub(_unescaped, written[1:-1])


def extent_of(token: Token) -> Extent:
    """Where a token that `scan` made stands."""
    assert token.line and token.column and token.end_line and token.end_column
    return Extent(token.line, token.column, token.end_line, token.end_column)


def _unescaped(match: re.Match[str]) -> str:
    digits, sign = match.groups()
    return chr(int(digits, 16)) if digits else ESCAPES.get(sign, sign)


def _take(result: Scanned, match: re.Match[str], at: Extent) -> None:
    text = match.group()
    match match.lastgroup:
        case "comment":
            result.comments.append(Comment(text.rstrip(), at))
            if SURROGATE.search(text):
                _find(result, at, "this comment holds a character that can't be stored")
        case "string":
            _take_string(result, text, at)
        case "number":
            _take_number(result, text, at)
        case "word":
            _take_word(result, text, at)
        case "arrow":
            if text != "->":
                _find(result, at, f"'{clipped(text)}' joins nothing", "write edge Name: From -> To")
            result.tokens.append(_token("_ARROW", text, at))
        case "sign":
            result.tokens.append(_token(SIGNS[text], text, at))
        case "open_comment":
            _find(result, at, "this comment is never closed", "end it with '*/'")
        case "open_string":
            _find(result, at, "this text is never closed", 'end it with " on the same line')
            result.tokens.append(_token("STRING", '""', at))
        case "quoted":
            _find(result, at, "text is written in double quotes", f'write "{clipped(text[1:-1])}"')
            result.tokens.append(_token("STRING", '""', at))
        case "hash":
            _find(result, at, "'#' starts nothing here", "comments start with '//'")
        case _:
            _find(result, at, f"'{clipped(text)}' has no meaning here", STRAY_HINTS.get(text))


STRAY_HINTS = {
    "!": "leave it out: a property is required unless its type ends in '?'",
    "<": "a list is written [String]",
    ">": "a list is written [String]",
    ";": "leave it out: declarations and properties end by themselves",
    "|": "list the words of an enum with commas: enum(a, b)",
    "/": "comments start with '//' or '/*'",
}


def _take_string(result: Scanned, text: str, at: Extent) -> None:
    for escape in ESCAPE.finditer(text):
        digits, sign = escape.groups()
        if digits is None and sign not in ESCAPES:
            hint = f"write \\\\{sign} for a backslash before {sign}"
            _find(result, _within(at, escape), f"unknown escape \\{sign} in a text", hint)
        elif digits is not None and 0xD800 <= int(digits, 16) <= 0xDFFF:
            _find(result, _within(at, escape), f"\\u{digits} is no character by itself")
    if SURROGATE.search(text) or any(c < " " and c != "\t" for c in text):
        _find(result, at, "this text holds a character that can't be stored", "use an escape")
        text = '""'
    result.tokens.append(_token("STRING", text, at))


def _take_number(result: Scanned, text: str, at: Extent) -> None:
    kind = "INT" if text.lstrip("-").isdigit() else "FLOAT"
    if len(text) > MAX_DIGITS or (kind == "FLOAT" and math.isinf(float(text))):
        _find(result, at, "this number is too large")
        text = "0"
    result.tokens.append(_token(kind, text, at))


def _take_word(result: Scanned, text: str, at: Extent) -> None:
    if NAME.fullmatch(text):
        result.tokens.append(_token("NAME", text, at))
    elif WORD.fullmatch(text):
        result.tokens.append(_token("WORD", text, at))
    else:
        hint = "names and words are made of the letters a-z, A-Z, digits and _"
        _find(result, at, f"{clipped(text)} can't be a name", hint)
        result.tokens.append(_token("NAME", "x", at))


def _token(kind: str, text: str, at: Extent) -> Token:
    ends = {"end_line": at.end_line, "end_column": at.end_column}
    return Token(kind, text, line=at.line, column=at.column, **ends)


def _within(at: Extent, match: re.Match[str]) -> Extent:
    start = at.column + match.start()
    return Extent(at.line, start, at.line, start + len(match.group()))


def _find(result: Scanned, at: Extent, message: str, hint: str | None = None) -> None:
    result.findings.append(Diagnostic(SYNTAX, message, at.span, hint))
