"""A graph in plain Python: what it holds, what may be done to it, and what it answers.

Everything is worked out by brute force over a few dictionaries. Nothing here knows how the graph
does it, so the two can only agree by both being right.

`Note` and `Wrote` have no key: their ids are the graph's choice. Each has a text or a number of its
own instead, by which the model tells them apart; `Ids` remembers which id goes with which.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import eq, ge, le, ne
from typing import Any, NamedTuple

SCHEMA = """
node Person {
    name: String @key
    age: I32? @index
    team: String?
    nick: String? @unique
    @range(age, 0..9)
}
node Note { text: String  likes: I32? }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
edge Wrote: Person -> Note @card(0..3) { stamp: I32 }
"""
HIGHEST_AGE = 9
MOST_WRITTEN = 3

Row = tuple[Any, ...]


class Person(NamedTuple):
    age: int | None = None
    team: str | None = None
    nick: str | None = None


@dataclass(frozen=True)
class World:
    """What a graph holds at one commit. It is never changed: a new one takes its place."""

    people: Mapping[str, Person] = field(default_factory=dict)
    knows: Mapping[tuple[str, str], int | None] = field(default_factory=dict)
    notes: Mapping[str, int | None] = field(default_factory=dict)
    """How often each text was liked."""
    wrote: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Who wrote what, by stamp."""

    @property
    def is_allowed(self) -> bool:
        nicks = [p.nick for p in self.people.values() if p.nick is not None]
        return (
            len(nicks) == len(set(nicks))
            and all(p.age is None or 0 <= p.age <= HIGHEST_AGE for p in self.people.values())
            and all({a, b} <= self.people.keys() for a, b in self.knows)
            and all(who in self.people and what in self.notes for who, what in self.wrote.values())
            and all(n <= MOST_WRITTEN for n in Counter(w for w, _ in self.wrote.values()).values())
        )

    def without(self, people: Iterable[str] = (), notes: Iterable[str] = ()) -> "World":
        """Nodes go, and the edges that end in them with them."""
        gone, unwritten = {*people}, {*notes}
        return World(
            {name: person for name, person in self.people.items() if name not in gone},
            {ends: since for ends, since in self.knows.items() if not gone & {*ends}},
            {text: likes for text, likes in self.notes.items() if text not in unwritten},
            {s: (a, t) for s, (a, t) in self.wrote.items() if a not in gone and t not in unwritten},
        )

    def differing_nodes(self, other: "World") -> int:
        return _differing(self.people, other.people) + _differing(self.notes, other.notes)

    def differing_edges(self, other: "World") -> int:
        return _differing(self.knows, other.knows) + _differing(self.wrote, other.wrote)


