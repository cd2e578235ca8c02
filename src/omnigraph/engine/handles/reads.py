"""`Reads`: the questions that every handle answers, each of one place: a branch or a moment of it.

A method builds its request and calls the use case; it does nothing else. In every handle it also
imports the use case, so that a process has only those that it asks for.
"""

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.base.choices import (
    EntityKind,
    ExportFormat,
    LoadEngine,
    QueryEngine,
    check_choice,
)
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.engine.arguments import names_in
from omnigraph.engine.backend import Backend, engine_of
from omnigraph.engine.engine import Engine
from omnigraph.engine.explanation import Explanation
from omnigraph.engine.query import ask, explain
from omnigraph.engine.requests import (
    Ask,
    BlobRead,
    Explain,
    Export,
    Moment,
    NeighborhoodRead,
    SchemaRead,
    SparkAsk,
    SparkTable,
    StatsRead,
    Target,
)
from omnigraph.engine.results import ExportResult, IndexInfo, QueryResult
from omnigraph.engine.text import QUERY, Text, as_source
from omnigraph.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.editing import LintedText
    from omnigraph.engine.entity import Entity
    from omnigraph.engine.entity_history import EntityHistory
    from omnigraph.engine.find import Found
    from omnigraph.engine.handles.analytics import Analytics
    from omnigraph.engine.neighborhood import Neighborhood
    from omnigraph.engine.schema import Schema
    from omnigraph.engine.tables import SnapshotTables
    from omnigraph.store.statistics import Statistics

__all__ = ["Reads"]


