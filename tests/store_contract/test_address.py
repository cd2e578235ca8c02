"""One graph has one address: in every spelling of its root, and under aliases that none can see."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.base.clock import SystemClock
from omnigraph.base.errors import BranchBusy, GraphMoved, StorageFailed
from omnigraph.base.ids import BRANCH_NAMES, MAIN, BranchName
from omnigraph.store.branching import create_branch
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import ADDRESS, MANIFEST
from omnigraph.store.location import DiskLocation, graph_location
from omnigraph.store.moving import bring_here
from omnigraph.store.objects import DiskObjects
from omnigraph.store.storage import Storage
from tests.places import copied
from tests.store_contract.builders import (
    PERSON,
    changes,
    contents,
    knows,
    make_store,
    open_store,
    people,
    put,
)

WORK = BranchName("team/work")

# Ways to write the root `real/g` of a directory in which `link` leads to `real`, `chain` to `link`,
# and `g2` to the graph itself.
SPELLINGS: dict[str, Callable[[Path], str]] = {
    "as it is": lambda d: f"{d}/real/g",
    "through a linked parent": lambda d: f"{d}/link/g",
    "through a link to a link": lambda d: f"{d}/chain/g",
    "a link itself": lambda d: f"{d}/g2",
    "with dots": lambda d: f"{d}/link/../real/./g",
    "out of a linked directory": lambda d: f"{d}/chain/../real/g",
    "with slashes": lambda d: f"{d}//real///g//",
    "relative": lambda d: os.path.relpath(f"{d}/link/g"),
    "as an address": lambda d: f"file://{d}/link/g/",
    "as an address with a host": lambda d: f"file://localhost{d}/real/%67",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    (tmp_path / "g2").symlink_to("link/g")
    return tmp_path


def alias_of(place: Path, alias: Path) -> GraphStore:
    """The graph under an address that can't be told to be another's, as a second mount of it."""
    alias.symlink_to(place)
    storage = Storage.at(DiskLocation(alias), clock=SystemClock(), durability=Durability.RELAXED)
    return GraphStore(storage, clock=SystemClock())


def clean_up(store: GraphStore) -> None:
    """Remove all that Lance takes for nobody's, of every dataset."""
    for path in {MANIFEST, *(entry.ref.path for entry in store.snapshot().tables.values())}:
        store.datasets.forget_old_versions(path, None, older_than_s=0)


def forked(store: GraphStore) -> tuple[dict[str, int], set[str]]:
    """Make a branch with forks of all tables; what it holds."""
    put(store, changes(people=people(ada=1, bob=2), knows=knows("ada-bob")))
    create_branch(store, WORK)
    put(store, changes(people=people(eve=3), knows=knows("eve-ada")), branch=WORK)
    return contents(store, WORK)


def outlive(store: GraphStore) -> None:
    """Make main need nothing of what it held: only the branch does from now on."""
    put(store, changes(people=people(zoe=9), knows=knows("zoe-zoe"), gone=["ada", "bob"]))


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_of_a_place_is_one_root(
    directory: Path, spelling: Callable[[Path], str]
) -> None:
    assert graph_location(spelling(directory)) == DiskLocation(directory / "real" / "g")


@pytest.mark.parametrize(
    ("made", "cleaned"),
    [
        *((spelling, "as it is") for spelling in SPELLINGS),
        *(("as it is", spelling) for spelling in ("through a linked parent", "a link itself")),
        ("through a link to a link", "a link itself"),
    ],
)
def test_a_clean_up_through_another_spelling_leaves_a_branch_what_it_needs(
    directory: Path, made: str, cleaned: str
) -> None:
    make_store(SPELLINGS["as it is"](directory))
    expected = forked(open_store(SPELLINGS[made](directory)))
    store = open_store(SPELLINGS[cleaned](directory))
    outlive(store)
    clean_up(store)
    assert contents(open_store(SPELLINGS[made](directory)), WORK) == expected
    assert contents(open_store(SPELLINGS[cleaned](directory)), WORK) == expected


def test_a_root_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for address in (f"{tmp_path}/loop/g", f"{tmp_path}/a?b", f"{tmp_path}/a\0b"):
        with pytest.raises(Exception, match="graph") as refused:
            graph_location(address)
        assert getattr(refused.value, "code", None) == "invalid_argument"


# Aliases that no link shows -----------------------------------------------------------------------


def test_a_clean_up_does_not_touch_a_dataset_with_a_fork_that_an_alias_made(
    tmp_path: Path,
) -> None:
    store = make_store(tmp_path / "g")
    alias = alias_of(tmp_path / "g", tmp_path / "alias")
    put(store, changes(people=people(ada=1, bob=2)))
    entry = store.snapshot().tables[PERSON.table_key]
    fork = alias.datasets.fork(entry.ref, "stray.1")
    outlive(store)
    clean_up(store)
    assert alias.datasets.open(fork).row_count == 2
    with pytest.raises(GraphMoved):
        store.datasets.open(fork)
    # Nobody writes on until someone has looked at every fork.
    with pytest.raises(GraphMoved):
        put(store, changes(people=people(ann=1)))
    again = open_store(tmp_path / "g")
    bring_here(again)
    clean_up(again)
    assert again.datasets.open(fork).row_count == 2


