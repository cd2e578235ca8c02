"""Small graphs, twice: as plain rows and as real tables on disk, for the reader to agree on."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from omnigraph.base.ids import MAIN, CommitId
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.store.arrow import table_schema
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.layout import table_path
from omnigraph.store.snapshot import Snapshot
from tests.buckets import location_of
from tests.reference.naive import Entity, PlainGraph


def catalog_of(schema: str) -> Catalog:
    return compile_schema(SourceText(schema))


def plain_graph(catalog: Catalog, rows: Mapping[str, Sequence[Entity]]) -> PlainGraph:
    return PlainGraph(
        catalog,
        nodes={node.name: list(rows.get(node.name, ())) for node in catalog.nodes},
        edges={edge.name: list(rows.get(edge.name, ())) for edge in catalog.edges},
    )


def stored(graph: PlainGraph, root: Path) -> Snapshot:
    """The same graph as tables, pinned as a first commit would pin them."""
    datasets = Datasets(location_of(root), Durability.RELAXED)
    rows = {**graph.nodes, **graph.edges}
    commit = Commit(
        id=CommitId("0" * 26),
        parent=None,
        branch=MAIN,
        seq=0,
        kind=CommitKind.INIT,
        created_at_ms=0,
        schema_hash="",
        changes=tuple(
            TableChange(
                key=entity.table_key,
                ref=datasets.create(
                    table_path(entity), table_schema(entity), table(entity, rows[entity.name])
                ),
                row_count=len(rows[entity.name]),
            )
            for entity in graph.catalog.entities
        ),
    )
    return Snapshot(commit, MAIN, graph.catalog, commit.entries, datasets)


def table(entity: EntityType, rows: Sequence[Entity]) -> pa.Table:
    """Rows of one type as its table holds them."""
    system = ("id", "src", "dst")
    named = {p.column: p.name for p in entity.properties}
    schema = table_schema(entity)
    columns = [
        [getattr(row, name) if name in system else row.values.get(named[name]) for row in rows]
        for name in schema.names
    ]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
