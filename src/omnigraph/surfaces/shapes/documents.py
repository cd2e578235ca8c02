"""Which shape each command prints with `--json`."""

from collections.abc import Mapping
from typing import Any

from omnigraph.surfaces.shapes.changes import (
    Baseline,
    BranchDeleted,
    Branches,
    BranchMade,
    ChangePage,
    CommitChanges,
    Diff,
    Merge,
    Revert,
)
from omnigraph.surfaces.shapes.cluster import (
    ClusterApplied,
    ClusterApproved,
    ClusterImported,
    ClusterPlan,
    ClusterRefreshed,
    ClusterStatus,
    ClusterUnlocked,
    ClusterValid,
    GraphsDeclared,
    QueriesChecked,
    QueriesStored,
)
from omnigraph.surfaces.shapes.data import (
    AnalyticsRows,
    Blob,
    BlobPart,
    Embedded,
    EmbeddedFile,
    Export,
    Imported,
    Load,
    Made,
    Mutation,
    Neighborhood,
    Rows,
    SavedImportPlan,
)
from omnigraph.surfaces.shapes.person import (
    Aliases,
    Login,
    Logout,
    PolicyCases,
    PolicyExplanation,
    PolicySummary,
    Profile,
    Profiles,
    Version,
)
from omnigraph.surfaces.shapes.said import Commit, Commits, Failure, Log, ProgressEvent, TargetEvent
from omnigraph.surfaces.shapes.texts import (
    Diagram,
    Explanation,
    Formatted,
    Lint,
    Schema,
    SchemaChange,
    SchemaPlan,
)
from omnigraph.surfaces.shapes.upkeep import (
    Cleanup,
    Indexes,
    Optimized,
    Repair,
    Snapshot,
    Statistics,
)

__all__ = ["DOCUMENTS", "EVENTS", "FAILURE"]

FAILURE = Failure
EVENTS = (TargetEvent, ProgressEvent)

DOCUMENTS: Mapping[str, tuple[Any, ...]] = {
    "init": (Made,),
    "load": (Load,),
    "import": (Imported, SavedImportPlan),
    "query": (Rows,),
    "mutate": (Mutation,),
    "explain": (Explanation,),
    "analytics": (AnalyticsRows,),
    "export": (Export,),
    "embed": (Embedded, EmbeddedFile),
    "show": (Neighborhood,),
    "blob get": (BlobPart,),
    "blob stat": (Blob,),
    "branch create": (BranchMade,),
    "branch list": (Branches,),
    "branch merge": (Merge,),
    "branch delete": (BranchDeleted,),
    "branch diff": (Diff,),
    "revert": (Revert,),
    "commit list": (Commits,),
    "commit show": (Commit,),
    "commit changes": (CommitChanges,),
    "changes poll": (ChangePage,),
    "changes baseline": (Baseline,),
    "log": (Log,),
    "snapshot": (Snapshot,),
    "schema plan": (SchemaPlan,),
    "schema apply": (SchemaChange,),
    "schema show": (Schema,),
    "schema diagram": (Diagram,),
    "lint": (Lint,),
    "fmt": (Formatted,),
    "optimize": (Optimized,),
    "cleanup": (Cleanup,),
    "repair": (Repair,),
    "stats": (Statistics,),
    "indexes": (Indexes,),
    "policy validate": (PolicySummary,),
    "policy test": (PolicyCases,),
    "policy explain": (PolicyExplanation,),
    "cluster validate": (ClusterValid,),
    "cluster plan": (ClusterPlan,),
    "cluster apply": (ClusterApplied,),
    "cluster approve": (ClusterApproved,),
    "cluster status": (ClusterStatus,),
    "cluster refresh": (ClusterRefreshed,),
    "cluster import": (ClusterImported,),
    "cluster force-unlock": (ClusterUnlocked,),
    "graphs list": (GraphsDeclared,),
    "queries list": (QueriesStored,),
    "queries validate": (QueriesChecked,),
    "login": (Login,),
    "logout": (Logout,),
    "profile list": (Profiles,),
    "profile show": (Profile,),
    "alias": (Aliases,),
    "version": (Version,),
}
"""The shapes of each command; several where it does several things."""
