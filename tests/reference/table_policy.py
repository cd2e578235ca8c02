"""A policy as a plain table: who may do what where, and what each sees. It needs no Cedar."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import FileFinding, PolicyInvalid
from omnigraph.base.errors.language import Diagnostic
from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText, Span
from omnigraph.lang.plan.conditions import Condition, fields_in
from omnigraph.lang.plan.ir import PropertyOf
from omnigraph.lang.schema.catalog import Catalog


@dataclass(frozen=True)
class Sees:
    rows: Mapping[TypeName, Condition] = field(default_factory=dict)
    hidden_types: frozenset[TypeName] = frozenset()
    hidden_properties: Mapping[TypeName, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Decided:
    allowed: bool


EVERYTHING = Sees()


@dataclass(frozen=True)
class Role:
    """`reads`, `changes` and `merges` are what is seen, may be changed and may be merged; by branch
    where one is named."""

    reads: Sees = EVERYTHING
    changes: Sees = EVERYTHING
    merges: Sees = EVERYTHING
    reads_on: Mapping[str, Sees] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    """Actions, everywhere."""
    denied_on: frozenset[tuple[str, str]] = frozenset()
    """Actions on branches; of one that goes into a branch, that one."""


@dataclass(frozen=True)
class TablePolicy:
    """Actors that are not named may do nothing."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    digest: str = "table"

    def fitted(self, catalog: Catalog, schema_hash: str) -> "FittedTable":
        known = {entity.name: entity for entity in catalog.entities}
        for role in self.roles.values():
            for sees in (role.reads, role.changes, role.merges, *role.reads_on.values()):
                for name, condition in sees.rows.items():
                    for each in fields_in(condition):
                        own = each.name if isinstance(each, PropertyOf) else "id"
                        columns = ("id", "src", "dst")
                        if name not in known or (own not in {*known[name].by_name, *columns}):
                            raise unfit(f"{name}.{own}")
        return FittedTable(self.roles)


@dataclass(frozen=True)
class FittedTable:
    roles: Mapping[str, Role]

    def decide(
        self, *, actor: str, action: str, branch: str, target_branch: str | None = None
    ) -> Decided:
        role = self.roles.get(actor)
        if role is None or action in role.denied:
            return Decided(allowed=False)
        return Decided(allowed=(action, target_branch or branch) not in role.denied_on)

    def sight(
        self, *, actor: str, action: str, branch: str, target_branch: str | None = None
    ) -> Sees:
        role = self.roles[actor]
        if action == "branch_merge":
            return role.merges
        return role.changes if action == "change" else role.reads_on.get(branch, role.reads)


def unfit(name: str) -> PolicyInvalid:
    source = SourceText(name, "table")
    found = Diagnostic("P1", f"the schema has no {name}", Span(1, 1))
    return PolicyInvalid((FileFinding(source, found),))
