"""The one error tree. Its branches are named by what the caller can do.

    OmnigraphError
    ├── InputError      fix it          parse_error type_error param_error schema_error
    │                                   constraint_violation invalid_argument migration_unsupported
    │                                   range_not_satisfiable forked_process dependency_missing
    │                                   change_cursor_rejected change_diff_refused
    │                                   embed_provider_missing embed_model_mismatch
    │                                   embed_width_mismatch embed_refused
    ├── MissingError    check the name  not_found graph_replaced
    ├── DeniedError     ask             read_only
    ├── ConflictError   re-read, retry  version_conflict read_set_conflict precondition_failed
    │                                   key_conflict branch_exists branch_in_use already_initialized
    │                                   merge_conflicts target_exists load_in_progress
    │                                   change_feed_gap
    ├── StorageError    look before you retry: the outcome may be unknown   storage_error
    │                                   store_unfit spark_error embed_unreachable
    │                                   embed_answer_invalid
    ├── LimitError      ask for less    resource_limit cancelled embed_timeout
    │                                   embed_rate_limited embed_quota_spent
    └── RecoveryError   an operator decides   recovery_required schema_version_unsupported
                                        graph_moved

A leaf has a stable `code`, typed fields and a sentence. Match the type or the code, never the
text. A bug of ours is an `AssertionError`, not one of these.
"""

from omnigraph.base.errors.changes import (
    ChangeCursorRejected,
    ChangeDiffRefused,
    ChangeFeedGap,
)
from omnigraph.base.errors.conflicts import (
    AlreadyInitialized,
    BranchBusy,
    BranchesInTheWay,
    BranchExists,
    BranchHasChildren,
    ChoicesOutdated,
    FenceLost,
    HeadMoved,
    KeyTaken,
    LoadUnderWay,
    MergeConflicts,
    PreconditionFailed,
    ReadSetMoved,
    SchemaMoved,
    TargetTaken,
)
from omnigraph.base.errors.data import (
    ArgumentInvalid,
    ConstraintViolated,
    DependencyMissing,
    ForkedProcess,
    InputUnreadable,
    MappingInvalid,
    MigrationRefused,
    RangeOutside,
    RejectedTooMany,
    SchemasApart,
    SourceInvalid,
    Unsupported,
)
from omnigraph.base.errors.denied import ReadOnly
from omnigraph.base.errors.embedding import (
    EmbedAnswerInvalid,
    EmbedModelWrong,
    EmbedProviderMissing,
    EmbedQuotaSpent,
    EmbedRateLimited,
    EmbedRefused,
    EmbedTimeout,
    EmbedUnreachable,
    EmbedWidthWrong,
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
from omnigraph.base.errors.storage import (
    GraphMoved,
    LimitExceeded,
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
    "ArgumentInvalid",
    "BlobMissing",
    "BranchBusy",
    "BranchExists",
    "BranchHasChildren",
    "BranchMissing",
    "BranchesInTheWay",
    "ChangeCursorRejected",
    "ChangeDiffRefused",
    "ChangeFeedGap",
    "ChoicesOutdated",
    "CommitMissing",
    "CommitReclaimed",
    "ConflictError",
    "ConstraintViolated",
    "DeniedError",
    "DependencyMissing",
    "Diagnostic",
    "EmbedAnswerInvalid",
    "EmbedModelWrong",
    "EmbedProviderMissing",
    "EmbedQuotaSpent",
    "EmbedRateLimited",
    "EmbedRefused",
    "EmbedTimeout",
    "EmbedUnreachable",
    "EmbedWidthWrong",
    "EntityMissing",
    "FenceLost",
    "FileMissing",
    "ForkedProcess",
    "GraphMissing",
    "GraphMoved",
    "GraphReplaced",
    "HeadMoved",
    "InputError",
    "InputUnreadable",
    "KeyTaken",
    "LanguageError",
    "LimitError",
    "LimitExceeded",
    "LoadUnderWay",
    "MappingInvalid",
    "MergeConflicts",
    "MigrationRefused",
    "MissingError",
    "MomentMissing",
    "NameMissing",
    "OmnigraphError",
    "ParameterInvalid",
    "ParseFailed",
    "PreconditionFailed",
    "QueryCancelled",
    "QueryMissing",
    "RangeOutside",
    "ReadOnly",
    "ReadSetMoved",
    "RecoveryError",
    "RecoveryRequired",
    "RejectedTooMany",
    "SchemaInvalid",
    "SchemaMoved",
    "SchemaVersionUnsupported",
    "SchemasApart",
    "SourceInvalid",
    "SparkFailed",
    "StagedLoadMissing",
    "StorageError",
    "StorageFailed",
    "StoreUnfit",
    "TargetTaken",
    "TypeCheckFailed",
    "Unsupported",
]
