"""What commands print about branches and changes."""

from typing import Any, Literal, NotRequired, TypedDict

from omnigraph.base.choices import ChangeOp, EntityKind
from omnigraph.base.conflicts import ConflictKind, ConflictSide
from omnigraph.surfaces.shapes.data import Export
from omnigraph.surfaces.shapes.said import Commit, Row

__all__ = [
    "Baseline",
    "BranchDeleted",
    "BranchMade",
    "Branches",
    "Brought",
    "Cause",
    "Change",
    "ChangeBlock",
    "ChangePage",
    "ChangedType",
    "Choice",
    "CommitChanges",
    "Conflict",
    "Counts",
    "Diff",
    "Ends",
    "Image",
    "Merge",
    "NamedCounts",
    "Revert",
]

BranchMade = TypedDict("BranchMade", {"uri": str, "name": str, "from": str, "actor_id": str | None})
BranchMade.__doc__ = "A new branch, and where it starts."


class BranchDeleted(TypedDict):
    """A branch that is gone."""

    uri: str
    name: str
    deleted: bool
    actor_id: str | None


class Branches(TypedDict):
    """The names of the branches."""

    branches: list[str]


class Counts(TypedDict):
    """How many rows of one type change."""

    inserted: int
    updated: int
    deleted: int


class NamedCounts(Counts):
    """How many rows of one type change."""

    name: str


class ChangedType(TypedDict):
    """The type of a row. Its id stays the same when it is renamed."""

    id: str
    name: str


Ends = TypedDict("Ends", {"from": str, "to": str})
Ends.__doc__ = "The nodes that an edge leads from and to."


class Image(TypedDict):
    """A row at one moment; an edge has endpoints."""

    properties: Row
    endpoints: NotRequired[Ends]


class Change(TypedDict):
    """A row that changed, before and after; null where there is no row."""

    kind: EntityKind
    type: ChangedType
    id: str
    op: ChangeOp
    before: Image | None
    after: Image | None


class Diff(TypedDict):
    """What turns one commit into another."""

    from_commit_id: str
    to_commit_id: str
    change_count: int
    types: list[NamedCounts]
    changes: list[Change]


class Cause(TypedDict):
    """The commit that made changes."""

    graph_commit_id: str
    authored_branch: str
    authored_at: str
    actor_id: str | None
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    message: str | None


class ChangeBlock(TypedDict):
    """What one commit changed."""

    cause: Cause
    changes: list[Change]


class CommitChanges(ChangeBlock):
    """What one commit changed, a page of it."""

    next_page_token: str | None


class ChangePage(TypedDict):
    """What was published since a cursor, and the cursor to go on with."""

    blocks: list[ChangeBlock]
    cursor: str
    caught_up: bool
    next_page_token: None


class Baseline(TypedDict):
    """Rows of a commit in a file, and the cursor that goes on from there."""

    snapshot_commit_id: str
    resume_cursor: str
    export: Export


class Conflict(TypedDict):
    """Both sides changed the same; `absent` lists the sides that have no such row."""

    kind: ConflictKind
    entity_kind: EntityKind
    type_name: str
    entity_id: str
    property: str | None
    base: Any
    ours: Any
    theirs: Any
    message: str
    absent: list[ConflictSide]


class Choice(TypedDict):
    """A choice to be filled in: `take` is ours or theirs."""

    type: str
    id: str
    property: str | None
    take: Literal["ours", "theirs"] | None
    kind: ConflictKind
    base: Any
    ours: Any
    theirs: Any
    absent: list[ConflictSide]
    message: str


class Brought(TypedDict):
    """Rows that change, by type. The members that may be missing are of a preview."""

    counts: dict[str, Counts]
    left_out: dict[str, int]
    refusal: NotRequired[str | None]
    conflict_count: NotRequired[int]
    conflicts: NotRequired[list[Conflict]]
    more_conflicts: NotRequired[int]
    changes: NotRequired[list[Change] | None]
    choices: NotRequired[list[Choice]]


class Merge(Brought):
    """What a merge came to, or, of a preview, would come to."""

    source: str
    target: str
    outcome: Literal["already_up_to_date", "fast_forward", "merged"]
    commit: Commit | None
    actor_id: str | None
    preview: bool
    source_commit_id: str
    target_commit_id: str
    branch_deleted: bool
    branch_delete_error: str | None


class Revert(Brought):
    """What a revert came to, or, of a preview, would come to."""

    branch: str
    reverted_commit_id: str
    outcome: Literal["reverted", "nothing_to_revert"]
    commit: Commit | None
    preview: bool
    target_commit_id: str
