"""What a merge or a revert came to, or would come to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from omnigraph.base.conflicts import Conflict
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.change_results import ReadChanges
from omnigraph.engine.results import ChangeCounts, CommitInfo

__all__ = ["MergeResult", "RevertResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge came to, or, of a preview, would come to."""

    source: BranchName
    target: BranchName
    outcome: Literal["already_up_to_date", "fast_forward", "merged"]
    commit: CommitInfo | None
    """None where there was nothing to merge, and in a preview."""
    is_preview: bool
    source_commit_id: CommitId
    """The head of the source that was looked at: pass it as `if_source_commit`."""
    target_commit_id: CommitId
    """The head of the target before the merge: pass it as `if_commit`."""
    counts: Mapping[str, ChangeCounts]
    """By type: the rows of the target that change. Types without a change are left out."""
    changes: ReadChanges | None
    """In a preview, the rows that would change, as a diff tells them; None: they are too many to
    hold in memory, or they have changed already."""
    conflicts: tuple[Conflict, ...]
    """Those that are left, in a preview; a merge raises them."""
    more_conflicts: int = 0
    """How many there are beside those listed: only the first of very many are told."""
    branch_deleted: bool
    """Whether the source was deleted afterwards."""
    branch_delete_error: str | None
    """Why the source was not deleted, if it should have been. The merge is done all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertResult:
    """What a revert came to, or, of a preview, would come to."""

    branch: BranchName
    reverted_commit_id: CommitId
    outcome: Literal["reverted", "nothing_to_revert"]
    commit: CommitInfo | None
    """None where nothing of the commit was left to undo, and in a preview."""
    is_preview: bool
    target_commit_id: CommitId
    """The head of the branch before the revert: pass it as `if_commit`."""
    counts: Mapping[str, ChangeCounts]
    """By type: the rows that change. Types without a change are left out."""
    changes: ReadChanges | None
    """In a preview, the rows that would change, as a diff tells them; None: they are too many to
    hold in memory, or they have changed already."""
    conflicts: tuple[Conflict, ...]
    """Those that are left, in a preview; a revert raises them."""
    more_conflicts: int = 0
    """How many there are beside those listed: only the first of very many are told."""
