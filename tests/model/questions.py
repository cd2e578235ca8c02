"""What a graph is asked, beside what the model answers: contents, paths, filters, sums."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log
from typing import Any

from tests.model.shapes import Shape
from tests.model.world import Ids, Person, World, embedded_text

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Question:
    """A query, and what the model answers: rows in any order, unless the query has one."""

    about: str
    text: str
    expect: Callable[[World], Iterable[Row]]
    is_ordered: bool = False
    needs: Callable[[Shape], bool] = lambda shape: True
    """Whether a schema has what it speaks of."""
    nameless: tuple[str, str] | None = None
    """The column of an id that only the graph knows, and the column that tells whose it is."""

    def answers(self, rows: list[dict[str, Any]], ids: Ids) -> list[Row]:
        """The graph's rows as the model would write them."""
        if self.nameless is not None:
            id_column, name = self.nameless
            rows = [{**row, id_column: ids.meet(row[name], row[id_column])} for row in rows]
        found = [tuple(_plain(value) for value in row.values()) for row in rows]
        return found if self.is_ordered else sorted(found, key=repr)

    def expected(self, world: World) -> list[Row]:
        rows = [tuple(_plain(value) for value in row) for row in self.expect(world)]
        return rows if self.is_ordered else sorted(rows, key=repr)


def _plain(value: Any) -> Any:
    """A vector as the text that it was made of, a score as far as its digits matter."""
    if isinstance(value, list):
        return embedded_text(value)
    return round(value, 9) if isinstance(value, float) else value


def _q_people(text: str, holds: Callable[[World, str, Person], bool], about: str) -> Question:
    """The names of the people for whom a pattern holds."""
    return Question(
        about,
        f"query q() {{ match {{ $p: Person {text} }} return {{ $p.name as name }} }}",
        lambda w: ((name,) for name, person in w.people.items() if holds(w, name, person)),
    )


def _pairs(text: str, reach: Callable[[World, str], Iterable[str]], about: str) -> Question:
    """Who leads to whom, by a pattern from `$a` to `$b`."""
    return Question(
        about,
        f"query q() {{ match {{ $a: Person {text} }} return {{ $a.name as a, $b.name as b }} }}",
        lambda w: ((a, b) for a in w.people for b in {*reach(w, a)}),
    )


def friends(world: World, name: str) -> set[str]:
    return {b for a, b in world.knows if a == name}


def authors(world: World, text: str) -> set[str]:
    return {who for who, written in world.wrote.values() if written == text}


def within(world: World, name: str, least: int, most: int) -> set[str]:
    """Everyone first reached in so many steps; oneself only by a loop, in one."""
    seen, now, found = {name}, {name}, set[str]()
    for depth in range(1, most + 1):
        now = {b for a in now for b in friends(world, a)}
        if depth >= least:
            found |= now - seen
            if depth == 1 and name in now:
                found.add(name)
        now -= seen
        seen |= now
    return found


def _two_steps(world: World) -> Iterable[Row]:
    for a in world.people:
        for b in friends(world, a):
            for c in friends(world, b):
                yield (a, b, c)


def _ages(world: World) -> Iterable[Row]:
    ages = [p.age for p in world.people.values() if p.age is not None]
    mean = sum(ages) / len(ages) if ages else None
    yield (
        len(world.people),
        len(ages),
        sum(ages) if ages else None,
        min(ages, default=None),
        max(ages, default=None),
        mean,
    )


def _teams(world: World) -> Iterable[Row]:
    """The members of each team, and whom they know, counted."""
    for team in {person.team for person in world.people.values()}:
        members = [name for name, person in world.people.items() if person.team == team]
        known = sum(len(friends(world, name)) for name in members)
        if known:
            yield (team, known)


