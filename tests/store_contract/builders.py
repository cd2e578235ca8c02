"""Small graphs for the tests of storage: a catalog built by hand, rows, and one-line writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.base.ids import MAIN, BranchName, CommitId, PropertyId, TypeId, TypeName
from omnigraph.base.types import Scalar, ValueType
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType, NodeType, Property
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import (
    DatasetRef,
    Datasets,
    EditCounts,
    index_steps,
    write_fragments,
)
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.indexes import IndexKind, WantedIndex
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import CreateIndex, Update
from omnigraph.write.work import (
    CommitNote,
    OnConflict,
    Replay,
    StagedFiles,
    Target,
    Work,
    Writer,
)
from omnigraph.write.writer import Written, write
from tests.buckets import bucket_access, location_of

Row = Mapping[str, Any]


def property_(number: int, name: str, type_: ValueType, *, nullable: bool = True) -> Property:
    return Property(PropertyId(number), name, name, type_, is_nullable=nullable)


PERSON = NodeType(
    TypeId(1),
    TypeName("Person"),
    (property_(2, "age", Scalar.I32), property_(3, "name", Scalar.STRING, nullable=False)),
    key=("name",),
)
KNOWS = EdgeType(
    TypeId(4),
    TypeName("Knows"),
    TypeName("Person"),
    TypeName("Person"),
    (property_(5, "since", Scalar.I32),),
    key=("src", "dst"),
)
CATALOG = Catalog(nodes=(PERSON,), edges=(KNOWS,), next_id=6)
SOURCE = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person {…}\n"


def make_store(
    place: Path | str,
    durability: Durability = Durability.RELAXED,
    limits: StoreLimits = DEFAULT_LIMITS,
    *,
    force: bool = False,
) -> GraphStore:
    return GraphStore.init(
        str(place),
        CATALOG,
        source=SOURCE,
        durability=durability,
        access=bucket_access(),
        limits=limits,
        force=force,
    )


def open_store(place: Path | str | Location, limits: StoreLimits = DEFAULT_LIMITS) -> GraphStore:
    return GraphStore.open(
        str(place), durability=Durability.RELAXED, access=bucket_access(), limits=limits
    )


def datasets_at(place: Path | str) -> Datasets:
    """Datasets without a graph."""
    return Datasets(location_of(place), Durability.RELAXED)


def staged_edit(
    datasets: Datasets, ref: DatasetRef, upserts: pa.Table, gone: Sequence[str] = ()
) -> tuple[Update, EditCounts]:
    """Rows to put and ids to delete, staged where they are found in a dataset without a graph."""
    there = datasets.open(ref).rows_of(RowEdits(upserts, pa.array(gone, pa.string())).ids)
    return datasets.stage_edit(ref, upserts, there)


def staged_index(datasets: Datasets, ref: DatasetRef) -> CreateIndex | None:
    """What makes a BTREE of ids and one of ages cover all rows."""
    dataset, wanted = datasets.own(ref), [WantedIndex(c, IndexKind.BTREE) for c in ("id", "age")]
    steps = index_steps(dataset, wanted)
    return datasets.stage_indexes(dataset, steps, ref=ref)


def rows_of(entity: EntityType, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=table_schema(entity))


def people(**ages: int) -> pa.Table:
    """People by name: `people(ada=36)`."""
    rows = [{"id": name, "name": name, "age": age} for name, age in ages.items()]
    return rows_of(PERSON, rows)


def knows(*pairs: str) -> pa.Table:
    """Edges by the names of their ends: `knows("ada-bob")`."""
    ends = [pair.split("-") for pair in pairs]
    return rows_of(KNOWS, [{"id": f"{s}-{d}", "src": s, "dst": d, "since": 1} for s, d in ends])


def changes(
    *, people: pa.Table | None = None, knows: pa.Table | None = None, gone: Sequence[str] = ()
) -> Edits:
    """Rows to put, and names of people to delete. What it reads is what it writes."""
    tables = {}
    if people is not None or gone:
        put = people if people is not None else rows_of(PERSON, [])
        tables[PERSON.table_key] = RowEdits(put, pa.array(gone, pa.string()))
    if knows is not None:
        tables[KNOWS.table_key] = RowEdits(knows)
    return Edits(tables, reads=frozenset())


@dataclass(frozen=True)
class Prepared(Writer[Work]):
    """A writer made of a function."""

    make: Callable[[Snapshot], Work]
    waits_first: bool = False

    def prepare(self, snapshot: Snapshot) -> Work:
        return self.make(snapshot)


def put(
    store: GraphStore,
    changed: Edits | Callable[[Snapshot], Edits | Work],
    *,
    branch: str = MAIN,
    faults: Faults = NEVER,
    on_conflict: OnConflict = OnConflict.RAISE,
    waits_first: bool = False,
    if_commit: CommitId | None = None,
    message: str | None = None,
) -> CommitId | None:
    def prepare(snapshot: Snapshot) -> Work:
        made = changed(snapshot) if callable(changed) else changed
        work = made if isinstance(made, Work) else Replay(made).prepare(snapshot)
        return replace(work, on_conflict=on_conflict)

    written = write(
        store,
        Prepared(prepare, waits_first),
        to=Target(BranchName(branch), if_commit=if_commit),
        note=CommitNote(CommitKind.MUTATION, "tester", message),
        faults=faults,
    )
    return id_of(written)


def id_of(written: Written[Any] | None) -> CommitId | None:
    return written.commit.id if written is not None and written.commit is not None else None


def staged(snapshot: Snapshot, entity: EntityType, rows: pa.Table, mode: Any) -> StagedFiles:
    """Rows written as files beside the table, as a load's tasks do."""
    home = snapshot.home(entity)
    fragments = write_fragments(home, iter(rows.to_batches()), rows.schema)
    return StagedFiles(mode, tuple(fragments), rows.num_rows, home.location)


def load(
    store: GraphStore,
    *,
    people: pa.Table,
    knows: pa.Table,
    mode: str = "append",
    branch: str = MAIN,
    faults: Faults = NEVER,
) -> CommitId | None:
    def prepare(snapshot: Snapshot) -> Work:
        tables = {
            PERSON.table_key: staged(snapshot, PERSON, people, mode),
            KNOWS.table_key: staged(snapshot, KNOWS, knows, mode),
        }
        return Work(tables, reads=frozenset(), on_conflict=OnConflict.RAISE)

    written = write(
        store,
        Prepared(prepare),
        to=Target(BranchName(branch)),
        note=CommitNote(CommitKind.LOAD, "loader"),
        faults=faults,
    )
    return id_of(written)


def ages(snapshot: Snapshot) -> dict[str, int]:
    table = snapshot.dataset(PERSON).scan(["name", "age"])
    assert table.num_rows == snapshot.tables[PERSON.table_key].row_count
    return dict(zip(table["name"].to_pylist(), table["age"].to_pylist(), strict=True))


def pairs(snapshot: Snapshot) -> set[str]:
    table = snapshot.dataset(KNOWS).scan(["id"])
    assert table.num_rows == snapshot.tables[KNOWS.table_key].row_count
    return set(table["id"].to_pylist())


def contents(store: GraphStore, branch: str = MAIN) -> tuple[dict[str, int], set[str]]:
    """Everything on a branch, as its head says."""
    snapshot = store.snapshot(BranchName(branch))
    return ages(snapshot), pairs(snapshot)
