"""Annotations: which may stand where, and what their arguments say.

Annotations that the language doesn't know are kept as metadata and are never an error.
"""

from collections.abc import Iterable, Mapping
from typing import Literal as OneOf

from omnigraph.base.types import Value
from omnigraph.base.words import clipped
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.text.ast import Annotation, Argument, Bounds, Literal, Name, Option

__all__ = [
    "BELONGS",
    "CONSTRAINTS",
    "USAGE",
    "Place",
    "argument_error",
    "metadata",
    "only",
    "rename_source",
    "text_or_name",
]

Place = OneOf["interface", "node", "edge", "property"]

BELONGS: Mapping[str, tuple[Place, ...]] = {
    "key": ("property",),
    "unique": ("property",),
    "index": ("property",),
    "range": ("property",),
    "check": ("property",),
    "card": ("edge",),
    "embed": ("property",),
    "default": ("property",),
    "rename_from": ("node", "edge", "property"),
    "description": ("interface", "node", "edge", "property"),
    "instruction": ("interface", "node", "edge", "property"),
}
CONSTRAINTS = ("key", "unique", "index", "range", "check")

# One argument each, so a second one would only contradict the first.
SINGLE = ("card", "embed", "default", "rename_from", "description", "instruction")

USAGE = {
    "key": "@key on a property, or @key(a, b) in the body",
    "unique": "@unique on a property, or @unique(a, b) in the body",
    "index": "@index or @index(ngram) on a property, or @index(a, b) in the body",
    "range": "@range(0..150) on a property, or @range(age, 0..150) in the body",
    "check": '@check("^a+$") on a property, or @check(code, "^a+$") in the body',
    "card": "@card(0..1) before the body of an edge",
    "embed": '@embed("text_property", model="name") on a Vector',
    "default": "@default(value) on a property",
    "rename_from": '@rename_from("old_name") on a node, an edge or a property',
    "description": '@description("text")',
    "instruction": '@instruction("text")',
}

PLACES: Mapping[Place, str] = {
    "interface": "an interface",
    "node": "a node type",
    "edge": "an edge type",
    "property": "a property",
}


def only(
    annotations: Iterable[Annotation], place: Place, findings: Findings
) -> tuple[Annotation, ...]:
    """Those that may stand in this place, each once."""
    kept: list[Annotation] = []
    seen: set[str] = set()
    for annotation in annotations:
        name = annotation.name.text
        if place not in BELONGS.get(name, (place,)):
            message = f"@{name} can't stand on {PLACES[place]}"
            findings.add("S031", annotation.at, message, f"write {USAGE[name]}")
        elif name in SINGLE and name in seen:
            findings.add("S032", annotation.at, f"@{name} is given twice")
        else:
            kept.append(annotation)
        seen.add(name)
    return tuple(kept)


def metadata(
    annotations: Iterable[Annotation], findings: Findings
) -> Mapping[str, tuple[Value, ...]]:
    """Descriptions, instructions and whatever the language doesn't know."""
    kept: dict[str, list[Value]] = {}
    for annotation in annotations:
        name = annotation.name.text
        if name in ("description", "instruction"):
            match annotation.arguments:
                case (Literal(value=str() as text),):
                    kept[name] = [text]
                case _:
                    argument_error(annotation, findings)
        elif name not in BELONGS:
            kept.setdefault(name, []).extend(_as_value(a) for a in annotation.arguments)
    return {name: tuple(values) for name, values in kept.items()}


def rename_source(
    annotations: Iterable[Annotation], own_name: str, findings: Findings
) -> Name | None:
    """The name that `@rename_from` gives."""
    for annotation in annotations:
        if annotation.name.text != "rename_from":
            continue
        source = text_or_name(annotation.arguments)
        if source is None:
            argument_error(annotation, findings)
        elif source.text == own_name:
            findings.add("S100", source.at, f"{clipped(own_name)} already has this name")
        else:
            return source
    return None


def text_or_name(arguments: tuple[Argument, ...]) -> Name | None:
    """The one argument that names something, with or without quotes."""
    match arguments:
        case (Name() as name,):
            return name
        case (Literal(value=str() as text, at=at),):
            return Name(text, at)
        case _:
            return None


def argument_error(annotation: Annotation, findings: Findings) -> None:
    name = annotation.name.text
    problem = "doesn't take these arguments" if annotation.arguments else "needs an argument"
    message = f"@{name} {problem}"
    findings.add("S033", annotation.at, message, f"write {USAGE[name]}")


def _as_value(argument: Argument) -> Value:
    match argument:
        case Name(text=text):
            return text
        case Literal(value=value):
            return value
        case Bounds(low=low, high=high):
            return f"{'' if low is None else low}..{'' if high is None else high}"
        case Option(name=name, value=value):
            return (name.text, _as_value(value))
