"""The preparation of a load: its input staged, accepted, and resolved at a snapshot.

A `Preparation` is asked once more where another writer was quicker. It reads the input once. The
files that it stages belong to its staging area, and `end` closes that, however the load ends.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from omnigraph.base.errors import (
    CommitMissing,
    CommitReclaimed,
    FenceLost,
    LoadUnderWay,
    SchemaMoved,
    StorageFailed,
)
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.progress import Progress
from omnigraph.embed.kept import KeptVectors, kept_for
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.embed.targets import require_models, targets_of
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.engine import Engine
from omnigraph.engine.load.earlier import loaded_before
from omnigraph.engine.load.result import load_note, load_result, report_of
from omnigraph.engine.permit import Permit
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult
from omnigraph.store.commits import Commit
from omnigraph.store.fence import Hold
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Work, Writer

if TYPE_CHECKING:
    from omnigraph.pipeline.load.load import StagedLoad
    from omnigraph.pipeline.load.resolve import ResolvedLoad
    from omnigraph.pipeline.runner import Runner
    from omnigraph.pipeline.sources import PlannedInput
    from omnigraph.pipeline.staging.area import Ending
    from omnigraph.pipeline.staging.quarantine import Quarantine

__all__ = ["Preparation"]


class Preparation(Writer[Work]):
    """Reads the input once, and resolves what it changes as often as it takes."""

    def __init__(
        self,
        engine: Engine,
        request: Load,
        *,
        base: BranchName | None,
        hold: Hold | None,
        tell: Progress,
        prepared: Callable[[LoadResult], None] | None = None,
    ) -> None:
        """`base` is what the branch is made from, None where it is there already."""
        from omnigraph.pipeline.load.load import Phases
        from omnigraph.pipeline.staging.area import StagingArea

        self._engine = engine
        self._store = engine.store
        self._request = request
        self.base = base
        self._hold = hold
        self._tell = tell
        self._prepared = prepared
        self._clock = Phases()
        self._area = StagingArea(engine.store, hold=hold)
        self._runner: Runner | None = None
        self._engine_reason: str | None = None
        self._quarantine: Quarantine | None = None
        self._owned: TextIO | None = None
        """The lock of the quarantine's directory."""
        self._seen: CommitId | None = None
        self._is_over = False
        self._staged: StagedLoad | None = None
        self._staged_for: str | None = None
        """The schema that its files fit."""
        self._resolved: ResolvedLoad | None = None

    def is_done(self) -> bool:
        if loaded_before(self._engine, self._request) is not None:
            return True
        self._require_fence()
        return False

    def prepare(self, snapshot: Snapshot) -> Work:
        from omnigraph.pipeline.staging.area import Ending

        try:
            return self._prepare(snapshot)
        except KeyboardInterrupt:
            self.end(Ending.NOTHING)
            # Whoever shows it to a person has no other way to know how far it was.
            raise KeyboardInterrupt("nothing was loaded") from None
        except Exception:
            self.end(Ending.NOTHING)
            raise

    @property
    def may_go_on(self) -> bool:
        """True if its files are there still, though its branch was deleted.

        They lie beside the tables as the branch had them, which are gone once it had written them.
        """
        if self._is_over or self._seen is None:
            return not self._is_over
        try:
            self._store.snapshot_at(self._seen)
        except (CommitMissing, CommitReclaimed):
            return False
        return True

    def end(self, ending: "Ending", commit: Commit | None = None) -> None:
        """Delete what is no longer needed, now that it is known how the load has ended.

        `commit` is ours, if it was published.
        """
        from omnigraph.pipeline.staging.area import Ending

        self._is_over = True
        published: Collection[str] = ()
        if commit is not None and self._resolved is not None:
            where = {
                change.key: self._store.datasets.location(change.ref.path, change.ref.branch)
                for change in commit.changes
            }
            published = self._resolved.fragments_in(where)
        self._area.close(ending, published=published)
        # The rejected rows of a commit that recovery may yet publish are named by the next load.
        if self._quarantine is not None and ending is not Ending.UNKNOWN:
            self._quarantine.drop()
        if self._request.embed and commit is not None:
            KeptVectors(self._store.objects, self._kept_in()).drop(is_alone=False)
        if self._owned is not None:
            self._owned.close()

    def fail(self) -> None:
        """Leave nothing behind, unless the load is or may yet be published."""
        from omnigraph.pipeline.staging.area import Ending
        from omnigraph.pipeline.staging.record import is_unpublished

        branch, load_id = self._request.branch, self._request.load_id
        try:
            is_nothing = self._seen is None or is_unpublished(
                self._store, branch, load_id=load_id, since=self._seen
            )
        except StorageFailed:
            is_nothing = False
        self.end(Ending.NOTHING if is_nothing else Ending.UNKNOWN)

    def result(self, commit: Commit | None, *, seconds: float) -> LoadResult:
        """What has become of the input; rejected rows are now where they were asked for."""
        assert self._resolved is not None, "it was prepared"
        has_rejected = self._quarantine is not None and self._resolved.load.rejected
        kept = self._quarantine.keep() if self._quarantine and has_rejected else None
        spent = self._clock.seconds
        phases = {**spent, "publish": seconds - sum(spent.values())}
        return self._result(commit, seconds=phases, quarantine=kept)

    def _result(
        self, commit: Commit | None, *, seconds: Mapping[str, float], quarantine: str | None
    ) -> LoadResult:
        assert self._resolved is not None and self._runner is not None, "it was prepared"
        return load_result(
            self._request,
            base_branch=self.base,
            commit=commit,
            quarantine=quarantine,
            resolved=self._resolved,
            engine=self._runner.engine,
            engine_reason=self._engine_reason,
            seconds=seconds,
        )

    def _require_fence(self) -> None:
        """Raise if another driver has taken the load over: it may be at work on the same rows."""
        if self._hold is None:
            return
        try:
            self._hold.confirm()
        except FenceLost as lost:
            load_id = self._request.load_id or ""
            raise LoadUnderWay(load_id=load_id, holder=lost.holder) from lost

    def _prepare(self, snapshot: Snapshot) -> Work:
        self._seen = snapshot.commit.id
        permit = self._permit(snapshot)
        if self._runner is None or self._staged is None:
            self._runner, self._staged = self._stage(permit.view.snapshot)
            self._staged_for = snapshot.schema_hash
        elif snapshot.schema_hash != self._staged_for:
            # Its files have the columns of the schema before.
            raise SchemaMoved(branch=snapshot.branch, tables=tuple(sorted(snapshot.tables)))
        self._tell("check", 0, 1)
        with self._clock.phase("check"):
            self._resolved = self._resolve(self._runner, self._staged, permit)
        self._tell("check", 1, 1)
        if self._prepared is not None:
            self._prepared(self._result(None, seconds=self._clock.seconds, quarantine=None))
        if not self._request.dry_run:
            self._tell("publish", 0, 1)
        report = report_of(self._request, self._resolved)
        return replace(
            self._resolved.work,
            note=load_note(self._request, report),
            # Otherwise a repetition would not know that the load was done, and would do it again:
            # over what others have written since.
            is_recorded=self._request.load_id is not None,
        )

    def _stage(self, snapshot: Snapshot) -> tuple["Runner", "StagedLoad"]:
        from omnigraph.pipeline.load.load import LoadMode, stage_load
        from omnigraph.pipeline.sources import plan_splits
        from omnigraph.pipeline.staging.record import (
            LoadRecord,
            begin_load,
            find_resumable,
            resume_load,
        )

        request, store, area = self._request, self._store, self._area
        parallelism = os.cpu_count() or 1
        self._quarantine = _quarantine_for(request, unique=store.clock.ulid())
        if self._quarantine is not None:
            self._owned = self._quarantine.hold(request.load_id)
        found = None
        if request.resume:
            assert request.load_id is not None, "a request to resume has a name"
            found, left = find_resumable(
                store,
                load_id=request.load_id,
                mode=request.mode,
                branch=request.branch,
                knows=self._knows,
            )
            parallelism = left.parallelism
        with self._clock.phase("parse"):
            planned = plan_splits(
                request.source,
                catalog=snapshot.catalog,
                mapping=request.mapping,
                format=request.format,
                parallelism=parallelism,
                access=self._engine.settings.bucket_access,
                limits=self._engine.settings.load_limits,
            )
        self._tell("start", 0, 0)
        with self._clock.phase("start"):
            runner = self._start(planned)
            if not request.resume:
                parallelism = runner.parallelism
                planned = planned.dealt(parallelism)
            is_carried = planned.size <= self._engine.settings.load_limits.max_carried_bytes
            if runner.engine == "spark" and planned.is_in_memory and not is_carried:
                planned = planned.spilled(store, folder=area.new_folder())
        # A single task is done or it is not. A load with a name may have to be found again.
        name = None if request.dry_run else request.load_id
        if found is not None:
            # Not before the input was found and the runner started: had they failed, the files
            # would have gone with us.
            resume_load(area, found, left, self._quarantine)
        elif len(planned.tasks) > 1 or name is not None:
            record = LoadRecord(
                mode=request.mode,
                branch=request.branch,
                base_commit=snapshot.commit.id,
                parallelism=parallelism,
                quarantine=self._quarantine,
            )
            begin_load(store, area, record, name, knows=self._knows)
        staged = stage_load(
            runner,
            planned,
            snapshot=snapshot,
            mode=LoadMode.named(request.mode),
            limits=self._engine.settings.load_limits,
            area=area,
            now_ms=store.clock.now_ms(),
            quarantine=self._quarantine,
            embed=self._embed_config(snapshot),
            kept_in=self._kept_in(),
            progress=self._tell,
        )
        self._clock.add(staged.seconds)
        return runner, staged

    def _knows(self, branch: BranchName) -> bool:
        """Whether the caller, who may load into a branch of their choice, may know of another."""
        is_own = branch == self._request.branch
        return is_own or self._engine.gate.knows(self._request.actor, branch)

    def _embed_config(self, snapshot: Snapshot) -> EmbedConfig | None:
        """Who makes vectors for the rows, if that is wanted; a rehearsal asks no provider."""
        if not self._request.embed:
            return None
        config = self._engine.settings.embed
        require_models(open_provider(config), targets_of(snapshot.catalog))
        return None if self._request.dry_run else config

    def _kept_in(self) -> str:
        config = self._engine.settings.embed
        model = open_provider(config).model if self._request.embed else ""
        return kept_for("load", branch=self._request.branch, config=config, model=model)

    def _start(self, planned: "PlannedInput") -> "Runner":
        from omnigraph.pipeline.local import InProcess

        settings = self._engine.settings
        choice = choose_runner(
            settings,
            lambda: WorkSize(planned.size, settings.load_limits.max_local_load_bytes),
            asked=self._request.engine,
            session=self._request.spark,
            load="rows" if planned.came_with_call else "files",
            may_start_spark=self._engine.gate.allows_spark(self._request.actor),
        )
        self._engine_reason = choice.reason
        if choice.engine == "local":
            return InProcess()
        return self._engine.spark_for(self._request.actor, self._request.spark)

    def _permit(self, snapshot: Snapshot) -> Permit:
        """What may be written; a rehearsal may have found the branch that the load's is made of."""
        named = replace(snapshot, branch=self._request.branch)
        return Permit.of(self._engine.gate, named, self._request)

    def _resolve(self, runner: "Runner", staged: "StagedLoad", permit: Permit) -> "ResolvedLoad":
        if not permit.is_free:
            from omnigraph.engine.load.permitted import REFUSALS, partial_load

            if (part := partial_load(permit, self._request, staged)) is not None:
                part.check_seen(runner)
                try:
                    resolved = self._resolve_all(runner, staged, permit.snapshot)
                except REFUSALS:
                    # By rows that the actor does not see.
                    raise permit.denial() from None
                part.judge(resolved)
                # What equals an earlier edge may equal a hidden one.
                return replace(resolved, repeated=())
        return self._resolve_all(runner, staged, permit.snapshot)

    def _resolve_all(
        self, runner: "Runner", staged: "StagedLoad", snapshot: Snapshot
    ) -> "ResolvedLoad":
        from omnigraph.pipeline.load.faults import accept_load
        from omnigraph.pipeline.load.resolve import resolve_load

        area, before = self._area, self._resolved
        accepted = accept_load(runner, staged, snapshot, area, quarantine=self._quarantine)
        # Rows that were rejected at one snapshot stay rejected at the next.
        self._staged = accepted.load
        resolved = resolve_load(runner, accepted, snapshot, area, before=before)
        self._account_for(resolved)
        return resolved

    def _account_for(self, resolved: "ResolvedLoad") -> None:
        """Every row of the input is loaded, rejected or superseded, and the report says so."""
        told = report_of(self._request, resolved)
        if self._quarantine is None or not resolved.load.rejected:
            return
        report = {"branch": self._request.branch, "dry_run": self._request.dry_run, **told}
        # Before anything is published: all that is left then is to give it its name.
        self._quarantine.write_report(resolved.load.parts, report)


# Where the rows go that break a rule --------------------------------------------------------------


def _quarantine_for(request: Load, *, unique: str) -> "Quarantine | None":
    """The quarantine of a load; None: one bad row fails it. The caller names it or drops it."""
    if request.on_error == "fail":
        return None
    from omnigraph.pipeline.staging.quarantine import MAX_ERROR_ROWS, open_quarantine

    most = MAX_ERROR_ROWS if request.max_errors is None else request.max_errors
    if request.quarantine is not None:
        return open_quarantine(os.fspath(request.quarantine), max_errors=most)
    family = f"{_name_of(request.source)}.rejected-"
    return open_quarantine(f"{family}{unique}", max_errors=most, names_like=family)


def _name_of(source: object) -> str:
    """A name for files: of standard input, a glob, rows or the working directory too."""
    from omnigraph.pipeline.sources.converted import ConvertedTables

    source = source.name if isinstance(source, ConvertedTables) else source
    named = source if isinstance(source, list | tuple) else (source,)
    path = next((os.fspath(one) for one in named if isinstance(one, str | os.PathLike)), "rows")
    name = "stdin" if path == "-" else Path(path).absolute().name
    return re.sub(r"[^\w.-]+", "_", name) or "rows"
