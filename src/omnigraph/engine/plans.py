"""Plans that were compiled before, kept by the text, the name in it and the schema."""

from collections.abc import Hashable

from omnigraph.base.looks import Look, never
from omnigraph.base.recent import Recent
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.chain import compared_properties
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import CompiledQuery, ReadQuery
from omnigraph.lang.plan.optimise import optimise
from omnigraph.read.statistics import statistics_of
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot

__all__ = ["PlanCache"]

# A program asks a few hundred questions at most; a plan takes a few kilobytes.
MAX_PLANS = 512
# One question about a graph that grows: a plan for each time it doubles.
MAX_SIZES = 16


class PlanCache:
    """Compiled queries, by the text, the name in it, and the schema they were checked against, with
    what of it was hidden from the caller.

    With each go the plans that were made of it for graphs of different sizes. Safe to share
    between threads: two that miss at the same time both compile.
    """

    def __init__(self) -> None:
        self._compiled: Recent[Hashable, _Compiled] = Recent(MAX_PLANS)

    def compile(
        self, source: SourceText, name: str | None, snapshot: Snapshot, look: Look = never
    ) -> CompiledQuery:
        """The plan as the text has it, whatever the graph holds."""
        return self._get(source, name, snapshot, look).query

    def optimised(
        self,
        source: SourceText,
        name: str | None,
        view: View,
        cache: RuntimeCache,
        look: Look = never,
    ) -> CompiledQuery:
        """The plan for a graph of about the size that the view shows."""
        compiled = self._get(source, name, view.snapshot, look)
        statistics = statistics_of(view, cache, compiled.types, compiled.compared)
        # What a plan is made from is known by size only roughly: views do not share one.
        key = (statistics.magnitudes(), view.identity)
        if (query := compiled.by_size.get(key)) is None:
            query = optimise(compiled.query, view.catalog, statistics, look)
            compiled.by_size.put(key, query)
        return query

    def _get(
        self, source: SourceText, name: str | None, snapshot: Snapshot, look: Look
    ) -> "_Compiled":
        key = (source.text, name, snapshot.schema_hash, snapshot.hidden)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = _Compiled(compile_query(source, snapshot.catalog, name, look))
            self._compiled.put(key, compiled)
        return compiled


class _Compiled:
    def __init__(self, query: CompiledQuery) -> None:
        self.query = query
        self.types = tuple(touch.type_name for touch in query.reads)
        self.compared: tuple[str, ...] = ()
        if isinstance(query, ReadQuery):
            self.compared = tuple(sorted(compared_properties(query.plan)))
        self.by_size: Recent[Hashable, CompiledQuery] = Recent(MAX_SIZES)
