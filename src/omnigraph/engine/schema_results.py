"""What a plan of another schema holds, and what came of applying it."""

from dataclasses import dataclass
from typing import Any

from omnigraph.engine.results import CommitInfo
from omnigraph.lang.schema.migrate.steps import MigrationPlan, Refusal, Step

__all__ = ["SchemaChange"]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The steps from one schema to another, in the order in which they are taken."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = ()
    """What stands against it; with any, no step is taken."""
    commit: CommitInfo | None = None
    """The commit that took the steps; None: it is only a plan, or there was nothing to do."""

    @classmethod
    def of(cls, plan: MigrationPlan, commit: CommitInfo | None = None) -> "SchemaChange":
        return cls(plan.steps, plan.refusals, commit)

    @property
    def supported(self) -> bool:
        return not self.refusals

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def to_json(self) -> dict[str, Any]:
        return {
            "supported": self.supported,
            "applied": self.applied,
            "steps": [step.to_json() for step in self.steps],
            "refusals": [refusal.to_json() for refusal in self.refusals],
        }

    def __str__(self) -> str:
        lines = [f"{s.tier}: {s.message}{f' [{s.code}]' if s.code else ''}" for s in self.steps]
        lines += [f"refused: {r.message} [{r.code}]" for r in self.refusals]
        return "\n".join(lines) or "nothing to do"
