"""A small graph, a change of its schema for every step, and what each change does to the rows.

The rows of a graph are read as an export has them, so that two handles, or a handle and a plain
model, can be held side by side.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from tests.buckets import bucket_access

Row = dict[str, Any]
Image = dict[str, dict[str, Row]]
"""Rows by type and by id; an unkeyed edge goes by its ends."""

PERSON = """
    email: String @key
    age: I32?
    nick: String?
    level: enum(low, high)?
    score: F32?
    photo: Blob?
    team: String
    tags: [String]?
"""
CITY = "node City { name: String @key }"
KNOWS = "edge Knows: Person -> Person { since: I32? }"
LIVES = "edge LivesIn: Person -> City"


def schema(person: str = PERSON, *others: str, name: str = "node Person", ends: str = "") -> str:
    """The schema with another body for people, or with other declarations after it."""
    rest = others or (CITY, KNOWS, LIVES)
    return "\n".join([f"{name} {{{person}}}", *rest, ends])


BEFORE = schema()

PEOPLE: list[Row] = [
    {
        "email": f"p{n}@x",
        "age": n if n % 3 else None,
        "nick": f"nick{n}",
        "level": ("low", "high", None)[n % 3],
        "score": n / 2,
        "photo": "base64:AAEC" if n % 2 else None,
        "team": "red" if n % 2 else "blue",
        "tags": ["a", f"t{n}"] if n % 2 else None,
    }
    for n in range(9)
]
LINES: list[Row] = [
    *({"type": "Person", "data": person} for person in PEOPLE),
    *({"type": "City", "data": {"name": name}} for name in ("york", "rome")),
    *(
        {"edge": "Knows", "from": f"p{n}@x", "to": f"p{(n + 1) % 9}@x", "data": {"since": n}}
        for n in range(9)
    ),
    *({"edge": "LivesIn", "from": f"p{n}@x", "to": ("york", "rome")[n % 2]} for n in range(9)),
]


def graph_of(place: str | Path, faults: Faults = NEVER) -> Graph:
    engine = Engine.open(
        str(place), durability="relaxed", faults=faults, settings=settings_of(place)
    )
    return Graph(engine)


def settings_of(place: str | Path) -> Settings | None:
    """Those of the environment, but for a bucket."""
    return Settings(bucket_access=bucket_access()) if str(place).startswith("s3://") else None


def make_graph(place: str | Path, *, is_empty: bool = False) -> Graph:
    """Rows in several files, some of them deleted or rewritten, and indexes over most of them."""
    graph = Graph.init(str(place), BEFORE, durability="relaxed", settings=settings_of(place))
    if is_empty:
        return graph
    graph.load([{"type": "Person", "data": {"email": "gone@x", "team": "red"}}], mode="append")
    graph.load(LINES, mode="append")
    graph.optimize()
    graph.mutate('query m() { delete Person where email = "gone@x" }')
    graph.mutate('query m() { update Person set { team: "red" } where email = "p0@x" }')
    return graph


def image(graph: Graph, *, snapshot: Any = None, branch: str = "main") -> Image:
    """All rows, as an export writes them."""
    target = io.BytesIO()
    graph.export(target, snapshot=snapshot, branch=branch)
    rows: Image = {entity.name: {} for entity in _catalog(graph, snapshot, branch).entities}
    for line in target.getvalue().splitlines():
        value = json.loads(line)
        data = dict(value.get("data", {}))
        if "edge" in value:
            key = f"{value['from']} {value['to']}"
            rows[value["edge"]][key] = data
        else:
            rows[value["type"]][value.get("id") or data[_key(graph, value, snapshot, branch)]] = (
                data
            )
    return rows


def _key(graph: Graph, value: Row, snapshot: Any, branch: str) -> str:
    [name] = _catalog(graph, snapshot, branch).node_by_name[value["type"]].key
    return str(name)


def _catalog(graph: Graph, snapshot: Any, branch: str) -> Any:
    return graph.schema(branch, snapshot=snapshot).catalog


# Changes ------------------------------------------------------------------------------------------


def _each(type_name: str, change: Callable[[Row], Row]) -> Callable[[Image], Image]:
    return lambda rows: {
        **rows,
        type_name: {key: change(row) for key, row in rows[type_name].items()},
    }


def _moved(old: str, new: str) -> Callable[[Image], Image]:
    return lambda rows: {new if name == old else name: of for name, of in rows.items()}


def _with(**fields: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, **fields}


def _renamed(old: str, new: str) -> Callable[[Row], Row]:
    return lambda row: {new if name == old else name: value for name, value in row.items()}


def _without(*names: str) -> Callable[[Row], Row]:
    return lambda row: {name: value for name, value in row.items() if name not in names}


def _same(rows: Image) -> Image:
    return rows


@dataclass(frozen=True)
class Change:
    """Another schema, and what becomes of the rows."""

    after: str
    rows: Callable[[Image], Image] = _same
    is_additive: bool = False
    kinds: tuple[str, ...] = ()
    """The steps that it takes."""
    person: str = "Person"
    key: str = "email"
    more: Mapping[str, Any] = field(default_factory=dict)
    """What a person that is written afterwards must have besides."""
    spare: Mapping[str, Any] = field(default_factory=dict)
    """What such a person is found to have without having been given it."""


ADDED = PERSON + "extra: I64?\n raw: Blob?\n v: Vector(2)?\n words: [String]?"
FILLED = PERSON + 'extra: I64 @default(7)\n word: String? @default("new")\n ok: Bool @default(true)'

CHANGES: dict[str, Change] = {
    "add types": Change(
        schema(
            PERSON, CITY, KNOWS, LIVES, "node Pet { name: String @key }", "edge Has: Person -> Pet"
        ),
        lambda rows: {**rows, "Pet": {}, "Has": {}},
        is_additive=True,
        kinds=("add_type",),
    ),
    "add nullable properties": Change(
        schema(ADDED), _each("Person", _with()), is_additive=True, kinds=("add_property",)
    ),
    "add filled properties": Change(
        schema(FILLED),
        _each("Person", _with(extra=7, word="new", ok=True)),
        is_additive=True,
        kinds=("add_property",),
        spare={"extra": 7, "word": "new", "ok": True},
    ),
    "fill an edge's property": Change(
        schema(
            PERSON,
            CITY,
            "edge Knows: Person -> Person { since: I32?  w: F64 @default(0.5) }",
            LIVES,
        ),
        _each("Knows", _with(w=0.5)),
        is_additive=True,
        kinds=("add_property",),
    ),
    "rename a type": Change(
        schema(
            PERSON,
            CITY,
            "edge Knows: Human -> Human { since: I32? }",
            "edge LivesIn: Human -> City",
            name='node Human @rename_from("Person")',
        ),
        _moved("Person", "Human"),
        kinds=("rename_type",),
        person="Human",
    ),
    "rename an edge type": Change(
        schema(
            PERSON, CITY, LIVES, 'edge Met: Person -> Person @rename_from("Knows") { since: I32? }'
        ),
        _moved("Knows", "Met"),
        kinds=("rename_type",),
    ),
    "rename properties": Change(
        schema(
            PERSON.replace("nick: String?", 'alias: String? @rename_from("nick")')
            .replace("email: String @key", 'zmail: String @key @rename_from("email")')
            .replace("photo: Blob?", 'face: Blob? @rename_from("photo")')
        ),
        lambda rows: _each(
            "Person",
            lambda row: _renamed("photo", "face")(
                _renamed("email", "zmail")(_renamed("nick", "alias")(row))
            ),
        )(rows),
        kinds=("rename_property",),
        key="zmail",
    ),
    "extend an enum": Change(
        schema(PERSON.replace("(low, high)", "(low, mid, high)")),
        is_additive=True,
        kinds=("extend_enum",),
        more={"level": "mid"},
    ),
    "widen numbers": Change(
        schema(PERSON.replace("I32?", "I64?").replace("F32", "F64")),
        kinds=("change_type",),
        more={"age": 2**40},
    ),
    "relax a property": Change(
        schema(PERSON.replace("team: String", "team: String?")),
        is_additive=True,
        kinds=("make_nullable",),
    ),
    "require a property": Change(
        schema(PERSON.replace("nick: String?", "nick: String")),
        kinds=("make_required",),
        more={"nick": "required"},
    ),
    "add rules": Change(
        schema(PERSON + '@unique(nick)\n @range(age, 0..1000)\n @check(team, "^[a-z]+$")'),
        kinds=("add_constraint",),
    ),
    "bound an edge": Change(
        schema(PERSON, CITY, KNOWS, "edge LivesIn: Person -> City @card(0..1)"),
        kinds=("add_constraint",),
    ),
    "index a property": Change(
        schema(PERSON + "@index(team)\n @index(age)"), is_additive=True, kinds=("add_constraint",)
    ),
    "describe": Change(
        schema(PERSON, CITY, KNOWS, LIVES, name='node Person @description("people")'),
        is_additive=True,
        kinds=("update_metadata",),
    ),
    "add an interface": Change(
        schema(
            PERSON,
            CITY,
            KNOWS,
            LIVES,
            "interface Mailed { email: String }",
            name="node Person implements Mailed",
        ),
        is_additive=True,
        kinds=("add_type", "update_metadata"),
    ),
    "drop properties": Change(
        schema(
            "\n".join(
                line for line in PERSON.splitlines() if "nick" not in line and "photo" not in line
            )
        ),
        _each("Person", _without("nick", "photo")),
        kinds=("drop_property",),
    ),
    "drop types": Change(
        schema(PERSON, KNOWS),
        lambda rows: {name: of for name, of in rows.items() if name not in ("City", "LivesIn")},
        kinds=("drop_type",),
    ),
    "all at once": Change(
        schema(
            FILLED.replace("age: I32?", 'years: I64? @rename_from("age")')
            .replace("nick: String?", "")
            .replace("(low, high)", "(low, mid, high)")
            .replace("team: String", "team: String?"),
            "edge Knows: Human -> Human { since: I64?  w: F64 @default(0.5) }",
            "node Pet { name: String @key }",
            name='node Human @rename_from("Person")',
        ),
        lambda rows: {
            "Human": {
                key: {
                    **_without("nick")(_renamed("age", "years")(row)),
                    "extra": 7,
                    "word": "new",
                    "ok": True,
                }
                for key, row in rows["Person"].items()
            },
            "Knows": {key: {**row, "w": 0.5} for key, row in rows["Knows"].items()},
            "Pet": {},
        },
        kinds=(
            "rename_type",
            "rename_property",
            "add_type",
            "add_property",
            "change_type",
            "extend_enum",
            "make_nullable",
            "drop_property",
            "drop_type",
        ),
        person="Human",
        spare={"extra": 7, "word": "new", "ok": True},
    ),
}
