"""A walk: one open graph shared by a boss and two actors, and for each actor the graph without what
is hidden. After each step every door of the first tells an actor what the second tells anybody.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from omnigraph import Graph
from omnigraph.base.ids import BranchName
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.read.tables.cold_lookups import TraversalMode
from tests.policy.walks import answers
from tests.policy.walks.bringing import BringingLaw
from tests.policy.walks.roles import ACTORS, BOSS, Role, policy_of, random_role
from tests.policy.walks.schemas import Shape
from tests.policy.walks.states import State, bring, empty_graph, in_catalog, seen_of, state_of
from tests.policy.walks.steps import (
    Clean,
    DropBranch,
    Embed,
    Evolve,
    Load,
    MakeBranch,
    Merge,
    Mutate,
    NewPolicy,
    Revert,
    Step,
    Tidy,
    random_row,
    random_step,
)
from tests.policy.walks.writing import WritingLaw

SETTINGS = Settings(load_engine="local", embed=EmbedConfig("mock"))
IN_FILES = replace(SETTINGS, load_limits=LoadLimits(max_lookup_bytes=0, max_merged_bytes=0))
WAYS = (SETTINGS, replace(SETTINGS, traversal_mode=TraversalMode.INDEXED), IN_FILES)
"""In memory, cold, and in files: each walk goes one way."""
# A boss writes more than others: most of what actors try is denied.
WRITERS = [BOSS, BOSS, *ACTORS, *ACTORS]

Question = tuple[object, Callable[[], tuple[Any, Any]]]
Write = Callable[[Graph, str], Any]
"""Makes a write on a branch of a graph, and tells what came of it."""


@dataclass(eq=False)
class Removed:
    """The graph without what is hidden, and which of its commits shows what a commit shows."""

    engine: Engine
    commits: list[tuple[str, str]] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        return Graph(self.engine)


class Walk:
    def __init__(self, root: Path, seed: int) -> None:
        self.random, self._asking = Random(seed), Random(seed)
        self._settings = WAYS[seed % len(WAYS)]
        self.shape = Shape()
        self._root = root
        self._made = 0
        self._taken: list[Step] = []
        self._removed: dict[tuple[str, str], Removed] = {}
        uri = str(root / "whole")
        with Graph.init(uri, self.shape.text, durability="relaxed", settings=SETTINGS) as founded:
            founded.load(self._random_rows(12), mode="merge", **self._aside())
            founded.embed()
            founded.branch_create("side")
            founded.load(self._random_rows(3), mode="merge", branch="side", **self._aside())
        self.roles = self._random_roles()
        policy = policy_of(self.roles)
        self.graph = Graph(
            Engine.open(
                uri, durability="relaxed", settings=self._settings, policy=policy, actor=BOSS
            )
        )

    def close(self) -> None:
        self.graph.close()

    # Steps ---------------------------------------------------------------------------------------

    def step(self) -> None:
        step = random_step(self.random, self.graph.branches(), WRITERS)
        self._taken.append(step)
        self.take(step)

    def told(self) -> str:
        """How the walk went, for whoever has to look."""
        return "\n".join(["after these steps:", *map(repr, self._taken), "roles:", self._policy])

    @property
    def _policy(self) -> str:
        (source,) = policy_of(self.roles).bundle.sources
        return source.text

    def take(self, step: Step) -> None:
        match step:
            case Mutate() | Load() if step.actor != BOSS:
                WritingLaw(self, step.actor, step.branch).check(self._write(step))
            case Mutate() | Load():
                answers.outcome(lambda: self._write(step)(self.graph, step.branch))
            case MakeBranch(actor=actor, branch=branch, source=source):
                made = answers.outcome(lambda: self.as_(actor).branch_create(branch, source))
                assert made is None, made
            case DropBranch(branch=branch):
                if answers.outcome(lambda: self.graph.branch_delete(branch)) is None:
                    self._forget(branch)
            case Merge(source=source, into=into, ours=ours, theirs=theirs):
                self._change(into, ours)
                self._change(source, theirs)
                BringingLaw(self, step).check()
            case Revert():
                BringingLaw(self, step).check()
            case Evolve():
                self._evolve()
            case Tidy(branch=branch):
                self.graph.optimize(branch)
            case Clean():
                self.graph.cleanup(keep=2, grace="0s", confirm=True)
                for removed in self._removed.values():
                    del removed.commits[:-1]
            case Embed(actor=actor):
                answers.outcome(lambda: self.as_(actor).embed())
            case NewPolicy():
                self.roles = self._random_roles()
                self.graph = self.graph.under_policy(policy_of(self.roles))
                self._removed.clear()

    def _change(self, branch: str, text: str | None) -> None:
        if text is not None:
            answers.outcome(lambda: self.graph.mutate(answers.text(text), branch=branch))
            for actor in ACTORS:
                self.removed(actor, branch)  # each commit is one of theirs too

    def _write(self, step: Mutate | Load) -> Write:
        if isinstance(step, Mutate):
            asked = answers.text(step.text)

            def mutate(graph: Graph, branch: str) -> Any:
                done = graph.mutate(asked, branch=branch)
                return done.affected_nodes, done.affected_edges, done.commit is not None

            return mutate

        def load(graph: Graph, branch: str) -> Any:
            more = self._aside() if step.on_error == "quarantine" else {}
            done = graph.load(
                list(step.rows), mode=step.mode, branch=branch, dry_run=step.dry_run, **more
            )
            counts = dict(done.nodes), dict(done.edges), dict(done.rows)
            return *counts, done.read, done.rejected, done.hints, done.commit is not None

        return load

    def _aside(self) -> dict[str, Any]:
        """Where a load puts bad rows."""
        self._made += 1
        return {"on_error": "quarantine", "quarantine": self._root / f"rejected-{self._made}"}

    @property
    def is_in_files(self) -> bool:
        return self._settings is IN_FILES

    def as_(self, actor: str) -> Graph:
        return self.graph.as_actor(actor)

    def states(self) -> dict[str, State]:
        """All rows of every branch."""
        store = self.graph.engine.store
        return {branch: state_of(store.snapshot(BranchName(branch))) for branch in self.branches()}

    def branches(self) -> list[str]:
        return [branch.name for branch in self.graph.engine.store.branches.list()]

    def _evolve(self) -> None:
        shape = self.shape.next(self.random)
        is_alone = self.branches() == ["main"]
        before = self.states()
        try:
            self.graph.schema_apply(shape.text)
        except OmnigraphError as refusal:
            assert self.states() == before
            allowed = [] if is_alone else ["branch_in_use"]
            if self._names_renamed(shape):
                allowed.append("policy_in_use")
            assert refusal.code in allowed, refusal
            return
        assert not self._names_renamed(shape)
        self.shape = shape
        self._forget("main")

    def _names_renamed(self, shape: Shape) -> bool:
        """True if a rule names what another shape calls otherwise."""
        named = frozenset[str]().union(*(role.names for role in self.roles.values()))
        is_badge = shape.badge != self.shape.badge and "Person.badge" in named
        return is_badge or (shape.team != self.shape.team and "Team" in named)

    def _random_rows(self, count: int) -> list[dict[str, Any]]:
        return [random_row(self.random) for _ in range(count)]

    def _random_roles(self) -> dict[str, Role]:
        lacking = {"Person.badge": self.shape.badge == "mark", "Team": self.shape.team == "Crew"}
        roles = {}
        for actor in ACTORS:
            role = random_role(self.random)
            while any(lacking.get(name) for name in role.names):
                role = random_role(self.random)
            roles[actor] = role
        return roles

    # The graph without what is hidden ------------------------------------------------------------

    def removed(self, actor: str, branch: str) -> Removed:
        """It is brought up to date: it has the rows that the actor should see."""
        engine = self.graph.engine
        snapshot = engine.store.snapshot(BranchName(branch))
        guard = engine.gate.guard
        assert guard is not None
        catalog = guard.scope(snapshot, actor, "read", (branch,)).catalog
        found = self._removed.get((actor, branch))
        if found is None:
            self._made += 1
            place = str(self._root / f"removed-{self._made}")
            text = self.graph.schema(branch).text
            found = Removed(empty_graph(place, text, catalog, SETTINGS))
            self._removed[actor, branch] = found
        seen = seen_of(state_of(snapshot), snapshot.catalog, self.roles[actor])
        bring(found.engine, in_catalog(seen, catalog))
        head, own = snapshot.commit.id, found.engine.store.snapshot().commit.id
        if not found.commits or found.commits[-1][0] != head:
            found.commits.append((head, own))
        return found

    def _forget(self, branch: str) -> None:
        for key in [key for key in self._removed if key[1] == branch]:
            del self._removed[key]

    # What must hold ------------------------------------------------------------------------------

    def compare(self, share: float) -> None:
        """Ask about this share of what can be asked, of every door in turn."""
        for actor in ACTORS:
            for branch in self.branches():
                removed = self.removed(actor, branch)
                for part, ask in self._questions(actor, branch, removed):
                    if self._asking.random() < share:
                        ours, theirs = ask()
                        assert ours == theirs, (actor, branch, part)
            if self._asking.random() < share / 6:
                self._compare_plans(actor)

    def _questions(self, actor: str, branch: str, removed: Removed) -> Iterator[Question]:
        """What both graphs are asked: the one with the policy, and the one without the hidden."""
        graph, other = self.as_(actor), removed.graph
        for query in answers.QUERIES:
            yield query, partial(_both, answers.asked, (graph, query), (other, query), branch)
        yield "export", partial(_both, answers.exported, (graph,), (other,), branch)
        yield "sizes", partial(_both, answers.sizes, (graph,), (other,), branch)
        for id_ in ("p0", "p1"):
            asked = (graph, "Person", id_), (other, "Person", id_)
            yield "around", partial(_both, answers.around, *asked, branch)
            yield "looked at", partial(_both, answers.looked_at, (graph, id_), (other, id_), branch)
        if branch != "main":
            return
        (first, first_own), (last, last_own) = removed.commits[0], removed.commits[-1]
        earlier, earlier_own = removed.commits[-2:][0]
        for limit in (None, 1):
            pages = (graph, first, limit), (other, first_own, limit)
            yield "feed", partial(_both, answers.fed, *pages)
        for one, own in ((first, first_own), (earlier, earlier_own)):
            asked = (graph, one, last), (other, own, last_own)
            yield "diff", partial(_both, answers.differences, *asked)
            for query in answers.QUERIES[::5]:
                asked = (graph, query, one), (other, query, own)
                yield ("then", query), partial(_both, answers.asked_at, *asked)

    def _compare_plans(self, actor: str) -> None:
        """Guesses about values are kept for a while: both begin with empty caches."""
        whole, removed = self.graph.engine, self.removed(actor, "main").engine
        guard = whole.gate.guard
        assert guard is not None
        opened = (
            Engine.over(whole.store, self._settings, policy=guard.policy, actor=actor),
            Engine.over(removed.store, self._settings),
        )
        graphs = [Graph(engine) for engine in opened]
        role, catalog = self.roles[actor], whole.store.snapshot().catalog
        plain = [node.name for node in catalog.nodes if role.sees_whole(node.name)]
        for query in answers.QUERIES:
            for analyze in (False, True):
                ours, theirs = (answers.planned(g, query, plain, analyze=analyze) for g in graphs)
                assert ours == theirs, (actor, query)


def _both(
    ask: Callable[..., Any], ours: Sequence[Any], theirs: Sequence[Any], branch: str | None = None
) -> tuple[Any, Any]:
    """Two answers. The graph without the hidden has one branch, whichever is meant."""
    return ask(*ours) if branch is None else ask(*ours, branch=branch), ask(*theirs)
