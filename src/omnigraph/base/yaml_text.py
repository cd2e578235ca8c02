"""YAML as people mean it: a tree in which each value knows its place.

YAML has traps for files that decide things. A key that comes twice would lose its first value
without a word, `no` would be a boolean, `0123` another number, and an alias could stand for a
million values. Each of them is refused here, with its line. Plain dates are text.
"""

import re
from collections.abc import Iterator
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.span import Span
from omnigraph.base.words import clipped

__all__ = [
    "YamlList",
    "YamlMap",
    "YamlNode",
    "YamlRefused",
    "YamlScalar",
    "plain_value",
    "read_yaml",
]

# Far above any file that a person writes, and far below what would fill a stack.
MAX_DEPTH = 40
MAX_CHARACTERS = 4_000_000

INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
# Longer than any number that is used, and slow to read.
MAX_DIGITS = 40
FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# What YAML 1.1 takes for a number, and YAML 1.2, or a person, for something else.
ODD_NUMBER = re.compile(r"[-+]?(0[0-9_]+|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+|[0-9_]+)")
ODD_FLOAT = re.compile(
    r"[-+]?(\.(inf|nan)|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)", re.IGNORECASE
)
ODD_BOOLEANS = frozenset({"yes", "no", "on", "off", "y", "n"})
CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}


@frozen
class YamlScalar:
    value: bool | int | float | str | None
    span: Span


@frozen
class YamlList:
    items: "tuple[YamlNode, ...]"
    span: Span


@frozen
class YamlMap:
    entries: "tuple[tuple[YamlScalar, YamlNode], ...]"
    """Each key, which is text, with its value, in the order of writing."""
    span: Span


YamlNode = YamlScalar | YamlList | YamlMap


class YamlRefused(Exception):
    """The text is no YAML, or YAML that could mean something else than it says."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


def read_yaml(text: str) -> YamlNode:
    """The one document of a text; an empty text is the scalar null."""
    # Imported here: few commands read YAML.
    import yaml

    if len(text) > MAX_CHARACTERS:
        raise YamlRefused(f"the file has more than {MAX_CHARACTERS:,} characters", Span(1, 1))
    try:
        return _Reader(yaml.parse(text, Loader=yaml.SafeLoader)).document()
    except yaml.YAMLError as error:
        raise _no_yaml(error, text) from error


def plain_value(node: YamlNode) -> object:
    """The value without its places: dicts, lists, texts, numbers, booleans and None."""
    match node:
        case YamlScalar(value=value):
            return value
        case YamlList(items=items):
            return [plain_value(item) for item in items]
        case YamlMap(entries=entries):
            return {key.value: plain_value(value) for key, value in entries}


class _Reader:
    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events

    def document(self) -> YamlNode:
        self._next("StreamStartEvent")
        if type(event := next(self._events)).__name__ == "StreamEndEvent":
            return YamlScalar(None, _span(event))
        found = self._node(next(self._events), depth=0)
        self._next("DocumentEndEvent")
        event = next(self._events)
        if type(event).__name__ != "StreamEndEvent":
            raise YamlRefused("a file holds one document, and here a second begins", _span(event))
        return found

    def _next(self, kind: str) -> None:
        event = next(self._events)
        assert type(event).__name__ == kind, f"YAML gave {event} for {kind}"

    def _node(self, event: Any, depth: int) -> YamlNode:
        span = _span(event)
        if depth > MAX_DEPTH:
            raise YamlRefused("values are nested too deeply", span)
        if getattr(event, "anchor", None) is not None:
            raise YamlRefused(
                f"anchors and aliases are not read ({clipped(event.anchor)})",
                span,
                "write the value out in both places",
            )
        if getattr(event, "tag", None) is not None:
            raise YamlRefused(f"tags are not read ({clipped(event.tag)})", span, "leave it out")
        match type(event).__name__:
            case "ScalarEvent":
                if any("\ud800" <= character <= "\udfff" for character in event.value):
                    raise YamlRefused(
                        "a \\u escape is half a character", span, "write the character itself"
                    )
                return YamlScalar(event.value if event.style else _plain(event.value, span), span)
            case "SequenceStartEvent":
                return YamlList(tuple(self._items(depth)), span)
            case "MappingStartEvent":
                return YamlMap(tuple(self._entries(depth)), span)
            case kind:
                raise AssertionError(f"YAML gave {kind} for a value")

    def _items(self, depth: int) -> Iterator[YamlNode]:
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            yield self._node(event, depth + 1)

    def _entries(self, depth: int) -> Iterator[tuple[YamlScalar, YamlNode]]:
        lines: dict[str, int] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, depth + 1)
            if not isinstance(key, YamlScalar) or not isinstance(key.value, str):
                raise YamlRefused("a key is text", key.span, "put it in quotes")
            if key.value in lines:
                again = f"{clipped(key.value)} comes twice: on line {lines[key.value]} too"
                raise YamlRefused(again, key.span, "leave one of them out")
            if key.value == "<<" and event.style is None:
                raise YamlRefused("<< is not read", key.span, "write the values out")
            lines[key.value] = key.span.line
            yield key, self._node(next(self._events), depth + 1)


def _plain(text: str, span: Span) -> bool | int | float | str | None:
    """What a value without quotes stands for."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text.casefold() in ODD_BOOLEANS:
        raise YamlRefused(
            f"{text} is a boolean for some readers of YAML and text for others",
            span,
            f'write true or false, or "{text}" in quotes',
        )
    if INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise YamlRefused(f"a number has at most {MAX_DIGITS} digits", span)
        return int(text)
    if FLOAT.fullmatch(text):
        return float(text)
    if ODD_NUMBER.fullmatch(text) or ODD_FLOAT.fullmatch(text):
        raise YamlRefused(
            f"{clipped(text)} is one number for some readers of YAML and another for others",
            span,
            f'write it plainly, or "{clipped(text)}" in quotes',
        )
    return text


def _span(event: Any) -> Span:
    start, end = event.start_mark, event.end_mark
    length = end.column - start.column if end.line == start.line else 1
    return Span(start.line + 1, start.column + 1, max(1, length))


def _no_yaml(error: Any, text: str) -> YamlRefused:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
    if mark is not None:
        return YamlRefused(
            f"this is not valid YAML: {reason}", Span(mark.line + 1, mark.column + 1)
        )
    before = text[: getattr(error, "position", 0)]
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return YamlRefused(f"this is not valid YAML: {reason}", Span(line, column))
