"""Ways to die, and the graphs to die in."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from omnigraph.base.clock import SystemClock
from omnigraph.base.failpoints import Crash, Failpoint, Faults
from omnigraph.base.ids import BranchName
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.objects import DiskObjects
from omnigraph.store.transactions import DatasetRef, StagedTransaction
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

T = TypeVar("T")
Contents = tuple[dict[str, int], set[str]]

OLD: Contents = ({"ada": 1, "bob": 2}, {"ada-bob"})


@dataclass(frozen=True)
class Scenario:
    """A write to die in: the branch it writes, and what that branch holds once it is done."""

    branch: str
    write: Callable[[GraphStore, Faults], object]
    new: Contents

    def graph(self, place: Path) -> GraphStore:
        """A graph in which the write has not begun."""
        store = make_store(place)
        put(store, changes(people=people(ada=1, bob=2), knows=knows("ada-bob")))
        if self.branch != "main":
            store.create_branch(BranchName(self.branch))
        assert contents(store, self.branch) == OLD
        return store


EDIT = changes(people=people(ada=10, eve=3), knows=knows("eve-ada"), gone=["bob"])
EDITED: Contents = ({"ada": 10, "eve": 3}, {"ada-bob", "eve-ada"})
LOADED: Contents = ({"ada": 1, "bob": 2, "eve": 3}, {"ada-bob", "eve-ada"})

SCENARIOS = {
    "an edit of main": Scenario(
        "main", lambda store, faults: put(store, EDIT, faults=faults), EDITED
    ),
    "the first edit of a branch": Scenario(
        "team/work",
        lambda store, faults: put(store, EDIT, branch="team/work", faults=faults),
        EDITED,
    ),
    "a load": Scenario(
        "main",
        lambda store, faults: load(
            store, people=people(eve=3), knows=knows("eve-ada"), faults=faults
        ),
        LOADED,
    ),
    "the first load of a branch": Scenario(
        "team/work",
        lambda store, faults: load(
            store, people=people(eve=3), knows=knows("eve-ada"), branch="team/work", faults=faults
        ),
        LOADED,
    ),
}


class ExitAt:
    """Ends the process at a failpoint as a kill does: no handler runs, no buffer is flushed."""

    def __init__(self, point: Failpoint) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            os._exit(9)


def die_for_real(place: str, scenario: str, point: Failpoint) -> None:
    """To be run in a process of its own."""
    SCENARIOS[scenario].write(open_store(place), ExitAt(point))


class Life:
    """Counts the steps that change storage and ends at one of them, before or after it."""

    def __init__(self, steps: int, *, is_after: bool) -> None:
        self._left = steps
        self._is_after = is_after

    def step(self, change: Callable[[], T]) -> T:
        self._left -= 1
        if self._left == 0 and not self._is_after:
            raise Crash("before")
        changed = change()
        if self._left == 0:
            raise Crash("after")
        return changed


class MortalDatasets(Datasets):
    def __init__(self, root: str, life: Life) -> None:
        super().__init__(root, Durability.RELAXED)
        self._life = life

    def land(self, staged: StagedTransaction) -> DatasetRef:
        return self._life.step(lambda: super(MortalDatasets, self).land(staged))

    def append_inline(self, path: str, rows: pa.Table) -> None:
        self._life.step(lambda: super(MortalDatasets, self).append_inline(path, rows))

    def drop_torn(self, path: str, branch: str | None, version: int) -> bool:
        return self._life.step(lambda: super(MortalDatasets, self).drop_torn(path, branch, version))


class MortalObjects(DiskObjects):
    def __init__(self, root: Path, life: Life) -> None:
        super().__init__(root, Durability.RELAXED)
        self._life = life

    def delete(self, name: str) -> None:
        self._life.step(lambda: super(MortalObjects, self).delete(name))


def mortal_store(place: Path, life: Life) -> GraphStore:
    return GraphStore(
        place,
        objects=MortalObjects(place, life),
        datasets=MortalDatasets(str(place), life),
        clock=SystemClock(),
    )
