"""Storage that fails without anyone dying: a typed error, no half of a commit, and then it works.

What fails while recovery settles something is in `test_recovery`.
"""

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.errors import GraphMissing, OmnigraphError, OutcomePending, StorageFailed
from omnigraph.base.failpoints import NEVER, Failpoint
from omnigraph.base.ids import MAIN
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import AUDIT, GRAPH, MANIFEST, RECOVERY, SCHEMAS, table_path
from omnigraph.write.recover import recover_all
from omnigraph.write.writer import finish_pending
from tests.crash.dying import OLD, SCENARIOS, InterruptAt
from tests.places import let_leases_end
from tests.store_contract.builders import (
    KNOWS,
    PERSON,
    ages,
    changes,
    contents,
    knows,
    open_store,
    pairs,
    people,
    put,
)

EDIT = SCENARIOS["an edit of main"]


@pytest.mark.parametrize("point", Failpoint)
def test_what_an_interrupted_write_came_to_is_seen_at_once(place: str, point: Failpoint) -> None:
    """Never later: the caller, who has seen nothing, would write it a second time."""
    store = EDIT.graph(place)
    with pytest.raises(KeyboardInterrupt):
        EDIT.write(store, InterruptAt(point))
    seen = ages(open_store(place).snapshot())
    assert ages(store.snapshot()) == seen
    # In a bucket: who is interrupted gives nothing back.
    let_leases_end(store)
    put(store, changes(people=people(zoe=1)))
    assert ages(open_store(place).snapshot()) == {**seen, "zoe": 1}


# Calls of the operating system that the small objects rest on, by what they do to a note.
CALLS = {"put": "write_bytes", "rename": "rename", "delete": "unlink"}


@contextmanager
def refusing(call: str, code: int) -> Iterator[None]:
    """The disk refuses a call on anything that has to do with recovery notes."""
    real = getattr(Path, call)

    def refuse(path: Path, *arguments: object, **options: object) -> object:
        if RECOVERY in path.parts and (call != "unlink" or path.suffix == ".json"):
            raise OSError(code, os.strerror(code))
        return real(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, call, refuse)
        yield


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=["ENOSPC", "EACCES"])
@pytest.mark.parametrize("call", ["put", "rename"])
def test_a_note_that_can_not_be_written_stops_the_write_before_any_effect(
    tmp_path: Path, call: str, code: int
) -> None:
    store = EDIT.graph(tmp_path)
    with refusing(CALLS[call], code), pytest.raises(StorageFailed) as caught:
        EDIT.write(store, NEVER)
    assert caught.value.code == "storage_error" and os.strerror(code) in str(caught.value)
    assert contents(store) == OLD
    assert store.objects.list(RECOVERY) == []
    EDIT.write(store, NEVER)
    assert contents(store) == EDIT.new


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=["ENOSPC", "EACCES"])
def test_a_note_that_can_not_be_removed_harms_neither_its_write_nor_the_next(
    tmp_path: Path, code: int
) -> None:
    store = EDIT.graph(tmp_path)
    with refusing(CALLS["delete"], code):
        assert EDIT.write(store, NEVER)
    assert contents(store) == EDIT.new
    assert len(store.objects.list(RECOVERY)) == 1
    put(store, changes(people=people(ada=11)))
    assert store.objects.list(RECOVERY) == []
    assert [r.action for r in store.audit.records()] == [RecoveryAction.ROLLED_FORWARD]


# A file that grows past a limit, wherever a write makes files -------------------------------------


def write_under_limits(place: str) -> None:
    """Write with ever more room for each file; between the tries there is room for all."""
    store, (_, hard) = open_store(place), resource.getrlimit(resource.RLIMIT_FSIZE)
    before, outcomes = contents(store), set()
    for limit in (*range(0, 9_000, 600), 2**20):
        name = f"p{limit}"
        edit = changes(people=people(**{name: 1}), knows=knows(f"{name}-ada"))
        after = ({**before[0], name: 1}, {*before[1], f"{name}-ada"})
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            put(store, edit)
            outcomes.add("written")
        except (StorageFailed, OutcomePending):
            outcomes.add("refused")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert contents(open_store(place)) in (before, after), limit
        finish_pending(store, MAIN, None)
        put(store, edit)
        assert contents(store) == after, limit
        assert store.objects.list(RECOVERY) == []
        before = after
    assert outcomes == {"written", "refused"}


