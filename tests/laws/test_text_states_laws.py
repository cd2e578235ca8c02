"""Text search in any state of a graph: after any commits, on a fork, at an old commit, in a view.

What a handle answers that followed every commit is what the definition says of the commit's rows,
to the last bit of a score; and so is what a process says that finds an earlier one's copies.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.ids import MAIN, BranchName, TypeName
from omnigraph.base.types import Scalar
from omnigraph.engine.settings import Settings
from omnigraph.lang.plan.ir import Compare, CompareOp, IdentityOf, Literal
from omnigraph.lang.query.check.typed import ROW
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View
from omnigraph.store.limits import StoreLimits
from omnigraph.store.snapshot import Snapshot
from tests.laws.lines import COMPACTIONS
from tests.reference.naive_text import NaiveTexts

SCHEMA = "node Doc { key: String @key  body: String?  seen: I32? }"

CHANGES = """
query put($key: String, $body: String?) { insert Doc { key: $key, body: $body } }
query touch($key: String) { update Doc set { seen: 1 } where key = $key }
query remove($key: String) { delete Doc where key = $key }
"""

DOC = TypeName("Doc")
WORDS = ["the", "cat", "cats", "cut", "catalogue", "of"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
KEYS = st.integers(0, 7).map(lambda number: f"d{number}")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.none() | TEXTS),
        st.tuples(st.just("touch"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("optimize")),
        st.tuples(st.just("fork")),
    ),
    min_size=1,
    max_size=6,
)
KEEP_ALL = ReadLimits(min_disk_entry_bytes=0)
FOLLOW_ALL = ReadLimits(max_rows_per_kept_row=1_000)


def take(graph: Graph, branch: str, step: Sequence[Any]) -> str:
    """Make a step on a branch, and say on which branch the next is made."""
    name, *arguments = step
    if name == "fork":
        graph.branch_create(f"{branch}-1", from_=branch)
        return f"{branch}-1"
    if name == "optimize":
        graph.optimize(branch=branch)
    else:
        parameters = dict(zip(("key", "body"), arguments, strict=False))
        graph.mutate(CHANGES, name, parameters, branch=branch)
    return branch


def check(view: View, cache: RuntimeCache, query: str) -> None:
    columns, _, searches = tables_of(view, cache)
    entity = view.catalog.node_by_name[DOC]
    column = entity.by_name["body"].column
    index = searches.text(entity, column)
    texts = columns.values(entity, column, None).to_pylist()
    naive = NaiveTexts(texts)
    scores = naive.scores(query)
    assert np.flatnonzero(index.search(query)).tolist() == naive.search(query)
    assert np.flatnonzero(index.phrase(query)).tolist() == naive.phrase(query)
    assert np.flatnonzero(index.fuzzy(query, 1)).tolist() == naive.fuzzy(query, 1)
    whole = index.scores(query, None).tolist()
    assert {row: s for row, s in enumerate(whole) if not np.isnan(s)} == scores
    best = index.best(query, len(texts) + 1, None)
    assert dict(zip(best.rows.tolist(), best.scores.tolist(), strict=True)) == scores


def without(snapshot: Snapshot, id_: str) -> View:
    condition = Compare(CompareOp.NE, IdentityOf(ROW), Literal(id_, Scalar.STRING))
    return View.where(snapshot, {DOC: condition})


@given(st.lists(TEXTS, max_size=6), STEPS, TEXTS, KEYS, COMPACTIONS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_text_search_follows_every_commit(
    first: list[str],
    steps: list[tuple[Any, ...]],
    query: str,
    hidden: str,
    compaction: StoreLimits,
) -> None:
    with tempfile.TemporaryDirectory() as place:
        disk = DiskCache(Path(place, "cache"), KEEP_ALL)
        cache = RuntimeCache(FOLLOW_ALL, disk=disk)
        own = Settings(store_limits=compaction)
        at = str(Path(place, "graph"))
        with Graph.init(at, SCHEMA, durability="relaxed", settings=own) as graph:
            rows = "\n".join(
                f'insert Doc {{ key: "d{number}", body: "{text}" }}'
                for number, text in enumerate(first)
            )
            if rows:
                graph.mutate(f"query first() {{ {rows} }}")
            branch, seen = "main", [graph.engine.store.snapshot(MAIN)]
            check(View(seen[0]), cache, query)
            for step in steps:
                branch = take(graph, branch, step)
                seen.append(graph.engine.store.snapshot(BranchName(branch)))
                check(View(seen[-1]), cache, query)
                check(without(seen[-1], hidden), cache, query)
            for snapshot in reversed(seen):
                check(View(snapshot), cache, query)
                check(View(snapshot), RuntimeCache(disk=disk), query)
