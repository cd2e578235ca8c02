"""The gate: every use case asks it first, with the request, whether the caller may go on.

Today it keeps writes away from a handle that was opened to read. Policy, which looks at the actor,
the branch and the types, belongs here too: no other module decides who may do a thing, or see a
row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from omnigraph.base.errors import ReadOnly
from omnigraph.base.ids import TypeName
from omnigraph.read.view import Condition, View
from omnigraph.store.snapshot import Snapshot

__all__ = ["Action", "Asked", "Gate"]


class Action(StrEnum):
    """What a request does, in the words of policies."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    ADMIN = "admin"

    @property
    def is_reading(self) -> bool:
        return self in (Action.READ, Action.EXPORT)


class Asked(Protocol):
    """What the gate knows of a request."""

    action: ClassVar[Action]

    @property
    def actor(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Gate:
    uri: str
    is_read_only: bool = False
    visible: Mapping[TypeName, Condition] = field(default_factory=dict)
    """The condition that rows of a type meet to be shown; rows of other types are shown all."""

    def allow(self, request: Asked) -> None:
        """Return if the request may be carried out, and raise a `DeniedError` otherwise."""
        if self.is_read_only and not request.action.is_reading:
            raise ReadOnly(self.uri)

    def view(self, snapshot: Snapshot, request: Asked) -> View:
        """The rows of a snapshot that the request may see."""
        return View(snapshot, self.visible)
