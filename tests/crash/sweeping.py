"""Fails the calls of a write one by one, then cuts the power: a program, one per kind of write.

Run with `power.environment` as `python -m tests.crash.sweeping FOLDER KIND FROM STEP`. It makes the
graph of a scenario below the folder, counts the calls of its write, and fails every `STEP`-th call
from the one with number `FROM`, each in a new copy of the graph. It prints a `Report` as JSON.
"""

import errno
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.failpoints import NEVER
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.commits import CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.write.recover import recover_all
from tests.crash.dying import (
    MUTATIONS,
    OLD,
    READY,
    SCENARIOS,
    Scenario,
    check_pages,
    graph_of,
    make_ready,
)
from tests.crash.power import Calls, Watched
from tests.store_contract.builders import contents, open_store

__all__ = ["KINDS", "Fault", "Report"]


class Fault(Enum):
    """How a call fails."""

    NO_SPACE = "ENOSPC once"
    DEVICE = "EIO once"
    DEATH = "nothing works from there on"
    """To the disk this is the death of the writer: then another one comes."""


@dataclass(frozen=True)
class Chore:
    """A change of storage that makes no commit."""

    run: Callable[[GraphStore], object]
    is_done: Callable[[GraphStore], bool]
    prepare: Callable[[GraphStore], object] | None = None

    @property
    def scenario(self) -> Scenario:
        """The graph to do it in."""
        return Scenario(
            CommitKind.INIT, lambda store, _: self.run(store), OLD, prepare=self.prepare
        )


def clean_up(store: GraphStore) -> object:
    return graph_of(store, NEVER).cleanup(keep=1, grace="0s", confirm=True)


def has_branch(name: str) -> Callable[[GraphStore], bool]:
    return lambda store: name in {branch.name for branch in store.branches.list()}


def fork_from_the_past(store: GraphStore) -> object:
    _, earlier, *_ = store.history().line(MAIN)
    return create_branch(store, SIDE, at=earlier.id)


SIDE = BranchName("side")
# Of branches: one whose reference returns is there again.
REFERENCES = f"{MANIFEST}/_refs/branches/"
ZOES_EDGE = '["zoe","ada"]'
CHORES = {
    "a branch": Chore(lambda store: create_branch(store, SIDE), has_branch(SIDE)),
    "a branch from a past commit": Chore(fork_from_the_past, has_branch(SIDE)),
    "a branch that is deleted": Chore(
        lambda store: delete_branch(store, READY),
        lambda store: not has_branch(READY)(store),
        prepare=make_ready,
    ),
    "a cleanup": Chore(clean_up, lambda _: True, prepare=make_ready),
}
KINDS = (*SCENARIOS, *CHORES)


@dataclass
class Report:
    calls: int = 0
    """How many the write makes."""
    points: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    """Acknowledged, and gone after the power cut."""
    torn: list[str] = field(default_factory=list)
    """Neither the old commit nor the new one, or not to be written any more."""
    untyped: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.torn or self.untyped)


