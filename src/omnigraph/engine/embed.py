"""Embed: tasks make vectors of texts, and one commit gives them to their rows.

Where another writer was quicker, rows are looked for again at the new head; vectors that were made
are kept, so only the texts that came meanwhile are embedded then.
"""

from typing import TYPE_CHECKING

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.progress import Progress, silent
from omnigraph.embed.origins import note_origins, tidy_origins
from omnigraph.embed.providers import open_provider
from omnigraph.embed.targets import TableTarget, require_models, targets_of
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.commit_files import CommitFiles
from omnigraph.engine.engine import Engine
from omnigraph.engine.permit import Permit
from omnigraph.engine.requests import Embed
from omnigraph.engine.results import CommitInfo, EmbedResult
from omnigraph.store.commits import CommitKind
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, OnConflict, Target, Work, Writer
from omnigraph.write.writer import write

if TYPE_CHECKING:
    from omnigraph.embed.kept import KeptVectors
    from omnigraph.embed.provider import Provider
    from omnigraph.pipeline.runner import Runner

__all__ = ["embed"]

# Tables with fewer rows are read in this process before Spark has started.
MAX_LOCAL_ROWS = 100_000


def embed(engine: Engine, request: Embed, progress: Progress | None = None) -> EmbedResult:
    """Make the vectors that are wanted, and publish them as one commit."""
    engine.gate.allow(request)
    from omnigraph.embed.kept import KeptVectors, kept_for
    from omnigraph.pipeline.staging.record import driving

    store = engine.store
    config = engine.settings.embed
    provider = open_provider(config)
    folder = kept_for("embed", branch=request.branch, config=config, model=provider.model)
    kept = KeptVectors(store.objects, folder)
    note = CommitNote(CommitKind.EMBED, request.actor, request.message)
    # One driver has the vectors that are kept. The name is shown to whoever comes second.
    with driving(store, f"of embeddings on {request.branch}"):
        writer = EmbedWriter(engine, request, provider, kept, progress or silent)
        try:
            written = write(
                store, writer, to=Target(request.branch), note=note, faults=engine.faults
            )
        except (Exception, KeyboardInterrupt):
            writer.files.fail()
            raise
        assert written is not None, "an embedding is never there already"
        writer.files.end(written.work, written.commit)
        kept.drop(is_alone=True)
        tidy_origins(store.objects, store.clock.ulid())
    return EmbedResult(
        branch=request.branch,
        model=provider.model,
        embedded=written.work.made,
        emptied=written.work.emptied,
        commit=CommitInfo.of(written.commit) if written.commit is not None else None,
    )


@frozen(slots=False, kw_only=True)
class EmbedWork(Work):
    """The work of an embedding, and how many rows get another vector."""

    made: dict[str, dict[str, int]]
    emptied: int


class EmbedWriter(Writer[EmbedWork]):
    """Finds the rows without a vector at any snapshot, and gives them one."""

    def __init__(
        self,
        engine: Engine,
        request: Embed,
        provider: "Provider",
        kept: "KeptVectors",
        tell: Progress,
    ) -> None:
        self.files = CommitFiles(engine.store, request.branch, CommitKind.EMBED)
        self._engine = engine
        self._request = request
        self._provider = provider
        self._kept = kept
        self._tell = tell
        self._runner: Runner | None = None

    def prepare(self, snapshot: Snapshot) -> EmbedWork:
        from omnigraph.pipeline.embed.job import EmbedJob

        permit = Permit.of(self._engine.gate, snapshot, self._request)
        targets = targets_of(permit.view.catalog, self._request.types)
        if not all(permit.covers(target.entity) for target in targets):
            # Vectors are made for whole tables.
            raise permit.denial()
        require_models(self._provider, targets)
        self._tell("start", 0, 0)
        self._runner = self._runner or self._start(snapshot, targets)
        job = EmbedJob(
            runner=self._runner,
            area=self.files.area(snapshot),
            kept=self._kept,
            config=self._engine.settings.embed,
            model=self._provider.model,
            tell=self._tell,
        )
        done = job.embed(snapshot, targets, self._request.only)
        if done.facts.num_rows:
            # Before the vectors can be seen: a fact about a vector that nobody has is true too.
            store = self._engine.store
            note_origins(store.objects, store.clock.ulid(), self._provider.model, done.facts)
        self._tell("publish", 0, 1)
        return EmbedWork(
            tables=done.tables,
            reads=frozenset(_key(table) for table in targets),
            on_conflict=OnConflict.PREPARE_AGAIN,
            made=done.made,
            emptied=done.emptied,
        )

    def _start(self, snapshot: Snapshot, targets: tuple[TableTarget, ...]) -> "Runner":
        from omnigraph.pipeline.local import InProcess

        request, settings = self._request, self._engine.settings
        rows = sum(snapshot.tables[_key(table)].row_count for table in targets)
        choice = choose_runner(
            settings,
            lambda: WorkSize(rows, MAX_LOCAL_ROWS, "rows"),
            asked=request.engine,
            session=request.spark,
            may_start_spark=self._engine.gate.allows_spark(request.actor),
        )
        if choice.engine == "local":
            return InProcess()
        return self._engine.spark_for(request.actor, request.spark)


def _key(table: TableTarget) -> TableKey:
    return table.entity.table_key
