"""What a view hides is not there: a diff is that of two graphs without the hidden rows."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings

from omnigraph.base.ids import MAIN
from omnigraph.engine.change_results import Diff
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.changes.compare import Comparison
from omnigraph.read.view import View
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.laws.test_diff_laws import described
from tests.laws.test_view_laws import Conditions, without_hidden
from tests.reference.naive import PlainGraph
from tests.reference.random_conditions import conditions
from tests.reference.random_plans import CATALOG, graphs
from tests.reference.small_graph import plain_graph, table

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]

NOTHING = plain_graph(CATALOG, {})


def rows_of(graph: PlainGraph) -> Rows:
    entities = {**graph.nodes, **graph.edges}
    return {
        entity.name: {row["id"]: row for row in table(entity, entities[entity.name]).to_pylist()}
        for entity in CATALOG.entities
    }


def edits(before: PlainGraph, after: PlainGraph) -> Edits:
    was, now = rows_of(before), rows_of(after)
    entities = {**after.nodes, **after.edges}

    def of(entity: EntityType) -> RowEdits:
        old, new = was[entity.name], now[entity.name]
        put = [row for row in entities[entity.name] if old.get(row.id) != new[row.id]]
        gone = [id_ for id_ in old if id_ not in new]
        return RowEdits(table(entity, put), pa.array(gone, pa.string()))

    return Edits({entity.table_key: of(entity) for entity in CATALOG.entities})


def written(store: GraphStore, change: Edits) -> Snapshot:
    write(store, Replay(change), to=Target(MAIN), note=CommitNote(CommitKind.MUTATION))
    return store.snapshot()


@given(graphs(), graphs(), conditions())
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
    max_examples=settings().max_examples // 2,
)
def test_a_diff_shows_what_the_view_shows_of_both_sides(
    before: PlainGraph, after: PlainGraph, visible: Conditions
) -> None:
    """Also of an edge that stays as it is while one of its ends comes into sight."""
    with tempfile.TemporaryDirectory() as root:
        store = GraphStore.init(
            str(Path(root, "g")), CATALOG, source="", durability=Durability.RELAXED
        )
        one = written(store, edits(NOTHING, before))
        other = written(store, edits(before, after))
        diff = Diff.of(Comparison(View.where(one, visible), View.where(other, visible)))
        was, now = (rows_of(without_hidden(graph, visible)) for graph in (before, after))
        assert list(described(diff.tables())) == [
            ("edge" if entity in CATALOG.edges else "node", entity.name, id_, op, old, new)
            for entity in CATALOG.entities
            for id_ in sorted({*was[entity.name], *now[entity.name]})
            if (old := was[entity.name].get(id_)) != (new := now[entity.name].get(id_))
            for op in ["insert" if old is None else "delete" if new is None else "update"]
        ]
