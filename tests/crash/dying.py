"""Ways to die, and the writes to die in."""

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from omnigraph import Graph
from omnigraph.base.failpoints import NEVER, Crash, Failpoint, Faults
from omnigraph.base.ids import MAIN, BranchName, TypeId, TypeName
from omnigraph.base.types import Scalar, VectorOf
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.catalog import Embed, NodeType
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.branching import create_branch
from omnigraph.store.bucket import BucketObjects
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import Datasets, write_fragments
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.limits import DEFAULT_LIMITS
from omnigraph.store.location import BucketLocation, DiskLocation
from omnigraph.store.objects import DiskObjects, Objects
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import DatasetRef, StagedTransaction
from omnigraph.write.recover import recover_all
from omnigraph.write.upkeep import Indexing, Optimizing
from omnigraph.write.work import CommitNote, OnConflict, Replay, StagedFiles, Target, Work
from omnigraph.write.writer import write
from tests.buckets import location_of
from tests.crash.faulty import store_of
from tests.store_contract.builders import (
    CATALOG,
    PERSON,
    Prepared,
    changes,
    knows,
    load,
    make_store,
    open_store,
    people,
    property_,
    put,
    rows_of,
)
from tests.store_contract.pages import MANY, PAGE, check, page, table_of

T = TypeVar("T")
Contents = tuple[dict[str, int], set[str]]

OLD: Contents = ({"ada": 1, "bob": 2}, {"ada-bob", "bob-ada"})


@dataclass(frozen=True)
class Scenario:
    """A write to die in, and what its branch holds before and after it."""

    kind: CommitKind
    write: Callable[[GraphStore, Faults], object]
    new: Contents
    old: Contents = OLD
    branch: str = MAIN
    prepare: Callable[[GraphStore], object] | None = None
    """What else there is before the write."""

    def graph(self, place: Path | str) -> GraphStore:
        """A graph in which the write has not begun."""
        store = make_store(place)
        put(store, changes(people=people(ada=1), knows=knows("ada-bob")))
        put(store, changes(people=people(bob=2), knows=knows("bob-ada")))
        if self.prepare is not None:
            self.prepare(store)
        if self.branch != MAIN:
            create_branch(store, BranchName(self.branch))
        return store


class InterruptAt:
    """Ctrl-C when `point` is reached: nobody dies of it."""

    def __init__(self, point: Failpoint) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            raise KeyboardInterrupt


# What is written ----------------------------------------------------------------------------------

EDIT = changes(people=people(ada=10, eve=3), knows=knows("eve-ada"), gone=["bob"])
EDITED: Contents = ({"ada": 10, "eve": 3}, {"ada-bob", "bob-ada", "eve-ada"})
LOADED: Contents = ({"ada": 1, "bob": 2, "eve": 3}, {"ada-bob", "bob-ada", "eve-ada"})

READY = BranchName("ready")
MUTATIONS = """
query hire() {
    insert Person { name: "eve", age: 3 }
    insert Knows { from: "eve", to: "ada" }
}
query birthday() {
    update Person set { age: 10 } where name = "ada"
    insert Knows { from: "ada", to: "ada" }
}
query welcome() {
    insert Person { name: "zoe", age: 99 }
    insert Knows { from: "zoe", to: "ada" }
}
query leave() { delete Person where name = "bob" }
"""
HIRED: Contents = ({"ada": 1, "bob": 2, "eve": 3}, {"ada-bob", "bob-ada", '["eve","ada"]'})
AGED: Contents = ({"ada": 10, "bob": 2}, {"ada-bob", "bob-ada", '["ada","ada"]'})
UNITED: Contents = (
    {"ada": 10, "bob": 2, "eve": 3},
    {"ada-bob", "bob-ada", '["ada","ada"]', '["eve","ada"]'},
)
LEFT: Contents = ({"ada": 1}, set())
CROSSED: Contents = ({"ada": 10, "eve": 3}, {'["ada","ada"]', '["eve","ada"]'})

