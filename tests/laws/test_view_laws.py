"""What a view hides is not there: the answers are those of a graph without the hidden rows."""

import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from omnigraph.base.ids import TypeName
from omnigraph.engine.engine import Engine
from omnigraph.engine.export import export
from omnigraph.engine.requests import Export
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.plan.optimise import optimise
from omnigraph.read.run import run
from omnigraph.read.statistics import statistics_of, storage_statistics
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.view import View
from tests.laws.test_read_laws import NOW_MS, canonical
from tests.reference.engines import SOMEONE, an_engine, seeing
from tests.reference.naive import Entity, Naive, PlainGraph
from tests.reference.naive_conditions import meets
from tests.reference.random_conditions import conditions
from tests.reference.random_plans import CATALOG, RandomQuery, graphs, queries
from tests.reference.small_graph import plain_graph, stored

Conditions = dict[TypeName, Condition]

LAWS = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return an_engine(tmp_path_factory.mktemp("engine") / "g")


def without_hidden(graph: PlainGraph, visible: Conditions) -> PlainGraph:
    """The graph from which the hidden rows were really removed."""
    naive = Naive(graph)

    def is_seen(entity: Entity) -> bool:
        return meets(naive, visible.get(TypeName(entity.type), ALWAYS), entity)

    rows = {name: [e for e in nodes if is_seen(e)] for name, nodes in graph.nodes.items()}
    ids = {name: {node.id for node in nodes} for name, nodes in rows.items()}
    for edge in graph.catalog.edges:
        rows[edge.name] = [
            e
            for e in graph.edges[edge.name]
            if is_seen(e) and e.src in ids[edge.source] and e.dst in ids[edge.target]
        ]
    return plain_graph(graph.catalog, rows)


def agree(
    query: RandomQuery,
    plan: ir.Project,
    view: View,
    plain: PlainGraph,
    cache: RuntimeCache,
    mode: TraversalMode,
) -> None:
    read = ir.ReadQuery("random", (), plan, (), ())
    table = run(read, view, query.parameters, cache=cache, now_ms=NOW_MS, mode=mode).table
    ours = [canonical(row) for row in table.to_pylist()]
    theirs = [canonical(row) for row in Naive(plain, query.parameters, NOW_MS).answer(query.plan)]
    if query.is_ordered:
        assert ours == theirs
    else:
        assert sorted(ours, key=repr) == sorted(theirs, key=repr)


@given(graphs(), queries(), conditions(), conditions())
@LAWS
def test_a_view_answers_as_the_graph_without_what_it_hides(
    graph: PlainGraph, query: RandomQuery, visible: Conditions, others: Conditions
) -> None:
    """Also where another view of the same snapshot has filled the cache, or one of all of it."""
    with tempfile.TemporaryDirectory() as root:
        snapshot, cache = stored(graph, Path(root)), RuntimeCache()
        for conditions_ in (visible, {}, others, visible):
            view = View.where(snapshot, conditions_)
            plain = without_hidden(graph, conditions_)
            for mode in (TraversalMode.INDEXED, TraversalMode.CSR):
                agree(query, query.plan, view, plain, cache, mode)


@given(graphs(), queries(), conditions())
@LAWS
def test_plans_know_only_what_the_view_shows(
    graph: PlainGraph, query: RandomQuery, visible: Conditions
) -> None:
    names = [entity.name for entity in CATALOG.entities]
    properties = sorted({p.name for entity in CATALOG.entities for p in entity.properties})
    plain = without_hidden(graph, visible)
    with tempfile.TemporaryDirectory() as root:
        view = View.where(stored(graph, Path(root, "whole")), visible)
        cache = RuntimeCache()
        removed = View(stored(plain, Path(root, "removed")))
        known = statistics_of(view, cache, names, properties)
        assert known == statistics_of(removed, RuntimeCache(), names, properties)
        counts = {key: t.row_count for key, t in storage_statistics(view, cache).tables.items()}
        assert counts == {key: entry.row_count for key, entry in removed.snapshot.tables.items()}
        read = optimise(ir.ReadQuery("random", (), query.plan, (), ()), CATALOG, known)
        assert isinstance(read, ir.ReadQuery)
        agree(query, read.plan, view, plain, cache, TraversalMode.AUTO)


@given(graphs(), conditions())
@LAWS
def test_an_export_holds_what_the_view_shows(
    engine: Engine, graph: PlainGraph, visible: Conditions
) -> None:
    plain = without_hidden(graph, visible)
    with tempfile.TemporaryDirectory() as root:
        exports = (
            (seeing(engine, visible), stored(graph, Path(root, "whole"))),
            (engine, stored(plain, Path(root, "removed"))),
        )
        texts = []
        for one, snapshot in exports:
            sink = io.BytesIO()
            export(one, Export.of(sink, moment=snapshot, actor=SOMEONE))
            texts.append(sink.getvalue())
    assert texts[0] == texts[1]


@given(graphs(), conditions())
@LAWS
def test_rows_are_found_by_id_only_where_they_are_shown(
    graph: PlainGraph, visible: Conditions
) -> None:
    plain = without_hidden(graph, visible)
    with tempfile.TemporaryDirectory() as root:
        view = View.where(stored(graph, Path(root)), visible)
        for entity in CATALOG.entities:
            rows = {**graph.nodes, **graph.edges}[entity.name]
            ids = pa.array([row.id for row in rows], pa.string())
            expected = [row.id for row in {**plain.nodes, **plain.edges}[entity.name]]
            assert sorted(view.rows_of(entity, ids, [])["id"].to_pylist()) == sorted(expected)
            assert sorted(view.scan(entity, [], None)["id"].to_pylist()) == sorted(expected)
