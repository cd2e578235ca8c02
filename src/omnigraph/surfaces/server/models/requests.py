"""Bodies and query strings of requests. A member that no model has is refused."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta, field

from omnigraph.surfaces.server.models.numbers import (
    BlobEntityKind,
    ChangeOpOutput,
    Count,
    EntityKindOutput,
    LoadMode,
)

__all__ = [
    "BlobParams",
    "BranchCreateRequest",
    "BranchMergeRequest",
    "BranchParams",
    "ChangeBaselineRequest",
    "ChangeRequest",
    "ChangesParams",
    "CommitChangesParams",
    "CommitsParams",
    "ExportRequest",
    "IngestRequest",
    "InvokeStoredQueryRequest",
    "LoadParams",
    "NeighborhoodParams",
    "NoParams",
    "QueryRequest",
    "ReadRequest",
    "Request",
    "SchemaApplyRequest",
]


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


# Bodies -------------------------------------------------------------------------------------------


class QueryRequest(Request, frozen=True, kw_only=True):
    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None


class ReadRequest(Request, frozen=True, kw_only=True):
    """The body of the deprecated `/read`."""

    query_source: str
    query_name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None


class ChangeRequest(Request, frozen=True, kw_only=True):
    EARLIER_NAMES: ClassVar[Mapping[str, str]] = {"query_source": "query", "query_name": "name"}
    """What earlier clients call members of this body."""

    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None


class InvokeStoredQueryRequest(Request, frozen=True, kw_only=True):
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None
    message: str | None = None
    """Of a query that changes the graph: why. It stands in the commit."""


class IngestRequest(Request, frozen=True, kw_only=True):
    data: str
    """JSON lines, as `omnigraph load` reads them."""
    branch: str | None = None
    from_: str | None = field(default=None, name="from")
    mode: LoadMode | None = None


class ExportRequest(Request, frozen=True, kw_only=True):
    branch: str | None = None
    type_names: list[str] = []


class SchemaApplyRequest(Request, frozen=True, kw_only=True):
    schema_source: str
    allow_data_loss: bool = False


class BranchCreateRequest(Request, frozen=True, kw_only=True):
    name: str
    from_: str | None = field(default=None, name="from")


class BranchMergeRequest(Request, frozen=True, kw_only=True):
    source: str
    target: str | None = None
    delete_branch: bool = False


class ChangeBaselineRequest(Request, frozen=True, kw_only=True):
    branch: str | None = None
    kind: list[EntityKindOutput] = []
    type: list[str] = []
    op: list[ChangeOpOutput] = []


# Query strings ------------------------------------------------------------------------------------


class NoParams(Request, frozen=True, kw_only=True):
    pass


class BranchParams(Request, frozen=True, kw_only=True):
    branch: str | None = None


class CommitsParams(Request, frozen=True, kw_only=True):
    branch: str | None = None
    limit: Count | None = None
    actor: str | None = None


class CommitChangesParams(Request, frozen=True, kw_only=True):
    page_token: str | None = None
    limit: Count | None = None
    kind: list[EntityKindOutput] = []
    type: list[str] = []
    op: list[ChangeOpOutput] = []


class ChangesParams(Request, frozen=True, kw_only=True):
    branch: str | None = None
    cursor: str | None = None
    start: str | None = None
    page_token: str | None = None
    limit: Count | None = None
    kind: list[EntityKindOutput] = []
    type: list[str] = []
    op: list[ChangeOpOutput] = []


class LoadParams(Request, frozen=True, kw_only=True):
    branch: str | None = None
    from_: str | None = field(default=None, name="from")
    mode: LoadMode | None = None


class BlobParams(Request, frozen=True, kw_only=True):
    entity: BlobEntityKind
    type: str
    id: str
    property: str
    branch: str | None = None
    snapshot: str | None = None


class NeighborhoodParams(Request, frozen=True, kw_only=True):
    type: str
    id: str
    depth: Annotated[int, Meta(ge=1)] = 1
    limit: Annotated[int, Meta(ge=1)] = 100
    page_token: str | None = None
    branch: str | None = None
    snapshot: str | None = None
