"""Set checks of small changes, in process, against a graph that already holds rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.base.ids import MAIN
from omnigraph.check.sets.in_memory import (
    CONNECTIONS_A_DATABASE,
    SqlSession,
    check_changes,
)
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.pipeline.world import new_graph

SCHEMA = """
node Person { name: String @key  phone: String?  born: Date?  @unique(phone)  @unique(born, phone) }
node City { name: String @key }
edge LivesIn: Person -> City @card(0..1)
edge Owns: Person -> City @card(1..2)
edge Knows: Person -> Person { @unique(src, dst) }
"""

Rows = Sequence[Mapping[str, Any]]


class Held:
    """A graph with two people, two cities and a home for each."""

    def __init__(self, place: Path) -> None:
        self.store = new_graph(place, SCHEMA)
        self.catalog = self.store.snapshot(MAIN).catalog
        held = self.changes(
            Person=[{"name": "ada", "phone": "1"}, {"name": "bob", "phone": None}],
            City=[{"name": "york"}, {"name": "rome"}],
            LivesIn=[{"id": "l1", "src": "ada", "dst": "york"}],
            Owns=[
                {"id": "o1", "src": "ada", "dst": "york"},
                {"id": "o2", "src": "bob", "dst": "rome"},
            ],
            Knows=[{"id": "k1", "src": "ada", "dst": "bob"}],
        )
        note = CommitNote(CommitKind.MUTATION)
        write(self.store, Replay(held), to=Target(MAIN), note=note)

    @property
    def snapshot(self) -> Snapshot:
        return self.store.snapshot(MAIN)

    def changes(
        self, *, delete: Mapping[str, Sequence[str]] | None = None, **upserts: Rows
    ) -> Edits:
        gone = delete or {}
        tables = {}
        for name in {*upserts, *gone}:
            entity = self._entity(name)
            rows = [{"id": row.get("name"), **row} for row in upserts.get(name, ())]
            tables[entity.table_key] = RowEdits(
                pa.Table.from_pylist(rows, schema=table_schema(entity)),
                pa.array(gone.get(name, ()), pa.string()),
            )
        return Edits(tables)

    def broken(
        self, *, delete: Mapping[str, Sequence[str]] | None = None, **upserts: Rows
    ) -> list[tuple[str, str | None]]:
        report = check_changes(self.changes(delete=delete, **upserts), self.snapshot)
        return [(v.kind, v.type_name) for v in report.examples]

    def _entity(self, name: str) -> EntityType:
        return self.catalog.node_by_name.get(name) or self.catalog.edge_by_name[name]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    return Held(tmp_path_factory.mktemp("held") / "graph")


OWNED = [{"id": "o9", "src": "eve", "dst": "york"}]


@pytest.mark.parametrize(
    ("upserts", "delete", "expected"),
    [
        # unique
        ({"Person": [{"name": "ada", "phone": "1"}]}, {}, []),
        ({"Person": [{"name": "ada", "phone": "2"}, {"name": "bob", "phone": "1"}]}, {}, []),
        ({"Person": [{"name": "bob", "phone": "1"}]}, {}, [("unique", "Person")]),
        ({"Person": [{"name": "bob", "phone": None}]}, {}, []),
        (
            {"Person": [{"name": "ada", "phone": "3"}, {"name": "bob", "phone": "3"}]},
            {},
            [("unique", "Person")],
        ),
        ({"Knows": [{"id": "k2", "src": "ada", "dst": "bob"}]}, {}, [("unique", "Knows")]),
        ({"Knows": [{"id": "k2", "src": "ada", "dst": "bob"}]}, {"Knows": ["k1"]}, []),
        ({"Knows": [{"id": "k2", "src": "bob", "dst": "ada"}]}, {}, []),
        # endpoints
        ({"Knows": [{"id": "k2", "src": "ada", "dst": "eve"}]}, {}, [("endpoint", "Knows")]),
        ({"Knows": [{"id": "k2", "src": "york", "dst": "ada"}]}, {}, [("endpoint", "Knows")]),
        (
            {
                "Person": [{"name": "eve"}],
                "Owns": OWNED,
                "Knows": [{"id": "k2", "src": "ada", "dst": "eve"}],
            },
            {},
            [],
        ),
        ({}, {"City": ["york"]}, [("endpoint", "LivesIn"), ("endpoint", "Owns")]),
        ({}, {"Knows": ["k1"]}, []),
        # cardinality
        (
            {"LivesIn": [{"id": "l2", "src": "ada", "dst": "rome"}]},
            {},
            [("cardinality", "LivesIn")],
        ),
        ({"LivesIn": [{"id": "l2", "src": "ada", "dst": "rome"}]}, {"LivesIn": ["l1"]}, []),
        ({"LivesIn": [{"id": "l1", "src": "ada", "dst": "rome"}]}, {}, []),
        ({"LivesIn": [{"id": "l2", "src": "bob", "dst": "rome"}]}, {}, []),
        ({"Person": [{"name": "eve"}]}, {}, [("cardinality", "Owns")]),
        ({"Person": [{"name": "eve"}], "Owns": OWNED}, {}, []),
        ({}, {"Owns": ["o1"]}, [("cardinality", "Owns")]),
        # An edge that moves leaves its old source short.
        ({"Owns": [{"id": "o1", "src": "bob", "dst": "york"}]}, {}, [("cardinality", "Owns")]),
        # A source that goes with its edges is not missed.
        ({}, {"Person": ["bob"], "Owns": ["o2"], "Knows": ["k1"]}, []),
    ],
)
def test_a_change_is_judged_by_the_graph_it_would_leave(
    held: Held,
    upserts: dict[str, Rows],
    delete: dict[str, Sequence[str]],
    expected: list[tuple[str, str]],
) -> None:
    assert sorted(held.broken(delete=delete, **upserts)) == expected


def test_all_breaches_are_counted_and_the_first_of_each_rule_shown(held: Held) -> None:
    loose = [{"id": f"n{n:02}", "src": f"x{n:02}", "dst": "ada"} for n in range(30)]
    report = check_changes(held.changes(Knows=loose), held.snapshot)
    assert report.counts == {("endpoint", "Knows", "from"): 30}
    assert len(report.examples) == 20


def test_an_empty_change_breaks_nothing(held: Held) -> None:
    assert not check_changes(Edits({}), held.snapshot)
    assert not check_changes(held.changes(Person=[]), held.snapshot)


def test_a_session_goes_on_with_another_database_before_the_first_has_grown() -> None:
    session = SqlSession()
    early = session.connect()
    early.execute("create table kept as select 1 as one")
    for _ in range(CONNECTIONS_A_DATABASE - 1):
        session.connect().close()
    late = session.connect()
    assert early.sql("from duckdb_tables() select table_name").fetchall() == [("kept",)]
    assert late.sql("from duckdb_tables() select table_name").fetchall() == []
