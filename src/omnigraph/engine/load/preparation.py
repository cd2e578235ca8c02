"""What has to be known before a load can be published: its input staged, and settled at a snapshot.

A `Preparation` is asked once more where another writer was quicker. It reads the input once, and
knows what must be removed however the load ends.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.base.errors import BranchMissing, StorageFailed
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.progress import Progress
from omnigraph.engine.load.bad_rows import BadRows, open_for
from omnigraph.engine.results import CommitInfo, LoadResult
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.location import BucketAccess
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.sidecar import has_sidecars
from omnigraph.write.work import Work, Writer

if TYPE_CHECKING:
    from omnigraph.pipeline.load.load import LoadMode, StagedLoad
    from omnigraph.pipeline.load.resolve import SettledLoad
    from omnigraph.pipeline.runner import Runner
    from omnigraph.pipeline.sources import PlannedInput
    from omnigraph.pipeline.sources.mapping import MappingArgument
    from omnigraph.pipeline.staging.quarantine import Quarantine
    from omnigraph.pipeline.staging.record import Recording

__all__ = ["Preparation", "Request", "loaded_before"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to load, how, and where to."""

    source: object
    mapping: "MappingArgument"
    format: str | None
    mode: str
    branch: BranchName
    from_: BranchName | None
    load_id: str | None
    resume: bool
    engine: str
    bad_rows: BadRows
    is_dry_run: bool
    access: BucketAccess
    """How to reach buckets in which there is input."""
    limits: LoadLimits
    new_folder: Callable[[], str]
    """Names a folder in the graph's storage that is removed when the load has ended."""


def loaded_before(store: GraphStore, request: Request) -> Commit | None:
    """The commit that brought an earlier load with this load id, by itself or by a merge."""
    if request.load_id is None:
        return None
    line = store.history().line(request.branch)
    try:
        return next((commit for commit in line if request.load_id in commit.load_ids), None)
    except BranchMissing:
        if request.from_ is None:
            raise
        return None


