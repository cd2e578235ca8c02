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
import os
import re
import socket
import threading
import weakref
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    LoadUnderWay,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.ids import BranchName
from omnigraph.pipeline.account import NamedTask
from omnigraph.pipeline.quarantine import Quarantine
from omnigraph.pipeline.stage import discard
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import Objects
from omnigraph.write.sidecar import has_sidecars

__all__ = ["Recording", "conclude", "find_record"]

# How often a driver says that it lives, and after how long without a word it is taken for dead.
HEARTBEAT_S = 10.0
SILENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """Whose a load is: what `__staging/{load_id}.{turn}.json` says. It is written once.

    Each driver that goes on with a load takes the next turn, and only one can take it.
    """

    load_id: str
    turn: int
    owner: str
    is_named: bool
    """Whether the caller named it: only then its commit tells that it was published."""
    mode: str
    branch: str
    base_commit: str
    parallelism: int
    """What the input was cut for: cut for another number, its pieces would be others."""
    host: str
    boot: str
    pid: int
    started: str
    """With the process id it tells a process from all others that the machine has run."""
    began_ms: int
    quarantine: Quarantine | None = None
    others_may_live: bool = False
    """An earlier driver was taken for dead because it was silent, and may yet publish."""
    has_left: bool = False
    """Its driver lives on and is done with it: whoever wants to may go on at once."""
    is_over: bool = False
    """Nobody goes on with it: what its tasks have left is being removed."""

    @property
    def name(self) -> str:
        return f"{_folder(self.load_id)}.{self.turn}.json"

    @property
    def heartbeat(self) -> str:
        return f"{_folder(self.load_id)}.{self.turn}.alive"

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def is_surely_dead(self) -> bool:
        """Whether its driver has run here and has ended, or has let go of it."""
        if self.is_over or self.has_left:
            return True
        if not self._is_from_here():
            return False
        if self.pid == os.getpid():
            # A load that ended in some way that nobody foresaw is not under way either.
            return all(thread.name != self.owner for thread in threading.enumerate())
        return _started(self.pid) != self.started

    def require_dead(self, objects: Objects, now_ms: int) -> None:
        """Raise if its driver may still be at work. One that runs here is, however silent."""
        if self.is_surely_dead():
            return
        beat = objects.get(self.heartbeat)
        is_silent = now_ms - (self.began_ms if beat is None else int(beat)) > SILENCE_S * 1000
        if not is_silent or self._is_from_here():
            raise LoadUnderWay(load_id=self.load_id, host=self.host, pid=self.pid)

    def _is_from_here(self) -> bool:
        return (self.host, self.boot) == (socket.gethostname(), _boot())

    def taken_over(self, *, owner: str, now_ms: int) -> "LoadRecord":
        return replace(
            self,
            turn=self.turn + 1,
            owner=owner,
            others_may_live=self.others_may_live or not self.is_surely_dead(),
            has_left=False,
            is_over=False,
            began_ms=now_ms,
            **_this_process(),
        )


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
            **_this_process(),
        )
        before = None if load_id is None else find_record(store.objects, record.load_id)
        if before is not None:
            before.require_dead(store.objects, now_ms)
            taken = before.taken_over(owner=record.owner, now_ms=now_ms)
            record = replace(record, turn=taken.turn, others_may_live=taken.others_may_live)
        recording = cls(store, _claimed(store.objects, record, before))
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
        recording = cls(store, _claimed(store.objects, taken, before))
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
        return _folder(self._record.load_id)

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
                _forget_turns(self._store.objects, self._record.load_id)

    def _ended(self) -> "_End":
        """Take the last turn, in which nobody goes on."""
        if self._end is None:
            self._stop()
            record, objects = self._record, self._store.objects
            over = replace(record, turn=record.turn + 1, is_over=True)
            is_last = objects.put_if_absent(over.name, over.to_json())
            # Where the one who took it has finished, nothing is left of any turn.
            if is_last and not _is_there(objects, record):
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
    _forget_turns(store.objects, load_id)
    return kept


