"""A graph of several branches, twice: as a store and as plain rows.

Branches are made, written, compacted, merged each way and deleted in any order. What a commit
showed when it was made, it must show ever after, and so must all that is made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from omnigraph.base.ids import MAIN, BranchName
from omnigraph.engine.engine import Engine
from omnigraph.engine.maintain import optimize
from omnigraph.engine.merge import merge
from omnigraph.engine.requests import Merge, Optimize
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.graph.read.town import link
from tests.reference.naive import Entity
from tests.reference.small_graph import catalog_of, table

SCHEMA = """
interface Named { name: String? }
node Person implements Named { email: String @key  name: String? }
node City implements Named { email: String @key  name: String? }
edge Knows: Person -> Person
edge Lives: Person -> City
"""
CATALOG = catalog_of(SCHEMA)

PEOPLE = [f"p{number}" for number in range(5)]
CITIES = ["x", "y"]
Step = tuple[str, str, str | None]
"""A row put or taken away: type, id, and name or None to delete it."""


@st.composite
def changes(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["Person", "Knows", "Knows", "City", "Lives"]))
        id_ = draw(st.sampled_from(CITIES if kind == "City" else PEOPLE))
        steps.append((kind, id_, draw(st.sampled_from(["Ann", "Bob", None]))))
    return steps


Tables = dict[str, dict[str, Entity]]
"""Rows by the name of their type and their id."""


class Plain:
    """The graph as dicts, so that no edge is left without its ends."""

    def __init__(self, rows: Tables | None = None) -> None:
        self.rows: Tables = rows or {e.name: {} for e in CATALOG.entities}

    def change(self, steps: list[Step]) -> Edits:
        before = {kind: dict(rows) for kind, rows in self.rows.items()}
        for number, (kind, id_, name) in enumerate(steps):
            self.step(kind, id_, name, number)
        changed = {}
        for entity in CATALOG.entities:
            was, now = before[entity.name], self.rows[entity.name]
            put = [row for id_, row in now.items() if was.get(id_) is not row]
            gone = [id_ for id_ in was if id_ not in now]
            if put or gone:
                changed[entity.table_key] = RowEdits(
                    table(entity, put), pa.array(gone, pa.string())
                )
        return Edits(changed)

    def step(self, kind: str, id_: str, name: str | None, number: int) -> None:
        rows = self.rows[kind]
        if name is None:
            rows.pop(id_, None)
            for edge in CATALOG.edges:
                kept = {
                    i: e
                    for i, e in self.rows[edge.name].items()
                    if e.src in self.rows[edge.source] and e.dst in self.rows[edge.target]
                }
                self.rows[edge.name] = kept
        elif kind in ("Person", "City"):
            rows[id_] = Entity(kind, id_, {"email": id_, "name": name})
        else:
            far = PEOPLE if kind == "Knows" else CITIES
            src, dst = PEOPLE[number], far[(len(id_) + number) % len(far)]
            if (
                src in self.rows["Person"]
                and dst in self.rows["Person" if far is PEOPLE else "City"]
            ):
                rows[id_] = link(kind, id_, src, dst)


START: list[Step] = [
    *(("Person", p, "Ann") for p in PEOPLE),
    *(("City", c, "Bob") for c in CITIES),
]
FRIENDS: list[Step] = [("Knows", p, "Ann") for p in PEOPLE]


@dataclass
class Line:
    """A branch: what it shows, which write that comes from, and which writes it has seen."""

    rows: Tables
    parent: BranchName | None = None
    origin: int = 0
    past: set[int] = field(default_factory=lambda: {0})

    def fork(self, parent: BranchName) -> "Line":
        return Line(self.rows, parent, self.origin, set(self.past))


@dataclass(frozen=True)
class Moment:
    """A commit as it was when it was made."""

    snapshot: Snapshot
    rows: Tables


Act = tuple[str, int, int, list[Step]]
"""What happens, to which branch, and with which other one. Numbers pick from those there are."""

ACTS = st.lists(
    st.tuples(
        st.sampled_from(["change", "change", "change", "fork", "merge", "compact", "delete"]),
        st.integers(0, 3),
        st.integers(0, 3),
        changes(),
    ),
    min_size=4,
    max_size=10,
)


class Lines:
    """The branches, and every commit that one of them still has."""

    def __init__(self, root: Path, limits: StoreLimits = DEFAULT_LIMITS) -> None:
        self.place = str(root / "graph")
        self.store = GraphStore.init(
            self.place, CATALOG, source=SCHEMA, durability=Durability.RELAXED, limits=limits
        )
        self.engine = Engine.over(self.store, Settings())
        self.lines = {MAIN: Line(Plain().rows)}
        self.moments: list[Moment] = []
        self._made = 0
        for steps in (START, FRIENDS):
            self.change(MAIN, steps)

    def act(self, act: Act) -> Moment | None:
        """The commit that it made, if it made one."""
        kind, one, two, steps = act
        branches = list(self.lines)
        branch, other = branches[one % len(branches)], branches[two % len(branches)]
        head = self.store.snapshot(branch).commit.id
        match kind:
            case "change":
                self.change(branch, steps)
            case "fork":
                self.fork(branch, BranchName(f"b{self._made}-{len(self.lines)}"))
            case "merge":
                self.merge(other, into=branch)
            case "compact":
                self.compact(branch)
            case _:
                self.delete(branch)
        if branch not in self.lines or self.store.snapshot(branch).commit.id == head:
            return None
        return self.moments[-1]

    def change(self, branch: BranchName, steps: list[Step]) -> None:
        line = self.lines[branch]
        plain = Plain({kind: dict(rows) for kind, rows in line.rows.items()})
        change = plain.change(steps)
        note = CommitNote(CommitKind.MUTATION)
        if write(self.store, Replay(change), to=Target(branch), note=note):
            self._made += 1
            line.rows, line.origin = plain.rows, self._made
            line.past.add(self._made)
            self._seen(branch)

    def fork(self, branch: BranchName, name: BranchName) -> None:
        if name not in self.lines:
            create_branch(self.store, name, branch)
            self.lines[name] = self.lines[branch].fork(branch)

    def merge(self, source: BranchName, *, into: BranchName) -> None:
        theirs, ours = self.lines[source], self.lines[into]
        if source == into or not (ours.origin in theirs.past or theirs.origin in ours.past):
            return  # where both have moved, what comes of it is the business of `tests/merge`
        result = merge(self.engine, Merge(source=source, branch=into))
        if theirs.origin in ours.past:
            assert result.outcome == "already_up_to_date"
            return
        assert ours.origin in theirs.past
        if result.commit is None:
            assert contents(theirs.rows) == contents(ours.rows)
            return
        ours.rows, ours.origin, ours.past = theirs.rows, theirs.origin, ours.past | theirs.past
        self._seen(into)

    def compact(self, branch: BranchName) -> None:
        optimize(self.engine, Optimize(branch=branch))
        self._seen(branch)

    def delete(self, branch: BranchName) -> None:
        if branch == MAIN or any(line.parent == branch for line in self.lines.values()):
            return
        delete_branch(self.store, branch)
        del self.lines[branch]
        self.moments = [m for m in self.moments if m.snapshot.branch != branch]

    def _seen(self, branch: BranchName) -> None:
        self.moments.append(Moment(self.store.snapshot(branch), self.lines[branch].rows))


# A compaction writes only some files of a table together, and so changes the order of its rows.
COMPACTIONS = st.sampled_from([StoreLimits(max_fragment_rows=3), DEFAULT_LIMITS])


# From one commit of main, each as a branch of its own: what may happen to the same few rows on two
# lines. One row of each is deleted or replaced on two, so that counts alone tell nothing.
ENDINGS: Mapping[str, list[list[Step]]] = {
    "as it was": [],
    "without p0": [[("Person", "p0", None)]],
    "without p1": [[("Person", "p1", None)]],
    "another p0": [[("Person", "p0", "Bob")]],
    "another p1": [[("Person", "p1", "Bob")]],
    "p1 twice": [[("Person", "p1", "Cat")], [("Person", "p1", "Dan")]],
    "no edge of p2": [[("Knows", "p2", None)]],
    "no edge of p3": [[("Knows", "p3", None)]],
    "an edge moved": [[("Person", "p4", "Ann"), ("Knows", "p4", "Ann")]],
    "one more": [[("Person", "q", "New")]],
    "another more": [[("Person", "r", "New")], [("City", "x", None)]],
    "back again": [[("Person", "p0", None)], [("Person", "p0", "Ann")]],
}


def endings(root: Path) -> Lines:
    """A graph with a branch for each ending, one compacted, two merged, and a branch of a branch.

    Those last in `lines` can be deleted.
    """
    graph = Lines(root)
    for name, history in ENDINGS.items():
        branch = BranchName(name.replace(" ", "-"))
        graph.fork(MAIN, branch)
        for steps in history:
            graph.change(branch, steps)
    graph.fork(BranchName("one-more"), BranchName("of-a-branch"))
    graph.change(BranchName("of-a-branch"), [("Person", "p1", None)])
    graph.compact(BranchName("another-p1"))
    graph.change(BranchName("another-p1"), [("Person", "p2", None)])
    graph.merge(BranchName("p1-twice"), into=MAIN)
    graph.change(MAIN, [("Person", "p0", None)])
    graph.merge(MAIN, into=BranchName("p1-twice"))
    graph.change(BranchName("p1-twice"), [("Person", "q", "New")])
    return graph


Contents = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By type and id, the columns of a row."""


def contents(rows: Tables) -> Contents:
    return {e.name: by_id(table(e, list(rows[e.name].values()))) for e in CATALOG.entities}


def stored(snapshot: Snapshot) -> Contents:
    """What a reader without a memory finds."""
    return {e.name: by_id(_whole(snapshot, e)) for e in CATALOG.entities}


def _whole(snapshot: Snapshot, entity: EntityType) -> pa.Table:
    dataset = snapshot.dataset(entity)
    return dataset.scan(dataset.column_names)


def by_id(rows: pa.Table) -> Mapping[str, Mapping[str, Any]]:
    return {row["id"]: row for row in rows.to_pylist()}
