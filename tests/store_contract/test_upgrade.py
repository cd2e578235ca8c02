"""The layout on disk moves forward when it is written, and is never misread."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.errors import SchemaVersionUnsupported, StorageFailed
from omnigraph.base.failpoints import Crash
from omnigraph.base.ids import BranchName
from omnigraph.store.branching import create_branch
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.transactions import SetMetadata, Update
from omnigraph.store.upgrade import STAMP, Upgrades
from tests.buckets import location_of
from tests.crash.faulty import store_of
from tests.store_contract.builders import (
    changes,
    contents,
    make_store,
    open_store,
    people,
    put,
)


def note_layout(datasets: Datasets, branch: str | None) -> None:
    """From 1 to 2: every commit of the hot fragment says by which layout it is kept."""
    manifest = datasets.open_newest(MANIFEST, branch)
    hot = max(manifest.fragment_ids)
    rows = manifest.scan(manifest.column_names, fragment_ids=[hot])
    noted = [_with_note(row) for row in rows.to_pylist()]
    if noted == rows.to_pylist():
        return
    fresh = datasets.stage_rows(manifest.ref, pa.Table.from_pylist(noted, schema=rows.schema))
    swap = Update(removed=(hot,), new=fresh)
    datasets.land(datasets.stage(manifest.ref, swap, {}))


def _with_note(row: dict[str, object]) -> dict[str, object]:
    if row["object_type"] != "graph_commit":
        return row
    commit = json.loads(str(row["metadata"]))
    return {**row, "metadata": json.dumps({**commit, "extra": {"layout": "2"}})}


def die_in_between(datasets: Datasets, branch: str | None) -> None:
    note_layout(datasets, branch)
    raise Crash("before the stamp")


NEXT = Upgrades((note_layout,))


def newer(place: Path) -> GraphStore:
    """The graph in the hands of the next omnigraph."""
    return store_of(place, upgrades=NEXT)


def stamp(store: GraphStore, branch: str | None = None) -> bytes | None:
    return store.datasets.open_newest(MANIFEST, branch).schema_metadata.get(STAMP.encode())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    store = make_store(tmp_path)
    put(store, changes(people=people(ada=1)))
    create_branch(store, BranchName("side"))
    return tmp_path


def test_a_new_graph_has_the_layout_of_whoever_makes_it(place: Path) -> None:
    assert stamp(open_store(place)) == b"1"


def test_reading_an_old_layout_writes_nothing(place: Path) -> None:
    files = sorted(place.rglob("*"))
    assert contents(newer(place)) == ({"ada": 1}, set())
    assert sorted(place.rglob("*")) == files


def test_a_write_walks_its_branch_forward_and_no_other(place: Path) -> None:
    store = newer(place)
    put(store, changes(people=people(ada=2)))
    assert stamp(store) == b"2"
    assert [c.extra for c in newer(place).history().line()] == [
        {},
        {"layout": "2"},
        {"layout": "2"},
    ]
    assert contents(newer(place))[0] == {"ada": 2}
    side = store.branches.resolve(BranchName("side")).lance_branch
    assert stamp(store, side) == b"1"
    put(store, changes(people=people(ada=3)), branch="side")
    assert stamp(store, side) == b"2"
    assert contents(store, "side")[0] == {"ada": 3}


def test_opening_to_write_walks_main_forward_once(place: Path) -> None:
    newer(place).bring_up_to_date()
    version = newer(place).manifest.newest(None).version
    newer(place).bring_up_to_date()
    assert newer(place).manifest.newest(None).version == version
    assert stamp(newer(place)) == b"2"


def test_a_step_that_was_cut_off_is_made_again(place: Path) -> None:
    cut_off = store_of(place, upgrades=Upgrades((die_in_between,)))
    with pytest.raises(Crash):
        put(cut_off, changes(people=people(ada=2)))
    assert contents(open_store(place))[0] == {"ada": 1}
    put(newer(place), changes(people=people(ada=2)))
    assert contents(newer(place))[0] == {"ada": 2}
    assert len(list(newer(place).history().line())) == 3


def test_an_older_omnigraph_is_told_to_upgrade_even_while_it_runs(place: Path) -> None:
    running = open_store(place)
    assert contents(running)[0] == {"ada": 1}
    put(newer(place), changes(people=people(ada=2)))
    for attempt in (
        lambda: open_store(place),
        lambda: running.snapshot(),
        lambda: put(running, changes(people=people(ada=9))),
    ):
        with pytest.raises(SchemaVersionUnsupported, match="storage version 2") as caught:
            attempt()
        assert caught.value.hint == "upgrade omnigraph first"
    assert contents(newer(place))[0] == {"ada": 2}


def test_a_stamp_that_is_no_number_is_a_storage_failure(place: Path) -> None:
    datasets = Datasets(location_of(place), Durability.RELAXED)
    base = datasets.open_newest(MANIFEST, None).ref
    datasets.land(datasets.stage(base, SetMetadata(((STAMP, "many"),)), {}))
    with pytest.raises(StorageFailed, match="stamp is b'many'"):
        open_store(place)
