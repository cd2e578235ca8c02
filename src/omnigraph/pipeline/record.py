"""The record of a load under way: which of its tasks are done, and where their files lie.

A task leaves a small object when its files are written, in the graph's own storage, so that it does
not matter which machine it ran on. Whoever runs the task again (Spark, after an executor was lost;
another driver, after the first one died) finds the object and takes its word instead of reading the
input. A task is known by all that its files depend on, so what has changed is another task.
"""

import hashlib
import json
import os
import re
import socket
import threading
import weakref
from collections.abc import Collection, Mapping, Sequence
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
    FileMissing,
    LoadUnderWay,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.base.violations import Violations
from omnigraph.pipeline.sources import Piece
from omnigraph.pipeline.sources.pieces import InlineLines, InlineTable, ScratchRows
from omnigraph.pipeline.stage import (
    Keeping,
    Origin,
    Share,
    StagedFile,
    StagedTable,
    StageJob,
    discard,
    discard_tables,
    stage_pieces,
)
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import Objects, objects_at
from omnigraph.write.sidecar import has_sidecars

__all__ = ["NamedTask", "Recording", "forget_record", "name_tasks", "stage_task"]

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
        return recording

    @classmethod
    def resume(
        cls, store: GraphStore, *, load_id: str, mode: str, branch: BranchName
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
        return cls(store, _claimed(store.objects, taken, before))

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

    def expect(self, tasks: Collection["NamedTask"]) -> None:
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


def forget_record(store: GraphStore, load_id: str) -> None:
    """Delete what a driver left that died when its load was done: all but the files."""
    record = find_record(store.objects, load_id)
    if record is not None and record.is_surely_dead():
        _forget_tasks(store, load_id, keep=None)
        _forget_turns(store.objects, load_id)


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
    return None if data is None else LoadRecord(**json.loads(data))


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


# Tasks --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedTask:
    name: str
    pieces: tuple[Piece, ...]


def name_tasks(
    job: StageJob, tasks: Sequence[tuple[Piece, ...]], *, schema_hash: str
) -> list[NamedTask]:
    """Tasks by all that their files depend on: the input, the schema, where the files go."""
    is_quarantined = job.quarantine is not None
    about = repr((schema_hash, sorted(job.uris.items()), job.keeping.value, is_quarantined))
    named = []
    for pieces in tasks:
        told = hashlib.sha256(about.encode())
        for piece in pieces:
            told.update(_identity(piece).encode())
        named.append(NamedTask(told.hexdigest(), pieces))
    return named


def stage_task(job: StageJob, folder: str, record: str, task: NamedTask) -> Share:
    """Inside a task: stage its pieces, unless that has been done before.

    What is done is written down in `folder`, as long as the load's `record` is there. Spark may run
    two copies of a task at once. The first one to say that it is done has done it; the other throws
    its own files away.
    """
    objects = objects_at(job.root, Durability.FSYNC, job.options)
    name = f"{folder}/{task.name}.json"
    # Rows that the driver holds die with it: there is an account of their files alone.
    if Keeping.HELD not in job.keeping and (done := objects.get(name)) is not None:
        return _share(done, task.pieces)
    share = stage_pieces(job, task.pieces)
    if share.violations:
        return share
    told = _told(share, task.pieces, job.uris)
    try:
        done = _put_first(objects, name, told, job)
        if done is None or not objects.exists(record):
            if done == told:
                objects.delete(name)
                objects.forget_folder(folder)
            raise StorageFailed(doing="stage", path=folder, reason="the load was given up")
    except StorageFailed:
        discard_tables(job, share.tables)
        raise
    if done == told:
        return share
    discard_tables(job, share.tables)
    return _share(done, task.pieces)


def _put_first(objects: Objects, name: str, told: bytes, job: StageJob) -> bytes | None:
    """What is written down of the task: ours, unless another copy of it was quicker."""
    if Keeping.HELD in job.keeping:
        # The rows of this copy are on their way to the driver, and its files go with them.
        objects.put(name, told)
        return told
    # A bucket may keep the object and lose the answer: what is there tells whose it is.
    is_ours = objects.put_if_absent(name, told)
    return told if is_ours else objects.get(name)


def _identity(piece: Piece) -> str:
    match piece:
        case ScratchRows():
            return repr(piece)
        case InlineLines() | InlineTable():
            return f"{piece!r} {hashlib.sha256(piece.data).hexdigest()}"
        case _:
            try:
                about = Path(piece.path).stat()
            except OSError as error:
                raise FileMissing(path=piece.file) from error
            return f"{piece!r} {about.st_size} {about.st_mtime_ns}"


def _told(share: Share, pieces: Sequence[Piece], uris: Mapping[TableKey, str]) -> bytes:
    tables = [
        {
            "key": table.key,
            "uri": uris[table.key],
            "files": [asdict(file) for file in table.files],
            "origins": [[pieces.index(origin.piece), origin.rows] for origin in table.origins],
            "gives_ids": table.gives_ids,
        }
        for table in share.tables
    ]
    return json.dumps({"read": share.read, "tables": tables}).encode()


def _share(data: bytes, pieces: Sequence[Piece]) -> Share:
    told = json.loads(data)
    tables = tuple(
        StagedTable(
            key=TableKey(table["key"]),
            files=tuple(StagedFile(**file) for file in table["files"]),
            held=(),
            origins=tuple(Origin(pieces[number], rows) for number, rows in table["origins"]),
            gives_ids=table["gives_ids"],
        )
        for table in told["tables"]
    )
    return Share(told["read"], 0, Violations(), tables, parts=(), was_done=True)
