"""A change of one dataset as a value: what it was made from and what it does.

A staged transaction is plain data that JSON can carry, never a pickle: recovery reads it back from
a file, and a pickle would run code.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from omnigraph.base.frozen import frozen

__all__ = [
    "Append",
    "CreateIndex",
    "DatasetRef",
    "Operation",
    "Overwrite",
    "Reshape",
    "Restore",
    "Rewrite",
    "SetMetadata",
    "StagedTransaction",
    "Update",
]


@frozen
class DatasetRef:
    """One dataset at one version: it never changes, so it is what caches are keyed by."""

    path: str
    """Relative to the graph's root: `nodes/0a1b…`."""
    branch: str | None
    """The Lance branch that owns the version; None is Lance's main line."""
    version: int


# What a transaction does -------------------------------------------------------------------------


@frozen
class Append:
    fragments: tuple[str, ...]


@frozen
class Overwrite:
    fragments: tuple[str, ...]


@frozen
class Update:
    """Fragments replaced: some go, some lose rows, some are new."""

    removed: tuple[int, ...] = ()
    updated: tuple[str, ...] = ()
    """Without the row ids, which the version that it was made from has."""
    new: tuple[str, ...] = ()


@frozen
class Restore:
    version: int


@frozen
class Rewrite:
    """The same rows in other files. Each group is the fragments that go and those that come."""

    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@frozen
class CreateIndex:
    """Index segments that come and segments that go; the rows stay as they are."""

    new: tuple[str, ...]
    removed: tuple[str, ...] = ()


@frozen
class SetMetadata:
    """Entries of the schema's metadata, set to these values."""

    entries: tuple[tuple[str, str], ...]


@frozen
class Reshape:
    """Other columns for the same rows, all of them where they were."""

    fields: tuple[str, ...]
    """Every field that there is afterwards, in order: Lance's own text of it, as base64."""
    files: tuple[tuple[int, str], ...] = ()
    """For each fragment, by its number, the file of new columns; empty: new columns are null."""


Operation = Append | Overwrite | Update | Restore | Rewrite | CreateIndex | SetMetadata | Reshape
"""Fragments, files and index segments are the JSON text of Lance's metadata."""


@frozen
class StagedTransaction:
    """A change of one dataset whose files are written and which nobody can see yet."""

    base: DatasetRef
    """What it was made from; it may land only while this is the newest version."""
    operation: Operation
    uuid: str
    properties: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        operation = {
            f.name: getattr(self.operation, f.name) for f in dataclasses.fields(self.operation)
        }
        return {
            "base": {
                "path": self.base.path,
                "branch": self.base.branch,
                "version": self.base.version,
            },
            "operation": {"kind": type(self.operation).__name__.lower(), **operation},
            "uuid": self.uuid,
            "properties": dict(self.properties),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "StagedTransaction":
        return cls(
            base=DatasetRef(**value["base"]),
            operation=_operation_from_json(value["operation"]),
            uuid=value["uuid"],
            properties=value["properties"],
        )


def _operation_from_json(value: Mapping[str, Any]) -> Operation:
    match value:
        case {"kind": "append", "fragments": fragments}:
            return Append(tuple(fragments))
        case {"kind": "overwrite", "fragments": fragments}:
            return Overwrite(tuple(fragments))
        case {"kind": "update", "removed": removed, "updated": updated, "new": new}:
            return Update(tuple(removed), tuple(updated), tuple(new))
        case {"kind": "restore", "version": version}:
            return Restore(version)
        case {"kind": "rewrite", "groups": groups}:
            return Rewrite(tuple((tuple(old), tuple(new)) for old, new in groups))
        case {"kind": "createindex", "new": new, "removed": removed}:
            return CreateIndex(tuple(new), tuple(removed))
        case {"kind": "setmetadata", "entries": entries}:
            return SetMetadata(tuple((name, value) for name, value in entries))
        case {"kind": "reshape", "fields": fields, "files": files}:
            return Reshape(tuple(fields), tuple((number, file) for number, file in files))
        case _:
            raise ValueError(f"no operation of a dataset: {value.get('kind')}")
