"""One cache serves all snapshots of a graph, and never shows one of them another's rows."""

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.ids import MAIN
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.graph.read.town import Town, link, person
from tests.reference.naive import Entity
from tests.reference.small_graph import catalog_of, table

SCHEMA = """
node Person { email: String @key  name: String? }
edge Knows: Person -> Person
"""
CATALOG = catalog_of(SCHEMA)
PATHS = "match { $a: Person  $a knows $b } return { $a.email, $b.email } order { $a.email }"


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    place = str(tmp_path / "graph")
    return GraphStore.init(place, CATALOG, source=SCHEMA, durability=Durability.RELAXED)


def change(store: GraphStore, *, put: dict[str, list[Entity]], gone: list[str]) -> Town:
    """The graph after putting these rows and deleting these people, ready to be asked."""
    tables = {}
    for entity in CATALOG.entities:
        is_person = entity.name == "Person"
        tables[entity.table_key] = RowEdits(
            table(entity, put.get(entity.name, [])).select(table_schema(entity).names),
            pa.array(gone if is_person else [], pa.string()),
        )
    note = CommitNote(CommitKind.MUTATION)
    write(store, Replay(Edits(tables)), to=Target(MAIN), note=note)
    return Town(store.snapshot(MAIN))


def test_each_snapshot_keeps_its_own_rows(store: GraphStore) -> None:
    before = change(
        store,
        put={
            "Person": [person("ann"), person("bob"), person("cat")],
            "Knows": [link("Knows", "1", "bob", "cat")],
        },
        gone=[],
    )
    assert before.ask(PATHS) == [("bob", "cat")]

    # The numbers of rows move: a row goes, others come, and edges join old to new.
    after = change(
        store,
        put={
            "Person": [person("abe"), person("bob", name="Bob")],
            "Knows": [link("Knows", "2", "cat", "abe"), link("Knows", "3", "abe", "bob")],
        },
        gone=["ann"],
    )
    after.cache = before.cache
    assert after.ask(PATHS) == [("abe", "bob"), ("bob", "cat"), ("cat", "abe")]
    assert before.ask(PATHS) == [("bob", "cat")]
    assert after.ask('match { $p: Person { email: "bob" } } return { $p.name }') == ["Bob"]
    assert before.ask('match { $p: Person { email: "bob" } } return { $p.name }') == [None]
    assert after.ask('match { $p: Person { email: "ann" } } return { $p.email }') == []


def test_an_empty_graph_answers(store: GraphStore) -> None:
    town = Town(store.snapshot(MAIN))
    assert town.ask(PATHS) == []
    assert town.ask("match { $a: Person  $a knows{1,3} $b } return { count($b) as n }") == [0]
    assert town.ask("match { $a: Person  not { $a knows $_ } } return { $a }") == []


def test_columns_read_one_by_one_line_up(store: GraphStore) -> None:
    """Row numbers rest on it: Lance reads every column of a version in the same order."""
    for round_ in range(6):
        put = [person(f"{round_}-{i}", name=f"name {round_}-{i}") for i in range(round_ + 2)]
        again = [person(f"{r}-0", name=f"name {r}-0") for r in range(1, round_)]
        town = change(store, put={"Person": put + again}, gone=[f"{round_ - 1}-1"])
    rows = town.ask("match { $p: Person } return { $p.name, $p.email }")
    assert len(rows) == sum(range(2, 8)) - 5
    assert [name for name, _ in rows] == [f"name {email}" for _, email in rows]