def test_of_two_aliases_only_the_one_that_opened_last_writes(tmp_path: Path) -> None:
    first = make_store(tmp_path / "g")
    expected = forked(first)
    second = alias_of(tmp_path / "g", tmp_path / "alias")
    bring_here(second)
    assert contents(second, WORK) == expected
    put(second, changes(people=people(eve=4)), branch=WORK)
    for branch in (MAIN, WORK):
        with pytest.raises(GraphMoved) as refused:
            put(first, changes(people=people(eve=5)), branch=branch)
    assert refused.value.there == str(tmp_path / "alias")
    with pytest.raises(GraphMoved):
        create_branch(first, BranchName("new"))
    again = open_store(tmp_path / "g")
    bring_here(again)
    put(again, changes(people=people(eve=6)), branch=WORK)
    assert contents(again, WORK)[0] == {"ada": 1, "bob": 2, "eve": 6}
    with pytest.raises(GraphMoved):
        put(second, changes(people=people(eve=7)), branch=WORK)


def test_a_graph_is_brought_here_only_when_no_writer_is_inside(tmp_path: Path) -> None:
    store = make_store(tmp_path / "g")
    forked(store)
    alias_of(tmp_path / "g", tmp_path / "alias")
    hasty = GraphStore(
        Storage.at(DiskLocation(tmp_path / "alias"), clock=SystemClock()),
        clock=SystemClock(),
        fence_timeout_s=0.05,
    )
    for name in (BRANCH_NAMES, MAIN, store.branches.resolve(WORK).incarnation):
        with store.fences.hold(name, timeout_s=0), pytest.raises(BranchBusy):
            bring_here(hasty)
    bring_here(hasty)
    contents(hasty, WORK)


# Copies that can't be written ---------------------------------------------------------------------


class Unwritable(DiskObjects):
    def put(self, name: str, data: bytes) -> None:
        raise StorageFailed(doing="write", path=name, reason="Read-only file system")


def unwritable(place: Path) -> GraphStore:
    usual = Storage.at(DiskLocation(place), clock=SystemClock(), durability=Durability.RELAXED)
    return GraphStore(replace(usual, objects=Unwritable(place)), clock=SystemClock())


def test_a_moved_graph_that_can_not_be_written_says_so(tmp_path: Path) -> None:
    expected = forked(make_store(tmp_path / "g"))
    copied(str(tmp_path / "g"), str(tmp_path / "copy"))
    with pytest.raises(GraphMoved, match="Read-only file system"):
        bring_here(unwritable(tmp_path / "copy"))
    store = open_store(tmp_path / "copy")
    bring_here(store)
    assert contents(store, WORK) == expected


def test_a_graph_without_a_record_that_can_not_be_written_is_read(tmp_path: Path) -> None:
    expected = forked(make_store(tmp_path / "g"))
    (tmp_path / "g" / ADDRESS).unlink()
    store = unwritable(tmp_path / "g")
    bring_here(store)
    assert contents(store, WORK) == expected


@pytest.mark.parametrize("record", [b"", b"{}", b"[]", b'{"address": 3}', b"\xff"])
def test_a_record_that_can_not_be_read_is_no_record(tmp_path: Path, record: bytes) -> None:
    expected = forked(make_store(tmp_path / "g"))
    (tmp_path / "g" / ADDRESS).write_bytes(record)
    store = open_store(tmp_path / "g")
    bring_here(store)
    assert contents(store, WORK) == expected
    put(store, changes(people=people(eve=4)), branch=WORK)


def test_many_who_open_a_moved_graph_at_once_find_it_whole(tmp_path: Path) -> None:
    """Some bring it here while others read: these are refused, or answered rightly."""
    expected = forked(make_store(tmp_path / "g"))
    (tmp_path / "g").rename(tmp_path / "moved")
    start = threading.Barrier(6)

    def open_to_write(_: int) -> object:
        start.wait()
        store = open_store(tmp_path / "moved")
        bring_here(store)
        return contents(store, WORK)

    def open_to_read(_: int) -> object:
        start.wait()
        while True:
            try:
                return contents(open_store(tmp_path / "moved"), WORK)
            except GraphMoved:
                continue

    with ThreadPoolExecutor(6) as pool:
        written = pool.map(open_to_write, range(3))
        read = pool.map(open_to_read, range(3))
        assert [*written, *read] == [expected] * 6
    assert open_store(tmp_path / "moved").datasets.bring_forks_here() == 0
