"""A small town for questions about reading, with every awkward thing a graph can hold.

    Knows   ann→bob twice (2020, null)  bob→cat  cat→ann  cat→dan  dan→dan (a loop)
    Lives   ann→oslo  bob→oslo  cat→rome         nobody knows eve, and she lives nowhere
    Likes   ann→film 1  bob→film 2
    Near    oslo→rome

Film 1 and film 2 have a key called `id`, so `$f.id` is a number there.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.conditions import Condition
from omnigraph.lang.plan.ir import ReadQuery
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.lang.plan.stats import PlannerStatistics
from omnigraph.read.context import Budget
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot
from tests.reference.naive import Entity
from tests.reference.small_graph import catalog_of, plain_graph, stored

SCHEMA = """
interface Named { name: String? }
node Person implements Named {
    email: String @key
    age: I32?
    height: F64?
    mood: enum(glad, sad)?
    tags: [String]?
    born: Date?
    seen: DateTime?
    face: Vector(2)?
    photo: Blob?
}
node City implements Named { code: String @key  people: I64? }
node Film { id: I64 @key  title: String }
edge Knows: Person -> Person { since: Date? }
edge Lives: Person -> City
edge Likes: Person -> Film
edge Near: City -> City
"""

NOW_MS = 1_709_208_000_000
"""2024-02-29 12:00 UTC."""


def person(email: str, **values: Any) -> Entity:
    return Entity("Person", email, {"email": email, **values})


def link(type_: str, id_: str, src: str, dst: str, **values: Any) -> Entity:
    return Entity(type_, id_, values, src=src, dst=dst)


ROWS = {
    "Person": [
        person(
            "ann",
            name="Ann",
            age=30,
            height=1.5,
            mood="glad",
            tags=["a", "b"],
            born=date(1994, 5, 1),
            seen=datetime(2024, 2, 29, 11, 0, tzinfo=UTC),
            face=[1.0, 0.0],
            photo=b"jpg",
        ),
        person("bob", name="Bob", age=None, height=2.0, mood="sad", tags=[], born=date(2000, 1, 1)),
        person("cat", name=None, age=40, height=None, mood=None, tags=None, born=None),
        person("dan", name="Zoë", age=30, height=1.75, tags=["b", None], seen=None),
        person("eve", name="Ann", age=2, height=-0.0, tags=["a"]),
    ],
    "City": [
        Entity("City", "oslo", {"code": "oslo", "name": "Oslo", "people": 2**53 + 1}),
        Entity("City", "rome", {"code": "rome", "name": "Ann", "people": None}),
        Entity("City", "ann", {"code": "ann", "name": "Annecy", "people": 2**53}),
    ],
    "Film": [
        Entity("Film", "1", {"id": 1, "title": "One"}),
        Entity("Film", "2", {"id": 2, "title": "Two"}),
    ],
    "Knows": [
        link("Knows", "k1", "ann", "bob", since=date(2020, 1, 1)),
        link("Knows", "k2", "ann", "bob", since=None),
        link("Knows", "k3", "bob", "cat", since=date(2021, 1, 1)),
        link("Knows", "k4", "cat", "ann", since=date(2022, 1, 1)),
        link("Knows", "k5", "cat", "dan", since=None),
        link("Knows", "k6", "dan", "dan", since=date(2023, 1, 1)),
    ],
    "Lives": [
        link("Lives", "l1", "ann", "oslo"),
        link("Lives", "l2", "bob", "oslo"),
        link("Lives", "l3", "cat", "rome"),
    ],
    "Likes": [link("Likes", "i1", "ann", "1"), link("Likes", "i2", "bob", "2")],
    "Near": [link("Near", "n1", "oslo", "rome")],
}


class Town:
    """The town on disk, and a way to ask it."""

    def __init__(
        self,
        snapshot: Snapshot,
        cache: RuntimeCache | None = None,
        visible: Mapping[TypeName, Condition] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.view = View.where(snapshot, visible or {})
        self.cache = RuntimeCache() if cache is None else cache

    def ask(
        self, body: str, *, budget: Budget | None = None, optimised: bool = False, **given: Any
    ) -> list[Any]:
        """The rows of `query (parameters) { body }`; a row of one column is its bare value."""
        declared, _, rest = body.partition(") ") if body.startswith("(") else ("(", "", body)
        text = f"query q{declared}) {{ {rest} }}"
        query = compile_query(SourceText(text), self.snapshot.catalog)
        if optimised:
            rows = {e.name: 1000 for e in self.snapshot.catalog.entities}
            query = optimise(query, self.snapshot.catalog, PlannerStatistics(rows))
        assert isinstance(query, ReadQuery)
        parameters = bind_parameters(query, given)
        table = run(
            query, self.view, parameters, cache=self.cache, now_ms=NOW_MS, budget=budget
        ).table
        assert table.column_names == [field.name for field in query.result]
        answer = [tuple(row.values()) for row in table.to_pylist()]
        return [row[0] for row in answer] if table.num_columns == 1 else answer


def build(root: Path) -> Town:
    return Town(stored(plain_graph(catalog_of(SCHEMA), ROWS), root))
