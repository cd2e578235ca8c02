"""The load jobs of a server: begun, filled, queued, run one at a time on a branch, and ended.

Whatever changes a job holds one lock and writes the job down before anyone is told. Loads run in
threads of their own. A server that starts takes up all that has not ended (`begin`).
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from omnigraph.base.clock import Clock, SystemClock
from omnigraph.base.errors import (
    JobMissing,
    JobNotOpen,
    OmnigraphError,
    PartDamaged,
    PartsMissing,
    RequestsTooMany,
    StorageError,
    Unsupported,
)
from omnigraph.engine.gate import Action
from omnigraph.engine.results import LoadResult
from omnigraph.surfaces.server.access import Where, may
from omnigraph.surfaces.server.jobs.incoming import Incoming
from omnigraph.surfaces.server.jobs.job import Job, JobOrder, JobState, Part, Progressed
from omnigraph.surfaces.server.jobs.places import Places
from omnigraph.surfaces.server.jobs.room import Room
from omnigraph.surfaces.server.jobs.running import Cancelled, Hears, Stopping, carry_out
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.logs import MEMBERS
from omnigraph.surfaces.server.registry import Serving

__all__ = ["Jobs"]

log = logging.getLogger("omnigraph.server.jobs")

SWEEP_S = 600.0
"""How often what has expired is looked for."""


class Jobs:
    def __init__(
        self,
        spool: Spool | None,
        limits: ServerLimits,
        *,
        serving: Callable[[], Serving],
        places: Places | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._spool_or_none = spool
        self._limits = limits
        self._serving = serving
        self.places = places or Places()
        self._clock = clock or SystemClock()
        self._room = Room(max_job_bytes=limits.max_job_bytes, max_bytes=limits.max_spool_bytes)
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._waiting: list[str] = []
        """Ids of jobs that are queued, first come first."""
        self._running: dict[tuple[str, str], str] = {}
        """By graph and branch."""
        self._progress: dict[str, Progressed] = {}
        self._threads: set[threading.Thread] = set()
        self._stopping = threading.Event()

    # The life of a server -------------------------------------------------------------------------

    def begin(self) -> None:
        """Take up what an earlier server left, and look after what expires."""
        if self._spool_or_none is None:
            return
        found = list(self._spool.jobs())
        with self._lock:
            for job in found:
                self._jobs[job.id] = job
                if job.state.is_over:
                    self._spool.remove_data(job)
                elif job.order.upload is not None:
                    touched_ms = max(job.changed_ms, self._spool.touched_ms(job))
                    self._jobs[job.id] = replace(job, changed_ms=touched_ms)
                    for part in self._spool.parts(job):
                        self._room.keep(job.id, part.number, part.size)
            # Those that ran come first, as they did.
            left = (job for job in found if job.state in (JobState.RUNNING, JobState.QUEUED))
            order = sorted(
                left, key=lambda j: (j.state is not JobState.RUNNING, j.changed_ms, j.id)
            )
            self._waiting = [job.id for job in order]
            for job in order:
                _tell("load job taken up", job)
            self._sweep()
            self._dispatch()
        threading.Thread(target=self._sweep_on, name="omnigraph-sweep", daemon=True).start()

    def stop(self) -> None:
        """Begin no more loads, and tell those under way to leave what they have for later."""
        self._stopping.set()

    def close(self, timeout_s: float) -> bool:
        """Wait for the loads under way to leave off, but not longer: what is killed is resumed.

        True if all of them have.
        """
        self.stop()
        deadline = time.monotonic() + timeout_s
        threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if self._spool_or_none is not None:
            self._spool.close()
        return not any(thread.is_alive() for thread in threads)

    def _sweep_on(self) -> None:
        while not self._stopping.wait(SWEEP_S):
            with self._lock:
                self._sweep()

    def _sweep(self) -> None:
        """Forget uploads that nobody goes on with, and jobs that ended long ago."""
        now_ms = self._clock.now_ms()
        for job in list(self._jobs.values()):
            if job.state is JobState.UPLOADING:
                limit_s = self._limits.upload_expiry_s
            elif job.state.is_over:
                limit_s = self._limits.ended_job_expiry_s
            else:
                continue
            if now_ms - job.changed_ms > limit_s * 1000:
                self._forget(job)
                _tell("load job forgotten", job)

    def _forget(self, job: Job) -> None:
        self._spool.remove(job)
        self._room.forget(job.id)
        self._progress.pop(job.id, None)
        del self._jobs[job.id]

    # What is told ---------------------------------------------------------------------------------

    def count(self, state: JobState) -> int:
        with self._lock:
            return sum(job.state is state for job in self._jobs.values())

    def spooled_bytes(self) -> int:
        return self._room.used

    def of(self, graph: str, actor: str | None) -> list[Job]:
        """The jobs of a graph that an actor sees, newest first."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if job.graph == graph]
        seen = (job for job in jobs if self._sees(actor, job))
        return sorted(seen, key=lambda job: job.id, reverse=True)

    def get(self, graph: str, id_: str, actor: str | None) -> Job:
        """The job; one of another actor is missing like one that never was."""
        with self._lock:
            job = self._jobs.get(id_)
        if job is None or job.graph != graph or not self._sees(actor, job):
            raise JobMissing(id_)
        return job

    def _sees(self, actor: str | None, job: Job) -> bool:
        where = Where(branch=job.order.branch)
        if actor == job.actor:
            return True
        serving = self._serving()
        access = serving.access_to(serving.registry.graphs.get(job.graph))
        return may(access, actor, Action.ADMIN, where)

    def progress_of(self, job: Job) -> Progressed | None:
        return self._progress.get(job.id) if job.state is JobState.RUNNING else None

    def parts_of(self, job: Job) -> list[Part]:
        """Of an upload that goes on, those that are there."""
        return self._spool.parts(job) if job.state is JobState.UPLOADING else list(job.parts)

    def rejected_of(self, job: Job) -> list[Any]:
        """The files of rows that were set aside, in the order of the input."""
        return sorted(self._spool.rejected(job).glob("*.jsonl"))

    # What is asked for ----------------------------------------------------------------------------

    def create(self, order: JobOrder, *, graph: str, graph_uid: str, actor: str | None) -> Job:
        """A job of this order: it waits for an upload, or stands in the queue at once."""
        self._require_spool()
        if order.upload is not None:
            self._room.check(order.upload.bytes or 0)
        now_ms = self._clock.now_ms()
        job = Job(
            id=self._clock.ulid(),
            graph=graph,
            graph_uid=graph_uid,
            actor=actor,
            order=order,
            state=JobState.QUEUED if order.upload is None else JobState.UPLOADING,
            created_ms=now_ms,
            changed_ms=now_ms,
        )
        with self._lock:
            self._sweep()
            mine = sum(not j.state.is_over and j.actor == actor for j in self._jobs.values())
            if mine >= self._limits.max_actor_jobs:
                what, most = "this actor has too many load jobs under way", mine
                raise RequestsTooMany(what, most, self._limits.retry_after_s)
            self._save(job)
            _tell("load job begun", job)
            if job.state is JobState.QUEUED:
                self._waiting.append(job.id)
                self._dispatch()
            return self._jobs[job.id]

    def incoming(self, job: Job, number: int) -> Incoming:
        """A place for the bytes of a part."""
        with self._lock:
            self._require_open(job.id, "it takes no more parts")
            return Incoming(self._room, job.id, self._spool.new_part(job, number))

    def keep(self, job: Job, incoming: Incoming, sha256: str | None) -> Part:
        """Keep a part that came in full, in the place of what had its number before."""
        draft = incoming.draft
        if sha256 is not None and sha256 != draft.sha256:
            raise PartDamaged(draft.number)
        with self._lock:
            job = self._require_open(job.id, "it takes no more parts")
            part = self._spool.keep(job, draft)
            incoming.keep()
            # Not written down: whether an upload goes on is only asked of a server that lives.
            self._jobs[job.id] = replace(job, changed_ms=self._clock.now_ms())
        return part

    def start(self, job: Job, part_count: int) -> Job:
        """Queue an upload of so many parts; a second time it is what it is by then."""
        with self._lock:
            job = self._jobs[job.id]
            if job.order.upload is None or job.state is JobState.CANCELLED:
                raise JobNotOpen(job.id, job.state, "it waits for no upload")
            if job.state is not JobState.UPLOADING:
                if len(job.parts) != part_count:
                    doing = f"it was started with {len(job.parts):,} parts"
                    raise JobNotOpen(job.id, job.state, doing)
                return job
            parts = tuple(self._spool.parts(job))
            there = {part.number for part in parts}
            wanted = set(range(1, part_count + 1))
            if there != wanted:
                missing, beyond = sorted(wanted - there), sorted(there - wanted)
                raise PartsMissing(job.id, part_count, tuple(missing), tuple(beyond))
            self._save(job.to(JobState.QUEUED, self._clock.now_ms(), parts=parts))
            self._waiting.append(job.id)
            _tell("load job queued", job)
            self._dispatch()
            return self._jobs[job.id]

    def cancel(self, job: Job) -> Job:
        """End a job. One that runs ends at its next step, unless it is published before that."""
        with self._lock:
            job = self._jobs[job.id]
            if job.state.is_over or job.is_cancelled:
                return job
            if job.state is not JobState.RUNNING and job.id not in self._running.values():
                if job.id in self._waiting:
                    self._waiting.remove(job.id)
                return self._end(
                    job.to(JobState.CANCELLED, self._clock.now_ms(), is_cancelled=True)
                )
            self._save(replace(job, is_cancelled=True))
            _tell("load job is to be cancelled", job)
            return self._jobs[job.id]

    def _require_open(self, id_: str, doing: str) -> Job:
        if (job := self._jobs.get(id_)) is None:
            raise JobMissing(id_)
        if job.state is not JobState.UPLOADING:
            raise JobNotOpen(job.id, job.state, doing)
        return job

    # Loads ----------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Begin those that may: the first of each branch on which nothing runs."""
        for id_ in list(self._waiting):
            if self._stopping.is_set() or len(self._running) >= self._limits.running_jobs:
                return
            job = self._jobs[id_]
            lane = (job.graph, job.order.branch)
            if lane not in self._running:
                self._waiting.remove(id_)
                self._running[lane] = id_
                work = threading.Thread(
                    target=self._work, args=(id_, lane), name=f"omnigraph-job-{id_}", daemon=True
                )
                self._threads.add(work)
                work.start()

    def _work(self, id_: str, lane: tuple[str, str]) -> None:
        try:
            self._carry_out(id_)
        except BaseException as error:  # noqa: BLE001 - the outermost frame of a thread
            # The server stops, or worse: the job is taken up by the next one.
            job = self._jobs[id_]
            log.warning(
                "load job left for later", extra={MEMBERS: {**_about(job), "by": _name(error)}}
            )
        finally:
            with self._lock:
                self._progress.pop(id_, None)
                del self._running[lane]
                self._threads.discard(threading.current_thread())
                self._dispatch()

    def _carry_out(self, id_: str) -> None:
        hears = Hears(
            lambda phase, done, total: self._hear(id_, Progressed(phase, done, total)),
            lambda result: self._prepared(id_, result),
        )
        try:
            job = self._run_once_more(id_)
            result = carry_out(
                job, serving=self._serving(), spool=self._spool, places=self.places, hears=hears
            )
        except Cancelled:
            self._settle(id_, lambda job, now: job.to(JobState.CANCELLED, now))
        except Exception as error:
            if self._stopping.is_set():
                # Spark was stopped under it, say. What was staged is gone or can be gone on with.
                raise Stopping from error
            if not isinstance(error, OmnigraphError) or isinstance(error, StorageError):
                about = _about(self._jobs[id_])
                log.error("load job failed", exc_info=error, extra={MEMBERS: about})
            failure = error
            self._settle(id_, lambda job, now: job.failed_with(failure, now))
        else:
            self._settle(id_, lambda job, now: job.to(JobState.SUCCEEDED, now, result=result))

    def _run_once_more(self, id_: str) -> Job:
        with self._lock:
            job = self._jobs[id_]
            job = self._save(job.to(JobState.RUNNING, self._clock.now_ms(), runs=job.runs + 1))
        _tell("load job started", job)
        return job

    def _settle(self, id_: str, ended: Callable[[Job, int], Job]) -> None:
        with self._lock:
            self._end(ended(self._jobs[id_], self._clock.now_ms()))

    def _end(self, job: Job) -> Job:
        """Write down how a job ended; then what was uploaded for it goes."""
        job = replace(job, prepared=None)
        try:
            self._save(job)
        except OmnigraphError as error:
            # This server knows it all the same. The next one begins the job again, and finds the
            # commit if there is one.
            self._jobs[job.id] = job
            log.error("load job not written down", exc_info=error, extra={MEMBERS: _about(job)})
        self._spool.remove_data(job)
        self._room.forget(job.id)
        _tell(f"load job {job.state}", job)
        return job

    def _hear(self, id_: str, progress: Progressed) -> None:
        """Remember how far a load is; raise to end it, where nothing is published yet."""
        self._progress[id_] = progress
        # Before that nothing is staged, or what was staged before is not ours yet; after it, the
        # load is published.
        is_early = progress.phase == "start"
        is_done = progress.phase == "publish" and progress.done >= progress.total
        if is_early or is_done:
            return
        if self._jobs[id_].is_cancelled:
            raise Cancelled
        if self._stopping.is_set():
            raise Stopping

    def _prepared(self, id_: str, result: LoadResult) -> None:
        with self._lock:
            self._save(replace(self._jobs[id_], prepared=result))

    def _save(self, job: Job) -> Job:
        self._spool.save(job)
        self._jobs[job.id] = job
        return job

    # Places ---------------------------------------------------------------------------------------

    @property
    def _spool(self) -> Spool:
        assert self._spool_or_none is not None, "there are no jobs without a spool"
        return self._spool_or_none

    def _require_spool(self) -> None:
        if self._spool_or_none is None:
            instead = "start it with --spool DIR, a directory for what is uploaded"
            raise Unsupported(what="a load job on this server", instead=instead)


def _about(job: Job) -> dict[str, Any]:
    return {
        "job": job.id,
        "graph": job.graph,
        "actor": job.actor,
        "branch": job.order.branch,
        "state": job.state.value,
    }


def _tell(message: str, job: Job) -> None:
    more: dict[str, Any] = {}
    if job.result is not None:
        more["rows"] = job.result.total_entities
    if (error := job.error) is not None:
        more["code"] = error.code
    log.info(message, extra={MEMBERS: {**_about(job), **more}})


def _name(error: BaseException) -> str:
    return type(error).__name__
