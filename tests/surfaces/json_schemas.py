"""JSON Schemas of what commands print, made of `omnigraph.surfaces.shapes`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from omnigraph.surfaces.shapes.documents import DOCUMENTS, EVENTS, FAILURE

FOLDER = Path(__file__).parents[2] / "docs/reference/json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def file_of(command: str) -> str:
    return f"{command.replace(' ', '-')}.schema.json"


def published() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema, by the name of its file."""
    for command, shapes in DOCUMENTS.items():
        yield file_of(command), _schema(f"omnigraph {command} --json", file_of(command), shapes)
    yield file_of("error"), _schema("an error of any command", file_of("error"), (FAILURE,))
    title = "a line on standard error, beside --json"
    yield file_of("event"), _schema(title, file_of("event"), EVENTS)


def strict(schema: Any) -> Any:
    """The same schema, where an object has the members that are listed and no other."""
    match schema:
        case dict():
            inner = {name: strict(value) for name, value in schema.items()}
            return {**inner, "additionalProperties": False} if "required" in schema else inner
        case list():
            return [strict(value) for value in schema]
        case _:
            return schema


def _schema(title: str, name: str, shapes: tuple[Any, ...]) -> dict[str, Any]:
    refs, parts = msgspec.json.schema_components(shapes, ref_template="#/$defs/{name}")
    which = dict(refs[0]) if len(refs) == 1 else {"anyOf": list(refs)}
    return {"$schema": DRAFT, "$id": name, "title": title, **which, "$defs": parts}
