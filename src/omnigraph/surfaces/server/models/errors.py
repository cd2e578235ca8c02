"""Errors as clients read them: a sentence, a class of errors, and what a program can act on."""

from enum import StrEnum
from typing import Any

import msgspec

from omnigraph.surfaces.server.models.numbers import Count64, EntityKindOutput

__all__ = [
    "AgentErrorOutput",
    "BlobRangeOutput",
    "ChangeDiffRefusalOutput",
    "ChangeDiffRefusalReason",
    "ChangeErrorOutput",
    "ChangeFeedGapOutput",
    "ErrorCode",
    "ErrorOutput",
    "KeyConflictOutput",
    "MergeConflictKindOutput",
    "MergeConflictOutput",
    "PreconditionFailureOutput",
    "ReadSetConflictOutput",
    "RecoveryRequiredOutput",
    "ResourceLimitOutput",
]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ErrorCode(StrEnum):
    """Closed: clients map it to classes. The precise code stands in `details.code`."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    TOO_MANY_REQUESTS = "too_many_requests"
    INTERNAL = "internal"


class ChangeDiffRefusalReason(StrEnum):
    PARENTLESS_COMMIT = "parentless_commit"
    SCHEMA_BOUNDARY = "schema_boundary"
    UNKNOWN = "unknown"


class MergeConflictKindOutput(StrEnum):
    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"


class BlobRangeOutput(Part, frozen=True, kw_only=True):
    start: Count64
    end: Count64
    length: Count64


class ChangeDiffRefusalOutput(Part, frozen=True, kw_only=True):
    reason: ChangeDiffRefusalReason
    graph_commit_id: str
    type_name: str | None = None


class ChangeFeedGapOutput(Part, frozen=True, kw_only=True):
    first_unreadable_commit_id: str
    cursor: str | None = None


class KeyConflictOutput(Part, frozen=True, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | None = None


class MergeConflictOutput(Part, frozen=True, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    kind: MergeConflictKindOutput
    message: str
    entity_id: str | None = None
    property: str | None = None


class PreconditionFailureOutput(Part, frozen=True, kw_only=True):
    expected: str
    actual: str | None = None


class ReadSetConflictOutput(Part, frozen=True, kw_only=True):
    member: str
    expected: str | None = None
    actual: str | None = None


class RecoveryRequiredOutput(Part, frozen=True, kw_only=True):
    operation_id: str


class ResourceLimitOutput(Part, frozen=True, kw_only=True):
    resource: str
    limit: Count64
    actual: Count64


class ChangeErrorOutput(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Errors of the routes about changes: a part of `ErrorOutput`."""

    error: str
    code: ErrorCode | None = None
    change_diff_refusal: ChangeDiffRefusalOutput | None = None
    change_feed_gap: ChangeFeedGapOutput | None = None
    recovery_required: RecoveryRequiredOutput | None = None
    resource_limit: ResourceLimitOutput | None = None
    details: dict[str, Any] = {}
    hint: str | None = None
    request_id: str | None = None
    raised: dict[str, Any] | None = None
    """For our own client: the error as it was raised."""


class ErrorOutput(Part, frozen=True, kw_only=True, omit_defaults=True):
    error: str
    code: ErrorCode | None = None
    blob_range: BlobRangeOutput | None = None
    change_diff_refusal: ChangeDiffRefusalOutput | None = None
    change_feed_gap: ChangeFeedGapOutput | None = None
    key_conflict: KeyConflictOutput | None = None
    merge_conflicts: list[MergeConflictOutput] = []
    precondition_failure: PreconditionFailureOutput | None = None
    read_set_conflict: ReadSetConflictOutput | None = None
    recovery_required: RecoveryRequiredOutput | None = None
    resource_limit: ResourceLimitOutput | None = None
    details: dict[str, Any] = {}
    """`code` is the precise one of docs/errors.md."""
    hint: str | None = None
    request_id: str | None = None
    raised: dict[str, Any] | None = None
    """For our own client, on calls: the error as it was raised."""


class AgentErrorOutput(Part, frozen=True, kw_only=True):
    """A sentence, as on other routes; or the error of a message, as the protocol has it."""

    error: str | dict[str, Any]
