"""Load jobs, as they are asked for and told."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from omnigraph.surfaces.server.models.answers import Answer, GraphBatchLoadOutput
from omnigraph.surfaces.server.models.errors import ErrorOutput
from omnigraph.surfaces.server.models.numbers import Count, Count64, LoadMode, Micros
from omnigraph.surfaces.server.models.requests import Request

__all__ = [
    "LoadJobLinks",
    "LoadJobListOutput",
    "LoadJobOutput",
    "LoadJobPartOutput",
    "LoadJobProgressOutput",
    "LoadJobRequest",
    "LoadJobStartRequest",
    "LoadJobUpload",
    "LoadJobUploadOutput",
]

Name = Annotated[str, Meta(min_length=1, max_length=1000)]


class LoadJobUpload(Request, frozen=True, kw_only=True):
    name: Name = "upload.jsonl"
    """What messages call it; its suffix tells its form, unless `format` does."""
    bytes: Count64 | None = None
    """How large it will be: what would not fit is refused at once."""


class LoadJobRequest(Request, frozen=True, kw_only=True):
    """Either `files` or `upload`."""

    files: list[str] | None = None
    """Files and directories in places that the server loads from."""
    upload: LoadJobUpload | None = None
    branch: str | None = None
    from_: str | None = field(default=None, name="from")
    mode: LoadMode | None = None
    format: Literal["jsonl", "csv", "parquet"] | None = None
    mapping: dict[str, Any] | None = None
    on_error: Literal["fail", "quarantine"] = "fail"
    max_errors: Count | None = None
    dry_run: bool = False
    embed: bool = False
    message: str | None = None
    engine: Literal["auto", "local", "spark"] | None = None
    load_id: str | None = None


class LoadJobStartRequest(Request, frozen=True, kw_only=True):
    part_count: Annotated[int, Meta(ge=1)]
    """Parts are numbered from 1: all of them must be there."""


class LoadJobPartOutput(Answer, frozen=True, kw_only=True):
    number: Count
    bytes: Count64
    etag: str
    """The SHA-256 of its bytes, in hexadecimal."""


class LoadJobUploadOutput(Answer, frozen=True, kw_only=True):
    name: str
    max_part_bytes: Count64
    max_parts: Count
    received_bytes: Count64
    parts: list[LoadJobPartOutput]


class LoadJobProgressOutput(Answer, frozen=True, kw_only=True):
    phase: str
    done: Count64
    total: Count64
    """0: it is not known."""


class LoadJobLinks(Answer, frozen=True, kw_only=True):
    self: str
    start: str | None = None
    rejected: str | None = None
    """The rows that were set aside, as JSON lines with their reasons."""


class LoadJobOutput(Answer, frozen=True, kw_only=True):
    id: str
    state: Literal["uploading", "queued", "running", "succeeded", "failed", "cancelled"]
    branch: str
    mode: LoadMode
    dry_run: bool
    actor_id: str | None
    created_at: Micros
    changed_at: Micros
    cancel_requested: bool
    links: LoadJobLinks
    upload: LoadJobUploadOutput | None = None
    """While it goes on."""
    progress: LoadJobProgressOutput | None = None
    """While the load runs."""
    result: GraphBatchLoadOutput | None = None
    """What `POST load/ndjson` answers."""
    report: dict[str, Any] | None = None
    """The same at length, as `omnigraph load --json` says it."""
    error: ErrorOutput | None = None
    """What `POST load/ndjson` answers to a load that fails."""
    error_status: Count | None = None
    loaded: dict[str, Any] | None = None
    """For our own client: the result as the engine gave it."""


class LoadJobListOutput(Answer, frozen=True, kw_only=True):
    jobs: list[LoadJobOutput]