# Ada is ten, eve is new and knows her.
MERGE_DATA = Path(__file__).with_name("merge.jsonl")
MERGED: Contents = ({"ada": 10, "bob": 2, "eve": 3}, {"ada-bob", "bob-ada", '["eve","ada"]'})
OVERWRITTEN: Contents = ({"ada": 10, "eve": 3}, {'["eve","ada"]'})

WIDER_SCHEMA = """
node Person { name: String @key  age: I32?  joined: I32 @default(7) }
edge Knows: Person -> Person { since: I64?  @key(src, dst) }
"""


def edit_on(branch: str) -> Callable[[GraphStore, Faults], object]:
    return lambda store, faults: put(store, EDIT, branch=branch, faults=faults)


def mutation(name: str) -> Callable[[GraphStore, Faults], object]:
    return lambda store, faults: graph_of(store, faults).mutate(MUTATIONS, name)


def load_on(branch: str) -> Callable[[GraphStore, Faults], object]:
    return lambda store, faults: load(
        store, people=people(eve=3), knows=knows("eve-ada"), branch=branch, faults=faults
    )


def merge_load_on(branch: str) -> Callable[[GraphStore, Faults], object]:
    return lambda store, faults: graph_of(store, faults).load(
        MERGE_DATA, mode="merge", engine="local", branch=branch
    )


def large_merge_load(store: GraphStore, faults: Faults) -> object:
    """A merge whose rows no driver would hold."""
    settings = Settings(load_limits=LoadLimits(max_lookup_bytes=0))
    graph = Graph(Engine.over(store, settings, faults=faults))
    return graph.load(MERGE_DATA, mode="merge", engine="local", branch=MAIN)


def large_merge(store: GraphStore, faults: Faults) -> object:
    """A merge of branches whose rows no driver would hold."""
    settings = Settings(load_engine="local", load_limits=LoadLimits(max_merged_bytes=-1))
    return Graph(Engine.over(store, settings, faults=faults)).branch_merge(READY)


def graph_of(store: GraphStore, faults: Faults) -> Graph:
    return Graph(Engine.over(store, Settings(), faults=faults))


def make_ready(store: GraphStore) -> None:
    create_branch(store, READY)
    put(store, EDIT, branch=READY)


def move_both(store: GraphStore) -> None:
    """A branch with a change, and main with another."""
    create_branch(store, READY)
    graph_of(store, NEVER).mutate(MUTATIONS, "hire", branch=READY)
    graph_of(store, NEVER).mutate(MUTATIONS, "birthday")


def cross_both(store: GraphStore) -> None:
    """The branch and main have each taken what the other had, and the branch has changed since."""
    move_both(store)
    graph = graph_of(store, NEVER)
    for side in (MAIN, READY):
        graph.branch_create(f"old-{side}", side)
    graph.branch_merge(f"old-{READY}", MAIN)
    graph.branch_merge(f"old-{MAIN}", READY)
    graph.mutate(MUTATIONS, "leave", branch=READY)


def optimize_on(branch: str) -> Callable[[GraphStore, Faults], object]:
    def optimize(store: GraphStore, faults: Faults) -> object:
        to, note = Target(BranchName(branch)), CommitNote(CommitKind.OPTIMIZE)
        return write(store, Optimizing(store), to=to, note=note, faults=faults)

    return optimize


def optimize_what_it_wrote(store: GraphStore, faults: Faults) -> object:
    """On a branch that has written its tables."""
    put(store, EDIT, branch="team/work")
    return optimize_on("team/work")(store, faults)


def index(store: GraphStore, faults: Faults) -> object:
    note = CommitNote(CommitKind.INDEX)
    return write(store, Indexing(store), to=Target(MAIN), note=note, faults=faults)


