"""`At`: a graph at one commit, held still. Reading it asks nothing about newer commits.

    yesterday = graph.at("2026-03-01T12:00Z")
    yesterday.query("people.gq", "staff")
    graph.query("people.gq", "staff", snapshot=yesterday)  # the same

`Graph` reads through it too: each of its reading methods makes one for its call.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import CommitMissing, StorageFailed
from omnigraph.engine.blob import Blob, find_blob
from omnigraph.engine.export import Target, export
from omnigraph.engine.maintain import index_infos
from omnigraph.engine.query import PlanCache, ask, explain_plan
from omnigraph.engine.query import analyze as analyze_plan
from omnigraph.engine.results import CommitInfo, ExportResult, IndexInfo, QueryResult
from omnigraph.engine.settings import Settings
from omnigraph.engine.text import QUERY, Text, as_source, named
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.read.context import Budget
from omnigraph.read.statistics import storage_statistics
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.statistics import Statistics

__all__ = ["At", "Reader"]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reading takes beside a snapshot: made once, by the `Graph`."""

    store: GraphStore
    settings: Settings
    plans: PlanCache
    cache: RuntimeCache


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class At:
    """A graph at one commit. `Graph.at` and `Graph.snapshot` make it."""

    stored: Snapshot
    """What storage holds of the commit: for this package's own use."""
    reader: Reader

    @property
    def commit(self) -> CommitInfo:
        return CommitInfo.of(self.stored.commit)

    @property
    def graph_commit_id(self) -> str:
        return self.stored.commit.id

    @property
    def branch(self) -> str:
        """The branch that was asked for; of a commit that was asked for, the one it was made on."""
        return self.stored.branch

    @property
    def catalog(self) -> Catalog:
        """The schema of the commit, as the languages see it."""
        return self.stored.catalog

    def __repr__(self) -> str:
        commit = self.commit
        made = commit.created_at.isoformat(sep=" ", timespec="milliseconds")
        return f"<At {commit.graph_commit_id}: {commit.kind} on {self.branch}, {made}>"

    def query(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        memory_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryResult:
        """Run one read query of `source`; see `Graph.query`."""
        name, given = named(name, params)
        reader = self.reader
        with self._reading():
            return ask(
                as_source(source, QUERY),
                name=name,
                given=given,
                view=View(self.stored),
                plans=reader.plans,
                cache=reader.cache,
                now_ms=reader.store.clock.now_ms(),
                budget=self._budget(timeout_s, memory_bytes, cancel),
                mode=reader.settings.traversal_mode,
            )

    def explain(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        analyze: bool = False,
    ) -> str:
        """The plan of a query; see `Graph.explain`."""
        name, given = named(name, params)
        text, reader = as_source(source, QUERY), self.reader
        with self._reading():
            if not analyze:
                return explain_plan(
                    text, name=name, view=View(self.stored), plans=reader.plans, cache=reader.cache
                )
            return analyze_plan(
                text,
                name=name,
                given=given,
                view=View(self.stored),
                plans=reader.plans,
                cache=reader.cache,
                now_ms=reader.store.clock.now_ms(),
                budget=self._budget(),
                mode=reader.settings.traversal_mode,
            )

    def blob(self, kind: str, type_: str, id_: str, name: str) -> Blob:
        """The bytes of a Blob property; see `Graph.blob`."""
        return find_blob(
            View(self.stored),
            graph_id=self.reader.store.graph_id,
            kind=kind,
            type_name=type_,
            id_=id_,
            name=name,
        )

    def export(
        self,
        target: Target,
        *,
        types: Iterable[str] | None = None,
        format: str = "jsonl",
        overwrite: bool = False,
    ) -> ExportResult:
        """Write the graph for others; see `Graph.export`."""
        with self._reading():
            return export(
                View(self.stored),
                target,
                schema_source=self.reader.store.schemas.source(self.stored.schema_hash),
                types=types,
                format_=format,
                overwrite=overwrite,
            )

    def stats(self) -> Statistics:
        """Rows, files and index coverage of every table, without reading a row."""
        with self._reading():
            return storage_statistics(View(self.stored), self.reader.cache)

    def indexes(self) -> list[IndexInfo]:
        return index_infos(self.stats())

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Files that can't be read are missing, if the commit went with its branch meanwhile."""
        try:
            yield
        except StorageFailed as failure:
            try:
                self.reader.store.commit(self.stored.commit.id)
            except CommitMissing as missing:
                raise missing from failure
            raise

    def _budget(
        self,
        timeout_s: float | None = None,
        memory_bytes: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Budget:
        usual_bytes = self.reader.settings.query_memory_bytes
        return Budget(memory_bytes or usual_bytes, timeout_s, cancel)
