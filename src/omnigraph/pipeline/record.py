"""The record of a load under way: which of its tasks are done, and where their files lie.

A task leaves a small object when its files are written, in the graph's own storage, so that it does
not matter which machine it ran on. Whoever runs the task again (Spark, after an executor was lost;
another driver, after the first one died) finds the object and takes its word instead of reading the
input. A task is known by all that its files depend on, so what has changed is another task.
"""

import hashlib
import json
import os
import socket
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    LoadUnderWay,
    StagedLoadMissing,
    StorageFailed,
)
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.base.violations import Violations
from omnigraph.pipeline.sources import Piece
from omnigraph.pipeline.sources.pieces import InlineLines, InlineTable, ScratchRows
from omnigraph.pipeline.sources.stored import digest_of
from omnigraph.pipeline.sources.streams import state_of
from omnigraph.pipeline.stage import (
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
    """What `__staging/{load_id}.json` says."""

    load_id: str
    is_named: bool
    """Whether the caller named it: only then its commit tells that it was published."""
    mode: str
    branch: str
    base_commit: str
    parallelism: int
    """What the input was cut for: cut for another number, its pieces would be others."""
    host: str
    pid: int
    heartbeat_ms: int

    def is_alive(self, now_ms: int) -> bool:
        """Whether its driver may still be at work."""
        if now_ms - self.heartbeat_ms > SILENCE_S * 1000:
            return False
        return self.host != socket.gethostname() or _runs(self.pid)

    def require_dead(self, now_ms: int) -> None:
        if self.is_alive(now_ms):
            raise LoadUnderWay(load_id=self.load_id, host=self.host, pid=self.pid)


class Recording:
    """The record of one load, from its driver's side: kept alive until it is closed."""

    def __init__(self, store: GraphStore, record: LoadRecord) -> None:
        self._store = store
        self._record = record
        self._expected: frozenset[str] = frozenset()
        self._over = threading.Event()
        self._beat = threading.Thread(target=self._keep_alive, daemon=True)

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
        record = LoadRecord(
            load_id=load_id or store.clock.ulid(),
            is_named=load_id is not None,
            mode=mode,
            branch=branch,
            base_commit=base_commit,
            parallelism=parallelism,
            host=socket.gethostname(),
            pid=os.getpid(),
            heartbeat_ms=store.clock.now_ms(),
        )
        recording = cls(store, record)
        if load_id is not None:
            before = find_record(store.objects, load_id)
            if before is not None:
                before.require_dead(store.clock.now_ms())
            is_unpublished = before is not None and _is_unpublished(store, before)
            recording._forget_tasks(keep=() if is_unpublished else None)
        recording._start()
        return recording

    @classmethod
    def resume(
        cls, store: GraphStore, *, load_id: str, mode: str, branch: BranchName
    ) -> "Recording":
        """Go on where an earlier driver died."""
        before = find_record(store.objects, load_id)
        if before is None or not before.is_named:
            raise StagedLoadMissing(load_id=load_id, known=staged_loads(store.objects))
        before.require_dead(store.clock.now_ms())
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
        now_ms = store.clock.now_ms()
        signed = replace(before, host=socket.gethostname(), pid=os.getpid(), heartbeat_ms=now_ms)
        recording = cls(store, signed)
        recording._start()
        return recording

    @property
    def parallelism(self) -> int:
        return self._record.parallelism

    @property
    def folder(self) -> str:
        """Where tasks leave what they have done."""
        return f"{STAGING}/{quote(self._record.load_id, safe='')}"

    def expect(self, tasks: Collection["NamedTask"]) -> None:
        """The tasks of this run; an earlier one, of an input that has changed, had others too."""
        self._expected = frozenset(task.name for task in tasks)

    def finish(self) -> None:
        """The load is over, and the files of its tasks are accounted for."""
        self._close(keep=self._expected)

    def abandon(self) -> None:
        """The load has failed: whatever its tasks have written goes with its record."""
        self._close(keep=())

    def _start(self) -> None:
        self._put()
        self._beat.start()

    def _close(self, *, keep: Collection[str]) -> None:
        self._over.set()
        self._beat.join()
        # What can't be deleted now is found by the next load of this name, or by a clean-up. The
        # record goes first: a task that is still at work looks for it when it is done.
        with suppress(StorageFailed):
            self._store.objects.delete(_name(self._record.load_id))
            self._forget_tasks(keep=keep)

    def _forget_tasks(self, *, keep: Collection[str] | None) -> None:
        """Delete what tasks have left, and the files of those that are not kept. None: keep all."""
        objects = self._store.objects
        for name in objects.list(self.folder):
            done = objects.get(name)
            if done is not None and keep is not None and Path(name).stem not in keep:
                for table in json.loads(done)["tables"]:
                    fragments = [file["fragment"] for file in table["files"]]
                    discard(table["uri"], fragments, self._store.datasets.options)
            objects.delete(name)

    def _put(self) -> None:
        data = json.dumps(asdict(self._record)).encode()
        self._store.objects.put(_name(self._record.load_id), data)

    def _keep_alive(self) -> None:
        while not self._over.wait(HEARTBEAT_S):
            self._record = replace(self._record, heartbeat_ms=self._store.clock.now_ms())
            # A store that fails now and then costs a heartbeat, not the load.
            with suppress(StorageFailed):
                self._put()


def forget_record(store: GraphStore, load_id: str) -> None:
    """Delete what a driver left that died when its load was done: all but the files."""
    record = find_record(store.objects, load_id)
    if record is not None and not record.is_alive(store.clock.now_ms()):
        store.objects.delete(_name(load_id))
        Recording(store, record)._forget_tasks(keep=None)


def find_record(objects: Objects, load_id: str) -> LoadRecord | None:
    data = objects.get(_name(load_id))
    return None if data is None else LoadRecord(**json.loads(data))


def staged_loads(objects: Objects) -> tuple[str, ...]:
    """The loads with a name that have a record: under way, or left behind."""
    names = [unquote(Path(n).stem) for n in objects.list(STAGING) if n.endswith(".json")]
    return tuple(n for n in names if (found := find_record(objects, n)) and found.is_named)


def _name(load_id: str) -> str:
    return f"{STAGING}/{quote(load_id, safe='')}.json"


def _is_unpublished(store: GraphStore, record: LoadRecord) -> bool:
    """Whether no commit names the files of a load, and none will: only then may they go."""
    name = BranchName(record.branch)
    try:
        if has_sidecars(store, store.branches.resolve(name)):
            return False  # the unfinished write may be this load's, and recovery publishes it
        return all(commit.load_id != record.load_id for commit in store.line(name))
    except BranchMissing:
        return False


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


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
    # Of files by their path: a bucket is asked once for each.
    states: dict[str, str] = {}
    named = []
    for pieces in tasks:
        told = hashlib.sha256(about.encode())
        for piece in pieces:
            told.update(_identity(piece, states).encode())
        named.append(NamedTask(told.hexdigest(), pieces))
    return named


def stage_task(job: StageJob, folder: str, task: NamedTask) -> Share:
    """Inside a task: stage its pieces, unless that has been done before."""
    objects = objects_at(job.root, Durability.FSYNC, job.options)
    name = f"{folder}/{task.name}.json"
    if (done := objects.get(name)) is not None:
        return _share(done)
    share = stage_pieces(job, task.pieces)
    if share.violations:
        return share
    try:
        objects.put(name, _told(share, job.uris))
        if not objects.exists(f"{folder}.json"):
            objects.delete(name)
            raise StorageFailed(doing="stage", path=folder, reason="the load was given up")
    except StorageFailed:
        discard_tables(job, share.tables)
        raise
    return share


def _identity(piece: Piece, states: dict[str, str]) -> str:
    match piece:
        case ScratchRows():
            return repr(piece)
        case InlineLines() | InlineTable():
            return f"{piece!r} {digest_of(piece.data)}"
        case _:
            if piece.path not in states:
                states[piece.path] = state_of(piece)
            return f"{piece!r} {states[piece.path]}"


def _told(share: Share, uris: Mapping[TableKey, str]) -> bytes:
    tables = [
        {
            "key": table.key,
            "uri": uris[table.key],
            "files": [asdict(file) for file in table.files],
            "origins": [[origin.piece, origin.rows] for origin in table.origins],
            "gives_ids": table.gives_ids,
        }
        for table in share.tables
    ]
    return json.dumps({"read": share.read, "tables": tables}).encode()


def _share(data: bytes) -> Share:
    told = json.loads(data)
    tables = tuple(
        StagedTable(
            key=TableKey(table["key"]),
            files=tuple(StagedFile(**file) for file in table["files"]),
            held=(),
            origins=tuple(Origin(piece, rows) for piece, rows in table["origins"]),
            gives_ids=table["gives_ids"],
        )
        for table in told["tables"]
    )
    return Share(told["read"], 0, Violations(), tables, parts=(), was_done=True)
