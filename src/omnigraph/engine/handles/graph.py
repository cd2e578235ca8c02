"""`Graph`: the handle everyone holds. It wires store, caches and Spark once and delegates the rest.

    from omnigraph import Graph

    with Graph.init("people.omni", "node Person { name: String @key }") as graph:
        graph.load("people.jsonl", mode="append")
        graph.query("query n() { match { $p: Person } return { count($p) as n } }")

A handle may be shared by threads that read. Writers, in this process or in others, take turns by
themselves; readers never wait.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import Clock, SystemClock
from omnigraph.base.errors import ArgumentInvalid, ReadOnly
from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.base.progress import Progress
from omnigraph.check.sets.in_memory import SqlSession
from omnigraph.engine.blob import Blob
from omnigraph.engine.export import Target
from omnigraph.engine.handles.at import At, Reader
from omnigraph.engine.load.bad_rows import BadRows
from omnigraph.engine.load.frames import readable, scratch_folders
from omnigraph.engine.load.load import load, rehearse
from omnigraph.engine.load.preparation import Request
from omnigraph.engine.load.stream import stream
from omnigraph.engine.maintain import optimize
from omnigraph.engine.merge import merge
from omnigraph.engine.query import PlanCache
from omnigraph.engine.results import (
    CommitInfo,
    ExportResult,
    IndexInfo,
    LoadResult,
    MergeResult,
    MutationResult,
    OptimizeResult,
    QueryResult,
)
from omnigraph.engine.settings import Settings
from omnigraph.engine.text import QUERY, SCHEMA, Text, as_source, named
from omnigraph.engine.travel import Moment, commit_at
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.statistics import Statistics
from omnigraph.write.recover import recover_all
from omnigraph.write.sidecar import drop_orphans

if TYPE_CHECKING:
    from omnigraph.pipeline.sources.mapping import GivenMapping
    from omnigraph.pipeline.spark.session import Spark
    from omnigraph.pipeline.streaming import Stream

__all__ = ["Graph"]


class Graph:
    """One graph. Make it with `Graph.init`, open it with `Graph.open`."""

    def __init__(
        self,
        store: GraphStore,
        *,
        settings: Settings,
        is_read_only: bool = False,
        faults: Faults = NEVER,
    ) -> None:
        self._store = store
        self._settings = settings
        self._is_read_only = is_read_only
        self._faults = faults
        self._plans = PlanCache()
        self._sql = SqlSession()
        self._cache = RuntimeCache(disk=_disk_cache(store, settings))
        self._reader = Reader(store, settings, self._plans, self._cache)
        self._spark: Spark | None = None

    # Making, opening, closing --------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        uri: str | os.PathLike[str],
        schema: Text,
        *,
        durability: str = "fsync",
        actor: str | None = None,
        clock: Clock | None = None,
    ) -> "Graph":
        """Make a graph in an empty place. `schema` is the text, or the path of a `.pg` file."""
        # Who only reads does without the schema language; so below with mutations.
        from omnigraph.lang.schema.check.check import compile_schema

        source = as_source(schema, SCHEMA)
        settings = Settings.from_environment()
        store = GraphStore.init(
            os.fspath(uri),
            compile_schema(source),
            source=source.text,
            actor=actor,
            clock=clock or SystemClock(),
            durability=_durability(durability),
            access=settings.bucket_access,
        )
        return cls(store, settings=settings)

    @classmethod
    def open(
        cls,
        uri: str | os.PathLike[str],
        *,
        read_only: bool = False,
        durability: str = "fsync",
        settings: Settings | None = None,
        clock: Clock | None = None,
        faults: Faults = NEVER,
    ) -> "Graph":
        """Open a graph; unless `read_only`, finish or undo first what a crash left.

        A graph that was moved or copied is made at home in its new place first. Opened `read_only`
        before that, its main can be read and its other branches raise `GraphMoved`.
        Without `settings` those of the environment hold.
        """
        settings = settings or Settings.from_environment()
        store = GraphStore.open(
            os.fspath(uri),
            clock=clock or SystemClock(),
            durability=_durability(durability),
            access=settings.bucket_access,
        )
        if not read_only:
            store.require_fences()
            store.settle_in()
            store.bring_up_to_date()
            recover_all(store)
        return cls(store, settings=settings, is_read_only=read_only, faults=faults)

    def close(self) -> None:
        """Stop the Spark session if this handle started it. The graph needs no closing."""
        if self._spark is not None:
            self._spark.close()
            self._spark = None

    def __enter__(self) -> "Graph":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph {self.uri}{', read only' * self._is_read_only}>"

    @property
    def uri(self) -> str:
        return str(self._store.root)

    @property
    def catalog(self) -> Catalog:
        """The schema of main, as the languages see it."""
        return self._store.snapshot(MAIN).catalog

    # Data ----------------------------------------------------------------------------------------

    def load(
        self,
        source: object,
        *,
        mode: str,
        branch: str = MAIN,
        from_: str | None = None,
        mapping: "GivenMapping" = None,
        format: str | None = None,
        on_error: str = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        load_id: str | None = None,
        resume: bool = False,
        engine: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Load files, frames or rows, checked as a whole, as one commit.

        `source` is a path or several (files, directories, globs, on a disk or in a bucket: NDJSON,
        CSV, Parquet, Lance; `-` is standard input), rows as dicts, bytes or an open file of NDJSON,
        a frame (pandas, Polars, Arrow, Spark) with its `mapping`, or frames by the names of their
        types. `mapping` says which columns feed which properties (rules, or a YAML file), `format`
        what files are whose names don't tell.

        `mode` is `append` (an id that is already there is an error), `merge` (a row replaces the
        one with its id, whole, or is new) or `overwrite` (replaces all rows of the types present in
        the input). `from_` makes the branch first. A `load_id` that the branch has seen makes the
        load a repetition, which does nothing: so a load may be tried again after any failure. With
        `resume` the load of this `load_id`, whose process died, goes on with what it had staged.

        One bad row fails the load, unless `on_error` is `quarantine`: then bad rows, at most
        `max_errors`, go to the directory `quarantine` with reasons, and the others are loaded. A
        `dry_run` does everything but publish, and says what would have been loaded.

        `engine` is `spark`, `local` (in this process, without Java: the quick way for a small file)
        or `auto`: Spark, but for what came with the call and is small. If left out it is that of
        `OMNIGRAPH_LOAD_ENGINE`, else `auto`. `spark` is a session of yours to use; without it the
        handle starts one and keeps it until closed.
        """
        self._check_writable()
        if engine == "local" and spark is not None:
            rule = "a Spark session was passed as well: leave out one of the two"
            raise ArgumentInvalid(argument="engine", value=engine, rule=rule)
        base = BranchName(from_) if from_ is not None else None
        with scratch_folders(self._store) as new_folder:
            readable_source, session = readable(
                self._store,
                source,
                branch=BranchName(branch),
                from_=base,
                mapping=mapping,
                spark=spark,
                start=self._session,
                new_folder=new_folder,
            )
            request = Request(
                readable_source,
                mapping=mapping,
                format=format,
                mode=mode,
                branch=BranchName(branch),
                from_=base,
                load_id=load_id,
                resume=resume,
                engine=self._load_engine(engine, session),
                bad_rows=BadRows(on_error, quarantine, max_errors),
                is_dry_run=dry_run,
                access=self._settings.bucket_access,
                limits=self._settings.load_limits,
                new_folder=new_folder,
            )
            if dry_run:
                return rehearse(
                    self._store,
                    request,
                    start_spark=lambda: self._session(session),
                    progress=progress,
                )
            return load(
                self._store,
                request,
                actor=actor,
                message=message,
                start_spark=lambda: self._session(session),
                progress=progress,
                faults=self._faults,
            )

    def stream(
        self,
        source: object,
        *,
        mode: str,
        checkpoint: str | os.PathLike[str],
        branch: str = MAIN,
        mapping: "GivenMapping" = None,
        on_error: str = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        output_mode: str = "append",
        actor: str | None = None,
        message: str | None = None,
        on_batch: Callable[[LoadResult], None] | None = None,
    ) -> "Stream":
        """Begin to load a stream of Spark's: every micro-batch is one commit, exactly once.

        `source` is a streaming frame with its `mapping`, or the name of its type and the frame.
        `checkpoint` is the directory in which Spark keeps how far the stream is: begun again with
        it, the stream goes on where it was. `mode`, `on_error` and `max_errors` are as in `load`
        and hold for each micro-batch; each has a directory of its own in `quarantine`. `trigger`
        and `output_mode` are Spark's. `on_batch` hears what became of each micro-batch.
        """
        self._check_writable()
        return stream(
            self._store,
            source,
            self.load,
            mode=mode,
            checkpoint=checkpoint,
            branch=BranchName(branch),
            mapping=mapping,
            bad_rows=BadRows(on_error, quarantine, max_errors),
            trigger=trigger or {},
            output_mode=output_mode,
            actor=actor,
            message=message,
            on_batch=on_batch,
        )

    def query(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str = MAIN,
        snapshot: Moment | At | CommitInfo | None = None,
        timeout_s: float | None = None,
        memory_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryResult:
        """Run one read query of `source` at a branch's head, or at a moment (see `at`).

        `source` is the text of one or more queries, or the path of a `.gq` file. `name` says which
        of them; where there is one, it may be left out: `graph.query(source, {"email": "ada@x"})`.

        It may take `memory_bytes` (a quarter of the machine's memory if left out) and `timeout_s`;
        past either it ends in `resource_limit`. Another thread ends it by setting `cancel`.
        """
        return self._at(branch, snapshot).query(
            source, name, params, timeout_s=timeout_s, memory_bytes=memory_bytes, cancel=cancel
        )

    def mutate(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        if_commit: CommitId | str | None = None,
    ) -> MutationResult:
        """Run one mutation of `source`: all its statements become one commit, or nothing does."""
        from omnigraph.engine.mutate import mutate

        self._check_writable()
        name, given = named(name, params)
        return mutate(
            self._store,
            as_source(source, QUERY),
            name=name,
            given=given,
            branch=BranchName(branch),
            actor=actor,
            message=message,
            if_commit=CommitId(if_commit) if if_commit is not None else None,
            plans=self._plans,
            sql=self._sql,
            faults=self._faults,
        )

    def explain(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str = MAIN,
        snapshot: Moment | At | CommitInfo | None = None,
        analyze: bool = False,
    ) -> str:
        """The plan of a query for this graph, a step a line, with the rows to expect of each.

        With `analyze` it is run, with `params`, and each line says what came of it in what time.
        """
        return self._at(branch, snapshot).explain(source, name, params, analyze=analyze)

    def blob(
        self,
        kind: str,
        type_: str,
        id_: str,
        name: str,
        *,
        branch: str = MAIN,
        snapshot: Moment | At | CommitInfo | None = None,
    ) -> Blob:
        """The bytes of a Blob property: `graph.blob("node", "Person", "ada", "photo").read()`.

        No byte is read before `read` asks for it. `kind` is node or edge.
        """
        return self._at(branch, snapshot).blob(kind, type_, id_, name)

    def export(
        self,
        target: Target,
        *,
        types: Iterable[str] | None = None,
        format: str = "jsonl",
        branch: str = MAIN,
        snapshot: Moment | At | CommitInfo | None = None,
        overwrite: bool = False,
    ) -> ExportResult:
        """Write a branch, or a moment of it, for others; a load of it gives an equal graph.

        `target` is the path of a file (`jsonl`) or of a directory (`parquet`), or for `jsonl` a
        stream of bytes. A file is there whole or not at all. `types` names the types to write; all
        if left out.
        """
        return self._at(branch, snapshot).export(
            target, types=types, format=format, overwrite=overwrite
        )

    # History -------------------------------------------------------------------------------------

    def branches(self) -> list[str]:
        """The names of all branches, main first."""
        branches = self._store.branches.list()
        self._store.state(branches[0])  # main is listed even where the graph is gone
        return [branch.name for branch in branches]

    def branch_create(self, name: str, from_: str = MAIN) -> None:
        """Make a branch at the head of another: instant, whatever the size of the graph."""
        self._check_writable()
        self._store.create_branch(BranchName(name), from_=BranchName(from_))

    def branch_delete(self, name: str) -> None:
        """Remove a branch that no other was made from: gone at once, whole."""
        self._check_writable()
        self._store.delete_branch(BranchName(name))
        drop_orphans(self._store)

    def branch_merge(
        self, source: str, into: str = MAIN, *, actor: str | None = None
    ) -> MergeResult:
        """Bring what `source` changed into `into`, as one commit."""
        self._check_writable()
        return merge(
            self._store,
            source=BranchName(source),
            target=BranchName(into),
            actor=actor,
            faults=self._faults,
        )

    def commits(self, branch: str = MAIN, *, limit: int | None = None) -> list[CommitInfo]:
        """The commits of a branch, newest first."""
        return [CommitInfo.of(c) for c in self._store.commits(BranchName(branch), limit=limit)]

    def commit(self, id_: CommitId | str) -> CommitInfo:
        """One commit, of whichever branch."""
        return CommitInfo.of(self._store.commit(CommitId(id_)))

    def snapshot(self, branch: str = MAIN) -> At:
        """The head of a branch, held still: `graph.snapshot().query(…)`."""
        return At(self._store.snapshot(BranchName(branch)), self._reader)

    def at(self, moment: Moment | At | CommitInfo, branch: str = MAIN) -> At:
        """The past, held still: `graph.at("2026-03-01").query(…)`.

        `moment` is a commit or its id, a manifest version (`graph_manifest_version` of a commit),
        or a time: the last commit of the branch at or before it counts. Text is an id or a time in
        ISO 8601.
        """
        if isinstance(moment, At):
            if moment.reader is self._reader:
                return moment
            moment = moment.graph_commit_id
        elif isinstance(moment, CommitInfo):
            moment = moment.graph_commit_id
        commit = commit_at(self._store, moment, BranchName(branch))
        return At(self._store.snapshot_at(commit), self._reader)

    # Upkeep --------------------------------------------------------------------------------------

    def optimize(self, branch: str = MAIN, *, actor: str | None = None) -> OptimizeResult:
        """Compact the branch's tables and bring their indexes up to date. No answer changes."""
        self._check_writable()
        return optimize(self._store, branch=BranchName(branch), actor=actor, faults=self._faults)

    def stats(self, branch: str = MAIN) -> Statistics:
        """Rows, files and index coverage of every table, without reading a row."""
        return self.snapshot(branch).stats()

    def indexes(self, branch: str = MAIN) -> list[IndexInfo]:
        return self.snapshot(branch).indexes()

    # Inside --------------------------------------------------------------------------------------

    def _at(self, branch: str, moment: Moment | At | CommitInfo | None) -> At:
        return self.snapshot(branch) if moment is None else self.at(moment, branch)

    def _load_engine(self, engine: str | None, session: Any) -> str:
        # Whoever passes a session means it to be used.
        if session is not None and engine in (None, "auto"):
            return "spark"
        return self._settings.load_engine if engine is None else engine

    def _session(self, given: Any) -> "Spark":
        from omnigraph.pipeline.spark.session import Spark, SparkSettings

        if given is not None:
            return given if isinstance(given, Spark) else Spark.adopt(given)
        if self._spark is None:
            self._spark = Spark.open(
                SparkSettings(
                    master=self._settings.spark_master,
                    remote=self._settings.spark_remote,
                    log=self._settings.spark_log,
                    options=self._settings.spark_options,
                )
            )
        return self._spark

    def _check_writable(self) -> None:
        if self._is_read_only:
            raise ReadOnly(self.uri)


def _disk_cache(store: GraphStore, settings: Settings) -> DiskCache | None:
    if settings.cache_directory is None:
        return None
    return DiskCache(settings.cache_directory / store.graph_id)


def _durability(name: str) -> Durability:
    try:
        return Durability(name)
    except ValueError:
        raise ArgumentInvalid(
            argument="durability", value=name, rule="it is fsync or relaxed"
        ) from None
