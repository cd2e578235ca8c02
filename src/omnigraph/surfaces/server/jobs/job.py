"""A load job as a value: what was asked for, how far it is, and what it came to.

    uploading ─► queued ─► running ─► succeeded
        │           │         ├────► failed
        └───────────┴─────────┴────► cancelled

A job is one commit or none. It is written down whole whenever it changes (`spool.py`), and a
server that starts goes on with those that have not ended. Progress is not written down.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from omnigraph.base.choices import LoadEngine, LoadModeName, OnError, SourceFormat
from omnigraph.base.errors import OmnigraphError
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult
from omnigraph.surfaces.crossing.errors import error_from_wire, error_to_wire
from omnigraph.surfaces.crossing.values import Unreadable

__all__ = ["Job", "JobOrder", "JobState", "Part", "Progressed", "Upload"]


class JobState(StrEnum):
    UPLOADING = "uploading"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@frozen(kw_only=True)
class Upload:
    """What is uploaded, which is one file."""

    name: str
    """What messages call it. Its suffix tells the form, unless `format` does."""
    bytes: int | None = None
    """How large it will be, if that is known."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A part of an upload that came in full."""

    number: int
    sha256: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.number}-{self.sha256}"


@frozen(kw_only=True)
class JobOrder:
    """What is to be loaded and how: `files` of allowed places, or an upload."""

    mode: LoadModeName
    files: tuple[str, ...] = ()
    upload: Upload | None = None
    branch: BranchName = MAIN
    from_: BranchName | None = None
    format: SourceFormat | None = None
    mapping: Mapping[str, Any] | None = None
    on_error: OnError = "fail"
    max_errors: int | None = None
    dry_run: bool = False
    embed: bool = False
    message: str | None = None
    engine: LoadEngine | None = None
    load_id: str | None = None
    """As its caller named it."""

    def load(self, source: object, *, actor: str | None, load_id: str | None, **more: Any) -> Load:
        """The load in the engine's words; raises for what no load can be."""
        return Load(
            source=source,
            mode=self.mode,
            branch=self.branch,
            from_=self.from_,
            # A dict, never a path: that would be read on the server.
            mapping=None if self.mapping is None else dict(self.mapping),
            format=self.format,
            on_error=self.on_error,
            max_errors=self.max_errors,
            dry_run=self.dry_run,
            embed=self.embed,
            message=self.message,
            actor=actor,
            load_id=load_id,
            **more,
        )


@frozen(kw_only=True)
class Job:
    id: str
    graph: str
    """The id that it is served under."""
    graph_uid: str
    """Of the graph itself: another one may be served under the same id one day."""
    actor: str | None
    order: JobOrder
    state: JobState
    created_ms: int
    changed_ms: int
    """When the state last changed, or a part came."""
    parts: tuple[Part, ...] = ()
    """Of an upload that was started: all of them, in order."""
    runs: int = 0
    """How often it was begun: more than once after a crash."""
    is_cancelled: bool = False
    """Someone wants it to end. It may have been published before it could."""
    prepared: LoadResult | None = None
    """What it will have come to, written down before it is published."""
    result: LoadResult | None = None
    failure: str | None = None
    """The error that it ended with, as it crosses to clients; empty: a defect of ours."""

    @property
    def load_id(self) -> str:
        """The name of its load: by it the pipeline goes on, and makes one commit at most."""
        return self.order.load_id if self.order.load_id is not None else f"job-{self.id}"

    @property
    def error(self) -> OmnigraphError | None:
        """What it failed with; None also of a defect of ours, or of an error that we can't read."""
        if not self.failure:
            return None
        try:
            return error_from_wire(json.loads(self.failure))
        except (Unreadable, ValueError):
            return None

    def failed_with(self, error: Exception, now_ms: int) -> "Job":
        try:
            told = json.dumps(error_to_wire(error)) if isinstance(error, OmnigraphError) else ""
        except (TypeError, ValueError):
            told = ""
        return self.to(JobState.FAILED, now_ms, failure=told)

    def to(self, state: JobState, now_ms: int, **more: Any) -> "Job":
        return replace(self, state=state, changed_ms=now_ms, **more)


@frozen
class Progressed:
    """How far a load is; see `base/progress`."""

    phase: str
    done: int
    total: int
