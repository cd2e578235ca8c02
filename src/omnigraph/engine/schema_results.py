"""What a plan of another schema holds, and what came of applying it."""

from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName
from omnigraph.base.violations import Violations
from omnigraph.base.words import amount
from omnigraph.engine.results import CommitInfo
from omnigraph.lang.schema.migrate.steps import Refusal, Step

__all__ = ["SchemaChange"]

LINES_SHOWN = 50
"""A page of a notebook shows so many; `steps` has all."""


@frozen
class SchemaChange:
    """The steps from one schema to another, in the order in which they are taken."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = ()
    """What stands against it; with any, no step is taken."""
    commit: CommitInfo | None = None
    """The commit that took the steps; None: it is only a plan, or there was nothing to do."""
    violations: Violations | None = None
    """Of a plan: the rows that break rules which the schema adds."""
    branches_in_the_way: tuple[BranchName, ...] = ()
    """Of a plan for main: branches that must be merged or deleted first."""
    rules_in_the_way: tuple[str, ...] = ()
    """Of a plan: rules of the policy that would not fit the schema, with where they stand."""

    @property
    def supported(self) -> bool:
        """True if there are steps that lead to the schema, whatever the rows are."""
        return not self.refusals

    @property
    def can_be_applied(self) -> bool:
        """True if nothing that the plan has looked at stands in the way of an apply."""
        is_free = not self.branches_in_the_way and not self.rules_in_the_way
        return self.supported and self.violations is None and is_free

    @property
    def applied(self) -> bool:
        """Whether the graph has the new schema now."""
        return self.commit is not None

    def to_json(self) -> dict[str, Any]:
        """The change as values that JSON can carry."""
        return {
            "supported": self.supported,
            "applied": self.applied,
            "steps": [step.to_json() for step in self.steps],
            "refusals": [refusal.to_json() for refusal in self.refusals],
            "can_be_applied": self.can_be_applied,
            "violations": None if self.violations is None else self.violations.to_json(),
            "branches_in_the_way": list(self.branches_in_the_way),
            "rules_in_the_way": list(self.rules_in_the_way),
        }

    def _repr_html_(self) -> str:
        """The same as a table, for a notebook."""
        from omnigraph.engine.notebook.page import html_table

        lines = str(self).splitlines()
        told = [line.partition(": ") for line in lines[:LINES_SHOWN]]
        rows = [{"step": tier, "what": what} for tier, _, what in told]
        said = f"applied in commit {self.commit.graph_commit_id}" if self.commit else "a plan"
        return html_table(("step", "what"), rows, below=f"{said}, {amount(len(lines), 'line')}")

    def __str__(self) -> str:
        lines = [f"{s.tier}: {s.message}{f' [{s.code}]' if s.code else ''}" for s in self.steps]
        lines += [f"refused: {r.message} [{r.code}]" for r in self.refusals]
        if self.violations is not None:
            lines.append(f"refused: {self.violations.report}")
        if self.branches_in_the_way:
            lines.append(f"refused while there are branches: {', '.join(self.branches_in_the_way)}")
        lines += [f"refused by the policy: {rule}" for rule in self.rules_in_the_way]
        return "\n".join(lines) or "nothing to do"
