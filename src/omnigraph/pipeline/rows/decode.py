"""One line of NDJSON, read with care: the row it holds, or every reason why it holds none.

This is the slow way, and the one that decides: `conform` reads whole columns at once and hands over
only lines that could not be read that way. What the fast way accepts must come out the same here.
"""

import json
from collections.abc import Iterator
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import suggestion
from omnigraph.base.types import INTEGER_RANGES, Scalar, ValueType
from omnigraph.base.violations import Violation
from omnigraph.base.words import clipped
from omnigraph.check.rows.input_types import expectation, fits_json, is_count
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, EntityType, NodeType

__all__ = ["EDGE_MEMBERS", "NODE_MEMBERS", "Row", "decode", "without_nulls"]

NODE_MEMBERS = ("type", "id", "data")
EDGE_MEMBERS = ("edge", "id", "from", "to", "data")


@frozen
class Row:
    """`properties` holds what the line gave, a null too; what it left out is not there."""

    entity: EntityType
    id: str | None
    source: object
    target: object
    properties: dict[str, Any]


def decode(line: bytes, catalog: Catalog) -> Row | list[Violation]:
    """The row of a line that is not blank."""
    try:
        envelope = _envelope(_parse(line))
        entity = _entity(envelope, catalog)
        data = _data(envelope, entity)
    except _NoRow as no_row:
        return [no_row.violation]
    violations = [*_envelope_violations(envelope, entity, data), *_data_violations(entity, data)]
    if violations:
        return violations
    return Row(
        entity,
        next(iter(_identities(envelope, entity, data)), None),
        envelope.get("from"),
        envelope.get("to"),
        {name: value for name, value in data.items() if name in entity.by_name},
    )


class _NoRow(Exception):
    """The line holds no row at all."""

    def __init__(self, kind: str, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.violation = Violation(kind=kind, message=message, column=column)


# The envelope -------------------------------------------------------------------------------------


def _parse(line: bytes) -> object:
    try:
        text = line.decode()
        value: object = json.loads(text, object_pairs_hook=_members)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise _NoRow("json", "the line is not UTF-8", error.start + 1) from error
    except UnicodeEncodeError as error:
        raise _NoRow("json", "a text holds half of a surrogate pair") from error
    except json.JSONDecodeError as error:
        raise _NoRow("json", f"broken JSON: {error.msg}", error.colno) from error
    except RecursionError as error:
        raise _NoRow("json", "the line is nested too deeply") from error
    except ValueError as error:
        # Python refuses to read integers of thousands of digits.
        raise _NoRow("json", "a number has too many digits") from error
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NoRow("json", f'the member "{twice}" stands twice in one object')
    return members


def _envelope(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _NoRow("envelope", "a line must be a JSON object")
    if ("type" in value) == ("edge" in value):
        which = "both" if "type" in value else "neither"
        raise _NoRow("envelope", f'a line has "type" (a node) or "edge", this one has {which}')
    allowed = NODE_MEMBERS if "type" in value else EDGE_MEMBERS
    for name in value:
        if name not in allowed:
            may = ", ".join(f'"{member}"' for member in allowed)
            raise _NoRow("envelope", f'unknown member "{clipped(name)}" (a line may have {may})')
    return value


def _entity(envelope: dict[str, Any], catalog: Catalog) -> EntityType:
    member = "type" if "type" in envelope else "edge"
    name = envelope[member]
    if not isinstance(name, str):
        raise _NoRow("envelope", f'"{member}" must be text, not {_shown(name)}')
    found: EntityType | None
    if member == "type":
        what, found, known = "node", catalog.node_by_name.get(name), catalog.node_by_name.keys()
    else:
        found = catalog.edge_by_folded_name.get(name.casefold())
        what, known = "edge", catalog.edge_by_name.keys()
    if found is None:
        raise _NoRow(
            "envelope", f"the schema has no {what} type {clipped(name)}{suggestion(name, known)}"
        )
    return found


def _data(envelope: dict[str, Any], entity: EntityType) -> dict[str, Any]:
    data = envelope.get("data")
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise _NoRow("envelope", f'"data" of {entity.name} must be an object, not {_shown(data)}')
    return data


def _identities(envelope: dict[str, Any], entity: EntityType, data: dict[str, Any]) -> list[Any]:
    """Every id that the line gives: `data.id` is one where the type has no property `id`."""
    given = [envelope.get(ID), None if ID in entity.by_name else data.get(ID)]
    return [identity for identity in given if identity is not None]


def _envelope_violations(
    envelope: dict[str, Any], entity: EntityType, data: dict[str, Any]
) -> Iterator[Violation]:
    identities = _identities(envelope, entity, data)
    if any(not isinstance(identity, str) for identity in identities):
        yield _broken("type", entity, ID, f'the "id" of {entity.name} must be text')
    elif len(set(identities)) > 1:
        yield _broken("key", entity, ID, f'"id" and "data.id" of {entity.name} differ')
    match entity:
        case NodeType():
            return
        case EdgeType():
            for end in ("from", "to"):
                if not _can_be_an_end(value := envelope.get(end)):
                    message = f'{entity.name}: "{end}" is {_shown(value)}, which names no node'
                    if isinstance(value, list):
                        message += (
                            ' (an id made of several keys is text, such as "[\\"a\\",\\"b\\"]")'
                        )
                    yield _broken("type", entity, end, message)


def _can_be_an_end(value: object) -> bool:
    """Text or one key value; that it is there at all is a rule for rows."""
    if isinstance(value, int):
        low, high = INTEGER_RANGES[Scalar.I64][0], INTEGER_RANGES[Scalar.U64][1]
        return low <= value <= high
    return value is None or isinstance(value, str | float)


# The data -----------------------------------------------------------------------------------------


def _data_violations(entity: EntityType, data: dict[str, Any]) -> Iterator[Violation]:
    for name, value in data.items():
        property_ = entity.by_name.get(name)
        if property_ is not None:
            if value is not None and not _fits(without_nulls(value), property_.type):
                found, expected = _shown(value), expectation(property_.type)
                yield _broken(
                    "type", entity, name, f"{entity.name}.{name} is {found}, not {expected}"
                )
        elif name != ID:
            near = suggestion(name, entity.by_name)
            message = f"{entity.name} has no property {clipped(name)}{near}"
            yield _broken("type", entity, clipped(name), message)


def _fits(value: object, type_: ValueType) -> bool:
    return fits_json(value, type_) or is_count(value, type_)


def without_nulls(value: object) -> object:
    """A list's items; that none of them is null is a rule for rows."""
    return [item for item in value if item is not None] if isinstance(value, list) else value


# Messages -----------------------------------------------------------------------------------------


def _broken(kind: str, entity: EntityType, name: str, message: str) -> Violation:
    return Violation(kind=kind, message=message, type_name=entity.name, property_name=name)


def _shown(value: object) -> str:
    return clipped(json.dumps(value, ensure_ascii=False))
