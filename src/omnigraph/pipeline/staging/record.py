"""The record of a load under way: who drives it, what it is, and where its tasks leave accounts.

It lies in the graph's own storage for as long as the load lasts. If the driver dies the record
outlives it: another driver resumes the load from there, or finds that it was published and only
finishes what was left to be done.

A load belongs to one driver at a time. Each that goes on with it takes the next turn, by an object
that only one can make. A driver on another machine is taken for dead when it has been silent for
long, and may yet wake: so who has lost the load deletes nothing, and who has taken it deletes
nothing that the other might publish.
"""

import json
import threading
import weakref
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    LoadUnderWay,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.ids import BranchName
from omnigraph.pipeline.staging.ownership import (
    LoadRecord,
    claimed,
    find_record,
    folder_of,
    forget_turns,
    is_there,
    staged_loads,
    this_process,
)
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.pipeline.staging.receipts import NamedTask
from omnigraph.pipeline.staging.stage import discard
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.sidecar import has_sidecars

__all__ = ["Recording", "conclude"]

# How often a driver says that it lives.
HEARTBEAT_S = 10.0


class _End(Enum):
    OURS = "ours"
    """Nobody else has its files, and nobody will."""
    SHARED = "shared"
    """Nobody goes on with it, but a driver that was taken for dead may publish its files."""
    LOST = "lost"
    """Another driver has gone on with it."""


class Recording:
    """A load from the side of its driver, which says that it lives until it lets go."""

    def __init__(self, store: GraphStore, record: LoadRecord) -> None:
        self._store = store
        self._record = record
        self._expected: frozenset[str] = frozenset()
        self._end: _End | None = None
        self._over = threading.Event()
        beat = partial(_keep_alive, store, record.heartbeat, self._over)
        self._beat = threading.Thread(target=beat, name=record.owner, daemon=True)
        self._beat.start()
        weakref.finalize(self, _fall_silent, self._beat, self._over)

    @classmethod
    def begin(
        cls,
        store: GraphStore,
        *,
        load_id: str | None,
        mode: str,
        branch: BranchName,
        base_commit: str,
        parallelism: int,
        quarantine: Quarantine | None,
    ) -> "Recording":
        """Start afresh: what an earlier driver left under this name is thrown away."""
        now_ms = store.clock.now_ms()
        record = LoadRecord(
            load_id=load_id or store.clock.ulid(),
            turn=0,
            owner=store.clock.ulid(),
            is_named=load_id is not None,
            mode=mode,
            branch=branch,
            base_commit=base_commit,
            parallelism=parallelism,
            began_ms=now_ms,
            quarantine=quarantine,
            **this_process(),
        )
        before = None if load_id is None else find_record(store.objects, record.load_id)
        if before is not None:
            before.require_dead(store.objects, now_ms)
            taken = before.taken_over(owner=record.owner, now_ms=now_ms)
            record = replace(record, turn=taken.turn, others_may_live=taken.others_may_live)
        recording = cls(store, claimed(store.objects, record, before))
        if before is not None:
            may_go = not record.others_may_live and _is_unpublished(store, before)
            _forget_tasks(store, record.load_id, keep=() if may_go else None)
            if may_go and before.quarantine is not None:
                before.quarantine.drop()
        return recording

    @classmethod
    def resume(
        cls,
        store: GraphStore,
        *,
        load_id: str,
        mode: str,
        branch: BranchName,
        quarantine: Quarantine | None,
    ) -> "Recording":
        """Go on where an earlier driver died."""
        before, now_ms = find_record(store.objects, load_id), store.clock.now_ms()
        if before is None or before.is_over or not before.is_named:
            raise StagedLoadMissing(load_id=load_id, known=staged_loads(store.objects))
        before.require_dead(store.objects, now_ms)
        if not _is_unpublished(store, before):
            # It has died in its last step, and whoever holds the branch will settle that.
            raise LoadUnderWay(load_id=load_id, host=before.host, pid=before.pid)
        for argument, value, expected in (
            ("mode", mode, before.mode),
            ("branch", branch, before.branch),
        ):
            if value != expected:
                rule = f"the load that is resumed has {expected}"
                raise ArgumentInvalid(argument=argument, value=value, rule=rule)
        taken = before.taken_over(owner=store.clock.ulid(), now_ms=now_ms)
        taken = replace(taken, quarantine=quarantine)
        recording = cls(store, claimed(store.objects, taken, before))
        if before.quarantine is not None and quarantine is not None:
            quarantine.take_over(before.quarantine)
        if before.quarantine is not None and not taken.others_may_live:
            before.quarantine.drop()
        return recording

    @property
    def parallelism(self) -> int:
        return self._record.parallelism

    @property
    def folder(self) -> str:
        """Where tasks leave what they have done."""
        return folder_of(self._record.load_id)

    @property
    def name(self) -> str:
        """Of the object that is there as long as the load is not given up."""
        return self._record.name

    def expect(self, tasks: Collection[NamedTask]) -> None:
        """The tasks of this run; an earlier one, of an input that has changed, had others too."""
        self._expected = frozenset(task.name for task in tasks)

    def disown(self) -> bool:
        """Let nobody go on with the load from here; whether its files are nobody else's either.

        Only then may they be deleted: a driver that was silent for long, and so has lost the load,
        would take them away from the one that publishes them.
        """
        return self._ended() is _End.OURS

    def finish(self) -> None:
        """The load is over, and the files of its tasks are accounted for."""
        self._close(keep=self._expected)

    def abandon(self) -> None:
        """The load has failed: whatever its tasks have written goes with its record."""
        self._close(keep=())

    def step_aside(self) -> None:
        """The load is over, and the files of its tasks may be what was published."""
        self._close(keep=None)

    def let_go(self) -> None:
        """This driver is done with it. What is left may be resumed at once, if it has a name."""
        if self._end is not None:
            return
        if not self._record.is_named:
            self.step_aside()
            return
        self._stop()
        with suppress(StorageFailed):
            left = replace(self._record, turn=self._record.turn + 1, has_left=True)
            self._store.objects.put_if_absent(left.name, left.to_json())

    def _close(self, *, keep: Collection[str] | None) -> None:
        # What can't be deleted now is found by the next load of this name, or by a clean-up.
        with suppress(StorageFailed):
            end = self._ended()
            if end is not _End.LOST:
                may_go = keep if end is _End.OURS else None
                _forget_tasks(self._store, self._record.load_id, keep=may_go)
                forget_turns(self._store.objects, self._record.load_id)

    def _ended(self) -> "_End":
        """Take the last turn, in which nobody goes on."""
        if self._end is None:
            self._stop()
            record, objects = self._record, self._store.objects
            over = replace(record, turn=record.turn + 1, is_over=True)
            is_last = objects.put_if_absent(over.name, over.to_json())
            # Where the one who took it has finished, nothing is left of any turn.
            if is_last and not is_there(objects, record):
                objects.delete(over.name)
                is_last = False
            alone = _End.SHARED if record.others_may_live else _End.OURS
            self._end = alone if is_last else _End.LOST
        return self._end

    def _stop(self) -> None:
        _fall_silent(self._beat, self._over)
        self._beat.join()


