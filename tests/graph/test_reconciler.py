"""Indexes that are looked after in the background: of every branch, in nobody's way."""

import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.errors import ReadOnly
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName, TableKey
from omnigraph.engine.engine import Engine
from omnigraph.engine.reconcile import Reconciler
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.commits import CommitKind
from omnigraph.store.indexes import IndexKind
from omnigraph.store.limits import StoreLimits
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.upkeep import MAX_SMALL_FRAGMENT_ROWS, UPKEEP_ACTOR, Tidying
from omnigraph.write.work import CommitNote, Target, Work
from omnigraph.write.writer import write

SCHEMA = "node Page { name: String @key  year: I32? @index  tags: [String]? @index }"


def graph_at(place: Path, settings: Settings | None = None) -> Graph:
    graph = Graph.init(str(place / "g"), SCHEMA, durability="relaxed", settings=settings)
    add(graph, "a")
    return graph


def add(graph: Graph, name: str, branch: str = "main") -> None:
    change = f'query q() {{ insert Page {{ name: "{name}", year: 1, tags: ["x"] }} }}'
    graph.mutate(change, branch=branch)


def rows_of(graph: Graph) -> Counter[str]:
    rows = graph.query("query q() { match { $p: Page } return { $p.name, $p.year } }").to_pylist()
    return Counter(map(repr, rows))


def pending(graph: Graph, branch: str = "main") -> set[str | None]:
    return {index.pending for index in graph.indexes(branch)}


def test_it_builds_what_lags_on_every_branch_and_then_rests(tmp_path: Path) -> None:
    graph = graph_at(tmp_path)
    graph.branch_create("side")
    add(graph, "b", branch="side")
    reconciler = Reconciler(graph.engine)
    made = reconciler.run_once()
    assert [(c.graph_branch, c.kind, c.actor_id) for c in made] == [
        ("main", "index", UPKEEP_ACTOR), ("side", "index", UPKEEP_ACTOR)
    ]  # fmt: skip
    assert pending(graph) == pending(graph, "side") == {None}
    assert {index.kind for index in graph.indexes()} == {IndexKind.BTREE, IndexKind.LABEL_LIST}
    assert reconciler.run_once() == ()
    add(graph, "c")
    assert [c.graph_branch for c in reconciler.run_once()] == ["main"]
    assert pending(graph) == {None}


def test_it_passes_over_a_branch_that_a_writer_is_at_work_on(tmp_path: Path) -> None:
    graph = graph_at(tmp_path)
    with Graph.open(graph.uri).engine.store.fence(MAIN):
        assert Reconciler(graph.engine).run_once() == ()
    assert len(Reconciler(graph.engine).run_once()) == 1


def test_it_leaves_a_table_that_others_moved_for_the_next_time(tmp_path: Path) -> None:
    """A write came while it built: it builds nothing while others wait."""
    graph = graph_at(tmp_path)
    store, prepared = graph.engine.store, list[bool]()

    class Overtaken(Tidying):
        def prepare(self, snapshot: Snapshot) -> Work:
            work = super().prepare(snapshot)
            if not prepared:
                add(graph, "b")
            prepared.append(bool(work.tables))
            return work

    writer = Overtaken(store)
    written = write(store, writer, to=Target(MAIN), note=CommitNote(CommitKind.INDEX))
    assert written is not None and written.commit is None
    assert prepared == [True, False]
    assert len(Reconciler(graph.engine).run_once()) == 1


def test_it_fails_nobody_and_a_crash_of_it_is_settled(tmp_path: Path) -> None:
    graph = graph_at(tmp_path)
    mortal = Engine.open(graph.uri, faults=CrashAt(Failpoint.AFTER_LAND_ALL))
    with pytest.raises(Crash):
        Reconciler(mortal).run_once()
    add(graph, "b")
    assert [commit.kind for commit in graph.commits(limit=2)] == ["mutation", "index"]
    graph.branch_create("gone")
    reconciler = Reconciler(graph.engine)
    graph.branch_delete("gone")
    assert reconciler.run_on(BranchName("gone")) is None


def test_a_branch_that_was_cut_short_is_looked_at_again(tmp_path: Path) -> None:
    graph, may_begin = graph_at(tmp_path), [False]
    reconciler = Reconciler(graph.engine, may_begin=lambda: may_begin[0])
    assert reconciler.run_once() == ()
    may_begin[0] = True
    assert len(reconciler.run_once()) == 1
    stop = threading.Event()
    stop.set()
    add(graph, "b")
    assert reconciler.run_once(stop) == ()


@pytest.mark.parametrize("in_background", [False, True])
def test_in_the_background_a_table_of_many_files_is_written_anew(
    tmp_path: Path, in_background: bool
) -> None:
    """Of files that no writer compacts: they have too many rows for those who wait meanwhile."""
    many = MAX_SMALL_FRAGMENT_ROWS + 1
    settings = Settings(store_limits=StoreLimits(max_small_fragments=2))
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed", settings=settings)
    for letter in "abc":
        rows = pa.table({"name": [f"{letter}{n}" for n in range(many)], "year": [1] * many})
        graph.load({"Page": rows}, mode="append", engine="local")
    before = rows_of(graph)
    reconciler = Reconciler(graph.engine, in_background=in_background)
    (made,) = reconciler.run_once()
    assert made.kind == ("optimize" if in_background else "index")
    assert graph.stats().tables[TableKey("node:Page")].fragments == (1 if in_background else 3)
    assert (rows_of(graph), pending(graph)) == (before, {None})
    assert reconciler.run_once() == ()


def test_in_the_background_no_spark_is_started(tmp_path: Path) -> None:
    """A table that takes it is left to `optimize`."""
    none = LoadLimits(max_index_task_bytes=0, max_local_index_bytes=0)
    graph = graph_at(tmp_path, Settings(load_limits=none, load_engine="auto"))
    assert Reconciler(graph.engine, in_background=True).run_once() == ()
    local = Graph.open(graph.uri, settings=Settings(load_limits=none, load_engine="local"))
    assert len(Reconciler(local.engine, in_background=True).run_once()) == 1


def test_a_graph_opened_to_read_has_none(tmp_path: Path) -> None:
    reader = Graph.open(graph_at(tmp_path).uri, read_only=True)
    with pytest.raises(ReadOnly):
        Reconciler(reader.engine)


def test_a_large_load_is_followed_by_the_indexes_it_needs(tmp_path: Path) -> None:
    settings = Settings(load_limits=LoadLimits(min_indexed_rows=2))
    graph = graph_at(tmp_path, settings)
    row = {"type": "Page", "data": {"name": "b"}}
    graph.load([row], mode="append", engine="local")
    assert {index.built for index in graph.indexes()} == {False}
    two = [{"type": "Page", "data": {"name": name}} for name in "cd"]
    result = graph.load(two, mode="append", engine="local")
    index, load, *_ = graph.commits()
    assert (index.kind, load.kind, load) == ("index", "load", result.commit)
    assert pending(graph) == {None}
