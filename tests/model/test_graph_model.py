"""Mutations and loads beside a plain model of the graph: whatever is done to both, they agree.

The model judges by brute force: a change is made to a copy, and refused if the copy breaks a rule.
"""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from omnigraph import Graph
from omnigraph.base.errors import ConstraintViolated, KeyTaken
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint, Faults
from omnigraph.engine.results import LoadResult, MutationResult

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    team: String?
    nick: String? @unique
    @range(age, 0..9)
}
node Note { text: String }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
edge Wrote: Person -> Note @card(0..2)
"""
NAMES = ["ada", "bob", "eve", "zoe"]
NICKS = [None, None, "x", "y"]
BRANCHES = ["a", "team/b"]
ROLLED_BACK = {Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM}


class Person(NamedTuple):
    age: int | None = None
    team: str | None = None
    nick: str | None = None


@dataclass
class World:
    people: dict[str, Person] = field(default_factory=dict)
    knows: dict[tuple[str, str], int | None] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    wrote: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def is_allowed(self) -> bool:
        nicks = [p.nick for p in self.people.values() if p.nick is not None]
        return (
            len(nicks) == len(set(nicks))
            and all({a, b} <= self.people.keys() for a, b in self.knows)
            and all(p in self.people and n in self.notes for p, n in self.wrote)
            and all(count <= 2 for count in Counter(p for p, _ in self.wrote.elements()).values())
        )

    def drop(self, people: set[str], notes: set[str]) -> None:
        """Nodes go, and the edges that end in them with them."""
        for name in people:
            self.people.pop(name, None)
        self.notes -= notes
        self.knows = {ends: v for ends, v in self.knows.items() if not people & {*ends}}
        gone = [(p, n) for p, n in self.wrote if p in people or n in notes]
        for ends in gone:
            del self.wrote[ends]


Apply = Callable[[World], None]
Run = Callable[[str], MutationResult | LoadResult]


class Statement(NamedTuple):
    text: str
    apply: Apply
    breaks_a_row: bool = False
    """It is refused whatever later statements would make of the row."""


class Where(NamedTuple):
    text: str
    holds: Callable[[str, Person], bool]


def quoted(value: object) -> str:
    return json.dumps(value)


# What can be said --------------------------------------------------------------------------------


@st.composite
def wheres(draw: st.DrawFn) -> Where:
    name, number = draw(st.sampled_from(NAMES)), draw(st.integers(0, 9))
    return draw(
        st.sampled_from(
            [
                Where(f"name = {quoted(name)}", lambda n, p: n == name),
                Where(f'name in ["ada", {quoted(name)}]', lambda n, p: n in ("ada", name)),
                Where(f"age >= {number}", lambda n, p: p.age is not None and p.age >= number),
                Where("nick is null", lambda n, p: p.nick is None),
                Where(
                    f"id = {quoted(name)} and age = {number}",
                    lambda n, p: (n, p.age) == (name, number),
                ),
                Where(
                    'name starts_with "a" and team = "t"',
                    lambda n, p: n[0] == "a" and p.team == "t",
                ),
            ]
        )
    )


def put(name: str, age: int, nick: str | None) -> Statement:
    text = f"insert Person {{ name: {quoted(name)}, age: {age}, nick: {quoted(nick)} }}"
    row = Person(age, None, nick)
    return Statement(text, lambda w: w.people.update({name: row}), breaks_a_row=age > 9)


def link(a: str, b: str, since: int) -> Statement:
    text = f"insert Knows {{ from: {quoted(a)}, to: {quoted(b)}, since: {since} }}"
    return Statement(text, lambda w: w.knows.update({(a, b): since}))


# Something to begin with, so that most steps meet rows.
FOUNDING = [
    *(put(name, age, None) for age, name in enumerate(NAMES[:3])),
    *(link(a, b, 0) for a, b in [("ada", "bob"), ("bob", "eve"), ("eve", "ada"), ("eve", "eve")]),
]


@st.composite
def updates(draw: st.DrawFn) -> Statement:
    where, number = draw(wheres()), draw(st.integers(0, 9))
    changes: list[dict[str, Any]] = [{"age": number}, {"team": "t"}, {"nick": "x"}, {"nick": None}]
    change = draw(st.sampled_from(changes))

    def apply(world: World) -> None:
        for name, person in world.people.items():
            if where.holds(name, person):
                world.people[name] = person._replace(**change)

    values = ", ".join(f"{name}: {quoted(value)}" for name, value in change.items())
    return Statement(f"update Person set {{ {values} }} where {where.text}", apply)


@st.composite
def edge_updates(draw: st.DrawFn) -> Statement:
    name, since = draw(st.sampled_from(NAMES)), draw(st.integers(0, 3))

    def apply(world: World) -> None:
        world.knows = {e: since if e[0] == name else v for e, v in world.knows.items()}

    return Statement(f"update Knows set {{ since: {since} }} where from = {quoted(name)}", apply)


@st.composite
def deletes(draw: st.DrawFn) -> Statement:
    where, name = draw(wheres()), draw(st.sampled_from(NAMES))

    def drop_people(world: World) -> None:
        world.drop({n for n, p in world.people.items() if where.holds(n, p)}, set())

    def drop_knows(world: World) -> None:
        world.knows = {ends: v for ends, v in world.knows.items() if ends[1] != name}

    return draw(
        st.sampled_from(
            [
                Statement(f"delete Person where {where.text}", drop_people),
                Statement(f"delete Knows where to = {quoted(name)}", drop_knows),
            ]
        )
    )


SOMEBODY = st.sampled_from(NAMES)
PUTS = st.builds(put, SOMEBODY, st.integers(0, 11), st.sampled_from(NICKS))  # past 9: refused
LINKS = st.builds(link, SOMEBODY, SOMEBODY, st.integers(0, 3))
MUTATIONS = st.one_of(
    st.lists(st.one_of(PUTS, LINKS, updates(), edge_updates()), min_size=1, max_size=4),
    st.lists(deletes(), min_size=1, max_size=2),
)
ROWS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 11), st.sampled_from(NICKS)), max_size=3
)
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=2)


@dataclass(frozen=True)
class Load:
    mode: str
    rows: list[tuple[str, int, str | None]]
    pairs: list[tuple[str, str]]

    def write(self, file: Path) -> Path:
        people = [
            {"type": "Person", "data": {"name": name, "age": age, "nick": nick}}
            for name, age, nick in self.rows
        ]
        edges = [{"edge": "Knows", "from": a, "to": b} for a, b in self.pairs]
        file.write_text("".join(json.dumps(row) + "\n" for row in [*people, *edges]))
        return file

    def apply(self, world: World) -> None:
        if self.mode == "overwrite":
            world.people = {} if self.rows else world.people
            world.knows = {} if self.pairs else world.knows
        world.people |= {name: Person(age, None, nick) for name, age, nick in self.rows}
        world.knows |= dict.fromkeys(self.pairs)

    def is_strict_breach(self, world: World) -> bool:
        """A key comes twice, or is there, where it must be new."""
        names, pairs = [name for name, _, _ in self.rows], self.pairs
        twice = len(set(names)) < len(names) or len(set(pairs)) < len(pairs)
        there = any(n in world.people for n in names) or any(p in world.knows for p in pairs)
        return self.mode != "merge" and (twice or (self.mode == "append" and there))

    def breaks_a_row(self) -> bool:
        return any(age > 9 for _, age, _ in self.rows)


LOADS = st.builds(
    Load, mode=st.sampled_from(["append", "merge", "overwrite"]), rows=ROWS, pairs=PAIRS
).filter(lambda load: load.rows or load.pairs)


# The machine -------------------------------------------------------------------------------------


class GraphBesideModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.model: dict[str, World] = {}
        self.past: list[tuple[str, World]] = []
        self.texts = 0

    @initialize()
    def init(self) -> None:
        self.graph = Graph.init(str(self.place / "g"), SCHEMA, durability="relaxed")
        self.model["main"] = World()
        self.change("main", *self.mutation(FOUNDING))
        self.note_by("ada", "main")

    def teardown(self) -> None:
        if self.model:
            self.past_commits_hold_what_they_held()
        shutil.rmtree(self.place)

    # Steps ---------------------------------------------------------------------------------------

    @rule(data=st.data(), statements=MUTATIONS)
    def mutate(self, data: st.DataObject, statements: list[Statement]) -> None:
        is_refused = any(statement.breaks_a_row for statement in statements)
        self.change(self.some_branch(data), *self.mutation(statements), is_refused=is_refused)

    @rule(data=st.data(), load=LOADS)
    def load(self, data: st.DataObject, load: Load) -> None:
        branch = self.some_branch(data)
        self.change(branch, *self.loading(load), is_refused=self.refuses(load, branch))

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def write_note(self, data: st.DataObject, name: str) -> None:
        self.note_by(name, self.some_branch(data))

    def note_by(self, name: str, branch: str) -> None:
        text = f"note {self.texts}"
        self.texts += 1
        note = Statement(f"insert Note {{ text: {quoted(text)} }}", lambda w: w.notes.add(text))
        self.change(branch, *self.mutation([note]))
        found = "query q($t: String) { match { $n: Note { text: $t } } return { $n.id as id } }"
        (row,) = self.graph.query(found, params={"t": text}, branch=branch)
        wrote = Statement(
            f"insert Wrote {{ from: {quoted(name)}, to: {quoted(row['id'])} }}",
            lambda w: w.wrote.update([(name, text)]),
        )
        self.change(branch, *self.mutation([wrote]))

    @rule(data=st.data())
    def drop_notes(self, data: st.DataObject) -> None:
        branch = self.some_branch(data)
        text = data.draw(st.sampled_from(sorted(self.model[branch].notes) or ["none"]))
        gone = Statement(
            f"delete Note where text = {quoted(text)}", lambda w: w.drop(set(), {text})
        )
        self.change(branch, *self.mutation([gone]))

    @rule(
        data=st.data(),
        what=st.one_of(MUTATIONS, LOADS),
        point=st.sampled_from(Failpoint),
    )
    def crash(self, data: st.DataObject, what: "list[Statement] | Load", point: Failpoint) -> None:
        branch = self.some_branch(data)
        after = deepcopy(self.model[branch])
        if isinstance(what, Load):
            run, apply = self.loading(what, faults=CrashAt(point))
            is_refused = self.refuses(what, branch)
        else:
            run, apply = self.mutation(what, faults=CrashAt(point))
            is_refused = any(statement.breaks_a_row for statement in what)
        apply(after)
        try:
            run(branch)
            is_done = True  # there was nothing to do, or one table and no place between two
        except Crash:
            is_done = point not in ROLLED_BACK
        except (ConstraintViolated, KeyTaken):
            assert is_refused or not after.is_allowed
            is_done = False
        self.graph = Graph.open(self.graph.uri, durability="relaxed")
        if is_done:
            self.moved(branch, after)

    @rule(data=st.data(), name=st.sampled_from(BRANCHES))
    def branch(self, data: st.DataObject, name: str) -> None:
        if name in self.model:
            self.graph.branch_delete(name)
            del self.model[name]
        else:
            self.graph.branch_create(name)
            self.model[name] = deepcopy(self.model["main"])

    @rule(data=st.data())
    def optimize(self, data: st.DataObject) -> None:
        self.graph.optimize(self.some_branch(data))

    @rule()
    def open_anew(self) -> None:
        self.graph = Graph.open(self.graph.uri, durability="relaxed")

    # What always holds ---------------------------------------------------------------------------

    @invariant()
    def every_branch_holds_what_the_model_does(self) -> None:
        for branch, world in self.model.items():
            assert contents(self.graph, branch) == world

    def past_commits_hold_what_they_held(self) -> None:
        fresh = Graph.open(self.graph.uri, read_only=True)
        for commit, world in self.past:
            assert contents(fresh, "main", commit) == world

    # The machine's own ---------------------------------------------------------------------------

    def some_branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model)))

    def handle(self, faults: Faults) -> Graph:
        return Graph(self.graph._store, settings=self.graph._settings, faults=faults)

    def mutation(self, statements: list[Statement], *, faults: Faults = NEVER) -> tuple[Run, Apply]:
        text = f"query q() {{ {' '.join(s.text for s in statements)} }}"

        def apply(world: World) -> None:
            for statement in statements:
                statement.apply(world)

        return lambda branch: self.handle(faults).mutate(text, branch=branch), apply

    def loading(self, load: Load, *, faults: Faults = NEVER) -> tuple[Run, Apply]:
        file = load.write(self.place / "rows.jsonl")
        handle = self.handle(faults)
        return (
            lambda branch: handle.load(file, mode=load.mode, branch=branch, engine="local"),
            load.apply,
        )

    def refuses(self, load: Load, branch: str) -> bool:
        return load.is_strict_breach(self.model[branch]) or load.breaks_a_row()

    def change(self, branch: str, run: Run, apply: Apply, *, is_refused: bool = False) -> None:
        """Do it to both: refused by both, or done by both and counted alike."""
        before, after = self.model[branch], deepcopy(self.model[branch])
        apply(after)
        if is_refused or not after.is_allowed:
            with pytest.raises((ConstraintViolated, KeyTaken)):
                run(branch)
            return
        result = run(branch)
        if isinstance(result, MutationResult):
            assert (result.commit is None) == (after == before)
            assert result.affected_nodes == changed(before.people, after.people) + len(
                before.notes ^ after.notes
            )
            assert result.affected_edges == changed(before.knows, after.knows) + sum(
                ((before.wrote - after.wrote) + (after.wrote - before.wrote)).values()
            )
        self.moved(branch, after)

    def moved(self, branch: str, world: World) -> None:
        self.model[branch] = world
        if branch == "main":
            head = self.graph.commits(limit=1)[0].graph_commit_id
            self.past.append((head, deepcopy(world)))


def changed(before: dict[Any, Any], after: dict[Any, Any]) -> int:
    missing = object()
    keys = before.keys() | after.keys()
    return sum(before.get(key, missing) != after.get(key, missing) for key in keys)


def contents(graph: Graph, branch: str, commit: str | None = None) -> World:
    """Everything there is, read as rows."""
    held = graph.snapshot(branch) if commit is None else graph.at(commit)
    snapshot = held.stored
    catalog = snapshot.catalog

    def rows(name: str) -> list[dict[str, Any]]:
        entity = catalog.node_by_name.get(name) or catalog.edge_by_name[name]
        dataset = snapshot.dataset(entity)
        found: list[dict[str, Any]] = dataset.scan(dataset.column_names).to_pylist()
        assert len({row["id"] for row in found}) == len(found)
        return found

    people, knows, notes, wrote = map(rows, ("Person", "Knows", "Note", "Wrote"))
    assert all(row["id"] == row["name"] for row in people)
    assert all(json.loads(row["id"]) == [row["src"], row["dst"]] for row in knows)
    text_of = {row["id"]: row["text"] for row in notes}
    return World(
        {row["name"]: Person(row["age"], row["team"], row["nick"]) for row in people},
        {(row["src"], row["dst"]): row["since"] for row in knows},
        set(text_of.values()),
        Counter((row["src"], text_of[row["dst"]]) for row in wrote),
    )


def test_a_graph_agrees_with_a_plain_model_whatever_is_written(
    request: pytest.FixtureRequest,
) -> None:
    is_deep = request.config.getoption("--deep")
    profile = (
        settings(max_examples=40, stateful_step_count=40)
        if is_deep
        else settings(max_examples=10, stateful_step_count=12)
    )
    run_state_machine_as_test(GraphBesideModel, settings=profile)
