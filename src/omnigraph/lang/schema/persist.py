"""The catalog as JSON, and the hash that names it.

The hash covers all of the catalog, stable ids and columns included, since stored schemas are found
by it. What has no order (types, properties, constraints) is written sorted, so a text whose lines
were moved has the same hash; the order of a key is meaning and is kept.
"""

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from omnigraph.base.errors import SchemaVersionUnsupported, StorageFailed
from omnigraph.base.ids import PropertyId, TypeId, TypeName
from omnigraph.base.types import EnumOf, ListOf, Scalar, Value, ValueType, VectorOf
from omnigraph.lang.schema.catalog import (
    Cardinality,
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Embed,
    Index,
    InterfaceType,
    NodeType,
    Property,
    Range,
    Unique,
    sorted_constraints,
)

__all__ = ["FORMAT", "catalog_from_json", "catalog_to_json", "schema_hash"]

FORMAT = 1
"""Raised when an older reader would misunderstand what is written."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
T = TypeVar("T")


def catalog_to_json(catalog: Catalog) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "next_id": catalog.next_id,
        "nodes": [_node(n) for n in sorted(catalog.nodes, key=lambda n: n.name)],
        "edges": [_edge(e) for e in sorted(catalog.edges, key=lambda e: e.name)],
        "interfaces": [_interface(i) for i in sorted(catalog.interfaces, key=lambda i: i.name)],
    }


def catalog_from_json(stored: Mapping[str, Json]) -> Catalog:
    """Raises SchemaVersionUnsupported for a newer format, StorageFailed for anything else."""
    found = stored.get("format")
    if isinstance(found, int) and found > FORMAT:
        raise SchemaVersionUnsupported(found=found, supported=FORMAT)
    try:
        return Catalog(
            nodes=_each(stored["nodes"], _read_node),
            edges=_each(stored["edges"], _read_edge),
            interfaces=_each(stored["interfaces"], _read_interface),
            next_id=_int(stored["next_id"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StorageFailed(
            doing="reading", path="the stored schema", reason=f"{type(error).__name__}: {error}"
        ) from error


def schema_hash(catalog: Catalog) -> str:
    """64 hex digits, the same for the same catalog on every machine."""
    text = json.dumps(catalog_to_json(catalog), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


# Writing ----------------------------------------------------------------------------------------


def _node(node: NodeType) -> Json:
    return {
        "id": node.id,
        "name": node.name,
        "properties": _properties(node.properties),
        "key": list(node.key),
        "constraints": _constraints(node.constraints),
        "interfaces": _names(node.interfaces),
        "annotations": _annotations(node.annotations),
        "retired": _names(node.retired),
    }


def _edge(edge: EdgeType) -> Json:
    return {
        "id": edge.id,
        "name": edge.name,
        "source": edge.source,
        "target": edge.target,
        "properties": _properties(edge.properties),
        "cardinality": {"least": edge.cardinality.least, "most": edge.cardinality.most},
        "key": list(edge.key),
        "constraints": _constraints(edge.constraints),
        "annotations": _annotations(edge.annotations),
        "retired": _names(edge.retired),
    }


def _interface(interface: InterfaceType) -> Json:
    return {
        "name": interface.name,
        "properties": _properties(interface.properties),
        "annotations": _annotations(interface.annotations),
    }


def _properties(properties: tuple[Property, ...]) -> Json:
    return [_property(p) for p in sorted(properties, key=lambda p: p.name)]


def _property(prop: Property) -> Json:
    embed: Json = None
    if prop.embed:
        embed = {"source": prop.embed.source, "model": prop.embed.model}
    written: dict[str, Json] = {
        "id": prop.id,
        "name": prop.name,
        "column": prop.column,
        "type": _type(prop.type),
        "nullable": prop.is_nullable,
        "default": _value(prop.default),
        "embed": embed,
        "annotations": _annotations(prop.annotations),
    }
    # Nearly every property keeps its first default, and hashes of stored schemas never change.
    if prop.fill != prop.default:
        written["fill"] = _value(prop.fill)
    return written


def _type(type_: ValueType) -> Json:
    match type_:
        case Scalar():
            return {"scalar": type_.value}
        case VectorOf(width=width):
            return {"vector": width}
        case EnumOf(values=values):
            return {"enum": list(values)}
        case ListOf(item=item):
            return {"list": item.value}


def _constraints(constraints: tuple[Constraint, ...]) -> Json:
    return [_constraint(c) for c in sorted_constraints(constraints)]


def _constraint(constraint: Constraint) -> Json:
    match constraint:
        case Unique(properties=names):
            return {"kind": "unique", "properties": list(names)}
        case Index(properties=names, kind=kind):
            return {"kind": "index", "properties": list(names), "index": kind}
        case Range(property=name, low=low, high=high):
            return {"kind": "range", "property": name, "low": low, "high": high}
        case Check(property=name, pattern=pattern):
            return {"kind": "check", "property": name, "pattern": pattern}


def _annotations(annotations: Mapping[str, tuple[Value, ...]]) -> Json:
    return {name: [_value(v) for v in values] for name, values in sorted(annotations.items())}


def _names(names: tuple[str, ...]) -> Json:
    return [*sorted(names)]


def _value(value: Value) -> Json:
    match value:
        case datetime.datetime():
            return {"datetime": value.isoformat(timespec="milliseconds")}
        case datetime.date():
            return {"date": value.isoformat()}
        case tuple():
            return [_value(item) for item in value]
        case bytes():
            raise AssertionError("a Blob has no default")
        case _:
            return value


# Reading ----------------------------------------------------------------------------------------


def _read_node(stored: dict[str, Json]) -> NodeType:
    return NodeType(
        id=TypeId(_int(stored["id"])),
        name=TypeName(_text(stored["name"])),
        properties=_each(stored["properties"], _read_property),
        key=_texts(stored["key"]),
        constraints=_each(stored["constraints"], _read_constraint),
        interfaces=tuple(TypeName(name) for name in _texts(stored["interfaces"])),
        annotations=_read_annotations(stored["annotations"]),
        retired=_texts(stored["retired"]),
    )


def _read_edge(stored: dict[str, Json]) -> EdgeType:
    bounds = _dict(stored["cardinality"])
    return EdgeType(
        id=TypeId(_int(stored["id"])),
        name=TypeName(_text(stored["name"])),
        source=TypeName(_text(stored["source"])),
        target=TypeName(_text(stored["target"])),
        properties=_each(stored["properties"], _read_property),
        cardinality=Cardinality(
            _int(bounds["least"]), None if bounds["most"] is None else _int(bounds["most"])
        ),
        key=_texts(stored["key"]),
        constraints=_each(stored["constraints"], _read_constraint),
        annotations=_read_annotations(stored["annotations"]),
        retired=_texts(stored["retired"]),
    )


def _read_interface(stored: dict[str, Json]) -> InterfaceType:
    return InterfaceType(
        name=TypeName(_text(stored["name"])),
        properties=_each(stored["properties"], _read_property),
        annotations=_read_annotations(stored["annotations"]),
    )


def _read_property(stored: dict[str, Json]) -> Property:
    embed = None
    if stored["embed"] is not None:
        parts = _dict(stored["embed"])
        model = None if parts["model"] is None else _text(parts["model"])
        embed = Embed(_text(parts["source"]), model)
    return Property(
        id=PropertyId(_int(stored["id"])),
        name=_text(stored["name"]),
        column=_text(stored["column"]),
        type=_read_type(stored["type"]),
        is_nullable=bool(stored["nullable"]),
        default=_read_value(stored["default"]),
        fill=_read_value(stored.get("fill", stored["default"])),
        embed=embed,
        annotations=_read_annotations(stored["annotations"]),
    )


def _read_type(stored: Json) -> ValueType:
    ((kind, value),) = _dict(stored).items()
    match kind:
        case "scalar":
            return Scalar(value)
        case "vector":
            return VectorOf(_int(value))
        case "enum":
            return EnumOf(_texts(value))
        case "list":
            return ListOf(Scalar(value))
        case _:
            raise ValueError(f"unknown type {kind}")


def _read_constraint(stored: dict[str, Json]) -> Constraint:
    match stored["kind"]:
        case "unique":
            return Unique(_texts(stored["properties"]))
        case "index":
            kind = stored["index"]
            if kind not in (None, "ngram"):
                raise ValueError(f"unknown index {kind}")
            return Index(_texts(stored["properties"]), None if kind is None else "ngram")
        case "range":
            return Range(_text(stored["property"]), _bound(stored["low"]), _bound(stored["high"]))
        case "check":
            return Check(_text(stored["property"]), _text(stored["pattern"]))
        case unknown:
            raise ValueError(f"unknown constraint {unknown}")


def _read_annotations(stored: Json) -> dict[str, tuple[Value, ...]]:
    return {
        name: tuple(_read_value(v) for v in _list(values)) for name, values in _dict(stored).items()
    }


def _read_value(stored: Json) -> Value:
    match stored:
        case {"datetime": str() as text}:
            return datetime.datetime.fromisoformat(text)
        case {"date": str() as text}:
            return datetime.date.fromisoformat(text)
        case list():
            return tuple(_read_value(item) for item in stored)
        case dict():
            raise ValueError("unknown value")
        case _:
            return stored


def _each(stored: Json, read: Callable[[dict[str, Json]], T]) -> tuple[T, ...]:
    return tuple(read(_dict(item)) for item in _list(stored))


def _texts(stored: Json) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(stored))


def _text(stored: Json) -> str:
    return _kind(stored, str)


def _int(stored: Json) -> int:
    return _kind(stored, int)


def _bound(stored: Json) -> int | float | None:
    return stored if stored is None or isinstance(stored, int) else _kind(stored, float)


def _list(stored: Json) -> list[Json]:
    return cast(list[Json], _kind(stored, list))


def _dict(stored: Json) -> dict[str, Json]:
    return cast(dict[str, Json], _kind(stored, dict))


def _kind(stored: Json, kind: type[T]) -> T:
    if not isinstance(stored, kind):
        raise TypeError(f"{kind.__name__} expected")
    return stored
