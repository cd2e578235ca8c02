"""Steps of a walk, as values, and what the model foretells of each of them.

A step can be taken anywhere: where it makes no sense it is refused, and the model knows by what. So
any part of a walk is a walk, which is what makes a failing one easy to cut down.
"""

from dataclasses import dataclass, replace

from omnigraph import Graph
from omnigraph.base.choices import EmbedOnly, LoadModeName
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    CommitMissing,
    CommitReclaimed,
    ConstraintViolated,
    KeyTaken,
    TypeCheckFailed,
)
from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.results import EmbedResult, LoadResult, MutationResult, OptimizeResult
from omnigraph.engine.upkeep_results import CleanupResult
from tests.model.lineage import MAIN, Foretold, Model, Refusal, Spelling
from tests.model.merge_steps import Merge, Revert
from tests.model.schema_steps import Evolve
from tests.model.statements import Rows, Statement, breaks_a_row, is_understood
from tests.model.world import Person, World

# Writing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutate:
    branch: str
    statements: tuple[Statement, ...]

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.branch not in model.lines:
            return (BranchMissing,)
        shape = model.world(self.branch).shape
        if not all(is_understood(statement, shape) for statement in self.statements):
            return (TypeCheckFailed,)
        is_bad = any(map(breaks_a_row, self.statements)) or not self._after(model).is_allowed
        return (ConstraintViolated, KeyTaken) if is_bad else ()

    def foretell(self, model: Model) -> Foretold:
        return Foretold(self._after(model), "mutation")

    def _after(self, model: Model) -> World:
        world = model.world(self.branch)
        for statement in self.statements:
            world = statement.apply(world)
        return world

    def take(self, graph: Graph, spelling: Spelling) -> MutationResult:
        shape = spelling.shape(self.branch)
        text = " ".join(statement.text(spelling.ids, shape) for statement in self.statements)
        return graph.mutate(f"query q() {{ {text} }}", branch=self.branch)


@dataclass(frozen=True)
class Load:
    branch: str
    mode: LoadModeName
    rows: Rows

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.branch not in model.lines:
            return (BranchMissing,)
        if not self.rows.is_understood(model.world(self.branch).shape):
            return (ConstraintViolated,)
        is_strict = self.mode != "merge"
        is_new = self.mode == "append"
        is_bad = (
            self.rows.breaks_a_row()
            or (is_strict and self.rows.repeats_a_key())
            or (is_new and self.rows.meets_a_key_of(model.world(self.branch)))
            or not self.foretell(model).world.is_allowed
        )
        return (ConstraintViolated, KeyTaken) if is_bad else ()

    def foretell(self, model: Model) -> Foretold:
        return Foretold(self.rows.apply(model.world(self.branch), mode=self.mode), "load")

    def take(self, graph: Graph, spelling: Spelling) -> LoadResult:
        lines = self.rows.lines(spelling.ids)
        return graph.load(lines, mode=self.mode, branch=self.branch, engine="local")


@dataclass(frozen=True)
class Tidy:
    branch: str

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        return () if self.branch in model.lines else (BranchMissing,)

    def foretell(self, model: Model) -> Foretold:
        return Foretold(model.world(self.branch))

    def take(self, graph: Graph, spelling: Spelling) -> OptimizeResult:
        return graph.optimize(self.branch)


@dataclass(frozen=True)
class Embed:
    branch: str
    only: EmbedOnly = "missing"

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        return () if self.branch in model.lines else (BranchMissing,)

    def foretell(self, model: Model) -> Foretold:
        world = model.world(self.branch)
        people = {name: self._after(person) for name, person in world.people.items()}
        return Foretold(replace(world, people=people), "embed")

    def _after(self, person: Person) -> Person:
        """Every vector was made by an earlier step: so it is stale if the team is another."""
        is_wanted = person.mark is None or (self.only != "missing" and person.mark != person.team)
        return person._replace(mark=person.team) if is_wanted else person

    def take(self, graph: Graph, spelling: Spelling) -> EmbedResult:
        return graph.embed(only=self.only, branch=self.branch, engine="local")


Write = Mutate | Load | Merge | Revert | Evolve | Tidy | Embed


@dataclass(frozen=True)
class MakeBranch:
    name: str
    source: str = MAIN
    commits: int | None = None
    """Not from a branch, but from the commit that was made so many commits ago."""

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        reasons: list[Refusal] = []
        if self._owner(model) is None:
            is_known = self.commits is not None and self._commit(model) in model.known
            missing = BranchMissing if self.commits is None else CommitMissing
            reasons.append(CommitReclaimed if is_known else missing)
        if self.commits is not None and self._commit(model) in model.gone:
            reasons.append(CommitReclaimed)
        if model.overlapping(self.name):
            reasons.append(BranchExists)
        return tuple(reasons)

    def take(self, graph: Graph, spelling: Spelling) -> None:
        back = self.commits
        graph.branch_create(self.name, self.source if back is None else spelling.counted_back(back))

    def settle(self, model: Model) -> None:
        owner = self._owner(model)
        assert owner is not None
        line = model.lines[owner]
        end = len(line) if self.commits is None else line.index(self._commit(model)) + 1
        model.lines[self.name] = line[:end]
        model.made_from[self.name] = owner

    def _owner(self, model: Model) -> str | None:
        """The branch that it is made from: of a commit, the branch that the commit was made on."""
        if self.commits is None:
            return self.source if self.source in model.lines else None
        commit = self._commit(model)
        made_on = model.commits[commit].branch
        return made_on if commit in model.lines.get(made_on, ()) else None

    def _commit(self, model: Model) -> str:
        return model.counted_back(self.commits or 0).id


@dataclass(frozen=True)
class DropBranch:
    name: str

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if self.name == MAIN:
            return (ArgumentInvalid,)
        if self.name not in model.lines:
            return (BranchMissing,)
        return (BranchHasChildren,) if model.children(self.name) else ()

    def take(self, graph: Graph, spelling: Spelling) -> None:
        graph.branch_delete(self.name)

    def settle(self, model: Model) -> None:
        model.forget(self.name)


@dataclass(frozen=True)
class Clean:
    """Remove old commits, as if nobody else had anything to do with the graph."""

    keep: int

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        return ()

    def take(self, graph: Graph, spelling: Spelling) -> CleanupResult:
        return graph.cleanup(keep=self.keep, grace="0s", confirm=True)

    def settle(self, model: Model, result: CleanupResult) -> None:
        promised = model.must_stay(self.keep)
        assert not promised & {*result.commits}, "it took what somebody needs"
        model.gone |= {*result.commits}
        model.kept &= promised


Branching = MakeBranch | DropBranch | Clean


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
class Pin:
    """From now on somebody reads the commit that was made so many commits ago."""

    commits: int


@dataclass(frozen=True)
class Diff:
    """The handle compares two commits, each counted back from the last one made."""

    one: int
    other: int


@dataclass(frozen=True)
class Reopen:
    """The handle is replaced by a new one."""


Step = Write | Branching | Elsewhere | Crash | LookBack | Pin | Diff | Reopen


def inner(step: Step) -> Step:
    return step.step if isinstance(step, Elsewhere | Crash) else step
