"""What may be done to a graph: statements of mutations, and rows of loads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import eq, ge, le, ne
from typing import Any

from tests.model.shapes import FIRST_RANK, Shape
from tests.model.world import HIGHEST_AGE, Ids, Note, Person, World


@dataclass(frozen=True)
class Where:
    column: str
    operator: str
    value: Any

    def text(self, shape: Shape) -> str:
        return f"{shape.name_of(self.column)} {self.operator} {json.dumps(self.value)}"

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
    mood: str | None = None

    def text(self, ids: Ids, shape: Shape) -> str:
        values = {"name": self.name, "age": self.age, "nick": self.nick, "mood": self.mood}
        return f"insert Person {{ {_values(**values, **{shape.team: self.team})} }}"

    def apply(self, world: World) -> World:
        row = Person(self.age, self.team, self.nick, self.mood)
        return replace(world, people={**world.people, self.name: row})


@dataclass(frozen=True)
class PutKnows:
    a: str
    b: str
    since: int | None = None

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"insert Knows {{ from: {_q(self.a)}, to: {_q(self.b)}, since: {_q(self.since)} }}"

    def apply(self, world: World) -> World:
        return replace(world, knows={**world.knows, (self.a, self.b): self.since})


@dataclass(frozen=True)
class AddNote:
    note: str

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"insert Note {{ text: {_q(self.note)} }}"

    def apply(self, world: World) -> World:
        new = Note(None, FIRST_RANK if world.shape.rank else None)
        return replace(world, notes={**world.notes, self.note: new})


@dataclass(frozen=True)
class AddWrote:
    who: str
    note: str
    stamp: int

    def text(self, ids: Ids, shape: Shape) -> str:
        to = ids.of_note(self.note)
        return f"insert Wrote {{ from: {_q(self.who)}, to: {_q(to)}, stamp: {self.stamp} }}"

    def apply(self, world: World) -> World:
        return replace(world, wrote={**world.wrote, self.stamp: (self.who, self.note)})


@dataclass(frozen=True)
class SetPerson:
    column: str
    value: Any
    where: Where

    def text(self, ids: Ids, shape: Shape) -> str:
        column, where = shape.name_of(self.column), self.where.text(shape)
        return f"update Person set {{ {column}: {_q(self.value)} }} where {where}"

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

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"update Knows set {{ since: {_q(self.since)} }} where {self.end} = {_q(self.name)}"

    def apply(self, world: World) -> World:
        end = ("from", "to").index(self.end)
        return replace(
            world,
            knows={e: self.since if e[end] == self.name else s for e, s in world.knows.items()},
        )


@dataclass(frozen=True)
class SetNote:
    value: int | None
    note: str
    column: str = "likes"

    def text(self, ids: Ids, shape: Shape) -> str:
        value, text = _q(self.value), _q(self.note)
        return f"update Note set {{ {self.column}: {value} }} where text = {text}"

    def apply(self, world: World) -> World:
        if self.note not in world.notes:
            return world
        changed = world.notes[self.note]._replace(**{self.column: self.value})
        return replace(world, notes={**world.notes, self.note: changed})


@dataclass(frozen=True)
class PutTag:
    label: str

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"insert Tag {{ label: {_q(self.label)} }}"

    def apply(self, world: World) -> World:
        return replace(world, tags=world.tags | {self.label})


@dataclass(frozen=True)
class DropTag:
    label: str

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"delete Tag where label = {_q(self.label)}"

    def apply(self, world: World) -> World:
        return replace(world, tags=world.tags - {self.label})


@dataclass(frozen=True)
class DropPeople:
    where: Where

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"delete Person where {self.where.text(shape)}"

    def apply(self, world: World) -> World:
        return world.without(people=[n for n, p in world.people.items() if self.where.holds(n, p)])


@dataclass(frozen=True)
class DropKnows:
    """The edge between two people, or all that leave one or arrive there."""

    a: str | None = None
    b: str | None = None

    def text(self, ids: Ids, shape: Shape) -> str:
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

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"delete Note where text = {_q(self.note)}"

    def apply(self, world: World) -> World:
        return world.without(notes=[self.note])


@dataclass(frozen=True)
class DropWrote:
    stamp: int

    def text(self, ids: Ids, shape: Shape) -> str:
        return f"delete Wrote where stamp = {self.stamp}"

    def apply(self, world: World) -> World:
        return replace(world, wrote={s: ends for s, ends in world.wrote.items() if s != self.stamp})


Drop = DropPeople | DropKnows | DropNote | DropWrote | DropTag
Put = PutPerson | PutKnows | AddNote | AddWrote | SetPerson | SetKnows | SetNote | PutTag
Statement = Put | Drop


def is_understood(statement: Statement, shape: Shape) -> bool:
    """Whether the schema has what it speaks of."""
    match statement:
        case PutTag() | DropTag():
            return shape.tags
        case SetNote(column="likes"):
            return shape.likes is not None
        case SetNote():
            return shape.rank
        case PutPerson(mood=str()) | SetPerson(column="mood"):
            return shape.mood
        case _:
            return True


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
            {
                "type": "Note",
                "id": ids.of_note(text),
                "data": {"text": text, **({} if likes is None else {"likes": likes})},
            }
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

        rank = FIRST_RANK if world.shape.rank else None
        return replace(
            world,
            people={
                **kept(world.people, self.people),
                **{name: Person(age, None, nick) for name, age, nick in self.people},
            },
            knows={
                **kept(world.knows, self.knows),
                **{(a, b): since for a, b, since in self.knows},
            },
            notes={
                **kept(world.notes, self.notes),
                **{text: Note(likes, rank) for text, likes in self.notes},
            },
            wrote={
                **kept(world.wrote, self.wrote),
                **{stamp: (who, text) for stamp, who, text in self.wrote},
            },
        )

    def is_understood(self, shape: Shape) -> bool:
        return shape.likes is not None or all(likes is None for _, likes in self.notes)

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
