"""A graph of items, links and ties, written row by row, and read back as plain rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph import Graph
from omnigraph.base.ids import BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.graph_store import GraphStore
from tests.store_contract.builders import put, rows_of

SCHEMA = """
node Item { name: String @key  a: I32?  b: String?  u: String? @unique }
node Place { name: String @key }
edge Link: Item -> Item { a: I32?  b: String? }
edge Tie: Item -> Item { a: I32?  b: String?  @key(src, dst) }
edge Boss: Item -> Item @card(0..1)
edge Home: Item -> Place @card(0..2)
edge Seat: Place -> Item @card(1..2)
"""

Row = Mapping[str, Any]
Image = dict[str, dict[str, dict[str, Any]]]
"""Rows by the name of their type and their id."""

ENDS = {
    "Link": ("Item", "Item"),
    "Tie": ("Item", "Item"),
    "Boss": ("Item", "Item"),
    "Home": ("Item", "Place"),
    "Seat": ("Place", "Item"),
}


WAYS = {
    "memory": Settings(),
    # Every merge is a large one, in many tasks.
    "files": Settings(
        load_engine="local",
        load_limits=LoadLimits(max_merged_bytes=-1, max_compared_bytes=9_000),
    ),
}


def make_graph(place: Path, way: str = "memory") -> Graph:
    source = SourceText(SCHEMA, "merge.pg")
    return Graph(Engine.init(str(place), source, durability="relaxed", settings=WAYS[way]))


def item(name: str, **values: Any) -> tuple[str, str, Row]:
    return "Item", name, {"name": name, "a": None, "b": None, "u": None, **values}


def place(name: str) -> tuple[str, str, Row]:
    return "Place", name, {"name": name}


def edge(kind: str, id_: str, source: str, target: str, **values: Any) -> tuple[str, str, Row]:
    more = {"a": None, "b": None} if kind in ("Link", "Tie") else {}
    return kind, id_, {"src": source, "dst": target, **more, **values}


def gone(kind: str, id_: str) -> tuple[str, str, None]:
    return kind, id_, None


Step = tuple[str, str, Row | None]
"""A row that is put, or taken away."""


def apply(image: Image, steps: Iterable[Step]) -> Image:
    """The rows after the steps."""
    after = {kind: dict(rows) for kind, rows in image.items()}
    for kind, id_, row in steps:
        rows = after.setdefault(kind, {})
        if row is None:
            rows.pop(id_, None)
        else:
            rows[id_] = dict(row)
    return after


def write_rows(graph: Graph, branch: str, steps: Iterable[Step]) -> None:
    """One commit; no rule is checked. The last word on each row counts."""
    last: dict[tuple[str, str], Row | None] = {(kind, id_): row for kind, id_, row in steps}
    store, tables = graph.engine.store, {}
    for entity in store.snapshot(BranchName(branch)).catalog.entities:
        mine = {id_: row for (kind, id_), row in last.items() if kind == entity.name}
        if mine:
            rows = [{"id": id_, **row} for id_, row in mine.items() if row is not None]
            dead = [id_ for id_, row in mine.items() if row is None]
            tables[entity.table_key] = RowEdits(rows_of(entity, rows), pa.array(dead, pa.string()))
    put(store, Edits(tables, reads=frozenset()), branch=branch)


def image_of(graph: Graph, branch: str) -> Image:
    """All rows of a branch."""
    return read(graph.engine.store, branch)


def read(store: GraphStore, branch: str) -> Image:
    snapshot = store.snapshot(BranchName(branch))

    def rows(entity: EntityType) -> dict[str, dict[str, Any]]:
        names = table_schema(entity).names
        found = snapshot.dataset(entity).scan(names).select(names).to_pylist()
        return {row.pop("id"): row for row in found}

    image = {str(entity.name): rows(entity) for entity in snapshot.catalog.entities}
    return {kind: found for kind, found in image.items() if found}


def tidy(image: Image) -> Image:
    return {kind: rows for kind, rows in image.items() if rows}
