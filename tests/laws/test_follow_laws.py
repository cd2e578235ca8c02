"""What is made from an earlier version equals what is read anew, whatever happened in between."""

import tempfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.ids import MAIN
from omnigraph.read import stacked, tables
from omnigraph.read.topology import moves
from omnigraph.read.topology.cache import RuntimeCache
from omnigraph.store.changes import ChangeSet, TableChanges
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.stage import locate
from omnigraph.write.writer import write
from tests.graph.read.town import Town, link
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

QUESTIONS = [
    "match { $a: Person  $a knows $b } return { $a.email as a, $b.name as b } order { a, b }",
    "match { $a: Person  $b knows $a } return { $a.name as a, count($b) as n } order { n, a }",
    "match { $a: Person  $a <knows>{1,2} $b } return { count($b) as n }",
    "match { $a: Person  $a $e:knows $b } return { id($e) as e, $b.email as b } order { e, b }",
    "match { $a: Named  $a knows|lives $b } return { $a.email as a, $b.email as b } order { a, b }",
    "match { $a: Person  $a knows $b  $b knows $c } return { count($c) as n }",
    "match { $a: Person  $a $e:<knows> $b } return { $a.email, id($e) as e, $b.name } order { e }",
    "match { $a: Person  $a $e:knows|lives $b } return { id($e) as e, $b.email as b } order { e }",
    "match { $a: Person  $b: Person  $a $e:knows $b } return { $a.email as a, count($e) as n }"
    " order { n, a }",
    'match { $a: Person { email: "p1" } } return { $a.name }',
]

PEOPLE = [f"p{number}" for number in range(5)]
CITIES = ["x", "y"]
names = st.sampled_from(["", "Ann", "Bob", None])


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


class Plain:
    """The graph as dicts, so that no edge is left without its ends."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Entity]] = {e.name: {} for e in CATALOG.entities}

    def change(self, steps: list[Step]) -> ChangeSet:
        before = {kind: dict(rows) for kind, rows in self.rows.items()}
        for number, (kind, id_, name) in enumerate(steps):
            self.step(kind, id_, name, number)
        changed = {}
        for entity in CATALOG.entities:
            was, now = before[entity.name], self.rows[entity.name]
            put = [row for id_, row in now.items() if was.get(id_) is not row]
            gone = [id_ for id_ in was if id_ not in now]
            if put or gone:
                changed[entity.table_key] = TableChanges(
                    table(entity, put), pa.array(gone, pa.string())
                )
        return ChangeSet(changed)

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


@given(st.lists(changes(), min_size=2, max_size=5))
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=10,
)
def test_a_warm_reader_sees_what_a_cold_one_sees(
    monkeypatch: pytest.MonkeyPatch, history: list[list[Step]]
) -> None:
    # On graphs this small nothing is worth following, and everything must be.
    monkeypatch.setattr(tables, "WORTH_FOLLOWING", 0)
    monkeypatch.setattr(moves, "WORTH_KEEPING", 1000)
    monkeypatch.setattr(stacked, "WORTH_THE_WHOLE", 0)
    graph, cache, snapshots = Plain(), RuntimeCache(), list[Snapshot]()
    start: list[Step] = [("Person", p, "Ann") for p in PEOPLE]
    start += [("City", c, "Bob") for c in CITIES]
    friends: list[Step] = [("Knows", p, "Ann") for p in PEOPLE]
    with tempfile.TemporaryDirectory() as root:
        place = str(Path(root) / "graph")
        store = GraphStore.init(place, CATALOG, source=SCHEMA, durability=Durability.RELAXED)
        for steps in [start, friends, *history]:
            change = graph.change(steps)
            write(store, partial(locate, change), branch=MAIN, kind=CommitKind.MUTATION)
            snapshots.append(store.snapshot(MAIN))
            agree(snapshots[-1], cache)
        # Back again: what was read last is now what comes later.
        for snapshot in reversed(snapshots):
            agree(snapshot, cache)


def agree(snapshot: Snapshot, cache: RuntimeCache) -> None:
    warm, cold = Town(snapshot), Town(snapshot)
    warm.cache = cache
    for question in QUESTIONS:
        assert warm.ask(question) == cold.ask(question), question
