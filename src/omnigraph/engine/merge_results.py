"""What a merge or a revert came to, or would come to."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from omnigraph.base.conflicts import Conflict
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.words import amount
from omnigraph.engine.change_results import ReadChanges
from omnigraph.engine.results import ChangeCounts, CommitInfo

__all__ = ["MergeResult", "RevertResult"]

CONFLICTS_SHOWN = 20
"""A page of a notebook shows so many; `conflicts` has those that are told."""
COUNTED = ("type", "inserted", "updated", "deleted")


@frozen(kw_only=True)
class _Brought:
    """What merges and reverts have in common: changes of another side come to a branch."""

    commit: CommitInfo | None
    """None where there was nothing to do, and in a preview."""
    is_preview: bool
    target_commit_id: CommitId
    """The head of the branch that takes the changes, before it took them: pass it as
    `if_commit`."""
    counts: Mapping[str, ChangeCounts]
    """By type: the rows of the branch that change. Types without a change are left out, and so are
    rows in conflict."""
    changes: ReadChanges | None
    """In a preview, the rows that would change, as a diff tells them; None: they are too many to
    hold in memory, or they have changed already."""
    conflicts: tuple[Conflict, ...]
    """Those that are left, in a preview; otherwise they are raised."""
    more_conflicts: int = 0
    """How many there are beside those listed: only the first of very many are told."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Changes that the branch has no place for, since its schema has dropped the type or the
    property: `Person` or `Person.age`, and how many rows had changed there."""

    refusal: str | None = None
    """In a preview: why it would be denied to the caller; None: it would not."""

    @property
    def conflict_count(self) -> int:
        """How many conflicts are left, listed or not."""
        return len(self.conflicts) + self.more_conflicts

    def _repr_html_(self) -> str:
        """The sentence, the conflicts, and what changes, for a notebook."""
        from omnigraph.engine.notebook.page import html_table, paragraph

        parts = [paragraph(str(self))]
        if self.conflicts:
            rows = [_told(conflict) for conflict in self.conflicts[:CONFLICTS_SHOWN]]
            parts.append(
                html_table([*rows[0]], rows, below=amount(self.conflict_count, "conflict"))
            )
        if self.changes is not None:
            parts.append(self.changes._repr_html_() if len(self.changes) else "")
        elif self.counts:
            parts.append(html_table(COUNTED, [*map(_counted, self.counts.items())]))
        if self.left_out:
            left = [{"left out": name, "rows": rows} for name, rows in self.left_out.items()]
            parts.append(html_table(["left out", "rows"], left[:CONFLICTS_SHOWN]))
        return "".join(parts)

    def _would_be(self, what: str, outcome: str) -> str:
        would_be = f"{what} would be: {outcome}"
        if count := self.conflict_count:
            are = "is" if count == 1 else "are"
            would_be = f"{amount(count, 'conflict')} {are} left to settle. Then {would_be}"
        return would_be if self.refusal is None else f"{would_be}. But {self.refusal}"


@frozen(kw_only=True)
class MergeResult(_Brought):
    """What a merge came to, or, of a preview, would come to."""

    source: BranchName
    target: BranchName
    outcome: Literal["already_up_to_date", "fast_forward", "merged"]
    """Of a preview with conflicts: what it would be, once they are settled."""
    source_commit_id: CommitId
    """The head of the source that was looked at: pass it as `if_source_commit`."""
    branch_deleted: bool
    """Whether the source was deleted afterwards."""
    branch_delete_error: str | None
    """Why the source was not deleted, if it should have been. The merge is done all the same."""

    def __str__(self) -> str:
        """One sentence."""
        if self.is_preview:
            return self._would_be(f"a merge of {self.source} into {self.target}", self.outcome)
        if self.outcome == "already_up_to_date":
            return f"{self.target} has all of {self.source} already: {self.outcome}"
        return f"merged {self.source} into {self.target}: {self.outcome}"


@frozen(kw_only=True)
class RevertResult(_Brought):
    """What a revert came to, or, of a preview, would come to."""

    branch: BranchName
    reverted_commit_id: CommitId
    outcome: Literal["reverted", "nothing_to_revert"]
    """Of a preview with conflicts: what it would be, once they are settled."""

    def __str__(self) -> str:
        """One sentence."""
        what = f"commit {self.reverted_commit_id} on {self.branch}"
        if self.is_preview:
            return self._would_be(f"a revert of {what}", self.outcome)
        return f"{what}: {self.outcome}"


def _told(conflict: Conflict) -> dict[str, Any]:
    """A conflict as a line of a table."""
    sides = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
    return {
        "type": conflict.type_name,
        "id": conflict.entity_id,
        "property": conflict.property or "",
        **{side: "–" if side in conflict.absent else value for side, value in sides.items()},
        "conflict": conflict.kind,
    }


def _counted(of_type: tuple[str, ChangeCounts]) -> dict[str, Any]:
    name, counts = of_type
    return {name_: getattr(counts, name_) for name_ in COUNTED[1:]} | {"type": name}
