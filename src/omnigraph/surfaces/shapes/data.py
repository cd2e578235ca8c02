"""What commands print that put data in or get it out."""

from typing import Any, Literal, TypedDict

from omnigraph.base.choices import ExportFormat, ImportFormat, LoadModeName
from omnigraph.surfaces.shapes.said import Commit, Row

__all__ = [
    "AnalyticsRows",
    "Blob",
    "BlobPart",
    "Edge",
    "Embedded",
    "EmbeddedFile",
    "Export",
    "Exported",
    "ExportedFile",
    "ImportPlan",
    "Imported",
    "Load",
    "Loaded",
    "Made",
    "Mutation",
    "Neighborhood",
    "Node",
    "Rows",
    "SavedImportPlan",
    "Tally",
    "Target",
    "Violation",
    "ViolationCount",
    "Violations",
]


class Made(TypedDict):
    """A new graph, and its first commit."""

    uri: str
    graph_commit_id: str


class Violation(TypedDict):
    """A row that breaks a rule."""

    kind: str
    message: str
    type_name: str | None
    property: str | None
    entity_id: str | None
    file: str | None
    line: int | None
    column: int | None


class ViolationCount(TypedDict):
    """How often a rule is broken."""

    kind: str
    type_name: str | None
    property: str | None
    count: int


class Violations(TypedDict):
    """Rows that break rules: how many, and the first of each kind."""

    kind: str
    type_name: str | None
    property: str | None
    entity_id: str | None
    count: int
    counts: list[ViolationCount]
    examples: list[Violation]


class Loaded(TypedDict):
    """Rows of one type."""

    name: str
    entities_loaded: int
    inserted: int
    updated: int
    unchanged: int
    removed: int


class Load(TypedDict):
    """What a load came to; of a dry run, what it would have come to."""

    branch: str
    base_branch: str | None
    branch_created: bool
    mode: LoadModeName
    nodes: list[Loaded]
    edges: list[Loaded]
    total_entities: int
    read: int
    rejected: int
    violations: Violations | None
    quarantine: str | None
    dry_run: bool
    superseded: int
    inserted: int
    updated: int
    unchanged: int
    removed: int
    hints: list[str]
    engine: str | None
    engine_reason: str | None
    load_id: str | None
    is_repeat: bool
    resumed_tasks: int
    seconds: dict[str, float]
    commit: Commit | None


class ImportPlan(TypedDict):
    """What was found in the files of another system, and is proposed for it."""

    source: str
    format: ImportFormat
    schema: str
    mapping: dict[str, Any]
    notes: list[str]


class SavedImportPlan(ImportPlan):
    """A plan that was written to a folder, to be edited."""

    plan: str


class Imported(Load, ImportPlan):
    """What an import came to, and the plan that it followed."""

    is_new: bool


class Target(TypedDict):
    """What was read: a branch, or a commit."""

    branch: str | None
    snapshot: str | None


class Rows(TypedDict):
    """The answer to a query: each row has a member for each column."""

    query_name: str
    target: Target
    row_count: int
    columns: list[str]
    rows: list[Row]
    graph_commit_id: str


class AnalyticsRows(TypedDict):
    """What an algorithm found, a row for each node; and the commit, if it was written."""

    algorithm: str
    edges: list[str]
    engine: str
    node_count: int
    edge_count: int
    iterations: int | None
    converged: bool
    target: Target
    row_count: int
    columns: list[str]
    rows: list[Row]
    graph_commit_id: str
    written: dict[str, int]
    commit: Commit | None


class Mutation(TypedDict):
    """What a mutation changed; no commit if that is nothing."""

    query_name: str
    branch: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: Commit | None
    is_repeat: bool


class Exported(TypedDict):
    """Rows of one type."""

    name: str
    entities_exported: int


class ExportedFile(TypedDict):
    """A file of an export; in a Parquet export its path is relative to the directory."""

    path: str | None
    rows: int
    bytes: int
    sha256: str


class Export(TypedDict):
    """What was written, and the commit that it is of."""

    format: ExportFormat
    path: str | None
    graph_commit_id: str
    nodes: list[Exported]
    edges: list[Exported]
    total_entities: int
    bytes: int
    files: list[ExportedFile]


class Blob(TypedDict):
    """A blob, without its bytes."""

    type_name: str
    entity_id: str
    property: str
    size: int
    etag: str
    graph_commit_id: str


class BlobPart(Blob):
    """A blob, and the part of it that was written to a file."""

    offset: int
    length: int
    path: str


class Embedded(TypedDict):
    """Vectors that were made, by type and property."""

    branch: str
    model: str
    embedded: dict[str, dict[str, int]]
    emptied: int
    commit: Commit | None


class EmbeddedFile(TypedDict):
    """Vectors that were put into lines of a file (`--data`)."""

    model: str
    path: str
    lines: int
    vectors: int


class Tally(TypedDict):
    """Edges of one type at a node; out: it is their source."""

    edge: str
    direction: Literal["out", "in"]
    count: int


class Node(TypedDict):
    """A node, and how many hops away it is."""

    type_name: str
    id: str
    distance: int
    properties: Row


Edge = TypedDict("Edge", {"type_name": str, "id": str, "from": str, "to": str, "properties": Row})
Edge.__doc__ = "An edge between nodes that are shown."


class Neighborhood(TypedDict):
    """A node, and what is around it."""

    graph_commit_id: str
    entity: Node
    counts: list[Tally]
    nodes: list[Node]
    edges: list[Edge]
    node_count: int
    has_more_edges: bool
    next_page_token: str | None