def with_pages(store: GraphStore) -> None:
    """Rows as before, and pages under indexes of every kind, which have changed since."""
    catalog = replace(CATALOG, nodes=(PAGE, PERSON), next_id=CATALOG.next_id + 5)

    def prepare(snapshot: Snapshot) -> Work:
        schema_hash = store.schemas.put(catalog, "with pages")
        return replace(
            Replay(changes()).prepare(snapshot), schema_hash=schema_hash, created=(PAGE,)
        )

    write(store, Prepared(prepare), to=Target(MAIN), note=CommitNote(CommitKind.SCHEMA))
    put(store, Edits({PAGE.table_key: RowEdits(table_of(MANY))}))
    index(store, NEVER)
    put(store, Edits({PAGE.table_key: RowEdits(table_of(CHANGED))}))


CHANGED = {"old1": page(2), "new1": page(5)}


def check_pages(store: GraphStore) -> None:
    """Every index of the pages tells what they say now."""
    if PAGE.table_key in store.snapshot().tables:
        check(store.snapshot().dataset(PAGE), {**MANY, **CHANGED})


# Half of what it takes: with so many people, and as many again, a table is scattered too far.
CROWD = {f"p{number}": number for number in range(DEFAULT_LIMITS.max_small_fragments // 2)}
CROWDED: Contents = ({**OLD[0], **CROWD, **{f"q{name}": 0 for name in CROWD}}, OLD[1])


def scatter(store: GraphStore, named: dict[str, int], faults: Faults = NEVER) -> object:
    """Load people, each in a file of their own."""

    def prepare(snapshot: Snapshot) -> Work:
        home = snapshot.home(PERSON)
        files = [
            fragment
            for name, age in named.items()
            for rows in [people(**{name: age})]
            for fragment in write_fragments(home, iter(rows.to_batches()), rows.schema)
        ]
        staged = StagedFiles("append", tuple(files), len(named), home.location)
        return Work({PERSON.table_key: staged}, frozenset(), OnConflict.RAISE)

    note = CommitNote(CommitKind.LOAD)
    return write(store, Prepared(prepare), to=Target(MAIN), note=note, faults=faults)


def of_another_schema(
    store: GraphStore, named: str, edit: Edits, *, branch: str = MAIN, faults: Faults = NEVER
) -> object:
    """Make an edit, add a type of this name, and drop all others that were added so."""
    added = place_type(named)
    catalog = replace(CATALOG, nodes=(PERSON, added), next_id=CATALOG.next_id + 1)

    def prepare(snapshot: Snapshot) -> Work:
        return replace(
            Replay(edit).prepare(snapshot),
            schema_hash=store.schemas.put(catalog, f"with {named}"),
            created=(added,),
            dropped=frozenset(snapshot.tables) - {e.table_key for e in CATALOG.entities},
        )

    to, note = Target(BranchName(branch)), CommitNote(CommitKind.SCHEMA)
    return write(store, Prepared(prepare), to=to, note=note, faults=faults)


def add_type(store: GraphStore) -> None:
    """Rows as before, and a type `City` with one row."""
    of_another_schema(store, "City", changes())
    city = rows_of(place_type("City"), [{"id": "york"}])
    put(store, Edits({place_type("City").table_key: RowEdits(city)}))


def place_type(name: str) -> NodeType:
    return NodeType(TypeId(CATALOG.next_id), TypeName(name), ())


def text_type(number: int, name: str) -> NodeType:
    text = property_(number + 1, "text", Scalar.STRING)
    vector = replace(property_(number + 2, "vector", VectorOf(4)), embed=Embed("text", None))
    return NodeType(TypeId(number), TypeName(name), (text, vector))


TEXT_TYPES = (text_type(CATALOG.next_id, "Note"), text_type(CATALOG.next_id + 3, "Paper"))


def with_texts(store: GraphStore) -> None:
    """Rows as before, and two types with a text each that has no vector yet."""
    catalog = replace(CATALOG, nodes=(*TEXT_TYPES, PERSON), next_id=CATALOG.next_id + 6)

    def prepare(snapshot: Snapshot) -> Work:
        schema_hash = store.schemas.put(catalog, "with texts")
        return replace(
            Replay(changes()).prepare(snapshot), schema_hash=schema_hash, created=TEXT_TYPES
        )

    write(store, Prepared(prepare), to=Target(MAIN), note=CommitNote(CommitKind.SCHEMA))
    rows = {t.table_key: rows_of(t, [{"id": "x", "text": "a fox"}]) for t in TEXT_TYPES}
    put(store, Edits({key: RowEdits(table) for key, table in rows.items()}))


def embed(store: GraphStore, faults: Faults) -> object:
    settings = Settings(embed=EmbedConfig("mock"))
    return Graph(Engine.over(store, settings, faults=faults)).embed()


def vector_count(store: GraphStore) -> int:
    """How many texts have a vector."""
    tables = (store.snapshot().dataset(entity).scan(["vector"]) for entity in TEXT_TYPES)
    return sum(table.num_rows - table["vector"].null_count for table in tables)


class InTheSecondWrite:
    """Lets one write pass and dies in the one that follows it at once."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._is_second = False

    def reach(self, point: Failpoint) -> None:
        if self._is_second:
            self._faults.reach(point)
        self._is_second |= point is Failpoint.AFTER_DISARM


# The one list: a new kind of writer joins it and is killed everywhere. Two tables move in each but
# the last, so that there is a place between them.
SCENARIOS = {
    "an edit of main": Scenario(CommitKind.MUTATION, edit_on(MAIN), EDITED),
    "the first edit of a branch": Scenario(
        CommitKind.MUTATION, edit_on("team/work"), EDITED, branch="team/work"
    ),
    "an insert": Scenario(CommitKind.MUTATION, mutation("hire"), HIRED),
    "an update": Scenario(CommitKind.MUTATION, mutation("birthday"), AGED),
    "a delete with its edges": Scenario(CommitKind.MUTATION, mutation("leave"), LEFT),
    "a load": Scenario(CommitKind.LOAD, load_on(MAIN), LOADED),
    "the first load of a branch": Scenario(
        CommitKind.LOAD, load_on("team/work"), LOADED, branch="team/work"
    ),
    "a load that merges": Scenario(CommitKind.LOAD, merge_load_on(MAIN), MERGED),
    "the first load of a branch, that merges": Scenario(
        CommitKind.LOAD, merge_load_on("team/work"), MERGED, branch="team/work"
    ),
    "a load that overwrites": Scenario(
        CommitKind.LOAD,
        lambda store, faults: graph_of(store, faults).load(
            MERGE_DATA, mode="overwrite", engine="local"
        ),
        OVERWRITTEN,
    ),
    "a large load that merges": Scenario(CommitKind.LOAD, large_merge_load, MERGED),
    "a merge": Scenario(
        CommitKind.MERGE,
        lambda store, faults: graph_of(store, faults).branch_merge(READY),
        EDITED,
        prepare=make_ready,
    ),
    "a merge of two that moved": Scenario(
        CommitKind.MERGE,
        lambda store, faults: graph_of(store, faults).branch_merge(READY),
        UNITED,
        old=AGED,
        prepare=move_both,
    ),
    "a large merge of two that moved": Scenario(
        CommitKind.MERGE, large_merge, UNITED, old=AGED, prepare=move_both
    ),
    "a large merge of two that crossed": Scenario(
        CommitKind.MERGE, large_merge, CROSSED, old=UNITED, prepare=cross_both
    ),
    "a revert": Scenario(
        CommitKind.REVERT,
        lambda store, faults: graph_of(store, faults).revert(store.snapshot().commit.id),
        OLD,
        old=HIRED,
        prepare=lambda store: mutation("hire")(store, NEVER),
    ),
    "another schema": Scenario(
        CommitKind.SCHEMA,
        lambda store, faults: of_another_schema(store, "Town", EDIT, faults=faults),
        EDITED,
        prepare=add_type,
    ),
    "new columns with values": Scenario(
        CommitKind.SCHEMA,
        lambda store, faults: graph_of(store, faults).schema_apply(WIDER_SCHEMA),
        OLD,
    ),
    "an embedding": Scenario(CommitKind.EMBED, embed, OLD, prepare=with_texts),
    "an optimize": Scenario(CommitKind.OPTIMIZE, optimize_on(MAIN), OLD),
    "an optimize of every kind of index": Scenario(
        CommitKind.OPTIMIZE, optimize_on(MAIN), OLD, prepare=with_pages
    ),
    "an optimize of a branch": Scenario(
        CommitKind.OPTIMIZE, optimize_what_it_wrote, EDITED, old=EDITED, branch="team/work"
    ),
    "an index build": Scenario(CommitKind.INDEX, index, OLD),
    "an index build of every kind": Scenario(CommitKind.INDEX, index, OLD, prepare=with_pages),
    "a compaction that follows a write": Scenario(
        CommitKind.OPTIMIZE,
        lambda store, faults: scatter(
            store, {f"q{name}": 0 for name in CROWD}, InTheSecondWrite(faults)
        ),
        CROWDED,
        old=CROWDED,
        prepare=lambda store: scatter(store, CROWD),
    ),
}


# How it ends --------------------------------------------------------------------------------------


class KilledAt:
    """Ends the process at a failpoint as `kill -9` does: nothing runs, nothing is flushed."""

    def __init__(self, point: Failpoint) -> None:
        self._point = point

    def reach(self, point: Failpoint) -> None:
        if point is self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def die_for_real(place: str, scenario: str, point: Failpoint) -> None:
    """To be run in a process of its own."""
    SCENARIOS[scenario].write(open_store(place), KilledAt(point))


def die_in_recovery(place: str, steps: int, *, is_after: bool) -> None:
    """Recover in a process of its own, and be killed at a step of it."""
    life = Life(steps, is_after=is_after, end=lambda: os.kill(os.getpid(), signal.SIGKILL))
    recover_all(mortal_store(place, life))


def crash() -> None:
    raise Crash("at a step")


class Life:
    """Counts the steps that change storage and ends at one of them, before or after it."""

    def __init__(self, steps: int, *, is_after: bool, end: Callable[[], object] = crash) -> None:
        self._left = steps
        self._is_after = is_after
        self._end = end
        self._counting = threading.Lock()

    def step(self, change: Callable[[], T]) -> T:
        with self._counting:
            self._left -= 1
            is_last = self._left == 0
        if is_last and not self._is_after:
            self._end()
        changed = change()
        if is_last:
            self._end()
        return changed


class MortalDatasets(Datasets):
    def __init__(self, place: Path | str, life: Life) -> None:
        super().__init__(location_of(place), Durability.RELAXED)
        self._life = life

    def land(self, staged: StagedTransaction) -> DatasetRef:
        return self._life.step(lambda: super(MortalDatasets, self).land(staged))

    def append_inline(self, path: str, rows: pa.Table) -> None:
        self._life.step(lambda: super(MortalDatasets, self).append_inline(path, rows))

    def drop_torn(self, path: str, branch: str | None, version: int) -> bool:
        return self._life.step(lambda: super(MortalDatasets, self).drop_torn(path, branch, version))

    def delete_fork(self, path: str, name: str) -> None:
        self._life.step(lambda: super(MortalDatasets, self).delete_fork(path, name))


class MortalObjects(DiskObjects):
    def __init__(self, root: Path, life: Life) -> None:
        super().__init__(root, Durability.RELAXED)
        self._life = life

    def delete(self, name: str) -> None:
        self._life.step(lambda: super(MortalObjects, self).delete(name))


class MortalBucketObjects(BucketObjects):
    def __init__(self, root: BucketLocation, life: Life) -> None:
        super().__init__(BucketObjects.at(root.bucket, root.key, root.options)._store, root.bucket)
        self._life = life

    def delete(self, name: str) -> None:
        self._life.step(lambda: super(MortalBucketObjects, self).delete(name))


def mortal_store(place: Path | str, life: Life) -> GraphStore:
    match location_of(place):
        case DiskLocation(path=path):
            objects: Objects = MortalObjects(path, life)
        case BucketLocation() as root:
            objects = MortalBucketObjects(root, life)
    return store_of(place, objects=objects, datasets=MortalDatasets(place, life))
