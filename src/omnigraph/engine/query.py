"""Ask: text ─► plan (kept by source and schema) ─► one snapshot ─► rows."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.span import SourceText
from omnigraph.engine.results import QueryResult
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import CompiledQuery, MutationQuery
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.read.run import run
from omnigraph.read.tables import Tables
from omnigraph.read.topology.cache import RuntimeCache
from omnigraph.store.snapshot import Snapshot

__all__ = ["PlanCache", "ask"]

# A program asks a few hundred questions at most; a plan takes a few kilobytes.
LIMIT_PLANS = 512


class PlanCache:
    """Compiled queries, by the text, the name in it, and the schema they were checked against.

    A plan made cheaper for a graph is kept as well, by about how large the graph is.
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, CompiledQuery] = OrderedDict()

    def compile(self, source: SourceText, name: str | None, snapshot: Snapshot) -> CompiledQuery:
        key = (source.text, name, snapshot.schema_hash)
        return self._get(key, lambda: compile_query(source, snapshot.catalog, name))

    def optimised(
        self, source: SourceText, name: str | None, snapshot: Snapshot, tables: Tables
    ) -> CompiledQuery:
        query = self.compile(source, name, snapshot)
        statistics = tables.statistics(touch.type_name for touch in query.reads)
        key = (source.text, name, snapshot.schema_hash, statistics.magnitudes())
        return self._get(key, lambda: optimise(query, snapshot.catalog, statistics))

    def _get(self, key: Hashable, make: Callable[[], CompiledQuery]) -> CompiledQuery:
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = make()
            if len(self._plans) > LIMIT_PLANS:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return plan


def ask(
    source: SourceText,
    *,
    name: str | None,
    given: Mapping[str, Any],
    snapshot: Snapshot,
    plans: PlanCache,
    cache: RuntimeCache,
    now_ms: int,
) -> QueryResult:
    tables = Tables(snapshot, cache)
    query = plans.optimised(source, name, snapshot, tables)
    if isinstance(query, MutationQuery):
        raise ArgumentInvalid(
            argument="query", value=query.name, rule="it changes the graph: use mutate"
        )
    parameters = bind_parameters(query, given)
    rows = run(query, snapshot, parameters, cache=cache, now_ms=now_ms)
    return QueryResult(query.name, snapshot.commit.id, rows)
