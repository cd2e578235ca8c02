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
from typing import TYPE_CHECKING, Any, Literal, Self

from omnigraph.base.choices import (
    DurabilityName,
    EmbedOnly,
    EntityKind,
    ExportFormat,
    ImportFormat,
    LoadEngine,
    LoadModeName,
    OnError,
    OutputMode,
    QueryEngine,
    SourceFormat,
)
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.base.keeping import DEFAULT_KEEP, Duration
from omnigraph.base.progress import Progress
from omnigraph.engine.backend import engine_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.explanation import Explanation
from omnigraph.engine.guard import PolicyArgument
from omnigraph.engine.handles.at import At, moment_of
from omnigraph.engine.handles.branch import Branch
from omnigraph.engine.handles.history import History
from omnigraph.engine.handles.looking import Looking
from omnigraph.engine.handles.reads import Reads
from omnigraph.engine.requests import Moment, SchemaApply, SchemaPlan, Target
from omnigraph.engine.results import (
    EmbedResult,
    ExportResult,
    IndexInfo,
    LoadResult,
    MutationResult,
    OptimizeResult,
    QueryResult,
)
from omnigraph.engine.settings import Settings
from omnigraph.engine.text import SCHEMA, Text, as_source

if TYPE_CHECKING:
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.handles.analytics import Analytics
    from omnigraph.engine.import_plan import ImportPlan
    from omnigraph.engine.neighborhood import Neighborhood
    from omnigraph.engine.schema import Schema
    from omnigraph.engine.schema_results import SchemaChange
    from omnigraph.engine.tables import SnapshotTables
    from omnigraph.engine.upkeep_results import CleanupResult, RepairResult
    from omnigraph.pipeline.sources.mapping import MappingArgument
    from omnigraph.pipeline.streaming import Stream
    from omnigraph.store.statistics import Statistics

__all__ = ["Graph"]


