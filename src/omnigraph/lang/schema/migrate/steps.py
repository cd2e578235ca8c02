"""A migration as a value: its steps, the reasons to refuse it, and every code of either.

The page docs/user/migrations.md shows the same table of codes.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import PropertyId, TypeId
from omnigraph.lang.schema.catalog import Cardinality, Constraint

__all__ = [
    "MIGRATION_CODES",
    "DropMode",
    "Facts",
    "MigrationPlan",
    "Refusal",
    "Step",
    "StepKind",
    "Tier",
]

Tier = Literal["safe", "validated", "destructive"]
"""safe: can't fail. validated: checked against the data first. destructive: hides or loses data."""

DropMode = Literal["soft", "hard"]
"""soft: the newest commit is without it, and older commits show it. hard: the same, and a cleanup
may take the bytes from the older commits."""

StepKind = Literal[
    "rename_type",
    "rename_property",
    "add_type",
    "add_property",
    "change_type",
    "extend_enum",
    "make_nullable",
    "make_required",
    "add_constraint",
    "remove_constraint",
    "update_metadata",
    "drop_property",
    "drop_type",
]
"""In the order in which steps are taken."""

ADDITIVE: Final[frozenset[StepKind]] = frozenset(
    {
        "add_type",
        "add_property",
        "add_constraint",
        "extend_enum",
        "make_nullable",
        "remove_constraint",
        "update_metadata",
    }
)

MIGRATION_CODES: Final[Mapping[str, str]] = {
    "OG-DS-101": "An interface is dropped: queries over it stop compiling.",
    "OG-DS-102": "A node type is dropped with its rows.",
    "OG-DS-103": "An edge type is dropped with its rows.",
    "OG-DS-104": "A property is dropped with its values.",
    "OG-DS-105": "A Vector property is dropped with its values.",
    "OG-MF-103": "A required property without a default is added to a type that has rows.",
    "OG-MF-104": "A nullable property becomes required while rows hold null.",
    "OG-MF-106": "A change that stored rows can't follow: a type, an enum's words, a key, an end.",
    "OG-VE-101": "The source or model of `@embed` changes while rows hold the old vectors.",
    "OG-CD-101": "A constraint is removed: what it kept out can come in (a warning).",
}


@frozen
class Facts:
    """The facts about the data that the planner needs; the caller gathers them."""

    populated: frozenset[TypeId] | None = None
    """Types that have rows; None if that is not known: then every type is taken to have some."""
    with_nulls: Mapping[PropertyId, tuple[str, ...]] = field(default_factory=dict)
    """Properties that hold a null in some row, and the ids of the first such rows."""

    def has_rows(self, type_id: TypeId) -> bool:
        return self.populated is None or type_id in self.populated


@frozen
class Step:
    """One change. The ids say what it is about in both catalogs, whatever the names are."""

    kind: StepKind
    name: str
    """`Person` or `Person.age`, as the desired schema calls it; for a drop, the accepted one."""
    tier: Tier
    message: str
    mode: DropMode | None = None
    code: str | None = None
    """The code of a drop, of the refusal of a validated step, or of a warning."""
    type_id: TypeId | None = None
    """None for an interface, which has no table."""
    property_id: PropertyId | None = None
    constraint: Constraint | Cardinality | None = None
    """The thing that is added or removed, in the names of the schema that has it."""

    @property
    def is_warning(self) -> bool:
        return self.code == "OG-CD-101"

    @property
    def is_additive(self) -> bool:
        """True if whatever could be said and stored before can be after: no branch minds it."""
        return self.tier == "safe" and self.kind in ADDITIVE

    def to_json(self) -> dict[str, str | None]:
        return {
            "kind": self.kind,
            "name": self.name,
            "mode": self.mode,
            "code": self.code,
            "tier": self.tier,
            "message": self.message,
        }


@frozen
class Refusal:
    """A change that can't be made, and what to do instead."""

    code: str
    name: str
    message: str
    hint: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "name": self.name, "message": self.message, "hint": self.hint}


@frozen
class MigrationPlan:
    """The steps from one catalog to another, in order; with refusals, none of them is taken."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def is_supported(self) -> bool:
        return not self.refusals

    @property
    def is_empty(self) -> bool:
        return not self.steps and not self.refusals

    @property
    def warnings(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.is_warning)
