"""Steps of a walk, as values, and the model of a graph with branches that foretells each of them.

A step can be taken anywhere: where it makes no sense it is refused, and the model knows by what. So
any part of a walk is a walk, which is what makes a failing one easy to cut down.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from omnigraph import Graph
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    ConstraintViolated,
    KeyTaken,
    OmnigraphError,
)
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.results import LoadResult, MergeResult, MutationResult, OptimizeResult
from tests.model.world import Ids, Rows, Statement, World, breaks_a_row

MAIN = "main"
UPKEEP = ("optimize", "index", "recovery")
"""Kinds of commits after which every row is what it was."""

Refusal = type[OmnigraphError]


@dataclass(frozen=True)
class ModelCommit:
    id: str
    world: World
    parents: tuple[str, ...]
    same_rows_as: str | None = None
    """Where the rows come from, if they are not its own."""


@dataclass
class Model:
    """Branches, and every commit that there ever was."""

    commits: dict[str, ModelCommit] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    """The commits of each branch that there is now, oldest first."""
    made_from: dict[str, str] = field(default_factory=dict)

    def world(self, branch: str) -> World:
        return self.commits[self.lines[branch][-1]].world

    @property
    def reachable(self) -> set[str]:
        """The commits on the lines of branches. The rows of others went with their branch."""
        return {commit for line in self.lines.values() for commit in line}

    @property
    def known(self) -> set[str]:
        """The commits that a branch descends from, on its line or by merges."""
        return {c for line in self.lines.values() for c in self.ancestors(line[-1])}

    def ancestors(self, commit: str) -> set[str]:
        """The commit and whatever leads to it."""
        found, ahead = set[str](), [commit]
        while ahead:
            current = ahead.pop()
            if current not in found:
                found.add(current)
                ahead += self.commits[current].parents
        return found

    def origin(self, commit: str) -> str:
        """The commit that first showed these rows: upkeep and a merge show those of another."""
        while (same := self.commits[commit].same_rows_as) is not None:
            commit = same
        return commit

    def has_had(self, branch: str, other: str) -> bool:
        """Whether the branch has ever held exactly what the other holds now."""
        wanted = self.origin(self.lines[other][-1])
        return any(self.origin(c) == wanted for c in self.ancestors(self.lines[branch][-1]))

    def is_up_to_date(self, source: str, target: str) -> bool:
        return self.has_had(target, source)

    def can_merge(self, source: str, target: str) -> bool:
        """Whether the target has no change that the source does not have too."""
        return self.has_had(source, target)

    def overlapping(self, name: str) -> bool:
        """Whether a branch has this name, or is a folder on the way to it, or the reverse."""
        taken = [(*other.split("/"),) for other in self.lines]
        parts = (*name.split("/"),)
        return any(o[: len(parts)] == parts or parts[: len(o)] == o for o in taken)

    def children(self, name: str) -> list[str]:
        return [child for child, source in self.made_from.items() if source == name]


# Writing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutate:
    branch: str
    statements: tuple[Statement, ...]

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.branch not in model.lines:
            return (BranchMissing,)
        is_bad = any(map(breaks_a_row, self.statements)) or not self.after(model).is_allowed
        return (ConstraintViolated, KeyTaken) if is_bad else ()

    def after(self, model: Model) -> World:
        world = model.world(self.branch)
        for statement in self.statements:
            world = statement.apply(world)
        return world

    def take(self, graph: Graph, ids: Ids) -> MutationResult:
        text = " ".join(statement.text(ids) for statement in self.statements)
        return graph.mutate(f"query q() {{ {text} }}", branch=self.branch)


@dataclass(frozen=True)
class Load:
    branch: str
    mode: LoadModeName
    rows: Rows

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.branch not in model.lines:
            return (BranchMissing,)
        is_strict = self.mode != "merge"
        is_new = self.mode == "append"
        is_bad = (
            self.rows.breaks_a_row()
            or (is_strict and self.rows.repeats_a_key())
            or (is_new and self.rows.meets_a_key_of(model.world(self.branch)))
            or not self.after(model).is_allowed
        )
        return (ConstraintViolated, KeyTaken) if is_bad else ()

    def after(self, model: Model) -> World:
        return self.rows.apply(model.world(self.branch), mode=self.mode)

    def take(self, graph: Graph, ids: Ids) -> LoadResult:
        lines = self.rows.lines(ids)
        return graph.load(lines, mode=self.mode, branch=self.branch, engine="local")


@dataclass(frozen=True)
class Merge:
    source: str
    branch: str

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.source == self.branch:
            return (ArgumentInvalid,)
        return () if {self.source, self.branch} <= model.lines.keys() else (BranchMissing,)

    def after(self, model: Model) -> World:
        if model.is_up_to_date(self.source, self.branch):
            return model.world(self.branch)
        return model.world(self.source)

    def take(self, graph: Graph, ids: Ids) -> MergeResult:
        return graph.branch_merge(self.source, self.branch)


@dataclass(frozen=True)
class Tidy:
    branch: str

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        return () if self.branch in model.lines else (BranchMissing,)

    def after(self, model: Model) -> World:
        return model.world(self.branch)

    def take(self, graph: Graph, ids: Ids) -> OptimizeResult:
        return graph.optimize(self.branch)


Write = Mutate | Load | Merge | Tidy


@dataclass(frozen=True)
class MakeBranch:
    name: str
    source: str = MAIN

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        reasons: list[Refusal] = []
        if self.source not in model.lines:
            reasons.append(BranchMissing)
        if model.overlapping(self.name):
            reasons.append(BranchExists)
        return tuple(reasons)

    def take(self, graph: Graph, ids: Ids) -> None:
        graph.branch_create(self.name, self.source)

    def settle(self, model: Model) -> None:
        model.lines[self.name] = [*model.lines[self.source]]
        model.made_from[self.name] = self.source


@dataclass(frozen=True)
class DropBranch:
    name: str

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.name == MAIN:
            return (ArgumentInvalid,)
        if self.name not in model.lines:
            return (BranchMissing,)
        return (BranchHasChildren,) if model.children(self.name) else ()

    def take(self, graph: Graph, ids: Ids) -> None:
        graph.branch_delete(self.name)

    def settle(self, model: Model) -> None:
        del model.lines[self.name]
        del model.made_from[self.name]


Branching = MakeBranch | DropBranch


# Who takes them ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elsewhere:
    """Somebody else takes the step, under the handle that is held open."""

    step: Write | Branching
    is_process: bool = False
    """A process of its own, not just another handle."""


@dataclass(frozen=True)
class Crash:
    """Somebody else takes the step and dies at this point; then the graph is opened again."""

    step: Write
    point: Failpoint


@dataclass(frozen=True)
class LookBack:
    """The handle reads the commit that was made so many commits ago, on whatever branch."""

    commits: int


@dataclass(frozen=True)
class Reopen:
    """The handle is replaced by a new one."""


Step = Write | Branching | Elsewhere | Crash | LookBack | Reopen


def inner(step: Step) -> Step:
    return step.step if isinstance(step, Elsewhere | Crash) else step


def record(
    model: Model, branch: str, found: Iterable[Any], after: World, source: str | None
) -> None:
    """Take over the commits that a write made. `found` is the line now, as the graph tells it.

    Of the new commits one at most is no upkeep; before it the old rows are there, from it on the
    new ones.
    """
    line = model.lines[branch]
    told = [*reversed(list(found))]
    assert [c.graph_commit_id for c in told[: len(line)]] == line, f"the past of {branch} changed"
    world, changes = model.world(branch), 0
    for commit in told[len(line) :]:
        is_upkeep = commit.kind in UPKEEP
        if not is_upkeep:
            changes, world = changes + 1, after
        assert commit.parent_commit_id == line[-1], "each commit stands on the one before"
        parents: tuple[str, ...] = (line[-1],)
        same_rows_as = line[-1] if is_upkeep else None
        if commit.kind == "merge":
            assert source is not None
            assert commit.merged_parent_commit_id == model.lines[source][-1]
            same_rows_as = model.lines[source][-1]
            parents += (same_rows_as,)
        model.commits[commit.graph_commit_id] = ModelCommit(
            commit.graph_commit_id, world, parents, same_rows_as
        )
        line.append(commit.graph_commit_id)
    assert changes <= 1, "one step is one change"
    assert world == after, f"nothing was published on {branch}"
