"""Random walks: the same steps for a graph and for the model, which agree after each of them.

The graph is read through a handle that stays open from the first step to the last, and through new
ones that know nothing. A walk that fails is cut down to few steps and told as a program.
"""

import io
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

from pytest import raises

from omnigraph import Graph
from omnigraph.base.errors import (
    ChangeCursorRejected,
    ChangeDiffRefused,
    ChangeFeedGap,
    CommitMissing,
    CommitReclaimed,
    MergeConflicts,
    OmnigraphError,
)
from omnigraph.base.failpoints import NEVER, CrashAt, Failpoint, Faults
from omnigraph.base.failpoints import Crash as Died
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.engine import Engine
from omnigraph.engine.handles.at import At
from omnigraph.engine.results import EmbedResult, MutationResult
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from tests.model.followed import Follower, changes_between, changes_told
from tests.model.lineage import MAIN, Foretold, Model, ModelCommit, Refusal, Spelling, record
from tests.model.merge_steps import Merge, Revert, conflict_key
from tests.model.merging import image_of
from tests.model.questions import CONTENTS, OTHERS, Question
from tests.model.schema_steps import Evolve
from tests.model.shapes import OF_NO_TABLE
from tests.model.steps import (
    Branching,
    Clean,
    Crash,
    Diff,
    DropBranch,
    Elsewhere,
    Embed,
    LookBack,
    MakeBranch,
    Mutate,
    Pin,
    Reopen,
    Step,
    Write,
)
from tests.model.world import (
    SCHEMA,
    Ids,
    World,
    world_of_lines,
)

MOCK = EmbedConfig("mock")
IN_FILES = LoadLimits(max_merged_bytes=-1, max_compared_bytes=400, max_matched_rows=10)
"""Of handles that are opened to take one step: their merges are done by tasks."""
ROLLED_BACK = {Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM}
NAMELESS = [question for question in CONTENTS if question.nameless]
EVERYTHING = [*CONTENTS, *OTHERS]


class Disagreement(AssertionError):
    """The graph says something else than the model."""


@dataclass(frozen=True)
class Ground:
    """Where a walk takes place."""

    place: str
    settings: Settings = field(default_factory=Settings)
    """Of the handle that stays open; its cache directory may be that of others too."""
    elsewhere: Executor | None = None
    """Another process, for steps that are taken there."""
    looks_each_step: bool = True
    """Otherwise at the end only, so that caches lie further behind what they are asked for."""


# Taking steps ------------------------------------------------------------------------------------


