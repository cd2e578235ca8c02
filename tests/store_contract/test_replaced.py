"""A graph that is replaced under a living handle: the handle says so, and never mixes the two."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.base.errors import GraphReplaced
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import LOCKS
from omnigraph.store.limits import StoreLimits
from tests.buckets import location_of
from tests.store_contract.builders import (
    changes,
    contents,
    knows,
    make_store,
    open_store,
    pairs,
    people,
    put,
)

OLD, NEW = ["ada", "bob", "eve"], ["kim", "lea", "max", "zoe"]
WORK = BranchName("work")


def fill(store: GraphStore, names: list[str]) -> GraphStore:
    for name in names:
        put(store, changes(people=people(**{name: 1}), knows=knows(f"{name}-{name}")))
    return store


def expected(names: list[str]) -> tuple[dict[str, int], set[str]]:
    return dict.fromkeys(names, 1), {f"{name}-{name}" for name in names}


def everything(place: str) -> dict[str, bytes]:
    objects = location_of(place).objects(Durability.RELAXED)
    return {name: objects.get(name) or b"" for name in objects.walk("")}


def clear(place: str) -> None:
    if "://" not in place:
        shutil.rmtree(place)
        return
    objects = location_of(place).objects(Durability.RELAXED)
    for name in list(objects.walk("")):
        objects.delete(name)


def put_back(place: str, backup: dict[str, bytes]) -> None:
    clear(place)
    objects = location_of(place).objects(Durability.RELAXED)
    for name, data in backup.items():
        if not name.startswith(LOCKS):
            objects.put(name, data)


class Replacements:
    """Ways to put something else where a graph with the old commits was."""

    @staticmethod
    def by_one_with_fewer_commits(place: str, backup: dict[str, bytes]) -> list[str]:
        clear(place)
        fill(make_store(place), NEW[:1])
        return NEW[:1]

    @staticmethod
    def by_one_with_as_many_commits(place: str, backup: dict[str, bytes]) -> list[str]:
        clear(place)
        fill(make_store(place), NEW[:3])
        return NEW[:3]

    @staticmethod
    def by_one_with_more_commits(place: str, backup: dict[str, bytes]) -> list[str]:
        clear(place)
        fill(make_store(place), NEW)
        return NEW

    @staticmethod
    def by_a_backup(place: str, backup: dict[str, bytes]) -> list[str]:
        put_back(place, backup)
        return OLD[:1]

    @staticmethod
    def by_a_backup_that_went_on(place: str, backup: dict[str, bytes]) -> list[str]:
        put_back(place, backup)
        fill(open_store(place), NEW[:2])
        return [*OLD[:1], *NEW[:2]]

    @staticmethod
    def by_a_backup_that_went_on_for_longer(place: str, backup: dict[str, bytes]) -> list[str]:
        put_back(place, backup)
        fill(open_store(place), NEW)
        return [*OLD[:1], *NEW]


WAYS = [getattr(Replacements, name) for name in vars(Replacements) if name.startswith("by_")]

CALLS: dict[str, Callable[[GraphStore], object]] = {
    "read": lambda store: contents(store),
    "read a new branch": lambda store: contents(store, WORK),
    "write": lambda store: put(store, changes(people=people(ida=1))),
    "list commits": lambda store: list(store.history().line()),
    "travel": lambda store: store.snapshot_at(next(store.history().line()).id),
}


@pytest.mark.parametrize("replace", WAYS, ids=lambda way: way.__name__)
def test_a_handle_whose_graph_was_replaced_says_so_and_never_mixes(
    place: str,
    replace: Callable[[str, dict[str, bytes]], list[str]],
) -> None:
    # A bucket is looked at whole only now and then: here at once.
    limits = StoreLimits(keep_versions_s=0) if "://" in place else StoreLimits()
    store = fill(make_store(place, limits=limits), OLD[:1])
    backup = everything(place)
    fill(store, OLD[1:])
    reader = open_store(place, limits)
    for handle in (store, reader):
        assert contents(handle) == expected(OLD)
    names = replace(place, backup)
    create_branch(open_store(place), WORK)
    for handle in (store, reader):
        for _ in range(2):
            for name, call in CALLS.items():
                with pytest.raises(GraphReplaced):
                    call(handle)
                    pytest.fail(name)
    # What the old handles have tried has touched nothing.
    for branch in (MAIN, WORK):
        assert contents(open_store(place), branch) == expected(names)
    put(open_store(place), changes(people=people(ida=1)))


@pytest.mark.parametrize("new", [NEW[:3], NEW])
def test_a_snapshot_that_is_held_opens_no_table_of_another_graph(
    place: str, new: list[str]
) -> None:
    fill(make_store(place), OLD)
    held = open_store(place).snapshot()
    clear(place)
    fill(make_store(place), new)
    with pytest.raises(GraphReplaced):
        pairs(held)


def swap(place: Path) -> None:
    """Another graph, made beside it, takes its place by its name."""
    fill(make_store(place.with_name("other")), NEW)
    place.rename(place.with_name("aside"))
    place.with_name("other").rename(place)


def test_a_graph_that_takes_the_place_of_another_by_its_name_is_noticed(tmp_path: Path) -> None:
    store = fill(make_store(tmp_path / "g"), OLD)
    assert contents(store) == expected(OLD)
    swap(tmp_path / "g")
    for call in CALLS.values():
        with pytest.raises(GraphReplaced):
            call(store)


# Not replaced -------------------------------------------------------------------------------------


def link_all(place: Path) -> None:
    """A backup by hard links, which changes what the system says of each file."""
    shutil.copytree(place, place.with_name("backup"), copy_function=os.link)


def change_rights(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode | 0o004)


def move_away_and_back(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.with_name("elsewhere").rename(place)


def put_back_as_it_was(place: Path) -> None:
    put_back(str(place), everything(str(place)))


TOUCHED = [link_all, change_rights, move_away_and_back, put_back_as_it_was]


@pytest.mark.parametrize("touch", TOUCHED, ids=lambda touch: touch.__name__)
def test_a_graph_that_was_only_touched_is_read_and_written_on(
    tmp_path: Path, touch: Callable[[Path], None]
) -> None:
    store = fill(make_store(tmp_path / "g"), OLD)
    assert contents(store) == expected(OLD)
    touch(tmp_path / "g")
    assert contents(store) == expected(OLD)
    fill(store, NEW)
    assert contents(store) == contents(open_store(tmp_path / "g")) == expected(OLD + NEW)


def test_a_reader_that_sleeps_through_many_commits_knows_them_for_its_graphs(place: str) -> None:
    limits = StoreLimits(commits_per_cold_fragment=2)
    store = fill(make_store(place, limits=limits), OLD)
    reader = open_store(place, limits)
    assert contents(reader) == expected(OLD)
    for names in (NEW, ["x1", "x2", "x3"], ["y1"]):
        fill(store, names)
        assert contents(reader) == contents(store)
