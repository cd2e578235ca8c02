"""The tables of one commit: which version of each it pins, and how many entities that shows."""

from omnigraph.base.choices import EntityKind
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TypeName
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import StatsRead
from omnigraph.engine.travel import view_for
from omnigraph.read.changes.filter import kind_of
from omnigraph.read.statistics import storage_statistics
from omnigraph.store.upgrade import UPGRADES

__all__ = ["INTERNAL_SCHEMA_VERSION", "SnapshotTables", "TableInfo", "tables"]

INTERNAL_SCHEMA_VERSION = UPGRADES.newest
"""The version of the layout on disk that this omnigraph writes."""


@frozen
class TableInfo:
    """The rows of one type; clients rely on these names."""

    entity_kind: EntityKind
    type_name: TypeName
    entity_count: int
    dataset_path: str
    native_dataset_branch: str | None
    published_dataset_version: int


@frozen
class SnapshotTables:
    """The tables of one commit."""

    graph_commit_id: CommitId
    graph_branch: BranchName
    graph_manifest_version: int
    internal_schema_version: int
    datasets: tuple[TableInfo, ...]
    """Nodes first, each sort by name."""


def tables(engine: Engine, request: StatsRead) -> SnapshotTables:
    """What a commit pins. Of rows that the caller may not see none is counted."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        counted = storage_statistics(view, engine.cache).tables
        snapshot = view.snapshot
        found = []
        for entity in view.catalog.entities:
            ref = snapshot.tables[entity.table_key].ref
            is_whole = not view.is_partial(entity)
            found.append(
                TableInfo(
                    entity_kind=kind_of(entity),
                    type_name=entity.name,
                    entity_count=counted[entity.table_key].row_count,
                    dataset_path=ref.path,
                    # Writes of hidden rows fork a table, and count as versions of it, too.
                    native_dataset_branch=ref.branch if is_whole else None,
                    published_dataset_version=ref.version if is_whole else 0,
                )
            )
    return SnapshotTables(
        graph_commit_id=snapshot.commit.id,
        graph_branch=snapshot.branch,
        graph_manifest_version=snapshot.commit.manifest_version,
        internal_schema_version=INTERNAL_SCHEMA_VERSION,
        datasets=tuple(found),
    )