def test_a_file_that_can_not_grow_leaves_the_old_commit_or_the_new_one(tmp_path: Path) -> None:
    EDIT.graph(tmp_path)
    child = get_context("spawn").Process(target=write_under_limits, args=(str(tmp_path),))
    child.start()
    child.join()
    assert child.exitcode == 0


# Things that are not what they should be ----------------------------------------------------------


def cut_off(folder: Path, pattern: str) -> None:
    for file in folder.glob(pattern):
        os.truncate(file, 20)


def replace_by_a_stranger(folder: Path) -> None:
    shutil.rmtree(folder)
    lance.write_dataset(pa.table({"x": [1]}), str(folder))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "every version of the manifest": lambda g: cut_off(g / MANIFEST / "_versions", "*"),
    "every file of the manifest": lambda g: cut_off(g / MANIFEST / "data", "*"),
    "another manifest": lambda g: replace_by_a_stranger(g / MANIFEST),
    "no manifest": lambda g: shutil.rmtree(g / MANIFEST),
    "no schema": lambda g: shutil.rmtree(g / SCHEMAS),
    "every schema": lambda g: cut_off(g / SCHEMAS, "*"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_graph_without_its_bearings_is_a_storage_failure_for_all(
    tmp_path: Path, damage: str
) -> None:
    EDIT.graph(tmp_path)
    DAMAGE[damage](tmp_path)
    for opened in (
        lambda: contents(open_store(tmp_path)),
        lambda: Graph.open(str(tmp_path), read_only=True).schema().catalog,
        lambda: put(open_store(tmp_path), changes(people=people(x=1))),
    ):
        with pytest.raises(StorageFailed):
            opened()


def test_a_damaged_table_fails_alone(tmp_path: Path) -> None:
    EDIT.graph(tmp_path)
    cut_off(tmp_path / table_path(PERSON) / "_versions", "*")
    snapshot = open_store(tmp_path).snapshot()
    assert pairs(snapshot) == OLD[1]
    with pytest.raises(StorageFailed, match="nodes/"):
        ages(snapshot)


def test_a_lost_log_of_recoveries_stops_neither_readers_nor_writers(tmp_path: Path) -> None:
    store = EDIT.graph(tmp_path)
    shutil.rmtree(tmp_path / AUDIT)
    EDIT.write(store, NEVER)
    recover_all(open_store(tmp_path))
    assert contents(open_store(tmp_path)) == EDIT.new


@pytest.mark.parametrize("name", ["empty", "foreign", "file"])
def test_a_place_without_a_graph_is_named_as_such(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    if name == "file":
        place.write_text("not a directory")
    elif name == "foreign":
        lance.write_dataset(pa.table({"x": [1]}), str(place))
    for is_read_only in (True, False):
        with pytest.raises(GraphMissing) as caught:
            Graph.open(str(place), read_only=is_read_only)
        assert caught.value.hint is not None


def test_an_id_that_can_not_be_read_stops_only_who_asks_for_it(tmp_path: Path) -> None:
    store = EDIT.graph(tmp_path)
    (tmp_path / GRAPH).write_text("{")
    opened = open_store(tmp_path)
    assert contents(opened) == contents(store) == OLD
    with pytest.raises(StorageFailed):
        _ = opened.graph_id


def test_every_failure_is_of_the_one_tree(tmp_path: Path) -> None:
    store: GraphStore = EDIT.graph(tmp_path)
    shutil.rmtree(tmp_path / table_path(KNOWS))
    with pytest.raises(OmnigraphError):
        put(store, changes(knows=knows("a-b")))
    assert ages(store.snapshot()) == OLD[0]
