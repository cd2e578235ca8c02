"""Values of changes for callers: plain Python, JSON, and one line of text."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.words import amount, clipped
from omnigraph.lang.schema.catalog import DST, SRC, EdgeType, EntityType
from omnigraph.read.changes.filter import kind_of
from omnigraph.store.arrays import with_short_floats
from omnigraph.store.changes import RowChanges

__all__ = [
    "change_dicts",
    "json_ready",
    "json_text",
    "named_image",
    "property_changes",
    "value_text",
]


def change_dicts(entity: EntityType, changes: RowChanges) -> Iterator[dict[str, Any]]:
    """Each change as clients know it: kind, type, id, op, and both images."""
    type_ = {"id": str(entity.id), "name": str(entity.name)}
    rows = zip(
        changes.id.to_pylist(),
        changes.op.to_pylist(),
        _images(entity, changes.before),
        _images(entity, changes.after),
        strict=True,
    )
    for id_, op, before, after in rows:
        yield {
            "kind": kind_of(entity),
            "type": type_,
            "id": id_,
            "op": op,
            "before": before,
            "after": after,
        }


def _images(entity: EntityType, column: pa.Array) -> list[dict[str, Any] | None]:
    rows = with_short_floats(pa.Table.from_struct_array(column.drop_null())).to_pylist()
    images = (_image(entity, row) for row in rows)
    return [next(images) if is_there else None for is_there in column.is_valid().to_pylist()]


def _image(entity: EntityType, row: dict[str, Any]) -> dict[str, Any]:
    image: dict[str, Any] = {"properties": {p.name: row[p.column] for p in entity.properties}}
    if isinstance(entity, EdgeType):
        image["endpoints"] = {"from": row[SRC], "to": row[DST]}
    return image


def named_image(entity: EntityType, column: pa.Array) -> pa.Array:
    """Images as structs whose members are called as the properties are, and `from` and `to`."""
    names = {p.column: p.name for p in entity.properties}
    if isinstance(entity, EdgeType):
        names = {SRC: "from", DST: "to", **names}
    members = [column.field(name) for name in names]
    # The mask lies over the members: what they hold below a null does not matter.
    return pa.StructArray.from_arrays(members, list(names.values()), mask=column.is_null())


def property_changes(change: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What is different: name, value before, value after. An edge's ends are `from` and `to`."""
    before, after = _flat(change["before"]), _flat(change["after"])
    for name in before | after:
        was, now = before.get(name), after.get(name)
        # By their text: so a value that is no number is what it was.
        if repr(was) != repr(now):
            yield name, was, now


def _flat(image: dict[str, Any] | None) -> dict[str, Any]:
    if image is None:
        return {}
    return {**image.get("endpoints", {}), **image["properties"]}


def json_ready(value: Any) -> Any:
    """The value as JSON has it: times as ISO 8601, blobs as `base64:…`, as in an export."""
    match value:
        case dict():
            return {name: json_ready(member) for name, member in value.items()}
        case list():
            return [json_ready(member) for member in value]
        case datetime():
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return text_from_blob(value)
        case _:
            return value


def json_text(value: Any) -> str:
    return json.dumps(json_ready(value), ensure_ascii=False)


def value_text(value: Any) -> str:
    """One line for a person; of a long value its beginning."""
    match value:
        case None:
            return "null"
        case str():
            return clipped(value)
        case bytes():
            return f"<{amount(len(value), 'byte')}>"
        case date():
            return value.isoformat()
        case _:
            return clipped(json_text(value))