def _differing(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> int:
    missing = object()
    return sum(one.get(k, missing) != other.get(k, missing) for k in one.keys() | other.keys())


class Ids:
    """The ids of what has no key, learned when first met; from then on they may never change."""

    def __init__(self) -> None:
        self._of: dict[str | int, str] = {}

    def of_note(self, text: str) -> str:
        """A note whose id is unknown was never there: its text is then as good as any id."""
        return self._of.get(text, text)

    def of_wrote(self, stamp: int) -> str:
        return self._of.get(stamp, f"w{stamp}")

    def meet(self, name: str | int, id_: str) -> str | int:
        """What the model calls the thing with this id."""
        known = self._of.setdefault(name, id_)
        assert known == id_, f"{name!r} was {known} and is {id_} now"
        return name


# Changes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Where:
    column: str
    operator: str
    value: Any

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {json.dumps(self.value)}"

    def holds(self, name: str, person: Person) -> bool:
        value = name if self.column in ("name", "id") else getattr(person, self.column)
        if value is None:
            return False
        if self.operator == "in":
            return value in self.value
        if self.operator == "starts_with":
            return bool(value.startswith(self.value))
        return bool({"=": eq, "!=": ne, ">=": ge, "<=": le}[self.operator](value, self.value))


@dataclass(frozen=True)
class PutPerson:
    name: str
    age: int | None = None
    nick: str | None = None
    team: str | None = None

    def text(self, ids: Ids) -> str:
        values = _values(name=self.name, age=self.age, nick=self.nick, team=self.team)
        return f"insert Person {{ {values} }}"

    def apply(self, world: World) -> World:
        row = Person(self.age, self.team, self.nick)
        return replace(world, people={**world.people, self.name: row})


@dataclass(frozen=True)
class PutKnows:
    a: str
    b: str
    since: int | None = None

    def text(self, ids: Ids) -> str:
        return f"insert Knows {{ from: {_q(self.a)}, to: {_q(self.b)}, since: {_q(self.since)} }}"

    def apply(self, world: World) -> World:
        return replace(world, knows={**world.knows, (self.a, self.b): self.since})


@dataclass(frozen=True)
class AddNote:
    note: str

    def text(self, ids: Ids) -> str:
        return f"insert Note {{ text: {_q(self.note)} }}"

    def apply(self, world: World) -> World:
        return replace(world, notes={**world.notes, self.note: None})


@dataclass(frozen=True)
class AddWrote:
    who: str
    note: str
    stamp: int

    def text(self, ids: Ids) -> str:
        to = ids.of_note(self.note)
        return f"insert Wrote {{ from: {_q(self.who)}, to: {_q(to)}, stamp: {self.stamp} }}"

    def apply(self, world: World) -> World:
        return replace(world, wrote={**world.wrote, self.stamp: (self.who, self.note)})


@dataclass(frozen=True)
class SetPerson:
    column: str
    value: Any
    where: Where

    def text(self, ids: Ids) -> str:
        return f"update Person set {{ {self.column}: {_q(self.value)} }} where {self.where}"

    def apply(self, world: World) -> World:
        return replace(
            world,
            people={
                name: person._replace(**{self.column: self.value})
                if self.where.holds(name, person)
                else person
                for name, person in world.people.items()
            },
        )


@dataclass(frozen=True)
class SetKnows:
    since: int | None
    end: str
    name: str

    def text(self, ids: Ids) -> str:
        return f"update Knows set {{ since: {_q(self.since)} }} where {self.end} = {_q(self.name)}"

    def apply(self, world: World) -> World:
        end = ("from", "to").index(self.end)
        return replace(
            world,
            knows={e: self.since if e[end] == self.name else s for e, s in world.knows.items()},
        )


@dataclass(frozen=True)
class SetNote:
    likes: int | None
    note: str

    def text(self, ids: Ids) -> str:
        return f"update Note set {{ likes: {_q(self.likes)} }} where text = {_q(self.note)}"

    def apply(self, world: World) -> World:
        liked = {t: self.likes if t == self.note else n for t, n in world.notes.items()}
        return replace(world, notes=liked)


@dataclass(frozen=True)
class DropPeople:
    where: Where

    def text(self, ids: Ids) -> str:
        return f"delete Person where {self.where}"

    def apply(self, world: World) -> World:
        return world.without(people=[n for n, p in world.people.items() if self.where.holds(n, p)])


@dataclass(frozen=True)
class DropKnows:
    """The edge between two people, or all that leave one or arrive there."""

    a: str | None = None
    b: str | None = None

    def text(self, ids: Ids) -> str:
        ends = {"from": self.a, "to": self.b}
        where = (f"{end} = {_q(name)}" for end, name in ends.items() if name is not None)
        return f"delete Knows where {' and '.join(where)}"

    def apply(self, world: World) -> World:
        def is_meant(ends: tuple[str, str]) -> bool:
            return self.a in (None, ends[0]) and self.b in (None, ends[1])

        return replace(world, knows={e: s for e, s in world.knows.items() if not is_meant(e)})


@dataclass(frozen=True)
class DropNote:
    note: str

    def text(self, ids: Ids) -> str:
        return f"delete Note where text = {_q(self.note)}"

    def apply(self, world: World) -> World:
        return world.without(notes=[self.note])


@dataclass(frozen=True)
class DropWrote:
    stamp: int

    def text(self, ids: Ids) -> str:
        return f"delete Wrote where stamp = {self.stamp}"

    def apply(self, world: World) -> World:
        return replace(world, wrote={s: ends for s, ends in world.wrote.items() if s != self.stamp})


Drop = DropPeople | DropKnows | DropNote | DropWrote
Put = PutPerson | PutKnows | AddNote | AddWrote | SetPerson | SetKnows | SetNote
Statement = Put | Drop


def breaks_a_row(statement: Statement) -> bool:
    """Whether it is refused whatever later statements would make of the row."""
    return isinstance(statement, PutPerson) and (statement.age or 0) > HIGHEST_AGE


@dataclass(frozen=True)
class Rows:
    """What a load brings. Notes and what was written come with their ids."""

    people: tuple[tuple[str, int | None, str | None], ...] = ()
    knows: tuple[tuple[str, str, int | None], ...] = ()
    notes: tuple[tuple[str, int | None], ...] = ()
    wrote: tuple[tuple[int, str, str], ...] = ()

    def lines(self, ids: Ids) -> bytes:
        rows: list[dict[str, Any]] = [
            {"type": "Person", "data": {"name": name, "age": age, "nick": nick}}
            for name, age, nick in self.people
        ]
        rows += [
            {"type": "Note", "id": ids.of_note(text), "data": {"text": text, "likes": likes}}
            for text, likes in self.notes
        ]
        rows += [
            {"edge": "Knows", "from": a, "to": b, "data": {"since": since}}
            for a, b, since in self.knows
        ]
        rows += [
            {
                "edge": "Wrote",
                "id": ids.of_wrote(stamp),
                "from": who,
                "to": ids.of_note(text),
                "data": {"stamp": stamp},
            }
            for stamp, who, text in self.wrote
        ]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def apply(self, world: World, *, mode: str) -> World:
        def kept(rows: Mapping[Any, Any], new: tuple[Any, ...]) -> Mapping[Any, Any]:
            return {} if mode == "overwrite" and new else rows

        return World(
            {
                **kept(world.people, self.people),
                **{name: Person(age, None, nick) for name, age, nick in self.people},
            },
            {**kept(world.knows, self.knows), **{(a, b): since for a, b, since in self.knows}},
            {**kept(world.notes, self.notes), **dict(self.notes)},
            {**kept(world.wrote, self.wrote), **{s: (a, text) for s, a, text in self.wrote}},
        )

    def repeats_a_key(self) -> bool:
        return any(len({*keys}) < len(keys) for keys in self._keys())

    def meets_a_key_of(self, world: World) -> bool:
        there: list[Mapping[Any, Any]] = [world.people, world.knows, world.notes, world.wrote]
        return any(
            key in held for keys, held in zip(self._keys(), there, strict=True) for key in keys
        )

    def breaks_a_row(self) -> bool:
        return any((age or 0) > HIGHEST_AGE for _, age, _ in self.people)

    def _keys(self) -> list[list[Any]]:
        return [
            [name for name, _, _ in self.people],
            [(a, b) for a, b, _ in self.knows],
            [text for text, _ in self.notes],
            [stamp for stamp, _, _ in self.wrote],
        ]


def _q(value: object) -> str:
    return json.dumps(value)


def _values(**given: Any) -> str:
    return ", ".join(f"{name}: {_q(value)}" for name, value in given.items() if value is not None)


def world_of_lines(lines: bytes, ids: Ids) -> World:
    """What an export says."""
    people: dict[str, Person] = {}
    knows: dict[tuple[str, str], int | None] = {}
    texts: dict[str, str] = {}
    notes: dict[str, int | None] = {}
    wrote: dict[int, tuple[str, str]] = {}
    rows = [json.loads(line) for line in lines.splitlines()]
    for row in rows:
        data = row["data"]
        match row.get("type") or row["edge"]:
            case "Person":
                assert row["id"] == data["name"] and data["name"] not in people
                people[data["name"]] = Person(data.get("age"), data.get("team"), data.get("nick"))
            case "Note":
                ids.meet(data["text"], row["id"])
                texts[row["id"]] = data["text"]
                notes[data["text"]] = data.get("likes")
            case "Knows":
                assert json.loads(row["id"]) == [row["from"], row["to"]]
                knows[row["from"], row["to"]] = data.get("since")
            case "Wrote":
                ids.meet(data["stamp"], row["id"])
                wrote[data["stamp"]] = (row["from"], texts[row["to"]])
            case unknown:
                raise AssertionError(f"nothing is called {unknown}")
    world = World(people, knows, notes, wrote)
    assert len(rows) == len(people) + len(knows) + len(notes) + len(wrote), "no row comes twice"
    return world
