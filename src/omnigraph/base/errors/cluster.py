"""A deployment that is declared as a folder: what is wrong with it, and what stands in its way."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.findings import FilesInvalid
from omnigraph.base.errors.tree import (
    ConflictError,
    DeniedError,
    MissingError,
    RecoveryError,
)
from omnigraph.base.words import clipped

__all__ = [
    "ApprovalNeeded",
    "ClusterInvalid",
    "ClusterLocked",
    "ClusterMissing",
    "LedgerDamaged",
    "LockLost",
    "LockMissing",
    "PlanBlocked",
    "PlanChanged",
    "PolicyNeedsTokens",
    "ResourceMissing",
    "SchemaDeclared",
]


@dataclass(eq=False)
class ClusterInvalid(FilesInvalid):
    """The folder of a cluster can't be used: all that is wrong with its files."""

    code: ClassVar[str] = "cluster_invalid"


@dataclass(eq=False)
class ClusterMissing(MissingError):
    """Nothing was ever applied there."""

    storage: str

    def __str__(self) -> str:
        return f"no cluster was applied to {self.storage}"

    @property
    def hint(self) -> str | None:
        return "check the address, or apply a folder first: omnigraph cluster apply --config DIR"


@dataclass(eq=False)
class ResourceMissing(MissingError):
    """The plan has no change of this address that waits for an approval."""

    address: str
    waiting: tuple[str, ...] = ()
    """The addresses whose changes do."""

    def __str__(self) -> str:
        return f"no change of {clipped(self.address)} waits for an approval"

    @property
    def hint(self) -> str | None:
        if not self.waiting:
            return "nothing waits for one; omnigraph cluster plan shows what an apply would do"
        return f"these wait: {', '.join(self.waiting)}"


@dataclass(eq=False)
class LockMissing(MissingError):
    """The cluster is not locked by this lock."""

    lock_id: str
    held: str | None = None
    """The id of the lock that there is."""

    def __str__(self) -> str:
        now = "the cluster is not locked" if self.held is None else f"the lock is {self.held}"
        return f"there is no lock {clipped(self.lock_id)}: {now}"

    @property
    def hint(self) -> str | None:
        return "omnigraph cluster status shows who holds the lock, and its id"


@dataclass(eq=False)
class ClusterLocked(ConflictError):
    """Another process is at work on the cluster, or died at it."""

    code: ClassVar[str] = "cluster_locked"
    lock_id: str
    owner: str | None
    process: str
    operation: str
    taken_at: str
    is_dead: bool = False
    """True if the process was on this machine, and does not run any more."""

    def __str__(self) -> str:
        who = f"{clipped(self.owner)} ({self.process})" if self.owner else self.process
        said = f"the cluster is locked by {who} since {self.taken_at}, for {self.operation}"
        return said + (", and that process does not run any more" if self.is_dead else "")

    @property
    def hint(self) -> str | None:
        how = f"omnigraph cluster force-unlock {self.lock_id}"
        if self.is_dead:
            return f"take the lock away, then apply again: {how}"
        return f"wait until it is done; if you know that it died: {how}"


@dataclass(eq=False)
class LockLost(ConflictError):
    """The lock was taken away while its holder was at work, or the ledger moved under it."""

    code: ClassVar[str] = "lock_lost"
    lock_id: str
    reason: str

    def __str__(self) -> str:
        return f"the lock {self.lock_id} was lost: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "look at the plan again, and apply again: that finishes what was begun"


@dataclass(eq=False)
class LedgerDamaged(RecoveryError):
    """The ledger is not what an apply has written."""

    code: ClassVar[str] = "ledger_damaged"
    ledger: str
    """Where it lies."""
    reason: str
    last_whole: str | None = None
    """The newest copy that is whole."""

    def __str__(self) -> str:
        return f"the ledger {self.ledger} can't be used: {self.reason}"

    @property
    def hint(self) -> str | None:
        if self.last_whole is None:
            return (
                "put back a copy of it from a backup; or remove it, and take the graphs in again: "
                "omnigraph cluster import"
            )
        return (
            f"nothing was changed: put back the copy of the last apply, {self.last_whole}, in its "
            "place"
        )


@dataclass(eq=False)
class PlanChanged(ConflictError):
    """The plan is another one than the plan that was shown."""

    code: ClassVar[str] = "plan_changed"
    expected: str
    actual: str
    is_begun: bool = False
    """True if a graph was changed by others after other parts of the plan were done."""

    def __str__(self) -> str:
        return f"the plan is {self.actual[:12]} by now, not {clipped(self.expected)}"

    @property
    def hint(self) -> str | None:
        done = "a part of it was done" if self.is_begun else "nothing was changed"
        if self.expected and self.actual.startswith(self.expected):
            return f"{done}: name at least 12 letters of the digest"
        return f"{done}: look at the new plan first (omnigraph cluster plan)"


@dataclass(eq=False)
class PlanBlocked(ConflictError):
    """Something stands in the way of a change of the plan, so none of it is done."""

    code: ClassVar[str] = "plan_blocked"
    reasons: tuple[str, ...]
    """Each begins with the address."""

    def __str__(self) -> str:
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return f"the plan can't be applied: {self.reasons[0]}{more}"

    @property
    def hint(self) -> str | None:
        return "nothing was changed: omnigraph cluster plan shows all that stands in the way"


@dataclass(eq=False)
class ApprovalNeeded(DeniedError):
    """The plan deletes a graph or loses data, and nobody has approved of just that."""

    code: ClassVar[str] = "approval_needed"
    addresses: tuple[str, ...]

    def __str__(self) -> str:
        return f"the plan loses data, and nobody approved of it: {', '.join(self.addresses)}"

    @property
    def hint(self) -> str | None:
        return f"nothing was changed: omnigraph cluster approve {' '.join(self.addresses)}"


@dataclass(eq=False)
class PolicyNeedsTokens(DeniedError):
    """A policy was applied while a server without tokens was running: it knows no actors whom the
    policy could let in."""

    code: ClassVar[str] = "policy_needs_tokens"
    graph: str | None
    """None: it is the policy of the cluster, which says who lists the graphs."""

    def __str__(self) -> str:
        what = "the cluster" if self.graph is None else clipped(self.graph)
        return f"{what} has a policy, and the server was started without tokens"

    @property
    def hint(self) -> str | None:
        return (
            "start the server without --unauthenticated, with tokens of the actors in "
            "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE; or take the policy out of the cluster"
        )


@dataclass(eq=False)
class SchemaDeclared(ConflictError):
    """The schema of a graph that a cluster declares is changed in its folder."""

    code: ClassVar[str] = "schema_declared"
    graph: str

    def __str__(self) -> str:
        return f"the schema of {clipped(self.graph)} is declared by a cluster"

    @property
    def hint(self) -> str | None:
        return "change it in the folder of the cluster, then: omnigraph cluster apply"
