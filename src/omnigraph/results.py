"""Every type that a call takes or returns, for annotations: `from omnigraph.results import At`.

The words that an argument may be (`LoadModeName`, `OnError`, …) are `Literal` types.
"""

from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import (
    ChangeOp,
    DiagramFormat,
    DurabilityName,
    EmbedOnly,
    EntityKind,
    ExportFormat,
    LoadEngine,
    LoadModeName,
    OnError,
    OutputMode,
    SourceFormat,
)
from omnigraph.base.conflicts import Conflict
from omnigraph.base.ids import CommitId
from omnigraph.base.progress import Progress
from omnigraph.base.row_counts import RowCounts
from omnigraph.base.violations import Violation, Violations
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.analytics_results import AnalyticsResult
from omnigraph.engine.blob import Blob
from omnigraph.engine.change_results import (
    ChangeBaseline,
    ChangeBlock,
    ChangeCause,
    ChangePage,
    CommitChangePage,
    Diff,
    EntityChanges,
)
from omnigraph.engine.editing import LintedText, TextFinding, TextParameter, TextQuery
from omnigraph.engine.entity import BlobSize, EdgeEnd, Entity
from omnigraph.engine.entity_history import EntityChange, EntityHistory, PropertyChange
from omnigraph.engine.explanation import Explanation, PlanStep
from omnigraph.engine.find import Found, Hit
from omnigraph.engine.handles.analytics import Analytics, EdgeNames, NodeName, RunOptions
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.branch import Branch
from omnigraph.engine.log import Log
from omnigraph.engine.merge_results import MergeResult, RevertResult
from omnigraph.engine.neighborhood import EdgeTally, NeighborEdge, Neighborhood, NeighborNode
from omnigraph.engine.requests import Moment, Target
from omnigraph.engine.results import (
    ChangeCounts,
    CommitInfo,
    CommitList,
    EmbedResult,
    ExportedFile,
    ExportResult,
    IndexInfo,
    LoadResult,
    MutationResult,
    OptimizeResult,
    QueryResult,
)
from omnigraph.engine.review import Review
from omnigraph.engine.schema import Schema
from omnigraph.engine.schema_results import SchemaChange
from omnigraph.engine.tables import SnapshotTables, TableInfo
from omnigraph.engine.text import Text
from omnigraph.engine.upkeep_results import CleanupResult, Finding, RepairResult, TableCleanup
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.statistics import Statistics, TableStatistics

if TYPE_CHECKING:
    from omnigraph.engine.notebook.drawing import Drawing, DrawnEdge, DrawnNode
    from omnigraph.pipeline.streaming import Stream

__all__ = [
    "Analytics",
    "AnalyticsResult",
    "At",
    "Blob",
    "BlobSize",
    "Branch",
    "Catalog",
    "ChangeBaseline",
    "ChangeBlock",
    "ChangeCause",
    "ChangeCounts",
    "ChangeOp",
    "ChangePage",
    "CleanupResult",
    "CommitChangePage",
    "CommitId",
    "CommitInfo",
    "CommitList",
    "Conflict",
    "DiagramFormat",
    "Diff",
    "Drawing",
    "DrawnEdge",
    "DrawnNode",
    "DurabilityName",
    "EdgeEnd",
    "EdgeNames",
    "EdgeTally",
    "EmbedConfig",
    "EmbedOnly",
    "EmbedResult",
    "Entity",
    "EntityChange",
    "EntityChanges",
    "EntityHistory",
    "EntityKind",
    "Explanation",
    "ExportFormat",
    "ExportResult",
    "ExportedFile",
    "Finding",
    "Found",
    "Hit",
    "IndexInfo",
    "LintedText",
    "LoadEngine",
    "LoadModeName",
    "LoadResult",
    "Log",
    "MergeResult",
    "Moment",
    "MutationResult",
    "NeighborEdge",
    "NeighborNode",
    "Neighborhood",
    "NodeName",
    "OnError",
    "OptimizeResult",
    "OutputMode",
    "PlanStep",
    "Progress",
    "PropertyChange",
    "QueryResult",
    "RepairResult",
    "RevertResult",
    "Review",
    "RowCounts",
    "RunOptions",
    "Schema",
    "SchemaChange",
    "SnapshotTables",
    "SourceFormat",
    "Statistics",
    "Stream",
    "TableCleanup",
    "TableInfo",
    "TableStatistics",
    "Target",
    "Text",
    "TextFinding",
    "TextParameter",
    "TextQuery",
    "Violation",
    "Violations",
]


def __getattr__(name: str) -> Any:
    # What streams and pictures take to import, only they need.
    if name == "Stream":
        from omnigraph.pipeline.streaming import Stream

        return Stream
    if name in ("Drawing", "DrawnEdge", "DrawnNode"):
        from omnigraph.engine.notebook import drawing

        return getattr(drawing, name)
    raise AttributeError(f"module 'omnigraph.results' has no attribute {name!r}")