class Reads:
    """Reads of one branch: at its head, or at a moment."""

    def __init__(
        self, backend: Backend, branch: str | None, moment: Moment | Snapshot | None = None
    ) -> None:
        """Without a branch it is main, and a commit is read wherever it was made."""
        self.backend = backend
        """For this package's own use."""
        self._branch = MAIN if branch is None else BranchName(branch)
        self._is_branch_named = branch is not None
        self._moment = moment

    @property
    def engine(self) -> Engine:
        """Of a graph that was opened here; for this package's own use."""
        return engine_of(self.backend)

    @property
    def analytics(self) -> "Analytics":
        """Algorithms over the edges: `.pagerank("Knows")`; see `Graph.analytics`."""
        # Few processes run any.
        from omnigraph.engine.handles.analytics import Analytics

        return Analytics(self.backend, self._where())

    def query(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        memory_bytes: int | None = None,
        cancel: threading.Event | None = None,
        engine: QueryEngine = "local",
        spark: Any = None,
    ) -> QueryResult:
        """Run one read query of `source`; see `Graph.query`."""
        if _is_on_spark(engine, spark=spark, memory_bytes=memory_bytes):
            from omnigraph.engine.spark_reads import query_on_spark

            asked = SparkAsk.of(
                source,
                name,
                params,
                timeout_s=timeout_s,
                cancel=cancel,
                spark=spark,
                **self._where(),
            )
            return self.backend.run(query_on_spark, asked)
        limits = {"timeout_s": timeout_s, "memory_bytes": memory_bytes, "cancel": cancel}
        return self.backend.run(ask, Ask.of(source, name, params, **limits, **self._where()))

    def explain(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        analyze: bool = False,
        engine: QueryEngine = "local",
    ) -> Explanation:
        """The plan of a query; see `Graph.explain`."""
        request = Explain.of(source, name, params, analyze=analyze, **self._where())
        if _is_on_spark(engine):
            from omnigraph.engine.spark_reads import explain_on_spark

            return self.backend.run(explain_on_spark, request)
        return self.backend.run(explain, request)

    def spark(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        spark: Any = None,
    ) -> Any:
        """A type, or the answer of a query, as a DataFrame of Spark's; see `Graph.spark`."""
        from omnigraph.engine.spark_reads import frame_of_query, frame_of_type

        if isinstance(source, str) and source.isidentifier():
            _refuse("a type", name=name, params=params)
            of_type = SparkTable(
                type_name=source,
                columns=names_in("columns", columns),
                tests=where,
                spark=spark,
                **self._where(),
            )
            return self.backend.run(frame_of_type, of_type)
        _refuse("a query", columns=columns, where=where)
        asked = SparkAsk.of(source, name, params, spark=spark, **self._where())
        return self.backend.run(frame_of_query, asked)

    def blob(self, kind: EntityKind, type: str, id: str, prop: str) -> "Blob":
        """The bytes of a Blob property; see `Graph.blob`."""
        from omnigraph.engine.blob import find_blob

        request = BlobRead(kind=kind, type_name=type, entity_id=id, property=prop, **self._where())
        return self.backend.run(find_blob, request)

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
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "Neighborhood":
        """An entity and what is around it; see `Graph.neighborhood`."""
        from omnigraph.engine.neighborhood import neighborhood

        request = NeighborhoodRead(
            type_name=type,
            entity_id=id,
            depth=depth,
            limit=limit,
            edges=names_in("edges", edges),
            direction=direction,
            page_token=page_token,
            timeout_s=timeout_s,
            cancel=cancel,
            **self._where(),
        )
        return self.backend.run(neighborhood, request)

    def find(
        self,
        text: str,
        *,
        types: Iterable[str] | None = None,
        limit: int = 20,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "Found":
        """Nodes that a text may mean; see `Graph.find`."""
        from omnigraph.engine.explore_requests import FindRead
        from omnigraph.engine.find import find

        request = FindRead(
            text=text,
            types=names_in("types", types),
            limit=limit,
            timeout_s=timeout_s,
            cancel=cancel,
            **self._where(),
        )
        return self.backend.run(find, request)

    def entity(self, kind: EntityKind, type: str, id: str) -> "Entity":
        """One entity with all its properties; see `Graph.entity`."""
        from omnigraph.engine.entity import entity
        from omnigraph.engine.explore_requests import EntityRead

        request = EntityRead(kind=kind, type_name=type, entity_id=id, **self._where())
        return self.backend.run(entity, request)

    def entity_history(
        self,
        kind: EntityKind,
        type: str,
        id: str,
        *,
        limit: int = 20,
        page_token: str | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "EntityHistory":
        """What commits have made of an entity; see `Graph.entity_history`."""
        from omnigraph.engine.entity_history import entity_history
        from omnigraph.engine.explore_requests import EntityHistoryRead

        request = EntityHistoryRead(
            kind=kind,
            type_name=type,
            entity_id=id,
            limit=limit,
            page_token=page_token,
            timeout_s=timeout_s,
            cancel=cancel,
            **self._where(),
        )
        return self.backend.run(entity_history, request)

    def lint(self, source: Text) -> "LintedText":
        """What is wrong with a text of queries; see `Graph.lint`."""
        from omnigraph.engine.editing import lint
        from omnigraph.engine.explore_requests import LintRead

        request = LintRead(source=as_source(source, QUERY), **self._where())
        return self.backend.run(lint, request)

    def export(
        self,
        target: Target,
        *,
        types: Iterable[str] | None = None,
        format: ExportFormat = "jsonl",
        overwrite: bool = False,
        engine: LoadEngine = "auto",
        spark: Any = None,
    ) -> ExportResult:
        """Write the graph for others; see `Graph.export`."""
        from omnigraph.engine.export import export

        how = {"format": format, "overwrite": overwrite, "engine": engine, "spark": spark}
        request = Export.of(target, types, **how, **self._where())
        return self.backend.run(export, request)

    def schema(self) -> "Schema":
        """The schema: its text, and its types as the languages see them."""
        from omnigraph.engine.schema import schema

        return self.backend.run(schema, SchemaRead(**self._where()))

    def stats(self) -> "Statistics":
        """Rows, files and index coverage of every table, without reading a row."""
        from omnigraph.engine.stats import stats

        return self.backend.run(stats, StatsRead(**self._where()))

    def tables(self) -> "SnapshotTables":
        """The version of each table that the commit pins, and its number of entities."""
        from omnigraph.engine.tables import tables

        return self.backend.run(tables, StatsRead(**self._where()))

    def indexes(self) -> list[IndexInfo]:
        """Every index, and how many rows of its table it answers for."""
        from omnigraph.engine.stats import indexes

        return self.backend.run(indexes, StatsRead(**self._where()))

    def _where(self) -> dict[str, Any]:
        return {
            "branch": self._branch,
            "is_branch_named": self._is_branch_named,
            "moment": self._moment,
            "actor": self.backend.actor,
        }


def _is_on_spark(engine: str, *, spark: Any = None, memory_bytes: int | None = None) -> bool:
    """True if Spark answers; raises for what its other arguments have no meaning with."""
    check_choice("engine", engine, QueryEngine)
    if engine == "spark":
        _refuse("Spark", memory_bytes=memory_bytes)
        return True
    _refuse("this process", spark=spark)
    return False


def _refuse(what: str, **given: object) -> None:
    for argument, value in given.items():
        if value is not None:
            rule = f"it has no meaning for {what}"
            raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
