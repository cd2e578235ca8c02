"""The rows of a graph as a walk has them: all of a branch, and what one role leaves of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.base.ids import MAIN, BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType
from omnigraph.lang.schema.text.part import text_of_part
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.policy.walks.roles import Role

Stored = Mapping[str, Any]
"""A row by the names of its columns."""
State = dict[str, dict[str, Stored]]
"""Rows by type and id."""
SYSTEM = {ID: "id", SRC: "from", DST: "to"}
# Ids that a graph makes up are longer than those that a walk gives.
MAX_GIVEN_ID = 20


def state_of(snapshot: Snapshot) -> State:
    """All rows, read past every view."""
    return {
        entity.name: {
            row[ID]: row
            for row in snapshot.dataset(entity).scan(table_schema(entity).names).to_pylist()
        }
        for entity in snapshot.catalog.entities
    }


def named(entity: EntityType, row: Stored) -> dict[str, Any]:
    """A row by the names of its properties."""
    names = {**{p.column: p.name for p in entity.properties}}
    ends = {SYSTEM[column]: row[column] for column in (ID, SRC, DST) if column in row}
    return {**ends, **{names[column]: v for column, v in row.items() if column in names}}


def entities_of(catalog: Catalog) -> dict[str, EntityType]:
    return {entity.name: entity for entity in catalog.entities}


def seen_of(state: State, catalog: Catalog, role: Role) -> State:
    """The rows that are left where those that a role hides were removed."""
    left: State = {}
    for name, entity in entities_of(catalog).items():
        rows = {i: row for i, row in state[name].items() if role.sees(name, named(entity, row))}
        if isinstance(entity, EdgeType):
            starts, ends = left.get(entity.source, {}), left.get(entity.target, {})
            rows = {i: r for i, r in rows.items() if r[SRC] in starts and r[DST] in ends}
        left[name] = rows
    return left


def in_catalog(state: State, catalog: Catalog) -> State:
    """The rows in the types and columns that a catalog has."""
    return {
        name: {
            id_: {column: row[column] for column in table_schema(entity).names}
            for id_, row in state[name].items()
        }
        for name, entity in entities_of(catalog).items()
    }


def without_made_ids(state: State) -> dict[str, Counter[str]]:
    """The rows without ids that a graph has made up, to compare what two graphs hold."""

    def plain(column: str, value: Any) -> Any:
        is_made = column in SYSTEM and len(str(value)) > MAX_GIVEN_ID
        return "made" if is_made else value

    return {
        name: Counter(repr([(c, plain(c, v)) for c, v in row.items()]) for row in rows.values())
        for name, rows in state.items()
    }


# Graphs -------------------------------------------------------------------------------------------


def empty_graph(place: str, text: str, catalog: Catalog, settings: Settings) -> Engine:
    """A graph of a part of a schema, whose columns are those of the whole."""
    source = text_of_part(SourceText(text), catalog)
    store = GraphStore.init(place, catalog, source=source, durability=Durability.RELAXED)
    return Engine.over(store, settings)


def bring(engine: Engine, state: State) -> None:
    """Make the rows of main these, by one commit; none if they are these already."""
    store = engine.store
    snapshot = store.snapshot(BranchName(MAIN))
    before = state_of(snapshot)
    tables = {}
    for entity in snapshot.catalog.entities:
        was, now = before[entity.name], state[entity.name]
        put = [row for id_, row in now.items() if was.get(id_) != row]
        gone = pa.array([id_ for id_ in was if id_ not in now], pa.string())
        if put or len(gone):
            schema = table_schema(entity)
            tables[entity.table_key] = RowEdits(pa.Table.from_pylist(put, schema), gone)
    if tables:
        note = CommitNote(CommitKind.MUTATION)
        write(store, Replay(Edits(tables)), to=Target(BranchName(MAIN)), note=note)