class Preparation(Writer[Work]):
    """Reads the input once, and settles what it changes as often as it takes."""

    def __init__(
        self,
        store: GraphStore,
        request: Request,
        *,
        mode: "LoadMode",
        start_spark: Callable[[], "Runner"],
        tell: Progress,
    ) -> None:
        from omnigraph.pipeline.load.load import Phases

        self._store = store
        self._request = request
        self._mode = mode
        self._tell = tell
        self._clock = Phases()
        self._start_spark = start_spark
        self._runner: Runner | None = None
        self._quarantine: Quarantine | None = None
        self._recording: Recording | None = None
        self._seen: CommitId | None = None
        self._staged: StagedLoad | None = None
        self._settled: SettledLoad | None = None

    def is_done(self) -> bool:
        return loaded_before(self._store, self._request) is not None

    def prepare(self, snapshot: Snapshot) -> Work:
        try:
            return self._prepare(snapshot)
        except KeyboardInterrupt:
            self._abandon()
            # Whoever shows it to a person has no other way to know how far it was.
            raise KeyboardInterrupt("nothing was loaded") from None
        except Exception:
            self._abandon()
            raise

    def _prepare(self, snapshot: Snapshot) -> Work:
        self._seen = snapshot.commit.id
        if self._runner is None or self._staged is None:
            self._runner, self._staged = self._stage(snapshot)
        self._tell("check", 0, 1)
        with self._clock.phase("check"):
            self._settled = self._settle(self._runner, self._staged, snapshot)
        self._tell("check", 1, 1)
        if not self._request.is_dry_run:
            self._tell("publish", 0, 1)
        return self._settled.work

    def clean_up(self, *, is_published: bool) -> None:
        """Delete files that nothing will ever name, now that it is known which."""
        if self._settled is not None:
            self._settled.discard_leftovers(is_published=is_published)
        if self._quarantine is not None:
            self._quarantine.drop()
        if self._recording is not None:
            self._recording.finish()

    def step_aside(self) -> None:
        """Someone else has published this load, perhaps with the files that we have staged."""
        if self._settled is not None:
            self._settled.discard_upserts()
        if self._quarantine is not None:
            self._quarantine.drop()
        if self._recording is not None:
            self._recording.step_aside()

    def leave(self) -> None:
        """The load has failed: leave nothing behind, unless it is or may yet be published."""
        with suppress(StorageFailed):
            if self._is_unpublished():
                self._abandon()
                return
        if self._recording is not None:
            self._recording.let_go()

    def _is_unpublished(self) -> bool:
        """Whether nothing has happened since we prepared, and recovery has nothing to finish."""
        branch = self._request.branch
        if has_sidecars(self._store, self._store.branches.resolve(branch)):
            return False
        return self._store.snapshot(branch).commit.id == self._seen

    def _abandon(self) -> None:
        """Nothing will be published: leave nothing behind that can be reached."""
        if self._settled is not None:
            self._settled.discard_upserts()
        if self._staged is not None:
            self._staged.discard_files()
        if self._quarantine is not None:
            self._quarantine.drop()
        if self._recording is not None:
            self._recording.abandon()

    def result(self, commit: Commit | None, *, seconds: float) -> LoadResult:
        """What has become of the input; rejected rows are now where they were asked for."""
        settled = self._settled
        assert settled is not None and self._runner is not None, "it was prepared"
        load = settled.load
        kept = self._quarantine.keep() if self._quarantine is not None and load.rejected else None
        spent = self._clock.seconds
        return LoadResult(
            branch=self._request.branch,
            base_branch=self._request.from_,
            mode=self._request.mode,
            load_id=self._request.load_id,
            is_repeat=False,
            engine=self._runner.engine,
            dry_run=self._request.is_dry_run,
            read=load.read,
            rejected=load.rejected,
            violations=load.violations if load.rejected else None,
            quarantine=kept,
            nodes=settled.nodes,
            edges=settled.edges,
            rows=dict(settled.counts_of(load.catalog.entities)),
            hints=tuple(map(_hint_of_repeats, settled.repeated)),
            input_bytes=load.input_bytes,
            seconds={**spent, "publish": seconds - sum(spent.values())},
            tasks=len(load.tasks),
            resumed_tasks=load.resumed,
            commit=CommitInfo.of(commit) if commit is not None else None,
        )

    def _stage(self, snapshot: Snapshot) -> tuple["Runner", "StagedLoad"]:
        from omnigraph.pipeline.load.load import stage_load
        from omnigraph.pipeline.sources import plan_pieces
        from omnigraph.pipeline.staging.record import Recording

        request, store = self._request, self._store
        parallelism = os.cpu_count() or 1
        self._quarantine = _quarantine(store, request)
        if request.resume:
            assert request.load_id is not None, "asked for above"
            self._recording = Recording.resume(
                store,
                load_id=request.load_id,
                mode=request.mode,
                branch=request.branch,
                quarantine=self._quarantine,
            )
            parallelism = self._recording.parallelism
        with self._clock.phase("parse"):
            planned = plan_pieces(
                request.source,
                catalog=snapshot.catalog,
                mapping=request.mapping,
                format=request.format,
                parallelism=parallelism,
                access=request.access,
                limits=request.limits,
            )
        self._tell("start", 0, 0)
        with self._clock.phase("start"):
            runner = self._start(planned)
            if self._recording is None:
                parallelism = runner.parallelism
                planned = planned.dealt(parallelism)
            if runner.engine == "spark" and planned.is_in_memory and not self._is_little(planned):
                planned = planned.spilled(store, folder=request.new_folder())
        # A single task is done or it is not. A load with a name may have to be found again.
        is_recorded = len(planned.tasks) > 1 or request.load_id is not None
        if self._recording is None and is_recorded and not request.is_dry_run:
            self._recording = Recording.begin(
                store,
                load_id=request.load_id,
                mode=request.mode,
                branch=request.branch,
                base_commit=snapshot.commit.id,
                parallelism=parallelism,
                quarantine=self._quarantine,
            )
        staged = stage_load(
            runner,
            planned,
            snapshot=snapshot,
            mode=self._mode,
            limits=request.limits,
            root=str(store.root),
            now_ms=store.clock.now_ms(),
            quarantine=self._quarantine,
            recording=self._recording,
            progress=self._tell,
        )
        self._clock.add(staged.seconds)
        return runner, staged

    def _start(self, planned: "PlannedInput") -> "Runner":
        from omnigraph.pipeline.local import InProcess

        # Files, however small, are Spark's unless told otherwise: one rule to remember.
        is_quick = planned.is_in_memory and self._is_little(planned)
        if self._request.engine == "local" or (self._request.engine == "auto" and is_quick):
            return InProcess()
        return self._start_spark()

    def _is_little(self, planned: "PlannedInput") -> bool:
        return planned.size <= self._request.limits.max_in_process_bytes

    def _settle(self, runner: "Runner", staged: "StagedLoad", snapshot: Snapshot) -> "SettledLoad":
        from omnigraph.pipeline.load.faults import accept_load
        from omnigraph.pipeline.load.resolve import settle_load

        load = accept_load(runner, staged, snapshot, quarantine=self._quarantine)
        self._staged = load
        before = self._settled
        if before is not None and before.load is not load:
            before.discard_upserts()
            before = None
        settled = settle_load(runner, load, snapshot, before=before)
        self._account_for(settled)
        return settled

    def _account_for(self, settled: "SettledLoad") -> None:
        """Every row of the input is loaded, rejected or superseded, and the report says so."""
        load, superseded = settled.load, settled.superseded
        loaded = sum((*settled.nodes.values(), *settled.edges.values()))
        assert load.read == loaded + load.rejected + superseded, "every row is accounted for"
        if self._quarantine is None or not load.rejected:
            return
        report = {
            "branch": self._request.branch,
            "mode": self._request.mode,
            "dry_run": self._request.is_dry_run,
            "read": load.read,
            "loaded": loaded,
            "rejected": load.rejected,
            "superseded": superseded,
            "counts": load.violations.counts_json(),
        }
        # Before anything is published: all that is left then is to give it its name.
        self._quarantine.settle(load.parts, report)


def _hint_of_repeats(edge: str) -> str:
    return (
        f"{edge} edges were added that equal earlier ones: without a key a merge takes every edge "
        f"for new. Declare @key(src, dst) on {edge}, or name the load (load_id), and loading again "
        "adds nothing"
    )


def _quarantine(store: GraphStore, request: Request) -> "Quarantine | None":
    source = request.source
    if not isinstance(source, str | os.PathLike):
        named = source if isinstance(source, list | tuple) else ()
        source = next((one for one in named if isinstance(one, str | os.PathLike)), "rows")
    return open_for(request.bad_rows, source=os.fspath(source), unique=store.clock.ulid())
