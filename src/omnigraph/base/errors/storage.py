"""The ground that a graph stands on: storage, limits, and what only an operator can decide."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.tree import LimitError, RecoveryError, StorageError

__all__ = [
    "GraphMoved",
    "LimitExceeded",
    "OutcomePending",
    "QueryCancelled",
    "RecoveryRequired",
    "SchemaVersionUnsupported",
    "SparkFailed",
    "StorageFailed",
    "StoreUnfit",
]


@dataclass(eq=False)
class StorageFailed(StorageError):
    code: ClassVar[str] = "storage_error"
    doing: str
    path: str
    reason: str
    advice: str | None = None

    def __str__(self) -> str:
        return f"{self.doing} {self.path} failed: {self.reason}"

    @property
    def hint(self) -> str | None:
        return self.advice


@dataclass(eq=False)
class OutcomePending(StorageError):
    """A write failed when it was nearly done, and could be neither finished nor undone."""

    code: ClassVar[str] = "outcome_pending"
    branch: str
    commit_id: str
    reason: str

    def __str__(self) -> str:
        return (
            f"the write to {self.branch} could be neither finished nor undone, and may yet appear "
            f"as commit {self.commit_id}: {self.reason}"
        )

    @property
    def hint(self) -> str | None:
        return (
            "the next opening of the graph for writing finishes or undoes it; to try again without "
            f"writing twice, repeat a mutation with request_id {self.commit_id}, or a load with "
            "that load_id; other writes can be repeated as they are"
        )


@dataclass(eq=False)
class StoreUnfit(StorageError):
    """The place can't keep writers apart, so nothing is written there at all."""

    code: ClassVar[str] = "store_unfit"
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} can't be written safely: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "nothing was written: use another store; reading works"


@dataclass(eq=False)
class SparkFailed(StorageError):
    """Spark could not start, lost a worker, or ran something that failed, such as a function of a
    frame. No work of ours was at fault."""

    code: ClassVar[str] = "spark_error"
    doing: str
    reason: str
    advice: str | None = None

    def __str__(self) -> str:
        return f"Spark failed while {self.doing}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return self.advice or (
            "Spark's own log says more: name a file for it in OMNIGRAPH_SPARK_LOG"
        )


@dataclass(eq=False)
class LimitExceeded(LimitError):
    code: ClassVar[str] = "resource_limit"
    what: str
    limit: float
    found: int | None = None
    advice: str | None = None

    def __str__(self) -> str:
        found = f" ({self.found:,})" if self.found is not None else ""
        return f"{self.what}{found} exceeds the limit of {self.limit:,}"

    @property
    def hint(self) -> str | None:
        return self.advice


@dataclass(eq=False)
class QueryCancelled(LimitError):
    """The caller cancelled the query."""

    code: ClassVar[str] = "cancelled"
    step: str

    def __str__(self) -> str:
        return f"the query was cancelled at `{self.step}`"


@dataclass(eq=False)
class RecoveryRequired(RecoveryError):
    code: ClassVar[str] = "recovery_required"
    sidecar: str
    reason: str

    def __str__(self) -> str:
        return f"an unfinished write can't be healed by itself: {self.reason} ({self.sidecar})"

    @property
    def hint(self) -> str | None:
        return "reads still work; keep a copy of the graph before anything is removed by hand"


@dataclass(eq=False)
class GraphMoved(RecoveryError):
    """The branches of a graph were last written at another address, so they can't be used here."""

    code: ClassVar[str] = "graph_moved"
    here: str
    there: str | None
    """None: the handle has not looked yet where they were written."""
    reason: str | None = None
    """Why they could not be brought here."""

    def __str__(self) -> str:
        there = f" were written at {self.there}" if self.there else " were not looked at yet"
        failed = f", and bringing them here failed: {self.reason}" if self.reason else ""
        return f"the graph is at {self.here}, and its branches{there}{failed}"

    @property
    def hint(self) -> str | None:
        return (
            "a graph that was moved or copied is opened once with write access, before all else: "
            f"omnigraph optimize --store {self.here}; main can be read without"
        )


@dataclass(eq=False)
class SchemaVersionUnsupported(RecoveryError):
    code: ClassVar[str] = "schema_version_unsupported"
    found: int
    supported: int

    def __str__(self) -> str:
        return f"this graph has storage version {self.found}; this omnigraph knows {self.supported}"

    @property
    def hint(self) -> str | None:
        return "upgrade omnigraph first"
