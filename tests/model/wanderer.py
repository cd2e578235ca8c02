"""Thinks of steps: at random, but with the orders in mind in which things are seldom done."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.base.choices import EmbedOnly, LoadModeName
from omnigraph.base.failpoints import Failpoint
from tests.model.lineage import MAIN, Model
from tests.model.merge_steps import Merge, Revert
from tests.model.merging import Choice, Conflict, Entity, Resolve, Side
from tests.model.schema_steps import Evolve
from tests.model.shapes import ADDITIVE, CHANGES
from tests.model.statements import (
    AddNote,
    AddWrote,
    Drop,
    DropKnows,
    DropNote,
    DropPeople,
    DropTag,
    DropWrote,
    Put,
    PutKnows,
    PutPerson,
    PutTag,
    Rows,
    SetKnows,
    SetNote,
    SetPerson,
    Statement,
    Where,
)
from tests.model.steps import (
    Clean,
    Crash,
    Diff,
    DropBranch,
    Elsewhere,
    Embed,
    Load,
    LookBack,
    MakeBranch,
    Mutate,
    Pin,
    Reopen,
    Step,
    Tidy,
    Write,
)
from tests.model.world import HIGHEST_AGE, World
from tests.model.world import TEAMS as EMBEDDED

NAMES = "abcdefghij"
TEAMS = (*EMBEDDED, None)
NICKS = (None, None, "x", "y")
BRANCHES = ("draft", "main.x", "team/b", "team/b.c", "team")
PASTS = ("past.1", "past.2")
MOST_BRANCHES = 4

FOUNDING = Load(
    MAIN,
    "append",
    Rows(
        people=tuple((name, number, None) for number, name in enumerate("abcdefgh")),
        knows=tuple(
            (ends[0], ends[1], None)
            for ends in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "ha", "ac", "bd", "cc"]
        ),
        notes=tuple((f"n{number}", None) for number in range(4)),
        wrote=((0, "a", "n0"), (1, "b", "n0"), (2, "b", "n1"), (3, "c", "n2")),
    ),
)
"""Enough rows that a file of a table outlives many deletions in it."""


class Wanderer:
    """Thinks of the next steps. It knows the model, so most of what it does makes sense."""

    def __init__(self, seed: int, *, has_process: bool = False, first_number: int = 100) -> None:
        self._random = random.Random(seed)
        self._has_process = has_process
        self._fresh_number = first_number
        self._waiting: list[Step] = [FOUNDING]

    def next(self, model: Model) -> Step:
        while not self._waiting:
            self._waiting = [*self._plan(model)]
        return self._waiting.pop(0)

    def _plan(self, model: Model) -> Iterator[Step]:
        draw = self._random
        plans: list[tuple[int, Callable[[Model], Iterator[Step]]]] = [
            (26, self._change),
            (10, self._load),
            (10, self._make),
            (6, self._drop),
            (14, self._merge),
            (14, self._part_ways),
            (8, self._cross),
            (8, self._revert),
            (5, self._diff),
            (6, self._evolve),
            (6, self._tidy),
            (8, self._embed),
            (7, self._clean),
            (3, self._pin),
            (10, self._rounds),
            (10, self._twins),
            (10, self._come_and_go),
            (6, self._crash),
            (5, self._look_back),
            (2, self._reopen),
        ]
        (plan,) = draw.choices([plan for _, plan in plans], [weight for weight, _ in plans])
        for step in plan(model):
            yield self._by_whom(step)

    def _by_whom(self, step: Step) -> Step:
        if (
            isinstance(step, Elsewhere | Crash | LookBack | Pin | Diff | Reopen)
            or self._random.random() > 0.25
        ):
            return step
        # A cleanup can't know what another process reads, so the process that reads cleans up.
        may_be_process = self._has_process and not isinstance(step, Clean)
        return Elsewhere(step, is_process=may_be_process and self._random.random() < 0.6)

    # Plans ---------------------------------------------------------------------------------------

    def _change(self, model: Model) -> Iterator[Step]:
        branch = self._branch(model)
        for _ in range(self._random.randint(1, 2)):
            yield self.mutation(model, branch)

    def _load(self, model: Model) -> Iterator[Step]:
        branch = self._branch(model)
        yield Load(branch, *self._rows(model.world(branch)))

    def _make(self, model: Model) -> Iterator[Step]:
        if len(model.lines) < MOST_BRANCHES:
            name, back = self._random.choice(BRANCHES), self._random.randrange(len(model.commits))
            if self._random.random() < 0.4:
                yield MakeBranch(name, commits=back)
            else:
                yield MakeBranch(name, self._branch(model))

    def _drop(self, model: Model) -> Iterator[Step]:
        yield DropBranch(self._random.choice([*model.lines, *BRANCHES]))

    def _merge(self, model: Model) -> Iterator[Step]:
        merge = Merge(*self._direction(model))
        if self._random.random() < 0.4:
            yield replace(merge, is_preview=True)
        resolve = self._resolution(merge.conflicts(model))
        is_last = self._random.random() < 0.15
        yield replace(merge, resolve=resolve, deletes=is_last)

    def _part_ways(self, model: Model) -> Iterator[Step]:
        """Two branches change the same rows, each in its own way, and meet again."""
        draw = self._random
        if len(model.lines) == 1:
            yield MakeBranch("draft")
        one, other = self._direction(model) if len(model.lines) > 1 else ("draft", MAIN)
        world = model.world(one if one in model.lines else MAIN)
        for _ in range(draw.randint(1, 2)):
            for branch in (one, other):
                yield self._about(world, branch, self._name(world))
        if draw.random() < 0.5:
            name = self._name(world)
            for branch in (one, other):
                yield self._about(world, branch, name)
        yield Merge(one, other, is_preview=True)
        yield Merge(one, other, draw.choice([None, "ours", "theirs"]))
        if draw.random() < 0.5:
            yield Merge(other, one, draw.choice([None, "ours", "theirs"]))

    def _cross(self, model: Model) -> Iterator[Step]:
        """Two branches take what the other had, so that there are two bases of what follows."""
        if len(model.lines) == 1:
            return
        draw, sides = self._random, self._direction(model)
        world = model.world(sides[0])
        for branch in sides:
            yield self._about(world, branch, self._name(world))
        for past, branch in zip(PASTS, sides, strict=True):
            yield MakeBranch(past, branch)
        resolve: Side = draw.choice(["ours", "theirs"])
        for past, branch in zip(reversed(PASTS), sides, strict=True):
            yield Merge(past, branch, resolve)
        for past in PASTS:
            yield DropBranch(past)
        for branch in draw.choices(sides, k=3):
            yield self._about(world, branch, self._name(world))
        yield Merge(*sides, is_preview=True)
        yield Merge(*sides, draw.choice([None, "ours", "theirs"]))

    def _about(self, world: World, branch: str, name: str) -> Mutate:
        """A change that has to do with one person."""
        draw, other = self._random, self._name(world)
        ada = Where("name", "=", name)
        known = [ends for ends in sorted(world.knows) if name in ends] or [(name, other)]
        statements: list[Statement] = [
            SetPerson("age", draw.randint(0, HIGHEST_AGE), ada),
            SetPerson("team", draw.choice(TEAMS), ada),
            SetPerson("nick", draw.choice(NICKS), ada),
            PutPerson(name, draw.randint(0, HIGHEST_AGE)),
            DropPeople(ada),
            DropPeople(ada),
            PutKnows(name, other, draw.randint(0, 3)),
            PutKnows(other, name, draw.randint(0, 3)),
            SetKnows(draw.randint(0, 3), "from", name),
            DropKnows(*draw.choice(known)),
            AddWrote(name, self._note(world), self._new_number()),
            self._set_note(world),
            DropNote(self._note(world)),
        ]
        return Mutate(branch, (draw.choice(statements),))

    def _resolution(self, conflicts: Sequence[Conflict]) -> Resolve:
        """Sides for conflicts: mostly for all of them, by rows or by properties."""
        draw = self._random
        if not conflicts or draw.random() < 0.3:
            return draw.choice([None, None, "ours", "theirs"])
        by_row = draw.random() < 0.4
        chosen: dict[tuple[Entity, str | None], Choice] = {}
        for conflict in conflicts:
            name = None if by_row else conflict.property
            side: Side = draw.choice(["ours", "theirs"])
            chosen.setdefault((conflict.entity, name), Choice(conflict.entity, side, name))
        choices = [*chosen.values()]
        if draw.random() < 0.15:
            choices.pop()
        if draw.random() < 0.1:
            choices.append(Choice(Entity("node", "Person", "nobody"), "ours"))
        return tuple(choices)

    def _revert(self, model: Model) -> Iterator[Step]:
        draw = self._random
        back = min(int(draw.expovariate(0.25)), len(model.commits) - 1)
        revert = Revert(self._branch(model), back)
        if draw.random() < 0.3:
            yield replace(revert, is_preview=True)
        yield replace(revert, resolve=self._resolution(revert.conflicts(model)))
        if draw.random() < 0.3:
            yield Revert(revert.branch, 0)

    def _evolve(self, model: Model) -> Iterator[Step]:
        """Mostly a step that can be taken: some want main to be alone."""
        if len(model.lines) > 1 and self._random.random() < 0.8:
            yield Evolve(self._random.choice(ADDITIVE))
            return
        yield Evolve(self._random.choice([*CHANGES]))
        yield self.mutation(model, MAIN)

    def _diff(self, model: Model) -> Iterator[Step]:
        many = len(model.commits)
        yield Diff(self._random.randrange(many), self._random.randrange(many))

    def _tidy(self, model: Model) -> Iterator[Step]:
        yield Tidy(self._branch(model))

    def _embed(self, model: Model) -> Iterator[Step]:
        """Some are of a team, which may be another than before, and get its vector."""
        draw, branch = self._random, self._branch(model)
        world = model.world(branch)
        for _ in range(draw.randint(0, 2)):
            where = draw.choice([Where("age", ">=", draw.randint(0, 9)), self._where(world)])
            yield Mutate(branch, (SetPerson("team", draw.choice(TEAMS), where),))
        only: EmbedOnly = draw.choice(["missing", "stale", "all"])
        yield Embed(branch, only)

    def _clean(self, model: Model) -> Iterator[Step]:
        yield Clean(self._random.choice([1, 1, 2, 4, 8]))

    def _pin(self, model: Model) -> Iterator[Step]:
        yield Pin(self._random.randrange(len(model.commits)))
        yield from self._clean(model)

    def _rounds(self, model: Model) -> Iterator[Step]:
        """A branch is brought up to date, worked on and merged back, again and again."""
        draw, onto = self._random, self._branch(model)
        ready = [name for name in sorted(model.lines) if model.is_up_to_date(name, onto)]
        branch = draw.choice(ready)
        if branch == onto:
            branch = draw.choice(BRANCHES)
            yield MakeBranch(branch, onto)
        for _ in range(draw.randint(1, 3)):
            for _ in range(draw.randint(0, 3)):
                yield self.mutation(model, onto)
            yield Merge(onto, branch)
            if draw.random() < 0.3:
                yield Tidy(branch)
            for _ in range(draw.randint(0, 3)):
                yield self.mutation(model, onto, on=branch)
            yield Merge(branch, onto)

    def _twins(self, model: Model) -> Iterator[Step]:
        """Two branches lose or change equally many rows of one table, but not the same ones."""
        if len(model.lines) == 1:
            yield MakeBranch("draft")
        one, other = self._direction(model) if len(model.lines) > 1 else ("draft", MAIN)
        world = model.world(one if one in model.lines else MAIN)
        draw = self._random
        kind = draw.choice(["drop people", "drop knows", "set people", "set knows"])
        if kind.endswith("people") and len(world.people) > 1:
            names = draw.sample(sorted(world.people), 2)
            for branch, name in zip((one, other), names, strict=True):
                where = Where("name", "=", name)
                if kind == "drop people":
                    yield Mutate(branch, (DropPeople(where),))
                else:
                    yield Mutate(branch, (SetPerson("age", draw.randint(0, 9), where),))
        elif len(world.knows) > 1:
            for branch, ends in zip((one, other), draw.sample(sorted(world.knows), 2), strict=True):
                if kind == "set knows":
                    yield Mutate(branch, (SetKnows(draw.randint(0, 9), "from", ends[0]),))
                else:
                    yield Mutate(branch, (DropKnows(*ends),))

    def _come_and_go(self, model: Model) -> Iterator[Step]:
        """A branch is made, written and read, and is gone; perhaps another gets its name."""
        name = self._random.choice(BRANCHES)
        if name in model.lines:
            yield DropBranch(name)
        source = self._branch(model)
        for _ in range(self._random.randint(1, 2)):
            yield MakeBranch(name, source)
            yield self.mutation(model, source, on=name)
            if self._random.random() < 0.5:
                yield self.mutation(model, source)
            yield DropBranch(name)
            # What was made from the branch's files is what comes next to hand.
            yield self.mutation(model, source)

    def _crash(self, model: Model) -> Iterator[Step]:
        branch = self._branch(model)
        steps: list[Write] = [
            self.mutation(model, branch),
            self.mutation(model, branch),
            Load(branch, *self._rows(model.world(branch))),
            Tidy(branch),
            Merge(*self._direction(model), self._random.choice(["ours", "theirs"])),
            Merge(*self._direction(model), self._random.choice(["ours", "theirs"])),
            Revert(branch, self._random.randint(0, 5), "theirs"),
            Evolve(self._random.choice([*CHANGES])),
            Embed(branch, "stale"),
        ]
        yield Crash(self._random.choice(steps), self._random.choice(list(Failpoint)))

    def _look_back(self, model: Model) -> Iterator[Step]:
        yield LookBack(self._random.randrange(len(model.commits)))

    def _reopen(self, model: Model) -> Iterator[Step]:
        yield Reopen()

    # Parts of steps ------------------------------------------------------------------------------

    def _branch(self, model: Model) -> str:
        return self._random.choice(sorted(model.lines))

    def _direction(self, model: Model) -> tuple[str, str]:
        """From a branch into another; mostly where something is to be merged."""
        names = sorted(model.lines)
        pairs = [(one, other) for one in names for other in names if one != other]
        useful = [(one, other) for one, other in pairs if not model.is_up_to_date(one, other)]
        if useful and self._random.random() < 0.7:
            return self._random.choice(useful)
        return self._random.choice(pairs or [(MAIN, MAIN)])

    def mutation(self, model: Model, like: str, *, on: str | None = None) -> Mutate:
        """A change that makes sense on the branch `like`."""
        world, many = model.world(like), self._random.choice([1, 1, 1, 2, 3])
        if self._random.random() < 0.4:
            return Mutate(on or like, tuple(self._drop_rows(world) for _ in range(min(many, 2))))
        return Mutate(on or like, tuple(self._put(world) for _ in range(many)))

    def _name(self, world: World) -> str:
        there = sorted(world.people)
        is_there = there and self._random.random() < 0.85
        return self._random.choice(there if is_there else NAMES)

    def _note(self, world: World) -> str:
        return self._random.choice([*sorted(world.notes), "n0"])

    def _new_number(self) -> int:
        self._fresh_number += 1
        return self._fresh_number

    def _where(self, world: World) -> Where:
        draw = self._random
        return draw.choice(
            [
                Where("name", "=", self._name(world)),
                Where("id", "=", self._name(world)),
                Where("name", "in", [self._name(world), self._name(world)]),
                Where("age", "=", draw.randint(0, HIGHEST_AGE)),
                Where("age", ">=", draw.randint(6, HIGHEST_AGE)),
                Where("team", "=", draw.choice(TEAMS[:2])),
                Where("name", "starts_with", self._name(world)),
            ]
        )

    def _put(self, world: World) -> Put:
        draw = self._random
        age = draw.choice([None, *range(HIGHEST_AGE + 1), *range(HIGHEST_AGE + 1), HIGHEST_AGE + 2])
        updates: list[tuple[str, Any]] = [
            ("age", draw.randint(0, HIGHEST_AGE)),
            ("team", draw.choice(TEAMS)),
            ("nick", draw.choice(NICKS)),
        ]
        puts: list[Put] = [
            PutPerson(draw.choice(NAMES), age, draw.choice(NICKS), draw.choice(TEAMS)),
            PutKnows(self._name(world), self._name(world), draw.randint(0, 3)),
            PutKnows(self._name(world), self._name(world), draw.randint(0, 3)),
            AddNote(f"n{self._new_number()}"),
            AddWrote(self._name(world), self._note(world), self._new_number()),
            SetPerson(*draw.choice(updates), self._where(world)),
            SetPerson(*draw.choice(updates), Where("name", "=", self._name(world))),
            SetKnows(draw.randint(0, 3), draw.choice(["from", "to"]), self._name(world)),
            self._set_note(world),
            *self._novelties(world),
        ]
        return draw.choice(puts)

    def _set_note(self, world: World) -> SetNote:
        draw, shape = self._random, world.shape
        columns = ["likes"] * (shape.likes is not None) + ["rank"] * shape.rank
        column = draw.choice(columns or ["likes"])
        return SetNote(draw.randint(1, 4), self._note(world), column)

    def _novelties(self, world: World) -> Iterator[Put]:
        """What the schema has beside the first one."""
        draw = self._random
        if world.shape.mood:
            mood = draw.choice(["glad", "low", None])
            yield SetPerson("mood", mood, Where("name", "=", self._name(world)))
            yield PutPerson(draw.choice(NAMES), 3, mood=mood)
        if world.shape.tags:
            yield PutTag(draw.choice("xyz"))
            yield PutTag(draw.choice("xyz"))

    def _drop_rows(self, world: World) -> Drop:
        draw = self._random
        pairs = sorted(world.knows) or [("a", "b")]
        drops: list[Drop] = [
            DropPeople(Where("name", "=", self._name(world))),
            DropPeople(self._where(world)),
            DropKnows(*draw.choice(pairs)),
            DropKnows(*draw.choice(pairs)),
            DropKnows(a=self._name(world)),
            DropKnows(b=self._name(world)),
            DropNote(self._note(world)),
            DropWrote(draw.choice(sorted(world.wrote) or [0])),
            *(DropTag(label) for label in sorted(world.tags)),
        ]
        return draw.choice(drops)

    def _rows(self, world: World) -> tuple[LoadModeName, Rows]:
        draw = self._random
        mode: LoadModeName = draw.choice(["append", "merge", "overwrite"])
        people: tuple[tuple[str, int | None, str | None], ...]
        if mode == "append":
            new = [name for name in NAMES if name not in world.people] or ["a"]
            people = tuple((name, draw.randint(0, 9), None) for name in draw.sample(new, 1))
            stamps = [self._new_number() for _ in range(2)]
        else:
            names = sorted(world.people) or ["a"]
            some = names if mode == "overwrite" else draw.choices(NAMES, k=draw.randint(0, 4))
            people = tuple((name, draw.randint(0, 9), draw.choice(NICKS)) for name in some)
            stamps = [*sorted(world.wrote)[:2], self._new_number()]
        knows = {(self._name(world), self._name(world)): draw.randint(0, 3) for _ in range(4)}
        rows = Rows(
            people,
            tuple((a, b, since) for (a, b), since in knows.items()),
            tuple(
                (f"n{self._new_number()}", draw.randint(0, 3)) for _ in range(draw.randint(0, 2))
            ),
            tuple((stamp, self._name(world), self._note(world)) for stamp in stamps),
        )
        # One that says something of every type seldom breaks no rule.
        dull = draw.sample(["people", "knows", "notes", "wrote"], draw.randint(1, 3))
        lighter = replace(rows, **dict.fromkeys(dull, ()))
        return mode, lighter if lighter != Rows() else rows
