"""What a graph says has changed, beside what the model says: row by row."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.model.merging import Entity, Image, Row
from tests.model.world import Ids, Note, Person

Change = tuple[str, Row | None, Row | None]

PROPERTIES = {
    "Person": ("name", *Person._fields),
    "Note": ("text", *Note._fields),
    "Tag": ("label",),
    "Knows": ("since",),
    "Wrote": ("stamp",),
}
"""Those of all schemas, by the names of the first."""


def changes_between(before: Image, after: Image) -> dict[Entity, Change]:
    """By entity: what was done to it, and both rows."""
    found: dict[Entity, Change] = {}
    for entity in before.keys() | after.keys():
        old, new = before.get(entity), after.get(entity)
        if old != new:
            op = "insert" if old is None else "delete" if new is None else "update"
            found[entity] = (op, old, new)
    return found


def changes_told(told: Iterable[Mapping[str, Any]], ids: Ids) -> dict[Entity, Change]:
    """The same, as the graph tells it."""
    changes = [*told]
    order = [(c["kind"] == "edge", c["type"]["name"], c["id"]) for c in changes]
    assert order == sorted(order), "nodes come before edges, then types and ids in order"
    found = {
        _entity(change, ids): (
            change["op"],
            _row(change, change["before"], ids),
            _row(change, change["after"], ids),
        )
        for change in changes
    }
    assert len(found) == len(changes), "no entity comes twice"
    return found


def _entity(change: Mapping[str, Any], ids: Ids) -> Entity:
    kind, type_name, image = (
        change["kind"],
        change["type"]["name"],
        _row(change, change["after"] or change["before"], ids),
    )
    assert image is not None
    match type_name:
        case "Person" | "Tag":
            return Entity(kind, type_name, change["id"])
        case "Knows":
            return Entity(kind, type_name, (image["from"], image["to"]))
        case "Note":
            return Entity(kind, type_name, ids.meet(image["text"], change["id"]))
        case _:
            return Entity(kind, type_name, ids.meet(image["stamp"], change["id"]))


def _row(change: Mapping[str, Any], image: Mapping[str, Any] | None, ids: Ids) -> Row | None:
    if image is None:
        return None
    row: dict[str, Any] = dict.fromkeys(PROPERTIES[change["type"]["name"]])
    row |= {"team" if k == "squad" else k: v for k, v in image["properties"].items()}
    if change["kind"] == "edge":
        ends = image["endpoints"]
        is_written = change["type"]["name"] == "Wrote"
        row["from"] = ends["from"]
        row["to"] = ids.name_of(ends["to"]) if is_written else ends["to"]
    return row
