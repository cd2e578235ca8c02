"""The one error tree. Its branches are named by what the caller can do.

    OmnigraphError
    ├── InputError      fix it          parse_error type_error param_error schema_error
    │                                   constraint_violation invalid_argument migration_unsupported
    │                                   range_not_satisfiable forked_process dependency_missing
    │                                   change_cursor_rejected change_diff_refused
    │                                   embed_provider_missing embed_model_mismatch
    │                                   embed_width_mismatch embed_refused
    │                                   embed_text_refused policy_invalid
    │                                   bad_request unsupported_media_type method_not_allowed
    │                                   local_only invalid_configuration part_damaged
    │                                   wrong_usage not_on_spark worker_version cluster_invalid
    ├── MissingError    check the name  not_found graph_replaced
    ├── DeniedError     ask             read_only policy_denied unauthorized file_not_allowed
    │                                   page_not_allowed spark_not_allowed
    │                                   approval_needed policy_needs_tokens
    ├── ConflictError   re-read, retry  version_conflict read_set_conflict precondition_failed
    │                                   key_conflict branch_exists branch_in_use already_initialized
    │                                   merge_conflicts target_exists load_in_progress
    │                                   change_feed_gap blob_changed policy_in_use job_not_open
    │                                   parts_missing cluster_locked lock_lost plan_changed
    │                                   plan_blocked schema_declared
    │                                   earlier_write_published request_id_reused
    ├── StorageError    look before you retry: the outcome may be unknown   storage_error
    │                                   store_unfit spark_error embed_unreachable
    │                                   embed_answer_invalid server_unreachable outcome_unknown
    │                                   outcome_pending answer_unreadable server_failed
    ├── LimitError      ask for less    resource_limit cancelled embed_timeout
    │                                   embed_rate_limited embed_quota_spent
    │                                   too_many_requests request_timeout spool_full
    └── RecoveryError   an operator decides   recovery_required schema_version_unsupported
                                        graph_moved ledger_damaged

A leaf has a stable `code`, typed fields and a sentence. Match the type or the code, never the
text. A bug of ours is an `AssertionError`, not one of these.
"""

from omnigraph.base.errors.changes import (
    ChangeCursorRejected,
    ChangeDiffRefused,
    ChangeFeedGap,
)
from omnigraph.base.errors.cluster import (
    ApprovalNeeded,
    ClusterInvalid,
    ClusterLocked,
    ClusterMissing,
    LedgerDamaged,
    LockLost,
    LockMissing,
    PlanBlocked,
    PlanChanged,
    PolicyNeedsTokens,
    ResourceMissing,
    SchemaDeclared,
)
from omnigraph.base.errors.configuration import ConfigurationInvalid
from omnigraph.base.errors.conflicts import (
    AlreadyInitialized,
    BranchBusy,
    BranchesInTheWay,
    BranchExists,
    BranchHasChildren,
    ChoicesOutdated,
    EarlierWritePublished,
    FenceLost,
    HeadMoved,
    KeyTaken,
    LoadUnderWay,
    MergeConflicts,
    PreconditionFailed,
    ReadSetMoved,
    RequestIdReused,
    SchemaMoved,
    TargetTaken,
)
from omnigraph.base.errors.data import (
    ArgumentInvalid,
    ConstraintViolated,
    DependencyMissing,
    ForkedProcess,
    InputUnreadable,
    JsonInvalid,
    MappingInvalid,
    MigrationRefused,
    NotOnSpark,
    RangeOutside,
    RejectedTooMany,
    SchemasApart,
    SourceInvalid,
    Unsupported,
    UsageInvalid,
    WorkerDiffers,
)
from omnigraph.base.errors.denied import ReadOnly
from omnigraph.base.errors.embedding import (
    EmbedAnswerInvalid,
    EmbedModelWrong,
    EmbedProviderMissing,
    EmbedQuotaSpent,
    EmbedRateLimited,
    EmbedRefused,
    EmbedTextRefused,
    EmbedTimeout,
    EmbedUnreachable,
    EmbedWidthWrong,
)
from omnigraph.base.errors.findings import FileFinding, FilesInvalid
from omnigraph.base.errors.jobs import (
    FileNotAllowed,
    JobMissing,
    JobNotOpen,
    LoadCancelled,
    PartDamaged,
    PartsMissing,
    SpoolFull,
)
from omnigraph.base.errors.language import (
    Diagnostic,
    LanguageError,
    ParameterInvalid,
    ParseFailed,
    SchemaInvalid,
    TypeCheckFailed,
)
from omnigraph.base.errors.missing import (
    BlobMissing,
    BranchMissing,
    CommitMissing,
    CommitReclaimed,
    EntityMissing,
    FileMissing,
    GraphMissing,
    GraphReplaced,
    MomentMissing,
    NameMissing,
    QueryMissing,
    StagedLoadMissing,
)
from omnigraph.base.errors.policy import (
    PolicyDenied,
    PolicyInTheWay,
    PolicyInvalid,
    SparkNotAllowed,
)
from omnigraph.base.errors.remote import (
    AnswerUnreadable,
    LocalOnly,
    OutcomeUnknown,
    ServerFailed,
    ServerUnreachable,
)
from omnigraph.base.errors.serving import (
    BlobChanged,
    BodySlow,
    MediaTypeUnsupported,
    MethodUnknown,
    PageNotAllowed,
    PathMissing,
    RequestMalformed,
    RequestsTooMany,
    Unauthorized,
)
from omnigraph.base.errors.storage import (
    GraphMoved,
    LimitExceeded,
    OutcomePending,
    QueryCancelled,
    RecoveryRequired,
    SchemaVersionUnsupported,
    SparkFailed,
    StorageFailed,
    StoreUnfit,
)
from omnigraph.base.errors.tree import (
    ConflictError,
    DeniedError,
    InputError,
    LimitError,
    MissingError,
    OmnigraphError,
    RecoveryError,
    StorageError,
)

