"""`Engine`: everything that a use case needs beside its request, wired once when a graph is opened.

    engine = Engine.open("people.omni")
    ask(engine, Ask.of("query n() { … }"))

`Graph.init` and `Graph.open` make it for callers. Tests make it themselves where they hold the
clock still or let a write die: `Graph(Engine.open(uri, clock=…, faults=…))`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from omnigraph.base.choices import DurabilityName, check_choice
from omnigraph.base.clock import Clock, SystemClock
from omnigraph.base.errors import BranchMissing
from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName
from omnigraph.base.interruptions import is_told_by_duckdb
from omnigraph.base.span import SourceText
from omnigraph.base.trace import NO_TRACE, Trace
from omnigraph.check.sets.in_memory import SqlSession
from omnigraph.embed.providers import open_provider
from omnigraph.embed.query_texts import QueryTexts
from omnigraph.engine.gate import Gate
from omnigraph.engine.guard import Guard, PolicyArgument, as_policy
from omnigraph.engine.places_cache import PlacesCache
from omnigraph.engine.plans import PlanCache
from omnigraph.engine.settings import Settings
from omnigraph.engine.spark import SparkOnDemand
from omnigraph.read.query_vectors import TextEmbedder
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk import DiskCache
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore

if TYPE_CHECKING:
    from omnigraph.pipeline.spark.session import Spark

__all__ = ["Engine"]

P = ParamSpec("P")
T = TypeVar("T")


@frozen(eq=False)
class Engine:
    store: GraphStore
    settings: Settings
    plans: PlanCache
    cache: RuntimeCache
    places: PlacesCache
    sql: SqlSession
    spark: SparkOnDemand
    query_texts: TextEmbedder
    gate: Gate
    faults: Faults
    actor: str | None
    """Who acts where a call does not say it."""

    @classmethod
    def over(
        cls,
        store: GraphStore,
        settings: Settings,
        *,
        is_read_only: bool = False,
        policy: PolicyArgument | None = None,
        actor: str | None = None,
        faults: Faults = NEVER,
    ) -> "Engine":
        """An engine over a store that is open, with caches that hold nothing yet."""
        guard = None if policy is None else Guard.over(as_policy(policy), store.snapshot())
        directory, limits = settings.cache_directory, settings.read_limits
        disk = DiskCache(directory / store.graph_id, limits) if directory is not None else None
        return cls(
            store=store,
            settings=settings,
            plans=PlanCache(),
            cache=RuntimeCache(limits, disk=disk),
            places=PlacesCache(),
            sql=SqlSession(),
            spark=SparkOnDemand(settings),
            query_texts=QueryTexts(lambda: open_provider(settings.embed)),
            gate=Gate(str(store.root), is_read_only=is_read_only, guard=guard),
            faults=faults,
            actor=actor,
        )

    @classmethod
    def init(
        cls,
        uri: str,
        schema: SourceText,
        *,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        actor: str | None = None,
        message: str | None = None,
        clock: Clock | None = None,
        faults: Faults = NEVER,
        force: bool = False,
    ) -> "Engine":
        """Make a graph in an empty place."""
        # Reading alone does without the schema language.
        from omnigraph.lang.schema.check.check import compile_schema

        settings = settings or Settings.from_environment()
        store = GraphStore.init(
            uri,
            compile_schema(schema),
            source=schema.text,
            actor=actor,
            message=message,
            clock=clock or SystemClock(),
            durability=_durability(durability),
            access=settings.bucket_access,
            limits=settings.store_limits,
            force=force,
        )
        return cls.over(store, settings, actor=actor, faults=faults)

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        read_only: bool = False,
        durability: DurabilityName = "fsync",
        settings: Settings | None = None,
        policy: PolicyArgument | None = None,
        actor: str | None = None,
        clock: Clock | None = None,
        faults: Faults = NEVER,
        trace: Trace = NO_TRACE,
    ) -> "Engine":
        """Open a graph; unless `read_only`, finish or undo first what a crash left."""
        settings = settings or Settings.from_environment()
        store = GraphStore.open(
            uri,
            clock=clock or SystemClock(),
            durability=_durability(durability),
            access=settings.bucket_access,
            limits=settings.store_limits,
            trace=trace,
        )
        if not read_only:
            # Reading alone does without them.
            from omnigraph.store.moving import bring_here
            from omnigraph.write.recover import recover_all

            store.require_fences()
            bring_here(store)
            store.bring_up_to_date()
            recover_all(store)
        return cls.over(
            store, settings, is_read_only=read_only, policy=policy, actor=actor, faults=faults
        )

    def finish_pending(self, branch: BranchName | None, actor: str | None) -> None:
        """Before this actor looks at a branch, or at any: finish or undo their failed writes."""
        if self.store.pending.open_for(branch, actor):
            # Most processes have none, and reading alone does without the writer.
            from omnigraph.write.writer import finish_pending

            finish_pending(self.store, branch, actor)

    @property
    def trace(self) -> Trace:
        return self.store.trace

    @property
    def uri(self) -> str:
        return str(self.store.root)

    @property
    def is_read_only(self) -> bool:
        return self.gate.is_read_only

    def run(
        self, use_case: "Callable[Concatenate[Engine, P], T]", *args: P.args, **more: P.kwargs
    ) -> T:
        """Carry out a use case here; see `Backend`."""
        try:
            return use_case(self, *args, **more)
        except BranchMissing as missing:
            if self.gate.guard is None:
                raise
            # Others may be hidden from the actor.
            raise BranchMissing(missing.branch) from None
        except Exception as error:
            if is_told_by_duckdb(error):
                raise KeyboardInterrupt from error
            raise

    def acting_for(self, actor: str | None) -> "Engine":
        """The same engine, with the same caches, for another actor."""
        return replace(self, actor=actor)

    def under_policy(self, policy: PolicyArgument) -> "Engine":
        """The same engine, with the same caches, that asks this policy from now on."""
        guard = Guard.over(as_policy(policy), self.store.snapshot())
        return replace(self, gate=replace(self.gate, guard=guard))

    def without_spark(self) -> "Engine":
        """The same engine, with the same caches, on which no caller may start Spark."""
        return replace(self, gate=replace(self.gate, may_run_spark=False))

    def spark_for(self, actor: str | None, given: Any = None) -> "Spark":
        """The session that is given, or the engine's own, which is started if it is not running.

        Raises a `DeniedError` if the actor may not start Spark.
        """
        if given is None:
            self.gate.allow_spark(actor)
        return self.spark.session(given)

    def close(self) -> None:
        self.spark.close()


def _durability(name: DurabilityName) -> Durability:
    check_choice("durability", name, DurabilityName)
    return Durability(name)
