"""Someone or something was there first: read again, then retry."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.conflicts import Conflict
from omnigraph.base.errors.tree import ConflictError
from omnigraph.base.ids import BRANCH_NAMES, BranchName, CommitId
from omnigraph.base.violations import Violations
from omnigraph.base.words import amount

__all__ = [
    "AlreadyInitialized",
    "BranchBusy",
    "BranchExists",
    "BranchHasChildren",
    "BranchesInTheWay",
    "ChoicesOutdated",
    "EarlierWritePublished",
    "FenceLost",
    "HeadMoved",
    "KeyTaken",
    "LoadUnderWay",
    "MergeConflicts",
    "PreconditionFailed",
    "ReadSetMoved",
    "RequestIdReused",
    "SchemaMoved",
    "TargetTaken",
]


@dataclass(eq=False)
class AlreadyInitialized(ConflictError):
    code: ClassVar[str] = "already_initialized"
    uri: str
    is_unfinished: bool = False
    """Only what a making of a graph left that did not come to its end."""

    def __str__(self) -> str:
        if self.is_unfinished:
            return f"{self.uri} holds what an init left that did not finish"
        return f"{self.uri} already holds a graph or other files"

    @property
    def hint(self) -> str | None:
        if self.is_unfinished:
            return "init --force (force=True) removes that and makes the graph"
        return "open it, or choose an empty place"


@dataclass(eq=False)
class TargetTaken(ConflictError):
    """Something is already where an export would write."""

    code: ClassVar[str] = "target_exists"
    path: str
    was_forced: bool = False
    """True if the caller was ready to replace an export."""
    was_overtaken: bool = False
    """True if another export has begun to write there meanwhile."""

    def __str__(self) -> str:
        if self.was_overtaken:
            return f"another export has begun to write to {self.path}, so this one has ended"
        if self.was_forced:
            return f"{self.path} is already there, and is no export of this kind"
        return f"{self.path} is already there"

    @property
    def hint(self) -> str | None:
        if self.was_overtaken:
            return "wait for it and export again, or choose another place: one can be at work there"
        if self.was_forced:
            return "choose another place, or remove it yourself"
        return "choose another place; --force (overwrite=True) replaces a file or an earlier export"


@dataclass(eq=False)
class BranchExists(ConflictError):
    code: ClassVar[str] = "branch_exists"
    branch: BranchName
    existing: BranchName

    def __str__(self) -> str:
        if self.branch == self.existing:
            return f"branch {self.branch} already exists"
        return f"branch {self.branch} overlaps {self.existing}: one is a path-prefix of the other"

    @property
    def hint(self) -> str | None:
        return "choose another name, or work on the branch that is there"


@dataclass(eq=False)
class BranchBusy(ConflictError):
    """Another writer held the branch for as long as this one was willing to wait."""

    code: ClassVar[str] = "branch_in_use"
    branch: str
    holder: str
    waited_s: float

    def __str__(self) -> str:
        return f"{_held(self.branch)} held by {self.holder}; waited {self.waited_s:g} s"

    @property
    def hint(self) -> str | None:
        return "nothing was written: retry when that writer is done"


def _held(name: str) -> str:
    if name != BRANCH_NAMES:
        return f"branch {name} is"
    return "a schema is applied, or a branch is made or deleted: the list of branches is"


@dataclass(eq=False)
class LoadUnderWay(ConflictError):
    """Another process drives the load of this name, or did so until a moment ago."""

    code: ClassVar[str] = "load_in_progress"
    load_id: str
    holder: str
    """The process that drives it, and its machine."""

    def __str__(self) -> str:
        return f"load {self.load_id} is under way in {self.holder}"

    @property
    def hint(self) -> str | None:
        return "wait until it is done; in a bucket a driver that died is known as such after 15 s"


@dataclass(eq=False)
class FenceLost(ConflictError):
    """This writer stood still for so long that another one took its branch over."""

    code: ClassVar[str] = "branch_in_use"
    branch: str
    holder: str

    def __str__(self) -> str:
        if self.branch == BRANCH_NAMES:
            return f"the list of branches was taken over by {self.holder} while this stood still"
        return f"branch {self.branch} was taken over by {self.holder} while this write stood still"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


@dataclass(eq=False)
class BranchHasChildren(ConflictError):
    """Branches were made from this one, and read what it wrote."""

    code: ClassVar[str] = "branch_in_use"
    branch: BranchName
    children: tuple[BranchName, ...]
    """Those that the caller may know of."""

    def __str__(self) -> str:
        names = f": {', '.join(self.children)}" if self.children else ""
        return f"branch {self.branch} can't go before those made from it{names}"

    @property
    def hint(self) -> str | None:
        if not self.children:
            return "you may not see them: ask someone who may"
        return "delete those first"


@dataclass(eq=False)
class HeadMoved(ConflictError):
    """Another writer published to this branch between our read and our swap."""

    code: ClassVar[str] = "version_conflict"
    branch: BranchName
    expected: CommitId | None
    actual: CommitId | None

    def __str__(self) -> str:
        return f"branch {self.branch} moved: expected {self.expected}, found {self.actual}"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


@dataclass(eq=False)
class BranchesInTheWay(ConflictError):
    """A schema would change for rows that other branches still have by the old one."""

    code: ClassVar[str] = "branch_in_use"
    branches: tuple[BranchName, ...]
    steps: tuple[str, ...]
    """The steps that can't be taken while there are other branches."""

    def __str__(self) -> str:
        more = f" (and {len(self.steps) - 1} more)" if len(self.steps) > 1 else ""
        names = ", ".join(self.branches)
        return f"while there are other branches ({names}) this has to wait: {self.steps[0]}{more}"

    @property
    def hint(self) -> str | None:
        return (
            "nothing was written: merge or delete those branches first; "
            "to add types, nullable or filled properties and words needs neither"
        )


