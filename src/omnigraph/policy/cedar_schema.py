"""The Cedar schema of a catalog and a bundle: what policies can name, and of which types it is.

Types of the graph have a namespace of their own, `Row`, so that a type called `Actor` or `Graph` is
no other thing. A property that a rule can hide is an entity: `Omnigraph::Property::"Person.age"`.
"""

from collections.abc import Iterable, Mapping

from omnigraph.lang.schema.catalog import Catalog
from omnigraph.policy.actions import ACTIONS, ROW_ACTIONS, SERVER_ACTIONS
from omnigraph.policy.cedar import Json
from omnigraph.policy.row_fields import FieldKind, row_fields

__all__ = [
    "ACTION",
    "ACTOR",
    "CONTEXT",
    "GRAPH",
    "GROUP",
    "OUR_TYPES",
    "PROPERTY",
    "ROOT",
    "ROW_NAMESPACE",
    "SERVER",
    "cedar_schema",
    "row_type",
]

NAMESPACE, ROW_NAMESPACE = "Omnigraph", "Row"
ACTION, ACTOR, GROUP = "Omnigraph::Action", "Omnigraph::Actor", "Omnigraph::Group"
GRAPH, SERVER, PROPERTY = "Omnigraph::Graph", "Omnigraph::Server", "Omnigraph::Property"
OUR_TYPES = frozenset({ACTION, ACTOR, GROUP, GRAPH, SERVER, PROPERTY})
ROOT = "root"
"""The id of the graph, and of the server, that a request is about."""

CONTEXT: Mapping[str, tuple[FieldKind, bool]] = {
    "branch": (FieldKind.TEXT, True),
    "branch_is_protected": (FieldKind.BOOLEAN, False),
    "target_branch": (FieldKind.TEXT, True),
    "target_branch_is_protected": (FieldKind.BOOLEAN, False),
    "query": (FieldKind.TEXT, True),
}
"""What is known of a request: the kind of each fact, and whether it may be missing."""


def row_type(name: str) -> str:
    """As Cedar names a type of the graph."""
    # Cedar keeps `Action` for itself in every namespace.
    kept = name.rstrip("_") == "Action"
    return f"{ROW_NAMESPACE}::{name}{'_' * kept}"


def cedar_schema(catalog: Catalog, attributes: Mapping[str, FieldKind]) -> Json:
    """In Cedar's JSON. `attributes` are those that actors can have, each of them optional."""
    rows = {
        row_type(entity.name): _entity(
            [GRAPH], {n: (f.kind, f.is_optional) for n, f in row_fields(entity).items()}
        )
        for entity in catalog.entities
    }
    actor = {"id": (FieldKind.TEXT, False), **{n: (kind, True) for n, kind in attributes.items()}}
    return {
        NAMESPACE: {
            "entityTypes": {
                "Group": _entity(["Group"]),
                "Actor": _entity(["Group"], actor),
                "Server": _entity(),
                "Graph": _entity(),
                "Property": _entity(["Graph"]),
            },
            "actions": {action: _action(action, rows) for action in ACTIONS},
        },
        ROW_NAMESPACE: {
            "entityTypes": {name.removeprefix(f"{ROW_NAMESPACE}::"): t for name, t in rows.items()},
            "actions": {},
        },
    }


def _action(action: str, types: Iterable[str]) -> Json:
    resources = ["Server"] if action in SERVER_ACTIONS else ["Graph"]
    if action in ROW_ACTIONS:
        resources += ["Property", *types]
    return {
        "appliesTo": {
            "principalTypes": ["Actor"],
            "resourceTypes": resources,
            "context": _record(CONTEXT),
        }
    }


def _entity(
    parents: Iterable[str] = (), attributes: Mapping[str, tuple[FieldKind, bool]] | None = None
) -> Json:
    return {"memberOfTypes": list(parents), "shape": _record(attributes or {})}


def _record(attributes: Mapping[str, tuple[FieldKind, bool]]) -> Json:
    return {
        "type": "Record",
        "attributes": {
            name: {**_type(kind), "required": not is_optional}
            for name, (kind, is_optional) in attributes.items()
        },
    }


def _type(kind: FieldKind) -> Json:
    if kind is FieldKind.TEXTS:
        return {"type": "Set", "element": {"type": FieldKind.TEXT.value}}
    return {"type": kind.value}