class Graph(History, Looking):
    """One graph. Make it with `Graph.init`, open it with `Graph.open`."""

    # Making, opening, closing --------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        uri: str | os.PathLike[str],
        schema: Text,
        *,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        actor: str | None = None,
        message: str | None = None,
        force: bool = False,
    ) -> Self:
        """Make a graph in an empty place. `schema` is the text, or the path of a `.pg` file.

        `actor` and `message` stand in the first commit; `actor` acts in every later call that
        names nobody.
        Without `settings` those of the environment hold. `force` removes first what an init left
        that did not finish; a graph, or a file that is not of one, is refused all the same.
        """
        engine = Engine.init(
            os.fspath(uri),
            as_source(schema, SCHEMA),
            durability=durability,
            settings=settings,
            actor=actor,
            message=message,
            force=force,
        )
        return cls(engine)

    @classmethod
    def open(
        cls,
        uri: str | os.PathLike[str],
        *,
        read_only: bool = False,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        policy: PolicyArgument | None = None,
        actor: str | None = None,
    ) -> Self:
        """Open a graph; unless `read_only`, finish or undo first what a crash left.

        A graph that was moved or copied is made at home in its new place first. Opened `read_only`
        before that, its main can be read and its other branches raise `GraphMoved`.
        `actor` acts in every call that names nobody. Without `settings` those of the environment
        hold.

        With a `policy` (the path of its file, paths of several, or a `Policy`) every call asks it
        whether its actor may do that, and shows what they may see. A policy that does not fit main
        raises `PolicyInvalid`.
        """
        engine = Engine.open(
            os.fspath(uri),
            read_only=read_only,
            durability=durability,
            settings=settings,
            policy=policy,
            actor=actor,
        )
        return cls(engine)

    def as_actor(self, actor: str) -> Self:
        """The same graph for another actor: the handle costs nothing, and caches are shared."""
        return type(self)(self.backend.acting_for(actor))

    def under_policy(self, policy: PolicyArgument) -> Self:
        """The same graph, where every call asks this policy: caches are shared, and earlier handles
        stay as they are. A policy that does not fit main raises `PolicyInvalid`."""
        return type(self)(engine_of(self.backend, to="set a policy").under_policy(policy))

    def close(self) -> None:
        """Stop the Spark session if this handle started it. The graph needs no closing."""
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph {self.uri}{', read only' * self.backend.is_read_only}>"

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self.backend.uri

    # Data ----------------------------------------------------------------------------------------

    def load(
        self,
        source: object,
        *,
        mode: LoadModeName,
        branch: str = MAIN,
        from_: str | None = None,
        mapping: "MappingArgument" = None,
        format: SourceFormat | None = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        load_id: str | None = None,
        resume: bool = False,
        embed: bool = False,
        engine: LoadEngine | None = None,
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
        the input). `from_` makes the branch first if it is missing. A `load_id` that the branch has
        seen makes the load a repetition, which does nothing: so a load may be tried again after any
        failure. With `resume` the load of this `load_id`, whose process died, goes on with what it
        had staged.

        One bad row fails the load, unless `on_error` is `quarantine`: then bad rows, at most
        `max_errors`, go to the directory `quarantine` with reasons, and the others are loaded. A
        `dry_run` does everything but publish, and says what would have been loaded.

        With `embed` rows that have a text and lack the vector that `@embed` makes of it get it
        here, in the same commit; see `embed`.

        `engine` is `local` (in this process, without Java), `spark`, or `auto`: Spark if it is
        configured or the input has more than `OMNIGRAPH_LOCAL_LOAD_MIB` (64 if not set), this
        process otherwise. If left out it is that of `OMNIGRAPH_LOAD_ENGINE`, else `auto`. `spark`
        is a session of yours to use; without it the handle starts one and keeps it until closed.
        """
        return Branch(self.backend, branch).load(
            source,
            mode=mode,
            from_=from_,
            mapping=mapping,
            format=format,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            dry_run=dry_run,
            load_id=load_id,
            resume=resume,
            embed=embed,
            engine=engine,
            actor=actor,
            message=message,
            spark=spark,
            progress=progress,
        )

    def import_(
        self,
        source: "str | os.PathLike[str] | ImportPlan",
        *,
        format: ImportFormat | None = None,
        mapping: "MappingArgument" = None,
        mode: LoadModeName = "append",
        branch: str = MAIN,
        from_: str | None = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        engine: LoadEngine | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Import what another system has written, as one commit.

        `source` is the directory of an export of Kuzu or Ladybug, CSV files as `neo4j-admin
        database import` takes them, lines of JSON of APOC, or GraphML. `format` is `kuzu`,
        `neo4j-csv`, `apoc` or `graphml`; if left out it is told from the files.

        The schema of the graph must fit: `ImportPlan.of(source)` proposes one, to make a graph
        with, and a `mapping`, which is used if you pass no other. A plan may stand in the place of
        the source, which is then read once less. Everything else is as in `load`.
        """
        return Branch(self.backend, branch).import_(
            source,
            format=format,
            mapping=mapping,
            mode=mode,
            from_=from_,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            dry_run=dry_run,
            engine=engine,
            actor=actor,
            message=message,
            spark=spark,
            progress=progress,
        )

    def stream(
        self,
        source: object,
        *,
        mode: LoadModeName,
        checkpoint: str | os.PathLike[str],
        branch: str = MAIN,
        mapping: "MappingArgument" = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        output_mode: OutputMode = "append",
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
        return Branch(self.backend, branch).stream(
            source,
            mode=mode,
            checkpoint=checkpoint,
            mapping=mapping,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            trigger=trigger,
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
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        timeout_s: float | None = None,
        memory_bytes: int | None = None,
        cancel: threading.Event | None = None,
        engine: QueryEngine = "local",
        spark: Any = None,
    ) -> QueryResult:
        """Run one read query of `source` at a branch's head, or at a moment (see `at`).

        `source` is the text of one or more queries, or the path of a `.gq` file. `name` says which
        of them; where there is one, it may be left out: `graph.query(source, {"email": "ada@x"})`.

        It may take `memory_bytes` (a quarter of the machine's memory if left out) and `timeout_s`;
        past either it ends in `resource_limit`. Another thread ends it by setting `cancel`.

        With `engine="spark"` the same plan runs on Spark, for a graph that one machine can't hold;
        `spark` is a session of yours, as in `load`. `not_on_spark` names what it can't do.
        """
        return self._reads(branch, snapshot).query(
            source,
            name,
            params,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            cancel=cancel,
            engine=engine,
            spark=spark,
        )

    def spark(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        spark: Any = None,
    ) -> Any:
        """A DataFrame of Spark's: of a type (`graph.spark("Person")`), or of a query's answer.

        Of a type it has the rows of one commit, with the columns of a Parquet export: `id`, on
        edges `from` and `to`, and the properties; blobs only if `columns` names them. Tasks read
        the files, a partition for each fragment. `columns` and `where` (tests as those of a
        mutation: `age > 30 and name starts_with "A"`) leave the rest unread.

        A query is given as to `query`. The frame is lazy: nothing runs before you look at it.
        `spark` is a session of yours to use; without it the handle starts one and keeps it until
        closed.
        """
        return self._reads(branch, snapshot).spark(
            source, name, params, columns=columns, where=where, spark=spark
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
        request_id: str | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> MutationResult:
        """Run one mutation of `source`: all its statements become one commit, or nothing does.

        Its statements may run for `timeout_s`; past it the mutation ends in `resource_limit`.
        Another thread ends it by setting `cancel`. Either leaves nothing behind. Once the commit
        is being written it is finished.

        `request_id` makes a second try safe: if a mutation of this id, or the one that made the
        commit of this id, is on the branch already, its result comes back (`is_repeat`) and
        nothing is written.
        """
        return Branch(self.backend, branch).mutate(
            source,
            name,
            params,
            actor=actor,
            message=message,
            if_commit=if_commit,
            request_id=request_id,
            timeout_s=timeout_s,
            cancel=cancel,
        )

    def explain(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        analyze: bool = False,
        engine: QueryEngine = "local",
    ) -> Explanation:
        """The plan of a query for this graph, step by step, with the rows to expect of each.

        With `analyze` it is run, with `params`, and each step says what came of it in what time.
        Printed, it is a table with a line for each step. With `engine="spark"` each step says what
        Spark makes of it.
        """
        return self._reads(branch, snapshot).explain(
            source, name, params, analyze=analyze, engine=engine
        )

    def blob(
        self,
        kind: EntityKind,
        type: str,
        id: str,
        prop: str,
        *,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
    ) -> "Blob":
        """The bytes of a Blob property: `graph.blob("node", "Person", "ada", "photo").read()`.

        No byte is read before `read` asks for it. `kind` is node or edge.
        """
        return self._reads(branch, snapshot).blob(kind, type, id, prop)

    def neighborhood(
        self,
        type: str,
        id: str,
        *,
        depth: int = 1,
        limit: int = 100,
        edges: Iterable[str] | None = None,
        direction: Literal["out", "in"] | None = None,
        page_token: str | None = None,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "Neighborhood":
        """A node, the nodes within `depth` hops of it (1 to 4), the edges that lead there, and how
        many edges of each type it has.

        The nearest nodes come first, at most `limit` on a page. The `next_page_token` of a page
        asks for the one after it, of the same commit. With `edges` only edges of these types are
        walked, and with `direction` only those that go `out` or come `in`.
        """
        return self._reads(branch, snapshot).neighborhood(
            type,
            id,
            depth=depth,
            limit=limit,
            edges=edges,
            direction=direction,
            page_token=page_token,
            timeout_s=timeout_s,
            cancel=cancel,
        )

    @property
    def analytics(self) -> "Analytics":
        """Algorithms over the edges of main: `graph.analytics.pagerank("Knows")`.

        Those of a branch or of a moment have the same: `graph.at(…).analytics`.
        """
        return self._reads(None, None).analytics

    def export(
        self,
        target: Target,
        *,
        types: Iterable[str] | None = None,
        format: ExportFormat = "jsonl",
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        overwrite: bool = False,
        engine: LoadEngine = "auto",
        spark: Any = None,
    ) -> ExportResult:
        """Write a branch, or a moment of it, for others; a load of it gives an equal graph.

        `target` is the path of a file (`jsonl`) or of a directory (`parquet`), or for `jsonl` a
        stream of bytes. A file is there whole or not at all. `types` names the types to write; all
        if left out.

        In a bucket (`s3://bucket/prefix`), and with `engine="spark"` on a disk too, it is a
        directory of parts that tasks write in parallel, beside a manifest with the rows and the
        checksum of each; the manifest is written last. `auto` takes Spark for a large graph that
        goes to a bucket. `spark` is a session of yours, as in `load`.
        """
        return self._reads(branch, snapshot).export(
            target, types=types, format=format, overwrite=overwrite, engine=engine, spark=spark
        )

    def schema(self, branch: str | None = None, *, snapshot: Moment | At | None = None) -> "Schema":
        """The schema: its text, and its types as the languages see them."""
        return self._reads(branch, snapshot).schema()

    def schema_plan(
        self,
        schema: Text,
        *,
        allow_data_loss: bool = False,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
    ) -> "SchemaChange":
        """The steps from the schema that the graph has to this one; nothing is changed.

        `schema` is the text, or the path of a `.pg` file. A step is safe, validated (the rows are
        checked, here and when it is applied) or destructive. `can_be_applied` tells whether an
        apply would take it now; `refusals`, `violations`, `branches_in_the_way` and
        `rules_in_the_way` (of the policy) tell why not.
        """
        from omnigraph.engine.schema_apply import schema_plan

        request = SchemaPlan(
            source=as_source(schema, SCHEMA),
            allow_data_loss=allow_data_loss,
            branch=MAIN if branch is None else BranchName(branch),
            is_branch_named=branch is not None,
            moment=moment_of(self.backend, snapshot),
            actor=self.backend.actor,
        )
        return self.backend.run(schema_plan, request)

    def schema_apply(
        self,
        schema: Text,
        *,
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str | None = None,
        if_commit: CommitId | str | None = None,
    ) -> "SchemaChange":
        """Give main another schema, and its rows with it: all steps in one commit, or none.

        A schema that can't be followed raises `migration_unsupported`, rows that break a new rule
        `constraint_violation`. Other branches keep the schema that they have; only steps that add
        are taken while there are any. What is dropped stays readable at older commits; with
        `allow_data_loss` only until a cleanup.
        """
        from omnigraph.engine.schema_apply import schema_apply

        request = SchemaApply(
            source=as_source(schema, SCHEMA),
            allow_data_loss=allow_data_loss,
            actor=self.backend.actor if actor is None else actor,
            message=message,
            if_commit=CommitId(if_commit) if if_commit is not None else None,
        )
        return self.backend.run(schema_apply, request)

    def embed(
        self,
        types: Iterable[str] | None = None,
        *,
        only: EmbedOnly = "missing",
        branch: str = MAIN,
        engine: LoadEngine | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> EmbedResult:
        """Make the vectors that `@embed` asks for, as one commit.

        `only` says of which rows: `missing`, those without a vector; `stale`, those too whose
        vector was made of another text or by another model; `all`, every row with a text. `types`
        names the types; all if left out. The provider is that of the settings
        (`OMNIGRAPH_EMBED_PROVIDER`), and its model must be the one that the schema names.

        Vectors are kept as they are made: after a failure the next call goes on from there.
        `engine` and `spark` say who runs it, as in `load`; `auto` takes Spark for large tables.
        """
        return Branch(self.backend, branch).embed(
            types,
            only=only,
            engine=engine,
            actor=actor,
            message=message,
            spark=spark,
            progress=progress,
        )

    # Upkeep --------------------------------------------------------------------------------------

    def optimize(
        self, branch: str = MAIN, *, actor: str | None = None, message: str | None = None
    ) -> OptimizeResult:
        """Compact the branch's tables and bring their indexes up to date. No answer changes."""
        return Branch(self.backend, branch).optimize(actor=actor, message=message)

    def cleanup(
        self,
        *,
        keep: int = DEFAULT_KEEP,
        older_than: Duration | None = None,
        grace: Duration | None = None,
        dry_run: bool = False,
        confirm: bool = False,
        actor: str | None = None,
    ) -> "CleanupResult":
        """Remove old commits of all branches, and files that nobody names. Commits stay known.

        Of each branch the newest `keep` commits stay; with `older_than` (`7d`, `12h`, a timedelta)
        also all that were the newest within that time. Commits that branches are merged from, and
        those that this process reads, stay too. Other processes have an hour to finish reading a
        commit, and a day to name the files that they write: `grace` is another time for both. It
        must be confirmed; a dry run only tells what would go.
        """
        from omnigraph.engine.cleanup import cleanup
        from omnigraph.engine.upkeep_requests import Cleanup

        request = Cleanup(
            keep=keep,
            older_than=older_than,
            grace=grace,
            dry_run=dry_run,
            confirm=confirm,
            actor=self.backend.actor if actor is None else actor,
        )
        return self.backend.run(cleanup, request)

    def repair(
        self, *, confirm: bool = False, force: bool = False, actor: str | None = None
    ) -> "RepairResult":
        """Tell where files and commits disagree. Nothing is changed unless it is confirmed.

        A table that has moved without a commit stops the writers of its branch. If confirmed, its
        newest version is published where it shows the same rows as the newest commit. With `force`
        it is published in any case, with the rows that it has.
        """
        from omnigraph.engine.repair import repair
        from omnigraph.engine.upkeep_requests import Repair

        who = self.backend.actor if actor is None else actor
        return self.backend.run(repair, Repair(confirm=confirm, force=force, actor=who))

    def stats(
        self, branch: str | None = None, *, snapshot: Moment | At | None = None
    ) -> "Statistics":
        """Rows, files and index coverage of every table, without reading a row."""
        return self._reads(branch, snapshot).stats()

    def tables(
        self, branch: str | None = None, *, snapshot: Moment | At | None = None
    ) -> "SnapshotTables":
        """The version of each table that a commit pins, and its number of entities."""
        return self._reads(branch, snapshot).tables()

    def indexes(
        self, branch: str | None = None, *, snapshot: Moment | At | None = None
    ) -> list[IndexInfo]:
        """Every index, and how many rows of its table it answers for."""
        return self._reads(branch, snapshot).indexes()

    # Inside --------------------------------------------------------------------------------------

    def _reads(self, branch: str | None, snapshot: Moment | At | None) -> Reads:
        return Reads(self.backend, branch, moment_of(self.backend, snapshot))