class Sweep:
    """One kind of write, on copies of one graph."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._kind = kind
        self._base, self._place = folder / "base", folder / "graph"
        self._calls = Calls()
        self.report = Report()
        self._chore = CHORES.get(kind)
        self._scenario = SCENARIOS[kind] if self._chore is None else self._chore.scenario
        # Made where the copies will lie: a graph knows its address.
        self._scenario.graph(self._place)
        shutil.move(self._place, self._base)
        self._head = ""
        self._before = self._scenario.old

    def run(self, points: Sequence[tuple[int, Fault]]) -> None:
        for number, fault in points:
            self._fail(number, fault)

    def count(self) -> int:
        """How many calls the write makes; all that it made is durable then."""
        watched = self._fresh()
        self._calls.fail(0, 0)
        self._write()
        self.report.calls, _ = self._calls.stop()
        self._cut_and_look(watched, "no fault", is_acknowledged=True, has_successor=False)
        return self.report.calls

    def _fail(self, number: int, fault: Fault) -> None:
        watched = self._fresh()
        error = errno.ENOSPC if fault is Fault.NO_SPACE else errno.EIO
        self._calls.fail(number, error, and_later_ones=fault is Fault.DEATH)
        failure: Exception | None = None
        try:
            self._write()
        except Exception as raised:  # noqa: BLE001 - it may be of any type, which is what is tested
            failure = raised
        _, what = self._calls.stop()
        if not what:
            return  # threads made fewer calls this time
        self.report.points += 1
        self.report.acknowledged += failure is None
        self.report.refused += failure is not None
        where = f"{self._kind}, {fault.value}, call {number}: {what}"
        if failure is not None and not isinstance(failure, OmnigraphError):
            self.report.untyped.append(f"{where}: {type(failure).__name__}: {failure}")
        is_dead = fault is Fault.DEATH
        self._cut_and_look(watched, where, is_acknowledged=failure is None, has_successor=is_dead)

    def _fresh(self) -> Watched:
        """A new copy of the graph, in which the write has not begun."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._base, self._place)
        store = self._store()
        self._head = self._newest_commit(store)
        # Some scenarios make two commits, and begin with others than they call old.
        self._before = contents(store, self._scenario.branch)
        return Watched(self._place)

    def _store(self) -> GraphStore:
        return GraphStore.open(str(self._place))

    def _write(self) -> None:
        store = self._store()
        if self._chore is not None:
            self._chore.run(store)
        else:
            self._scenario.write(store, NEVER)

    def _cut_and_look(
        self, watched: Watched, where: str, *, is_acknowledged: bool, has_successor: bool
    ) -> None:
        try:
            if has_successor:
                store = self._store()
                recover_all(store)
                welcome(store, self._scenario.branch)
            returning = [name for name in watched.may_return() if name.startswith(REFERENCES)]
            if is_acknowledged and self._chore is not None and returning:
                self.report.lost.append(f"{where}: {returning} may return")
            lost = watched.cut_power()
            where = f"{where} (the cut took {', '.join(lost) or 'nothing'})"
            self._look(where, is_acknowledged=is_acknowledged, has_successor=has_successor)
        except Exception as failure:  # noqa: BLE001 - whatever a reader or a writer would meet
            self.report.torn.append(f"{where}: {type(failure).__name__}: {failure}")

    def _look(self, where: str, *, is_acknowledged: bool, has_successor: bool) -> None:
        """Compare what is left with the model, and go on with it."""
        store, scenario = open_store(self._place), self._scenario
        ages, pairs = contents(store, scenario.branch)
        has_zoe = ages.pop("zoe", None) is not None
        pairs.discard(ZOES_EDGE)
        is_whole = (ages, pairs) in (self._before, scenario.new)
        assert is_whole, f"it holds {len(ages)} people and {len(pairs)} edges: {ages} {pairs}"
        if self._chore is not None:
            is_new = self._chore.is_done(store)
        else:
            has_moved = self._newest_commit(store) != self._head
            is_new = (ages, pairs) == scenario.new and has_moved
        if (is_acknowledged and not is_new) or (has_successor and not has_zoe):
            self.report.lost.append(where)
        recover_all(store)
        for branch in store.branches.list():
            graph_of(store, NEVER).mutate(MUTATIONS, "birthday", branch=branch.name)
        read_everything(store)
        check_pages(store)
        findings = graph_of(store, NEVER).repair().findings
        bad = [f for f in findings if f.kind not in ("leftover_fork", "unnamed_table")]
        assert not bad, f"repair finds {bad}"
        graph_of(store, NEVER).cleanup(keep=100, grace="0s", confirm=True)
        left = graph_of(store, NEVER).repair().findings
        assert not left, f"after a cleanup repair finds {left}"

    def _newest_commit(self, store: GraphStore) -> str:
        return store.snapshot(BranchName(self._scenario.branch)).commit.id


def welcome(store: GraphStore, branch: str) -> None:
    graph_of(store, NEVER).mutate(MUTATIONS, "welcome", branch=branch)


def read_everything(store: GraphStore) -> None:
    for branch in store.branches.list():
        snapshot = store.snapshot(branch.name)
        for entity in snapshot.catalog.entities:
            dataset = snapshot.dataset(entity)
            dataset.scan(dataset.column_names)


def points_of(calls: int, first: int, step: int) -> list[tuple[int, Fault]]:
    """Every `step`-th pair of a call and a fault, in the order of the calls."""
    pairs = [(number, fault) for number in range(1, calls + 1) for fault in Fault]
    return pairs[first::step]


def main(folder: str, kind: str, first: str, step: str) -> None:
    sweep = Sweep(Path(folder), kind)
    sweep.run(points_of(sweep.count(), int(first), int(step)))
    sys.stdout.write(json.dumps(asdict(sweep.report)))


if __name__ == "__main__":
    main(*sys.argv[1:])