def find_record(objects: Objects, load_id: str) -> LoadRecord | None:
    """The last turn of a load."""
    turns = [_record_at(objects, name) for name in _turns(objects, load_id)]
    return max((turn for turn in turns if turn), key=lambda turn: turn.turn, default=None)


def staged_loads(objects: Objects) -> tuple[str, ...]:
    """The loads with a name that have a record: under way, or left behind."""
    names = [name for name in objects.list(STAGING) if name.endswith(".json")]
    found = [record for name in names if (record := _record_at(objects, name)) is not None]
    return tuple(sorted({record.load_id for record in found if record.is_named}))


def _claimed(objects: Objects, record: LoadRecord, before: LoadRecord | None) -> LoadRecord:
    """Take the turn, unless another driver was quicker."""
    if not objects.put_if_absent(record.name, record.to_json()):
        other = _record_at(objects, record.name) or record
        raise LoadUnderWay(load_id=record.load_id, host=other.host, pid=other.pid)
    if before is not None and not _is_there(objects, before):
        # It has ended in the meantime, and what it had staged is gone or published.
        objects.delete(record.name)
        raise LoadUnderWay(load_id=record.load_id, host=before.host, pid=before.pid)
    return record


def _is_there(objects: Objects, record: LoadRecord) -> bool:
    there = _record_at(objects, record.name)
    return there is not None and there.owner == record.owner


def _record_at(objects: Objects, name: str) -> LoadRecord | None:
    data = objects.get(name)
    if data is None:
        return None
    told = json.loads(data)
    quarantine = told["quarantine"]
    return LoadRecord(**{**told, "quarantine": quarantine and Quarantine(**quarantine)})


def _folder(load_id: str) -> str:
    return f"{STAGING}/{quote(load_id, safe='')}"


def _turns(objects: Objects, load_id: str) -> list[str]:
    """Names of the records of a load, in no order."""
    mine = re.compile(re.escape(_folder(load_id)) + r"\.\d+\.json")
    return [name for name in objects.list(STAGING) if mine.fullmatch(name)]


def _forget_turns(objects: Objects, load_id: str) -> None:
    """The last turn goes last: who finds it and no other knows that all is over."""
    names = sorted(_turns(objects, load_id), key=lambda name: int(name.rsplit(".", 2)[1]))
    for name in names:
        objects.delete(name.removesuffix(".json") + ".alive")
        objects.delete(name)


def _forget_tasks(store: GraphStore, load_id: str, *, keep: Collection[str] | None) -> None:
    """Delete what tasks have left, and the files of those that are not kept. None: keep all."""
    objects = store.objects
    for name in objects.list(_folder(load_id)):
        done = objects.get(name)
        if done is not None and keep is not None and Path(name).stem not in keep:
            for table in json.loads(done)["tables"]:
                fragments = [file["fragment"] for file in table["files"]]
                discard(table["uri"], fragments, store.datasets.options)
        objects.delete(name)
    objects.forget_folder(_folder(load_id))


def _is_unpublished(store: GraphStore, record: LoadRecord) -> bool:
    """Whether no commit names the files of a load, and none will: only then may they go."""
    name = BranchName(record.branch)
    try:
        if has_sidecars(store, store.branches.resolve(name)):
            return False  # the unfinished write may be this load's, and recovery publishes it
        return all(commit.load_id != record.load_id for commit in store.line(name))
    except BranchMissing:
        return False


# Processes ----------------------------------------------------------------------------------------


def _this_process() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": _boot(), "pid": pid, "started": _started(pid)}


def _boot() -> str:
    """What tells this run of the machine from another, where the system says it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _started(pid: int) -> str | None:
    """When a process began, where the system says it; None if there is none."""
    with suppress(OSError):
        # The name, which comes before and may hold anything, ends with the last parenthesis.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""