def _fall_silent(beat: threading.Thread, over: threading.Event) -> None:
    # By its name others see that the load is under way, and it may be a while until it ends.
    beat.name = "over"
    over.set()


def _keep_alive(store: GraphStore, heartbeat: str, over: threading.Event) -> None:
    while not over.wait(HEARTBEAT_S):
        # A store that fails now and then costs a heartbeat, not the load.
        with suppress(StorageFailed):
            store.objects.put(heartbeat, str(store.clock.now_ms()).encode())


def conclude(store: GraphStore, load_id: str) -> str | None:
    """Finish for a driver that died when its load was published: name its quarantine, and delete
    all that it left but the files."""
    record = find_record(store.objects, load_id)
    if record is None or not record.is_surely_dead():
        return None
    kept = record.quarantine.keep_if_settled() if record.quarantine is not None else None
    _forget_tasks(store, load_id, keep=None)
    forget_turns(store.objects, load_id)
    return kept


def _forget_tasks(store: GraphStore, load_id: str, *, keep: Collection[str] | None) -> None:
    """Delete what tasks have left, and the files of those that are not kept. None: keep all."""
    objects = store.objects
    for name in objects.list(folder_of(load_id)):
        done = objects.get(name)
        if done is not None and keep is not None and Path(name).stem not in keep:
            for table in json.loads(done)["tables"]:
                fragments = [file["fragment"] for file in table["files"]]
                # Below our own root: of a copy, the account was written in the original.
                discard(f"{store.root}/{table['home']}", fragments, store.root.options)
        objects.delete(name)
    objects.forget_folder(folder_of(load_id))


def _is_unpublished(store: GraphStore, record: LoadRecord) -> bool:
    """Whether no commit names the files of a load, and none will: only then may they go."""
    name = BranchName(record.branch)
    try:
        if has_sidecars(store, store.branches.resolve(name)):
            return False  # the unfinished write may be this load's, and recovery publishes it
        return all(commit.load_id != record.load_id for commit in store.history().line(name))
    except BranchMissing:
        return False
