"""A graph, a place for input files, and loads into it by one runner."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.base.errors import ConstraintViolated, KeyTaken, OmnigraphError
from omnigraph.base.ids import MAIN, CommitId
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.faults import accept_load
from omnigraph.pipeline.load.load import AcceptedLoad, LoadMode, stage_load
from omnigraph.pipeline.load.resolve import ResolvedLoad, resolve_load
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.sources import plan_splits
from omnigraph.pipeline.staging.area import Ending, StagingArea
from omnigraph.store.arrow import table_schema
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Dataset, read_fragment_columns
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Replacement, StagedFiles, Target
from omnigraph.write.writer import write
from tests.pipeline.world import NOW_MS, edge, new_graph, node
from tests.pipeline.world import write as write_lines
from tests.store_contract.builders import Prepared, id_of

SCHEMA = """
node Person { name: String @key  phone: String?  @unique(phone) }
node City { code: I64 @key }
node Note { text: String  tags: [String]?  face: Vector(2)?  photo: Blob?  at: DateTime? }
edge LivesIn: Person -> City @card(0..1)
edge Knows: Person -> Person { since: Date? }
edge Owns: Person -> City @card(1..*)
"""


class World:
    """A graph, a place for input files, and loads into it."""

    def __init__(
        self,
        place: Path,
        runner: Runner,
        schema: str = SCHEMA,
        *,
        limits: LoadLimits | None = None,
    ) -> None:
        self.place = place
        self.limits = limits or LoadLimits()
        self.runner = runner
        self.store: GraphStore = new_graph(place / "graph", schema)

    def resolve(self, *sources: str, mode: str = "append", **options: Any) -> ResolvedLoad:
        """Stage and resolve a load; `end` says what became of it."""
        self.area = StagingArea(self.store)
        try:
            return self._resolve(*sources, mode=mode, **options)
        except OmnigraphError:
            self.area.close(Ending.NOTHING)
            raise

    def _resolve(self, *sources: str, mode: str, **options: Any) -> ResolvedLoad:
        snapshot = self.store.snapshot(MAIN)
        planned = plan_splits(
            sources,
            catalog=snapshot.catalog,
            parallelism=self.runner.parallelism,
            limits=self.limits,
        )
        load = stage_load(
            self.runner,
            planned,
            snapshot=snapshot,
            mode=LoadMode.named(mode),
            limits=self.limits,
            area=self.area,
            now_ms=NOW_MS,
            **options,
        )
        quarantine = options.get("quarantine")
        accepted = accept_load(self.runner, load, snapshot, self.area, quarantine=quarantine)
        return resolve_load(self.runner, accepted, snapshot, self.area)

    def resolve_again(self, before: ResolvedLoad) -> ResolvedLoad:
        accepted, now = AcceptedLoad(before.load), self.store.snapshot(MAIN)
        return resolve_load(self.runner, accepted, now, self.area, before=before)

    def publish(self, resolved: ResolvedLoad) -> CommitId | None:
        writer, note = Prepared(lambda _: resolved.work), CommitNote(CommitKind.LOAD)
        return id_of(write(self.store, writer, to=Target(MAIN), note=note))

    def end(self, resolved: ResolvedLoad, *, is_published: bool) -> None:
        ending = Ending.PUBLISHED if is_published else Ending.NOTHING
        self.area.close(ending, published=staged_files(resolved) if is_published else ())

    def load(self, *lines: dict[str, Any] | str, mode: str = "append") -> ResolvedLoad:
        resolved = self.resolve(write_lines(self.place / "load.jsonl", *lines), mode=mode)
        self.end(resolved, is_published=self.publish(resolved) is not None)
        return resolved

    def refused(
        self, error: type[OmnigraphError], *lines: dict[str, Any] | str, mode: str = "append"
    ) -> list[tuple[str, str | None, int | None]]:
        """What a load of these lines breaks: kind, type and line of each example."""
        before = self.files()
        with pytest.raises(error) as caught:
            self.resolve(write_lines(self.place / "bad.jsonl", *lines), mode=mode)
        assert self.files() == before, "a failed load leaves no files"
        assert type(caught.value) is error
        assert isinstance(caught.value, ConstraintViolated | KeyTaken)
        violations = caught.value.violations.examples
        return [(v.kind, v.type_name, v.line) for v in violations]

    def files(self) -> set[str]:
        return {str(p) for p in self.place.rglob("*.lance") if p.is_file()}

    def files_of_no_commit(self) -> set[str]:
        """Data that no version of any table names."""
        named = {
            file.path
            for entity in self.snapshot.catalog.entities
            for version in range(1, self.snapshot.tables[entity.table_key].ref.version + 1)
            for fragment in self._version(entity, version).fragments
            for file in fragment.files
        }
        tables = [Path(file) for file in self.files() if {"nodes", "edges"} & {*Path(file).parts}]
        return {file.name for file in tables} - named

    def _version(self, entity: EntityType, version: int) -> Dataset:
        ref = self.snapshot.tables[entity.table_key].ref
        return self.snapshot.other_version(replace(ref, version=version))

    def rows(self, name: str) -> list[dict[str, Any]]:
        entity = self.entity(name)
        table = self.snapshot.dataset(entity).scan(table_schema(entity).names)
        return sorted(table.to_pylist(), key=lambda row: row["id"])

    def staged_rows(self, resolved: ResolvedLoad, name: str) -> pa.Table:
        entity = self.entity(name)
        files = resolved.work.tables[entity.table_key]
        assert isinstance(files, StagedFiles | Replacement)
        columns = table_schema(entity).names
        return read_fragment_columns(files.written_at, files.fragments, columns)

    @property
    def snapshot(self) -> Snapshot:
        return self.store.snapshot(MAIN)

    def entity(self, name: str) -> EntityType:
        catalog = self.store.snapshot(MAIN).catalog
        return catalog.node_by_name.get(name) or catalog.edge_by_name[name]


def person(name: str, **data: Any) -> dict[str, Any]:
    return node("Person", name=name, **data)


def owner(name: str, city: int = 1) -> list[dict[str, Any]]:
    return [person(name), edge("Owns", name, city)]


YORK = node("City", code=1)


def staged_files(resolved: ResolvedLoad) -> frozenset[str]:
    """Its fragments, where none of its tables is forked for the commit."""
    staged = (StagedFiles, Replacement)
    tables = {key: t for key, t in resolved.work.tables.items() if isinstance(t, staged)}
    return resolved.fragments_in({key: table.written_at for key, table in tables.items()})