def _oldest(world: World) -> Iterable[Row]:
    """Nulls are smallest, and ties fall to ids."""

    def rank(row: tuple[str, Person]) -> tuple[int, str]:
        return (-1 if row[1].age is None else row[1].age) * -1, row[0]

    for name, person in sorted(world.people.items(), key=rank)[:4]:
        yield (name, person.age)


def _nearest(world: World) -> Iterable[Row]:
    """Those whose vector is of the team are as near as can be; ties fall to ids."""
    marked = ((person.mark != "t", name) for name, person in world.people.items() if person.mark)
    for _, name in sorted(marked)[:3]:
        yield (name,)


def _best_by_words(world: World) -> Iterable[Row]:
    """Every text is one word, so the score is how rare the word is."""
    teams = [person.team for person in world.people.values() if person.team is not None]
    idf = log(1 + (len(teams) - teams.count("t") + 0.5) / (teams.count("t") + 0.5))
    for name, person in sorted(world.people.items()):
        if person.team == "t":
            yield (name, idf)


CONTENTS = [
    Question(
        "people",
        "query q() { match { $p: Person } return "
        "{ $p.id as id, $p.name as name, $p.age as age, $p.team as team, $p.nick as nick } }",
        lambda w: ((name, name, *person[:3]) for name, person in w.people.items()),
    ),
    Question(
        "moods",
        "query q() { match { $p: Person } return { $p.name as name, $p.mood as mood } }",
        lambda w: ((name, person.mood) for name, person in w.people.items()),
        needs=lambda shape: shape.mood,
    ),
    Question(
        "marks",
        "query q() { match { $p: Person } return { $p.name as name, $p.mark as mark } }",
        lambda w: ((name, person.mark) for name, person in w.people.items()),
    ),
    Question(
        "knows",
        "query q() { match { $a: Person  $a $e:knows $b } return "
        "{ $e.id as id, $a.name as a, $b.name as b, $e.since as since } }",
        lambda w: (
            (json.dumps([a, b], separators=(",", ":")), a, b, since)
            for (a, b), since in w.knows.items()
        ),
    ),
    Question(
        "notes",
        "query q() { match { $n: Note } return { $n.id as id, $n.text as text } }",
        lambda w: ((text, text) for text in w.notes),
        nameless=("id", "text"),
    ),
    Question(
        "likes",
        "query q() { match { $n: Note } return { $n.text as text, $n.likes as likes } }",
        lambda w: ((text, note.likes) for text, note in w.notes.items()),
        needs=lambda shape: shape.likes is not None,
    ),
    Question(
        "ranks",
        "query q() { match { $n: Note } return { $n.text as text, $n.rank as rank } }",
        lambda w: ((text, note.rank) for text, note in w.notes.items()),
        needs=lambda shape: shape.rank,
    ),
    Question(
        "tags",
        "query q() { match { $t: Tag } return { $t.label as label } }",
        lambda w: ((label,) for label in w.tags),
        needs=lambda shape: shape.tags,
    ),
    Question(
        "wrote",
        "query q() { match { $a: Person  $a $e:wrote $n } return "
        "{ $e.id as id, $e.stamp as stamp, $a.name as a, $n.text as text } }",
        lambda w: ((stamp, stamp, who, text) for stamp, (who, text) in w.wrote.items()),
        nameless=("id", "stamp"),
    ),
]
OTHERS = [
    Question(
        "how many, how old",
        "query q() { match { $p: Person } return { count($p) as n, count($p.age) as m, "
        "sum($p.age) as s, min($p.age) as lo, max($p.age) as hi, avg($p.age) as mean } }",
        _ages,
    ),
    Question(
        "how many edges",
        "query q() { match { $a: Person  $a $e:knows $b } return { count($e) as n } }",
        lambda w: [(len(w.knows),)],
    ),
    Question(
        "whom teams know",
        "query q() { match { $a: Person  $a knows $b } "
        "return { $a.team as team, count($b) as n } }",
        _teams,
    ),
    _pairs("$a knows $b", friends, "one step"),
    _pairs("$b knows $a", lambda w, a: [b for b in w.people if a in friends(w, b)], "one back"),
    _pairs(
        "$a <knows> $b",
        lambda w, a: [b for b in w.people if a in friends(w, b) or b in friends(w, a)],
        "one step either way",
    ),
    Question(
        "two steps",
        "query q() { match { $a: Person  $a knows $b  $b knows $c } "
        "return { $a.name as a, $b.name as b, $c.name as c } }",
        _two_steps,
    ),
    _pairs("$a knows{1,3} $b", lambda w, a: within(w, a, 1, 3), "one to three steps"),
    _pairs("$a knows{2,2} $b", lambda w, a: within(w, a, 2, 2), "first reached in two steps"),
    Question(
        "who wrote the same",
        "query q() { match { $a: Person  $a wrote $n  $b wrote $n } "
        "return { $a.name as a, $b.name as b } }",
        lambda w: ((a, b) for text in w.notes for a in authors(w, text) for b in authors(w, text)),
    ),
    _q_people("not { $p knows $_ }", lambda w, n, p: not friends(w, n), "knows nobody"),
    _q_people(
        "not { $_ knows $p } exists { $p wrote $_ }",
        lambda w, n, p: (
            all(b != n for _, b in w.knows) and any(who == n for who, _ in w.wrote.values())
        ),
        "unknown writers",
    ),
    _q_people(
        "count { $p knows $_ } >= 2", lambda w, n, p: len(friends(w, n)) >= 2, "knows several"
    ),
    _q_people('$p.name = "c"', lambda w, n, p: n == "c", "by key"),
    _q_people(
        '$p.name in ["a", "d", "z"]', lambda w, n, p: n in ("a", "d", "z"), "by several keys"
    ),
    _q_people("$p.age >= 4", lambda w, n, p: p.age is not None and p.age >= 4, "indexed"),
    _q_people('$p.nick = "x"', lambda w, n, p: p.nick == "x", "unique"),
    _q_people('$p.team = "t"', lambda w, n, p: p.team == "t", "not indexed"),
    _q_people("$p.team is null", lambda w, n, p: p.team is None, "null"),
    Question(
        "the friends of one",
        'query q() { match { $a: Person { name: "b" }  $a knows $b } return { $b.name as b } }',
        lambda w: ((b,) for b in friends(w, "b")),
    ),
    Question(
        "who knows one of an age",
        "query q() { match { $b: Person { age: 3 }  $a knows $b } "
        "return { $a.name as a, $b.name as b } }",
        lambda w: ((a, b) for a, b in w.knows if w.people[b].age == 3),
    ),
    Question(
        "everyone and what they wrote, if anything",
        "query q() { match { $a: Person  optional { $a wrote $n } } "
        "return { $a.name as a, $n.text as text } }",
        lambda w: (
            (a, text)
            for a in w.people
            for text in {t for b, t in w.wrote.values() if a == b} or [None]
        ),
    ),
    Question(
        "the oldest",
        "query q() { match { $p: Person } return { $p.name as name, $p.age as age } "
        "order { age desc } limit 4 }",
        _oldest,
        is_ordered=True,
    ),
    Question(
        "by the words of a text",
        'query q() { match { $n: Note  search($n.text, "n1 n3 n101") } '
        "return { $n.text as text } }",
        lambda w: ((text,) for text in w.notes if text in ("n1", "n3", "n101")),
    ),
    Question(
        "the best by words",
        'query q() { match { $p: Person } return { $p.name as name, bm25($p.team, "t") as score } '
        'order { bm25($p.team, "t") } }',
        _best_by_words,
        is_ordered=True,
    ),
    Question(
        "the nearest",
        "query q() { match { $p: Person } return { $p.name as name } "
        'order { nearest($p.mark, "t") } limit 3 }',
        _nearest,
        is_ordered=True,
    ),
]
