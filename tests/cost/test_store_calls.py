"""What an operation asks of storage: counts, not seconds. They follow the work, not the past."""

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.maintain import optimize
from omnigraph.engine.requests import Optimize
from omnigraph.engine.settings import Settings
from omnigraph.store.branching import create_branch
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.limits import DEFAULT_LIMITS
from omnigraph.store.moving import bring_here
from omnigraph.store.publish import publish
from omnigraph.store.statistics import gather
from omnigraph.write.work import OnConflict
from tests.cost.counting import SETTLE_S, Calls, counted_store
from tests.store_contract.builders import (
    changes,
    contents,
    knows,
    load,
    make_store,
    open_store,
    people,
    put,
)


def lengthen(store: GraphStore, commits: int) -> None:
    """Commit until there are so many commits; they change no table, so that it stays quick."""
    with store.fence(MAIN) as held:
        state = store.state(held.branch)
        while (seq := state.recent[-1].seq + 1) < commits:
            commit = Commit(
                id=CommitId(store.clock.ulid()),
                parent=state.head,
                branch=MAIN,
                seq=seq,
                kind=CommitKind.MUTATION,
                created_at_ms=seq,
                schema_hash=store.snapshot().schema_hash,
                changes=(),
            )
            state = publish(store.manifest, held, onto=state, commit=commit, now_ms=seq)


def cost(place: Path, operation: Callable[[GraphStore], object]) -> Calls:
    """What a handle that has never been used asks of storage for it."""
    time.sleep(SETTLE_S)
    store, calls = counted_store(place)
    operation(store)
    return calls


OPERATIONS: dict[str, Callable[[GraphStore], object]] = {
    "open": lambda store: store.snapshot(),
    "read": lambda store: contents(store),
    "write": lambda store: put(store, changes(people=people(ada=2), knows=knows("ada-bob"))),
    "list a few commits": lambda store: list(islice(store.history().line(), 3)),
}


def test_opening_reading_and_writing_cost_the_same_however_long_the_history_is(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lengths = (10, 100, 2_000) if request.config.getoption("--deep") else (10, 100, 200)
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1), knows=knows("ada-ada")))
    costs = []
    for length in lengths:
        lengthen(store, length)
        costs.append({name: cost(tmp_path, run) for name, run in OPERATIONS.items()})
    for later in costs[1:]:
        assert later == costs[0]


def test_a_warm_handle_looks_once_and_reads_nothing(tmp_path: Path) -> None:
    put(make_store(tmp_path), changes(people=people(ada=1)))
    time.sleep(SETTLE_S)
    store, calls = counted_store(tmp_path)
    store.snapshot()
    calls.clear()
    for _ in range(5):
        store.snapshot()
    assert calls == {"look_at_versions": 5}


def test_a_commit_looks_four_times_whether_anything_has_changed(tmp_path: Path) -> None:
    put(make_store(tmp_path), changes(people=people(ada=1)))
    store, calls = counted_store(tmp_path)
    store.snapshot()
    time.sleep(SETTLE_S)
    calls.clear()
    put(
        store,
        changes(people=people(ada=2)),
        on_conflict=OnConflict.PREPARE_AGAIN,
        waits_first=True,
    )
    # Before it prepares, before and behind the fence, and before it publishes.
    assert calls["look_at_versions"] == 4
    assert calls["list"] == 1  # of notes that a dead writer left, behind the fence


def test_upkeep_that_is_overtaken_does_again_only_what_has_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_store(tmp_path)
    for number in range(3):
        put(writer, changes(people=people(**{f"p{number}": 1}), knows=knows(f"a-{number}")))
    store, calls = counted_store(tmp_path)
    fence, moves = store.fence, iter([changes(people=people(eve=1))])

    def overtaken(name: BranchName, **options: Any) -> Any:
        if (move := next(moves, None)) is not None:
            put(writer, move)
        return fence(name, **options)

    monkeypatch.setattr(store, "fence", overtaken)
    done = optimize(Engine.over(store, Settings()), Optimize())
    assert {*done.compacted} == {"node:Person", "edge:Knows"}
    assert calls["stage_compaction"] == 3
    assert contents(writer) == (
        {"p0": 1, "p1": 1, "p2": 1, "eve": 1},
        {"a-0", "a-1", "a-2"},
    )


def test_only_the_publish_that_fills_a_cold_fragment_pays_for_it(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    lengthen(store, DEFAULT_LIMITS.commits_per_cold_fragment - 1)
    edit = OPERATIONS["write"]
    usual, cooling, after = (cost(tmp_path, edit) for _ in range(3))
    assert usual == after
    cleaning = {"forget_old_versions": 1, "fork_names": 1, "open_newest": 1}
    assert cooling - usual == {"stage_rows": 1, "open": 1, "_handle": 2, **cleaning}


def test_to_open_a_graph_where_it_was_left_takes_one_small_read_more(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1)))
    for number in range(3):
        create_branch(store, BranchName(f"side{number}"))
        assert cost(tmp_path, lambda store: bring_here(store)) == {"get": 1}


def test_making_a_branch_costs_the_same_for_a_graph_of_any_size(tmp_path: Path) -> None:
    costs, made = [], []
    for size in (1, 5_000):
        place = tmp_path / str(size)
        store = make_store(place)
        for part in range(3 if size > 1 else 1):
            rows = people(**{f"p{part}-{number}": number for number in range(size)})
            load(store, people=rows, knows=knows("a-b"))
        files = set(place.rglob("*"))
        costs.append(cost(place, lambda store: create_branch(store, BranchName("side"))))
        made.append(sorted(f.suffix for f in set(place.rglob("*")) - files if f.is_file()))
    assert costs[0] == costs[1]
    assert made[0] == made[1]


def test_readers_take_no_fence_and_leave_no_trace(tmp_path: Path) -> None:
    writer = make_store(tmp_path)
    first = put(writer, changes(people=people(ada=1), knows=knows("ada-bob")))
    create_branch(writer, BranchName("side"))
    assert first is not None
    with writer.fence(MAIN), writer.fence(BranchName("side")):
        files = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
        reader, _ = counted_store(tmp_path, without_fences=True)
        for branch in (MAIN, BranchName("side")):
            assert contents(reader, branch) == ({"ada": 1}, {"ada-bob"})
        assert reader.snapshot_at(first).commit == reader.history().get(first)
        assert len(reader.history().ancestors(first)) == 2
        assert gather(reader.snapshot()).tables
        assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == files
    assert contents(open_store(tmp_path)) == ({"ada": 1}, {"ada-bob"})