class Walk:
    """A graph and its model, side by side."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.model = Model()
        self.ids = Ids()
        self._agreed: dict[str, list[str]] = {}
        self._pinned: At | None = None
        self._followers: dict[str, Follower] = {}
        self._forsaken: dict[str, Follower] = {}
        Graph.init(ground.place, SCHEMA, durability="relaxed")
        self.held = self._open(ground.settings)
        (first,) = self.held.commits()
        self.model.commits[first.graph_commit_id] = ModelCommit(first.graph_commit_id, World(), ())
        self.model.lines[MAIN] = [first.graph_commit_id]

    def take(self, step: Step) -> None:
        match step:
            case Reopen():
                self.held = self._open(self.ground.settings)
            case LookBack(commits=commits):
                self._look_back(self.model.counted_back(commits).id)
            case Pin(commits=commits):
                self._pin(self.model.counted_back(commits).id)
            case Diff(one=one, other=other):
                self._diff(self.model.counted_back(one), self.model.counted_back(other))
            case Crash(step=write, point=point):
                self._die(write, point)
            case Elsewhere(step=step, is_process=is_process):
                executor = self.ground.elsewhere if is_process else None
                self._both(step, self._fresh(is_writer=True), executor)
            case _:
                self._both(step, self.held, None)
        if self.ground.looks_each_step:
            self.agree()

    def agree(self, *, is_last: bool = False) -> None:
        """Every branch holds what it should, whoever asks."""
        held, lines = self.held, self.model.lines
        _same("held", "branches", sorted(lines), sorted(held.branches()))
        for branch, line in lines.items():
            commits = [commit.graph_commit_id for commit in held.commits(branch)]
            _same("held", f"commits of {branch}", line, commits[::-1])
            self._ask("held", held, EVERYTHING, branch)
        for branch in [
            branch for branch, line in lines.items() if line != self._agreed.get(branch)
        ]:
            # One handle each: what it reads of one branch is no help or hindrance on the next.
            self._ask("fresh", self._fresh(), CONTENTS, branch)
            self._compare_export("held", held, branch)
            if self.ground.settings.cache_directory is not None:
                warm = self._open(self.ground.settings, read_only=True)
                self._ask("fresh with the disk cache", warm, EVERYTHING, branch)
        self._agreed = {branch: [*line] for branch, line in lines.items()}
        if self._pinned is not None and self.model.pinned in self.model.readable:
            self._ask("who has it open", self._pinned, CONTENTS, commit=self.model.pinned)
        self._follow(is_last=is_last)

    def _follow(self, *, is_last: bool) -> None:
        """Followers of all branches end with what the branches hold; of lost ones, with an error.

        Every branch is followed from the moment on at which it is first seen here, and mostly.
        """
        for branch in self._followers.keys() - self.model.lines.keys():
            self._forsaken[branch] = self._followers.pop(branch)
        for branch in self.model.lines:
            if branch in self._forsaken:
                with raises(ChangeCursorRejected):
                    self._forsaken.pop(branch).catch_up(self.held, self.spelling)
            if branch not in self._followers:
                self._followers[branch] = Follower.begin(self.held, branch, self.spelling)
            follower = self._followers[branch]
            if is_last or len(self.model.lines[branch]) % 4:
                self._catch_up(follower)
                expected = image_of(self.model.world(branch))
                _same(f"who follows {branch}", "rows", expected, follower.image)

    def _catch_up(self, follower: Follower) -> None:
        """A cursor leads to the end, unless a cleanup took a commit that it needs."""
        line = self.model.lines[follower.branch]
        ahead = line[line.index(follower.commit) :]
        try:
            follower.catch_up(self.held, self.spelling)
        except ChangeFeedGap:
            assert not {*ahead} <= self.model.readable, "all commits from the cursor on are there"
            follower.begin_anew(self.held, self.spelling)
            return
        has_one_schema = len({self.model.commits[commit].world.shape for commit in ahead}) == 1
        if len(ahead) > 1 and has_one_schema:
            assert ahead[0] in self.model.readable, "the rows before the first change are gone"

    def look_at_everything(self) -> None:
        """The present of every branch, and every commit that any of them descends from."""
        self.agree(is_last=True)
        fresh = self._fresh()
        for branch, line in self.model.lines.items():
            self._ask("fresh", self._fresh(), EVERYTHING, branch)
            self._compare_export("fresh", fresh, branch)
            rows = fresh.stats(branch).tables
            world = self.model.world(branch)
            told = {str(key): table.row_count for key, table in rows.items()}
            sizes = {
                "node:Person": len(world.people),
                "node:Note": len(world.notes),
                "edge:Knows": len(world.knows),
                "edge:Wrote": len(world.wrote),
                **({"node:Tag": len(world.tags)} if world.shape.tags else {}),
            }
            _same("fresh", f"sizes on {branch}", sizes, told)
            assert line
        for commit in self.model.readable:
            self._ask("held", self.held, CONTENTS, commit=commit)
            self._ask("fresh", fresh, CONTENTS, commit=commit)

    # Inside --------------------------------------------------------------------------------------

    @property
    def spelling(self) -> Spelling:
        shapes = {branch: self.model.world(branch).shape for branch in self.model.lines}
        return Spelling(self.ids, tuple(self.model.commits), shapes)

    def _open(
        self, settings: Settings, *, read_only: bool = False, faults: Faults = NEVER
    ) -> Graph:
        return Graph(
            Engine.open(
                self.ground.place,
                durability="relaxed",
                settings=replace(settings, embed=MOCK),
                read_only=read_only,
                faults=faults,
            )
        )

    def _fresh(self, *, is_writer: bool = False, faults: Faults = NEVER) -> Graph:
        settings = replace(self.ground.settings, cache_directory=None)
        if is_writer:
            settings = replace(settings, load_limits=IN_FILES)
        return self._open(settings, read_only=not is_writer, faults=faults)

    def _both(self, step: Write | Branching, graph: Graph, there: Executor | None) -> None:
        """Take the step in the graph and in the model: refused by both, or done by both."""
        refusals = step.refusals(self.model)
        result: Any
        try:
            if there is None:
                result = step.take(graph, self.spelling)
            else:
                place, spelling = self.ground.place, self.spelling
                result = there.submit(take_in_process, place, step, spelling).result()
        except OmnigraphError as error:
            self._refused(step, error, refusals)
            return
        if refusals:
            raise Disagreement(f"{step} was done, but {_names(refusals)} was to be expected")
        if isinstance(step, MakeBranch | DropBranch):
            step.settle(self.model)
        elif isinstance(step, Clean):
            step.settle(self.model, result)
        elif isinstance(step, Merge | Revert) and step.is_preview:
            self._compare_preview(step, result)
        else:
            self._settle(step, result)

    def _refused(
        self, step: Write | Branching, error: OmnigraphError, refusals: tuple[Refusal, ...]
    ) -> None:
        if isinstance(error, CommitReclaimed) and isinstance(step, Merge | Revert):
            assert step.may_be_too_late(self.model), f"{step} needs nothing that is gone"
            return
        if not isinstance(error, refusals):
            raise error
        if isinstance(error, MergeConflicts):
            assert isinstance(step, Merge | Revert)
            self._compare_conflicts(step, error.conflicts)

    def _compare_conflicts(self, step: Merge | Revert, told: Sequence[Any]) -> None:
        shape = self.model.world(step.branch).shape
        conflicts = step.joined(self.model).conflicts
        expected = {conflict_key(conflict, self.ids, shape) for conflict in conflicts}
        found = [(c.kind, c.type_name, c.entity_id, c.property) for c in told]
        _same("graph", "conflicts", sorted(expected, key=str), sorted(found, key=str))
        order = [
            (c.entity_kind == "edge", c.type_name, c.entity_id, c.kind, c.property or "")
            for c in told
        ]
        _same("graph", "the order of conflicts", sorted(order), order)

    def _compare_preview(self, step: Merge | Revert, result: Any) -> None:
        self._compare_conflicts(step, result.conflicts)
        before = image_of(self.model.world(step.branch))
        after = step.joined(self.model).image
        expected = changes_between(before, after)
        counts = Counter((entity.type_name, op) for entity, (op, _, _) in expected.items())
        told = {
            (name, op): many
            for name, each in result.counts.items()
            for op, many in zip(
                ("insert", "update", "delete"),
                (each.inserted, each.updated, each.deleted),
                strict=True,
            )
            if many
        }
        _same("preview", "how much would change", dict(counts), told)
        if result.changes is not None:
            _same("preview", "what would change", expected, changes_told(result.changes, self.ids))
        assert result.commit is None, "nobody moves anything by looking"
        if isinstance(step, Merge):
            _same("preview", "outcome", step.outcome(self.model), result.outcome)

    def _settle(self, step: Write, result: Any) -> None:
        branch, before = step.branch, self.model.world(step.branch)
        foretold = step.foretell(self.model)
        after = foretold.world
        if isinstance(result, MutationResult):
            told = (result.affected_nodes, result.affected_edges, result.commit is None)
            nodes, edges = before.differing_nodes(after), before.differing_edges(after)
            _same("mutate", "what changed", (nodes, edges, before == after), told)
        if isinstance(step, Embed) and result is not None:
            self._compare_embedded(before, after, result)
        if isinstance(step, Merge) and result is not None:
            expected = (step.outcome(self.model), step.loses_its_source(self.model))
            _same("merge", "outcome", expected, (result.outcome, result.branch_deleted))
        fresh = self._fresh()
        record(self.model, branch, fresh.commits(branch), foretold)
        if isinstance(step, Merge) and result is not None and result.branch_deleted:
            self.model.forget(step.source)
        if isinstance(step, Mutate):
            # New ids are learned at once: the next step may need them.
            self._ask("fresh", fresh, NAMELESS, branch)

    def _compare_embedded(self, before: World, after: World, result: EmbedResult) -> None:
        changed = [p.mark for n, p in after.people.items() if p.mark != before.people[n].mark]
        lost = changed.count(None)
        told = (result.embedded["Person"]["mark"], result.emptied)
        _same("embed", "vectors made and lost", (len(changed) - lost, lost), told)

    def _die(self, step: Write, point: Failpoint) -> None:
        refusals = step.refusals(self.model)
        result = None
        try:
            result = step.take(self._fresh(is_writer=True, faults=CrashAt(point)), self.spelling)
            is_done = True  # there was nothing to do, or nothing between two tables
        except Died:
            is_done = point not in _undone_at(step)
        except OmnigraphError as error:
            self._refused(step, error, refusals)
            return
        if refusals:
            raise Disagreement(f"{step} was begun, but {_names(refusals)} was to be expected")
        healed = self._fresh(is_writer=True)
        if is_done:
            self._settle(step, result)
        else:
            unmoved = Foretold(self.model.world(step.branch))
            record(self.model, step.branch, healed.commits(step.branch), unmoved)

    def _look_back(self, commit: str) -> None:
        known, expected = self.model.known, self.model.commits[commit]
        for graph in (self.held, self._fresh()):
            if commit not in known:
                with raises(CommitMissing):
                    graph.commit(commit)
            else:
                told = graph.commit(commit)
                found = (told.parent_commit_id, told.merged_parent_commit_id)
                parents = [*expected.parents, None, None][:2]
                _same("graph", f"parents of {commit}", parents, [*found])
        if commit in self.model.readable:
            self._ask("held", self.held, EVERYTHING, commit=commit)
            return
        if commit in self.model.gone & known:
            for graph in (self.held, self._fresh()):
                with raises(CommitReclaimed):
                    self._ask("someone", graph, CONTENTS, commit=commit)
            return
        try:
            # Not every file of a branch is its own: its rows may be there yet.
            self._ask("held", self.held, CONTENTS, commit=commit)
        except CommitReclaimed:
            assert commit in known, f"commit {commit} is not known any more"
        except CommitMissing:
            assert commit not in known, f"commit {commit} was merged"

    def _pin(self, commit: str) -> None:
        self._pinned = self.held.at(commit) if commit in self.model.readable else None
        self.model.pinned = None if self._pinned is None else commit

    def _diff(self, one: ModelCommit, other: ModelCommit) -> None:
        try:
            told = self.held.diff(one.id, other.id).to_pylist()
        except ChangeDiffRefused:
            assert one.world.shape != other.world.shape, "both have one schema"
            return
        except (ChangeFeedGap, CommitMissing, CommitReclaimed):
            assert not {one.id, other.id} <= self.model.readable, "both can be read"
            return
        expected = changes_between(image_of(one.world), image_of(other.world))
        _same("held", "diff", expected, changes_told(told, self.ids))

    def _ask(
        self,
        who: str,
        graph: Graph | At,
        questions: Sequence[Question],
        branch: str = MAIN,
        *,
        commit: str | None = None,
    ) -> None:
        world = self.model.world(branch) if commit is None else self.model.commits[commit].world
        where = branch if commit is None else f"commit {list(self.model.commits).index(commit)}"
        for question in questions:
            if not question.needs(world.shape):
                continue
            text = world.shape.spelled(question.text)
            try:
                if isinstance(graph, Graph):
                    at = branch if commit is None else None
                    answer = graph.query(text, branch=at, snapshot=commit)
                else:
                    answer = graph.query(text)
            except Exception as error:
                error.add_note(f"{who} on {where}: {question.about}: {text}")
                raise
            if commit is None:
                head = self.model.lines[branch][-1]
                _same(f"{who} on {where}", "commit", head, str(answer.graph_commit_id))
            found = question.answers(answer.to_pylist(), self.ids)
            _same(f"{who} on {where}", question.about, question.expected(world), found)

    def _compare_export(self, who: str, graph: Graph, branch: str) -> None:
        lines = io.BytesIO()
        graph.export(lines, branch=branch)
        world = self.model.world(branch)
        exported = world_of_lines(lines.getvalue(), self.ids, world.shape)
        _same(f"{who} on {branch}", "export", world, exported)


def _same(who: str, about: str, expected: object, found: object) -> None:
    if expected != found:
        raise Disagreement(f"{who}: {about}\n  expected {expected}\n  found    {found}")


def _undone_at(step: Write) -> set[Failpoint]:
    """Where a death leaves nothing behind: until a table has moved, or all is published."""
    moves_nothing = isinstance(step, Evolve) and step.change in OF_NO_TABLE
    return ROLLED_BACK | ({Failpoint.AFTER_LAND_ALL} if moves_nothing else set())


def _names(refusals: tuple[Refusal, ...]) -> str:
    return " or ".join(refusal.__name__ for refusal in refusals)


_handles: dict[str, Graph] = {}


def take_in_process(place: str, step: Write | Branching, spelling: Spelling) -> Any:
    """Take a step in another process, whose handle stays open too."""
    if place not in _handles:
        settings = replace(Settings.from_environment(), embed=MOCK)
        _handles[place] = Graph.open(place, durability="relaxed", settings=settings)
    return step.take(_handles[place], spelling)