__all__ = [
    "AlreadyInitialized",
    "AnswerUnreadable",
    "ApprovalNeeded",
    "ArgumentInvalid",
    "BlobChanged",
    "BlobMissing",
    "BodySlow",
    "BranchBusy",
    "BranchExists",
    "BranchHasChildren",
    "BranchMissing",
    "BranchesInTheWay",
    "ChangeCursorRejected",
    "ChangeDiffRefused",
    "ChangeFeedGap",
    "ChoicesOutdated",
    "ClusterInvalid",
    "ClusterLocked",
    "ClusterMissing",
    "CommitMissing",
    "CommitReclaimed",
    "ConfigurationInvalid",
    "ConflictError",
    "ConstraintViolated",
    "DeniedError",
    "DependencyMissing",
    "Diagnostic",
    "EarlierWritePublished",
    "EmbedAnswerInvalid",
    "EmbedModelWrong",
    "EmbedProviderMissing",
    "EmbedQuotaSpent",
    "EmbedRateLimited",
    "EmbedRefused",
    "EmbedTextRefused",
    "EmbedTimeout",
    "EmbedUnreachable",
    "EmbedWidthWrong",
    "EntityMissing",
    "FenceLost",
    "FileFinding",
    "FileMissing",
    "FileNotAllowed",
    "FilesInvalid",
    "ForkedProcess",
    "GraphMissing",
    "GraphMoved",
    "GraphReplaced",
    "HeadMoved",
    "InputError",
    "InputUnreadable",
    "JobMissing",
    "JobNotOpen",
    "JsonInvalid",
    "KeyTaken",
    "LanguageError",
    "LedgerDamaged",
    "LimitError",
    "LimitExceeded",
    "LoadCancelled",
    "LoadUnderWay",
    "LocalOnly",
    "LockLost",
    "LockMissing",
    "MappingInvalid",
    "MediaTypeUnsupported",
    "MergeConflicts",
    "MethodUnknown",
    "MigrationRefused",
    "MissingError",
    "MomentMissing",
    "NameMissing",
    "NotOnSpark",
    "OmnigraphError",
    "OutcomePending",
    "OutcomeUnknown",
    "PageNotAllowed",
    "ParameterInvalid",
    "ParseFailed",
    "PartDamaged",
    "PartsMissing",
    "PathMissing",
    "PlanBlocked",
    "PlanChanged",
    "PolicyDenied",
    "PolicyInTheWay",
    "PolicyInvalid",
    "PolicyNeedsTokens",
    "PreconditionFailed",
    "QueryCancelled",
    "QueryMissing",
    "RangeOutside",
    "ReadOnly",
    "ReadSetMoved",
    "RecoveryError",
    "RecoveryRequired",
    "RejectedTooMany",
    "RequestIdReused",
    "RequestMalformed",
    "RequestsTooMany",
    "ResourceMissing",
    "SchemaDeclared",
    "SchemaInvalid",
    "SchemaMoved",
    "SchemaVersionUnsupported",
    "SchemasApart",
    "ServerFailed",
    "ServerUnreachable",
    "SourceInvalid",
    "SparkFailed",
    "SparkNotAllowed",
    "SpoolFull",
    "StagedLoadMissing",
    "StorageError",
    "StorageFailed",
    "StoreUnfit",
    "TargetTaken",
    "TypeCheckFailed",
    "Unauthorized",
    "Unsupported",
    "UsageInvalid",
    "WorkerDiffers",
]