@dataclass(eq=False)
class EarlierWritePublished(ConflictError):
    """The caller's last write, of which the outcome was open, has been published after all."""

    code: ClassVar[str] = "earlier_write_published"
    branch: BranchName
    commit_id: CommitId

    def __str__(self) -> str:
        return (
            f"your last write to {self.branch}, which ended in an error, has been published since "
            f"as commit {self.commit_id}; this write was not made"
        )

    @property
    def hint(self) -> str | None:
        return "if this was a second try, there is nothing left to do; otherwise send it again"


@dataclass(eq=False)
class RequestIdReused(ConflictError):
    """A request id names the request that it was first used for, and no other."""

    code: ClassVar[str] = "request_id_reused"
    request_id: str
    commit_id: CommitId

    def __str__(self) -> str:
        return (
            f"the request id {self.request_id} belongs to another request, which made commit "
            f"{self.commit_id}"
        )

    @property
    def hint(self) -> str | None:
        return "repeat that request unchanged, or choose a new id for this one"


@dataclass(eq=False)
class ReadSetMoved(ConflictError):
    """Another writer changed a table this write had read, before it could arm."""

    code: ClassVar[str] = "read_set_conflict"
    branch: BranchName
    tables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.tables)} changed on branch {self.branch} while this write ran"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


class SchemaMoved(ReadSetMoved):
    """The branch was given another schema while this write was prepared for the old one."""

    def __str__(self) -> str:
        return f"branch {self.branch} was given another schema while this write ran"

    @property
    def hint(self) -> str | None:
        return "nothing was written: run it again, for the schema as it is now"


@dataclass(eq=False)
class PreconditionFailed(ConflictError):
    code: ClassVar[str] = "precondition_failed"
    branch: BranchName
    expected: CommitId
    actual: CommitId

    def __str__(self) -> str:
        return f"branch {self.branch} is at {self.actual}, not at {self.expected} as asked"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read the branch again, and retry with the commit it is at"


@dataclass(eq=False)
class ChoicesOutdated(ConflictError):
    """Choices between two sides that name the commits they were made for, and a side has moved."""

    code: ClassVar[str] = "precondition_failed"
    branch: BranchName
    made_for: CommitId
    actual: CommitId

    def __str__(self) -> str:
        return (
            f"the choices were made for commit {self.made_for} of branch {self.branch}, "
            f"which is at {self.actual} now"
        )

    @property
    def hint(self) -> str | None:
        return "nothing was written: preview it again, and choose between what is there now"


@dataclass(eq=False)
class KeyTaken(ConflictError):
    """A strict insert met rows that are already there."""

    code: ClassVar[str] = "key_conflict"
    violations: Violations

    def __str__(self) -> str:
        return self.violations.sentence

    @property
    def hint(self) -> str | None:
        return "nothing was written: load with mode merge to replace rows, or drop them"

    @property
    def details(self) -> dict[str, Any]:
        return self.violations.to_json()


@dataclass(eq=False)
class MergeConflicts(ConflictError):
    """Two sides changed what only one of them can have. Nothing was merged."""

    code: ClassVar[str] = "merge_conflicts"
    source: str
    """The branch that was to be merged, or the commit that was to be reverted."""
    target: BranchName
    conflicts: tuple[Conflict, ...]
    """In a stable order: nodes before edges, then by type, id, kind and property."""
    more: int = 0
    """Of a merge too large for memory: how many conflicts there are beside those listed."""

    def __str__(self) -> str:
        count = amount(len(self.conflicts) + self.more, "conflict")
        first = f": {self.conflicts[0].message}" if self.conflicts else ", too many to list"
        return f"{count} between {self.source} and {self.target}{first}"

    @property
    def hint(self) -> str | None:
        if all(c.kind == "value_constraint_violation" for c in self.conflicts) and not self.more:
            return "nothing was written: these rows break a rule as theirs has them, so take ours"
        return "nothing was written: choose with resolve: ours or theirs, for all or for each"

    @property
    def details(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "more": self.more,
        }
