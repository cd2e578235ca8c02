"""A graph in plain Python: what it holds, what may be done to it, and what it answers.

Everything is worked out by brute force over a few dictionaries. Nothing here knows how the graph
does it, so the two can only agree by both being right.

`Note` and `Wrote` have no key: their ids are the graph's choice. Each has a text or a number of its
own instead, by which the model tells them apart; `Ids` remembers which id goes with which.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from omnigraph.embed.mock import Mock
from tests.model.shapes import FIRST_RANK, Shape

SCHEMA = Shape().text
HIGHEST_AGE = 9
MOST_WRITTEN = 3

Row = tuple[Any, ...]


class Person(NamedTuple):
    age: int | None = None
    team: str | None = None
    nick: str | None = None
    mood: str | None = None
    mark: str | None = None
    """The text that its vector was made of: of which team it was when it was last embedded."""


class Note(NamedTuple):
    likes: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class World:
    """What a graph holds at one commit. It is never changed: a new one takes its place."""

    people: Mapping[str, Person] = field(default_factory=dict)
    knows: Mapping[tuple[str, str], int | None] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    """By their texts."""
    wrote: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Who wrote what, by stamp."""
    tags: frozenset[str] = frozenset()
    shape: Shape = field(default_factory=Shape)
    """A property that its schema does not have is always None."""

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
        return replace(
            self,
            people={name: person for name, person in self.people.items() if name not in gone},
            knows={ends: since for ends, since in self.knows.items() if not gone & {*ends}},
            notes={text: note for text, note in self.notes.items() if text not in unwritten},
            wrote={
                stamp: (who, text)
                for stamp, (who, text) in self.wrote.items()
                if who not in gone and text not in unwritten
            },
        )

    def lifted(self, shape: Shape) -> "World":
        """The same rows under a later schema."""
        keeps_likes = shape.likes == self.shape.likes
        first = FIRST_RANK if shape.rank else None
        return replace(
            self,
            people={n: p if shape.mood else p._replace(mood=None) for n, p in self.people.items()},
            notes={
                text: Note(note.likes if keeps_likes else None, note.rank or first)
                for text, note in self.notes.items()
            },
            shape=shape,
        )

    def differing_nodes(self, other: "World") -> int:
        return (
            _differing(self.people, other.people)
            + _differing(self.notes, other.notes)
            + len(self.tags ^ other.tags)
        )

    def differing_edges(self, other: "World") -> int:
        return _differing(self.knows, other.knows) + _differing(self.wrote, other.wrote)


def _differing(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> int:
    missing = object()
    return sum(one.get(k, missing) != other.get(k, missing) for k in one.keys() | other.keys())


TEAMS = ("t", "u")
"""The texts that are embedded."""


def embedded_text(vector: Sequence[float] | None) -> str | None:
    """The text that a vector was made of."""
    if vector is None:
        return None
    made = dict(zip(TEAMS, Mock().embed(TEAMS, purpose="row", width=4), strict=True))
    (text,) = [text for text, each in made.items() if np.allclose(each, vector, atol=1e-6)]
    return text


class Ids:
    """The ids of what has no key, learned when first met; from then on they may never change."""

    def __init__(self) -> None:
        self._of: dict[str | int, str] = {}

    def of_note(self, text: str) -> str:
        """A note whose id is unknown was never there: its text is then as good as any id."""
        return self._of.get(text, text)

    def of_wrote(self, stamp: int) -> str:
        return self._of.get(stamp, f"w{stamp}")

    def of_knows(self, a: str, b: str) -> str:
        return json.dumps([a, b], separators=(",", ":"))

    def name_of(self, id_: str) -> str | int:
        """What the model calls a note: if it came with a load, its text is its id."""
        return next((name for name, of in self._of.items() if of == id_), id_)

    def meet(self, name: str | int, id_: str) -> str | int:
        """What the model calls the thing with this id."""
        known = self._of.setdefault(name, id_)
        assert known == id_, f"{name!r} was {known} and is {id_} now"
        return name


def world_of_lines(lines: bytes, ids: Ids, shape: Shape) -> World:
    """What an export says."""
    people: dict[str, Person] = {}
    knows: dict[tuple[str, str], int | None] = {}
    texts: dict[str, str] = {}
    notes: dict[str, Note] = {}
    tags = set[str]()
    wrote: dict[int, tuple[str, str]] = {}
    rows = [json.loads(line) for line in lines.splitlines()]
    for row in rows:
        data = row["data"]
        match row.get("type") or row["edge"]:
            case "Person":
                assert row["id"] == data["name"] and data["name"] not in people
                people[data["name"]] = Person(
                    data.get("age"),
                    data.get(shape.team),
                    data.get("nick"),
                    data.get("mood"),
                    embedded_text(data.get("mark")),
                )
            case "Note":
                ids.meet(data["text"], row["id"])
                texts[row["id"]] = data["text"]
                notes[data["text"]] = Note(data.get("likes"), data.get("rank"))
            case "Tag":
                tags.add(data["label"])
            case "Knows":
                assert json.loads(row["id"]) == [row["from"], row["to"]]
                knows[row["from"], row["to"]] = data.get("since")
            case "Wrote":
                ids.meet(data["stamp"], row["id"])
                wrote[data["stamp"]] = (row["from"], texts[row["to"]])
            case unknown:
                raise AssertionError(f"nothing is called {unknown}")
    world = World(people, knows, notes, wrote, frozenset(tags), shape)
    size = len(people) + len(knows) + len(notes) + len(wrote) + len(tags)
    assert len(rows) == size, "no row comes twice"
    return world
