"""How types, values and annotations are written: the one place that knows quotes and escapes.

Whatever is written here, the parser reads back as the same thing.
"""

import datetime
from collections.abc import Iterable, Iterator

from omnigraph.base.types import Value
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Argument,
    Bounds,
    EnumExpression,
    ListExpression,
    Literal,
    Name,
    Option,
    TypeExpression,
    TypeName,
)

__all__ = ["annotation_text", "type_lines", "value_text"]

INDENT = "    "

ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def annotation_text(annotation: Annotation) -> str:
    name = annotation.name.text
    if not annotation.arguments:
        return f"@{name}"
    # A cardinality reads `0..*` everywhere else, too.
    open_end = "*" if name == "card" else ""
    return f"@{name}({', '.join(_argument(a, open_end) for a in annotation.arguments)})"


def type_lines(written: TypeExpression, width: int) -> list[str]:
    """One line, or for an enum of many words as many as it needs."""
    match written:
        case TypeName(name=name, size=None):
            return [name.text]
        case TypeName(name=name, size=size):
            return [f"{name.text}({size})"]
        case ListExpression(item=item):
            return [f"[{item.text}]"]
        case EnumExpression(words=words):
            line = f"enum({', '.join(word.text for word in words)})"
            if len(line) <= width:
                return [line]
            return ["enum(", *_filled((word.text for word in words), width), ")"]


def _filled(words: Iterable[str], width: int) -> Iterator[str]:
    line = INDENT
    for word in words:
        if len(line) + len(word) > width and line != INDENT:
            yield line.rstrip()
            line = INDENT
        line += f"{word}, "
    yield line.removesuffix(", ")


def _argument(argument: Argument, open_end: str) -> str:
    match argument:
        case Name(text=text):
            return text
        case Literal(value=value):
            return value_text(value)
        case Bounds(low=low, high=high):
            return f"{'' if low is None else low}..{open_end if high is None else high}"
        case Option(name=name, value=value):
            return f"{name.text}={_argument(value, '')}"


def value_text(value: Value) -> str:
    """A value as a default would be written."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{"".join(_character(c) for c in value)}"'
        case int() | float():
            return repr(value)
        case tuple():
            return f"[{', '.join(value_text(item) for item in value)}]"
        case datetime.datetime():
            return f'"{value.isoformat().replace("+00:00", "Z")}"'
        case datetime.date():
            return f'"{value.isoformat()}"'
        case bytes():
            raise AssertionError("a Blob is never written in a schema")


def _character(character: str) -> str:
    if character < " ":
        return ESCAPED.get(character, f"\\u{ord(character):04x}")
    return ESCAPED.get(character, character)
