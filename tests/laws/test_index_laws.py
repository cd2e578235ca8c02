"""No answer depends on the indexes of the files: plans over indexed tables, whole or in part."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.ids import TypeName
from omnigraph.base.types import ListOf, Scalar
from omnigraph.lang.plan.conditions import Condition
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.view import View
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import Datasets, index_steps
from omnigraph.store.durability import Durability
from omnigraph.store.indexes import IndexKind, WantedIndex
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import Append, DatasetRef
from tests.buckets import location_of
from tests.laws.test_view_laws import agree, without_hidden
from tests.reference.naive import PlainGraph
from tests.reference.random_conditions import conditions
from tests.reference.random_plans import RandomQuery, graphs, queries
from tests.reference.small_graph import stored, table

Conditions = dict[TypeName, Condition]


def wanted(entity: EntityType) -> list[WantedIndex]:
    """An index of each kind that can answer, over every column."""
    found = [WantedIndex("id", IndexKind.BTREE)]
    for property_ in entity.properties:
        if property_.type is Scalar.STRING:
            found.append(WantedIndex(property_.column, IndexKind.NGRAM))
        is_list = isinstance(property_.type, ListOf)
        kind = IndexKind.LABEL_LIST if is_list else IndexKind.BTREE
        found.append(WantedIndex(property_.column, kind))
    return found


def indexed(graph: PlainGraph, root: Path, share: float) -> Snapshot:
    """The graph as tables of which indexes cover the first rows."""
    datasets = Datasets(location_of(root), Durability.RELAXED)
    bare, rows = stored(graph, root / "bare"), {**graph.nodes, **graph.edges}
    changes = []
    for change in bare.commit.changes:
        (entity,) = [e for e in graph.catalog.entities if e.table_key == change.key]
        all_rows = table(entity, rows[entity.name])
        covered = round(share * all_rows.num_rows)
        path = f"nodes/{entity.name}"
        ref = datasets.create(path, table_schema(entity), all_rows.slice(0, covered))
        ref = covering(datasets, ref, entity)
        later = all_rows.slice(covered)
        if later.num_rows:
            append = Append(datasets.stage_rows(ref, later))
            ref = datasets.land(datasets.stage(ref, append, {}))
        changes.append(replace(change, ref=ref))
    commit = replace(bare.commit, changes=tuple(changes))
    return Snapshot(commit, bare.branch, graph.catalog, commit.entries, datasets)


def covering(datasets: Datasets, ref: DatasetRef, entity: EntityType) -> DatasetRef:
    dataset = datasets.own(ref)
    index = datasets.stage_indexes(dataset, index_steps(dataset, wanted(entity)), ref=ref)
    return ref if index is None else datasets.land(datasets.stage(ref, index, {}))


@given(graphs(), queries(), conditions(), st.sampled_from([1.0, 0.5]))
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_an_answer_through_indexes_is_the_one_of_plain_rows(
    graph: PlainGraph, query: RandomQuery, visible: Conditions, share: float
) -> None:
    """Hidden rows stay hidden: an index knows them all."""
    with tempfile.TemporaryDirectory() as root:
        snapshot = indexed(graph, Path(root), share)
        for conditions_ in ({}, visible):
            view, plain = View.where(snapshot, conditions_), without_hidden(graph, conditions_)
            agree(query, query.plan, view, plain, RuntimeCache(), TraversalMode.INDEXED)
