"""Names that nothing answers to."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from omnigraph.base.errors.tree import MissingError
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.nearest import did_you_mean

__all__ = [
    "BlobMissing",
    "BranchMissing",
    "CommitMissing",
    "CommitReclaimed",
    "EntityMissing",
    "FileMissing",
    "GraphMissing",
    "GraphReplaced",
    "MomentMissing",
    "NameMissing",
    "QueryMissing",
    "StagedLoadMissing",
]

EMPTY = "''"
"""A name of no letters, as a sentence shows it: it would end without a word."""


@dataclass(eq=False)
class GraphMissing(MissingError):
    uri: str
    is_served: bool = False
    """A server offers the graph, and its storage is not where the server opened it."""

    def __str__(self) -> str:
        if self.is_served:
            return f"the server does not find the storage of {self.uri}"
        return f"no graph at {self.uri}"

    @property
    def hint(self) -> str | None:
        if self.is_served:
            return "tell the person who runs the server: the graph was moved or removed there"
        return f"check the path, or make one: omnigraph init --schema schema.pg {self.uri}"


@dataclass(eq=False)
class GraphReplaced(MissingError):
    """Another graph, or an older state of it, was put where the graph of this handle was."""

    code: ClassVar[str] = "graph_replaced"
    uri: str

    def __str__(self) -> str:
        return (
            f"{self.uri} holds another graph than the one that was opened, or an older state of it"
        )

    @property
    def hint(self) -> str | None:
        return "nothing was written: open it again to go on with the graph that is there now"


@dataclass(eq=False)
class FileMissing(MissingError):
    path: str

    def __str__(self) -> str:
        return f"no file at {self.path}"

    @property
    def hint(self) -> str | None:
        if "://" in self.path:
            return "check the address"
        return "check the path; a relative one starts in the working directory"


@dataclass(eq=False)
class StagedLoadMissing(MissingError):
    """There is nothing to resume: the load ended, well or not, or never began to stage."""

    code: ClassVar[str] = "not_found"
    load_id: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no load {self.load_id} waits to be resumed"

    @property
    def hint(self) -> str | None:
        waiting = f"there is {', '.join(self.known)}; or " if self.known else ""
        return f"{waiting}load again without resuming"


@dataclass(eq=False)
class BranchMissing(MissingError):
    branch: BranchName
    known: tuple[BranchName, ...] = ()

    def __str__(self) -> str:
        return f"no branch named {self.branch}"

    @property
    def hint(self) -> str | None:
        if hint := did_you_mean(self.branch, self.known):
            return hint
        return f"branches here: {', '.join(self.known[:8])}" if self.known else None


@dataclass(eq=False)
class CommitMissing(MissingError):
    commit: str

    def __str__(self) -> str:
        return f"no commit {self.commit} in this graph"

    @property
    def hint(self) -> str | None:
        return "omnigraph commit list shows them; a time is written as 2026-03-01T12:00Z"


@dataclass(eq=False)
class CommitReclaimed(MissingError):
    """A commit is known, and its rows can't be read any more: their files were removed."""

    commit: CommitId
    branch: BranchName
    by: Literal["branch_delete", "cleanup"] = "branch_delete"
    """What removed them."""

    def __str__(self) -> str:
        if self.by == "cleanup":
            return (
                f"the rows of commit {self.commit} on branch {self.branch} are gone: "
                "a cleanup has removed them"
            )
        return (
            f"the rows of commit {self.commit} are gone: they were deleted with the branch "
            f"{self.branch} that it was made on"
        )

    @property
    def hint(self) -> str | None:
        if self.by == "cleanup":
            return (
                f"read a later commit: omnigraph commit list --branch {self.branch} shows them, "
                "newest first; a larger --keep or --older-than lets the next cleanup keep more"
            )
        return "read the commit that merged it; omnigraph commit list shows the commits of a branch"


@dataclass(eq=False)
class MomentMissing(MissingError):
    """A branch has no commit as old as that."""

    moment: str
    branch: BranchName

    def __str__(self) -> str:
        return f"branch {self.branch} had no commit at {self.moment}"

    @property
    def hint(self) -> str | None:
        return f"list them: omnigraph commit list --branch {self.branch}"


@dataclass(eq=False)
class QueryMissing(MissingError):
    """`name` is None where a file holds several queries and none was asked for."""

    name: str | None
    known: tuple[str, ...]

    def __str__(self) -> str:
        if self.name is None:
            return f"the source holds {len(self.known)} queries and none was named"
        return f"no query named {self.name}"

    @property
    def hint(self) -> str | None:
        if self.name is not None and (hint := did_you_mean(self.name, self.known)):
            return hint
        return f"queries here: {', '.join(self.known[:12])}" if self.known else None


@dataclass(eq=False)
class NameMissing(MissingError):
    """The schema has no such thing. `what` says which: "node type", "property of Person"."""

    what: str
    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no {self.what} named {self.name or EMPTY}"

    @property
    def hint(self) -> str | None:
        if hint := did_you_mean(self.name, self.known):
            return hint
        return f"there are {', '.join(self.known[:12])}" if self.known else None


@dataclass(eq=False)
class EntityMissing(MissingError):
    type_name: str
    entity_id: str

    def __str__(self) -> str:
        return f"no {self.type_name} has the id {self.entity_id or EMPTY}"


@dataclass(eq=False)
class BlobMissing(MissingError):
    """The entity is there and its blob is null: not even empty."""

    type_name: str
    entity_id: str
    property: str

    def __str__(self) -> str:
        return f"{self.type_name} {self.entity_id} has no {self.property}: it is null"
