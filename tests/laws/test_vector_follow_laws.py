"""A handle that has followed a graph finds the vectors that one opened just now finds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.ids import BranchName
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.search.vectors_streamed import StreamedVectors
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.snapshot import Snapshot
from tests.laws.lines import COMPACTIONS

SCHEMA = "node Doc { name: String @key  v: Vector(4)? }"
PUT = "query put($n: String, $v: Vector(4)?) { insert Doc { name: $n, v: $v } }"
DROP = "query drop($n: String) { delete Doc where name = $n }"

# On tables this small nothing is worth following, keeping or putting in lists, and all must be.
EXACT = ReadLimits(max_rows_per_kept_row=1_000, min_disk_entry_bytes=0)
LISTED = ReadLimits(max_rows_per_kept_row=1_000, min_disk_entry_bytes=0, max_exact_floats=0)

BEYOND = ReadLimits(max_cache_bytes=0, max_exact_floats=8)

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "drop", "compact", "fork"]),
        st.integers(0, 11),
        st.none() | st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any),
    ),
    min_size=2,
    max_size=8,
)
few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
QUERIES = [np.array(q, dtype=np.float32) for q in ([1, 0, 0, 0], [1, -2, 3, 1], [0, 0, -1, 2])]


def started(root: Path, limits: StoreLimits = DEFAULT_LIMITS) -> Graph:
    settings = Settings(store_limits=limits)
    graph = Graph.init(root / "g", SCHEMA, durability="relaxed", settings=settings)
    random = np.random.default_rng(0)
    rows = [random.integers(1, 4, 4) * (-1) ** random.integers(0, 2, 4) for _ in range(12)]
    inserts = [f'insert Doc {{ name: "d{n}", v: {row.tolist()} }}' for n, row in enumerate(rows)]
    graph.mutate(f"query start() {{ {' '.join(inserts)} }}")
    return graph


def vectors(snapshot: Snapshot, cache: RuntimeCache) -> Vectors | ListedVectors | StreamedVectors:
    entity = snapshot.catalog.node_by_name["Doc"]
    column = entity.by_name["v"].column
    found = tables_of(View(snapshot), cache).searches.vectors(entity, column)
    assert isinstance(found, Vectors | ListedVectors | StreamedVectors)
    return found


def answers(snapshot: Snapshot, cache: RuntimeCache) -> list[object]:
    index = vectors(snapshot, cache)
    found: list[object] = []
    for query in QUERIES:
        for exact in (True, False):
            best = index.best(query, 3, None, exact=exact)
            found.append(sorted(zip(best.scores.tolist(), best.rows.tolist(), strict=True)))
        found.append([str(score) for score in index.scores(query, None)])
    return found


def moments(graph: Graph, steps: list[tuple[str, int, list[int] | None]]) -> Iterator[Snapshot]:
    """The graph after each step, as another process sees it."""
    branch = "main"
    reader = GraphStore.open(str(graph.uri))
    for number, (kind, which, vector) in enumerate(steps):
        match kind:
            case "put":
                graph.mutate(PUT, params={"n": f"d{which}", "v": vector}, branch=branch)
            case "drop":
                graph.mutate(DROP, params={"n": f"d{which}"}, branch=branch)
            case "compact":
                graph.optimize(branch=branch)
            case _:
                graph.branch_create(f"b{number}", branch)
                branch = f"b{number}"
        yield reader.snapshot(BranchName(branch))


@pytest.mark.parametrize("limits", [EXACT, LISTED], ids=["exact", "in lists"])
@given(steps=STEPS, compaction=COMPACTIONS)
@few
def test_an_open_handle_and_a_fresh_one_agree(
    limits: ReadLimits, steps: list[tuple[str, int, list[int] | None]], compaction: StoreLimits
) -> None:
    with tempfile.TemporaryDirectory() as root:
        graph = started(Path(root), compaction)
        disk = DiskCache(Path(root) / "cache", limits)
        open_cache, seen = RuntimeCache(limits), []
        for snapshot in moments(graph, steps):
            fresh = answers(snapshot, RuntimeCache(limits))
            assert answers(snapshot, open_cache) == fresh
            assert answers(snapshot, RuntimeCache(limits, disk=disk)) == fresh
            seen.append((snapshot, fresh))
        # Back again: what was read last is now what comes later.
        for snapshot, fresh in reversed(seen):
            assert answers(snapshot, open_cache) == fresh


def test_lists_stay_while_rows_come_and_go(tmp_path: Path) -> None:
    """A commit after which all lists are made anew would cost seconds on a large table."""
    graph = started(tmp_path)
    cache = RuntimeCache(LISTED)
    reader = GraphStore.open(str(graph.uri))
    first = vectors(reader.snapshot(BranchName("main")), cache)
    graph.mutate(DROP, params={"n": "d1"})
    graph.mutate(PUT, params={"n": "d2", "v": [1, 1, 1, 1]})
    snapshot = reader.snapshot(BranchName("main"))
    for later in (vectors(snapshot, cache), vectors(snapshot, RuntimeCache(LISTED))):
        assert isinstance(first, ListedVectors) and isinstance(later, ListedVectors)
        assert later.codebook.origin == first.codebook.origin
        assert np.array_equal(later.codebook.centroids, first.codebook.centroids)


def test_a_new_process_maps_what_another_left(tmp_path: Path) -> None:
    graph = started(tmp_path)
    snapshot = GraphStore.open(str(graph.uri)).snapshot(BranchName("main"))
    for limits in (EXACT, LISTED):
        disk = DiskCache(tmp_path / str(limits.max_exact_floats), limits)
        vectors(snapshot, RuntimeCache(limits, disk=disk))
        mapped = vectors(snapshot, RuntimeCache(limits, disk=disk))
        held = mapped.vectors if isinstance(mapped, ListedVectors) else mapped
        assert isinstance(held, Vectors)
        assert isinstance(held.base.base, np.memmap)


@given(steps=STEPS)
@few
def test_vectors_beyond_memory_are_found_in_the_files(
    steps: list[tuple[str, int, list[int] | None]],
) -> None:
    with tempfile.TemporaryDirectory() as root:
        for snapshot in moments(started(Path(root)), steps):
            held = vectors(snapshot, RuntimeCache(EXACT))
            streamed = vectors(snapshot, RuntimeCache(BEYOND))
            assert isinstance(streamed, StreamedVectors)
            assert answers(snapshot, RuntimeCache(BEYOND)) == answers(snapshot, RuntimeCache(EXACT))
            for part in (2, 9):
                among = np.arange(held.row_count) % part == 0
                for query in QUERIES:
                    one, other = (i.best(query, 2, among, exact=True) for i in (held, streamed))
                    assert sorted(one.rows) == sorted(other.rows)
                    rows = np.append(np.flatnonzero(among), [-1])
                    one_scores, others = (i.scores(query, rows) for i in (held, streamed))
                    assert np.array_equal(one_scores, others, equal_nan=True)
