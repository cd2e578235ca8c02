"""One thing that two sides of a merge can't both have, as errors, results and surfaces tell it."""

from typing import Any, Literal

from omnigraph.base.frozen import frozen

__all__ = ["Conflict", "ConflictKind", "ConflictSide", "Take"]

ConflictKind = Literal[
    "divergent_insert",
    "divergent_update",
    "delete_vs_update",
    "orphan_edge",
    "unique_violation",
    "cardinality_violation",
    "value_constraint_violation",
]

Take = Literal["ours", "theirs"]
"""The side that a choice takes."""


ConflictSide = Literal["base", "ours", "theirs"]


@frozen
class Conflict:
    """`base`, `ours` and `theirs` are the row, or the value of its property, on each side.

    Each is a value that JSON can carry. None is null, or a side in `absent`.
    """

    kind: ConflictKind
    entity_kind: Literal["node", "edge"]
    type_name: str
    entity_id: str
    property: str | None
    """None: the conflict is about the whole row. Of a cardinality, the edge's type."""
    base: Any
    ours: Any
    theirs: Any
    message: str
    absent: tuple[ConflictSide, ...] = ()
    """The sides that have no such row."""

    def order(self) -> tuple[bool, str, str, str, str]:
        """How conflicts are sorted: nodes before edges, then by type, id, kind and property."""
        is_edge = self.entity_kind == "edge"
        return is_edge, self.type_name, self.entity_id, self.kind, self.property or ""

    def to_json(self) -> dict[str, Any]:
        """The conflict as values that JSON can carry."""
        return {
            "kind": self.kind,
            "entity_kind": self.entity_kind,
            "type_name": self.type_name,
            "entity_id": self.entity_id,
            "property": self.property,
            "base": self.base,
            "ours": self.ours,
            "theirs": self.theirs,
            "message": self.message,
            "absent": list(self.absent),
        }
