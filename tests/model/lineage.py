"""The model of a graph with branches: every commit that there ever was, and who descends from whom.

A commit stays known as long as a branch descends from it, by a merge too. Its rows can be read for
certain as long as it stands on the line of a branch: the files of a branch go with the branch,
unless two others will be merged from a commit of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from omnigraph.base.errors import OmnigraphError
from tests.model.shapes import Shape
from tests.model.world import Ids, World

Refusal = type[OmnigraphError]

MAIN = "main"
LEVELS = 10
"""So many levels of bases of bases are looked at by a merge, and kept by a cleanup."""
UPKEEP = ("optimize", "index", "recovery")
"""Kinds of commits after which every row is what it was."""


@dataclass(frozen=True)
class ModelCommit:
    id: str
    world: World
    parents: tuple[str, ...]
    same_rows_as: str | None = None
    """Where the rows come from, if they are not its own."""
    place: int = 0
    """How many commits stand before it on its line."""
    kind: str = "init"
    branch: str = MAIN
    """The branch that it was made on."""


@dataclass
class Model:
    """Branches, and every commit that there ever was."""

    commits: dict[str, ModelCommit] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    """The commits of each branch that there is now, oldest first."""
    made_from: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    """Commits of deleted branches whose rows stay, since other branches are merged from them."""
    gone: set[str] = field(default_factory=set)
    """Commits whose rows a cleanup has removed."""
    pinned: str | None = None
    """The commit that somebody has open."""

    # Branches ------------------------------------------------------------------------------------

    def head(self, branch: str) -> ModelCommit:
        return self.commits[self.lines[branch][-1]]

    def world(self, branch: str) -> World:
        return self.head(branch).world

    def overlapping(self, name: str) -> bool:
        """Whether a branch has this name, or is a folder on the way to it, or the reverse."""
        taken = [(*other.split("/"),) for other in self.lines]
        parts = (*name.split("/"),)
        return any(o[: len(parts)] == parts or parts[: len(o)] == o for o in taken)

    def children(self, name: str) -> list[str]:
        return [child for child, source in self.made_from.items() if source == name]

    def forget(self, branch: str) -> None:
        line = self.lines.pop(branch)
        heads = [other[-1] for other in self.lines.values()]
        own = {*line} - {commit for other in self.lines.values() for commit in other}
        if any(own & self.all_bases(*pair) for pair in combinations(heads, 2)):
            self.kept |= own
        del self.made_from[branch]

    # Commits -------------------------------------------------------------------------------------

    def counted_back(self, commits: int) -> ModelCommit:
        """The commit that was made so many commits ago, on whatever branch."""
        made = [*self.commits]
        return self.commits[made[-1 - commits % len(made)]]

    @property
    def readable(self) -> set[str]:
        """The commits on the lines of branches. Those of a deleted branch lose their rows, unless
        they are kept; a cleanup may take the rows of all others."""
        on_lines = set[str]().union(*self.lines.values())
        return (on_lines | (self.kept & self.known)) - self.gone

    def must_stay(self, keep: int) -> set[str]:
        """What no cleanup may touch that keeps so many commits: these, the bases of later merges,
        and what is open."""
        heads = [line[-1] for line in self.lines.values()]
        bases = (self.all_bases(*pair) for pair in combinations(heads, 2))
        newest = (line[-keep:] for line in self.lines.values())
        return set[str]().union(*newest, *bases, {self.pinned or heads[0]}) & self.readable

    @property
    def known(self) -> set[str]:
        """The commits that a branch descends from."""
        found = set[str]()
        for line in self.lines.values():
            found |= self.ancestors(line[-1])
        return found

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
        """The commit that first showed these rows: upkeep shows its parent's, a fast-forward its
        source's."""
        while (same := self.commits[commit].same_rows_as) is not None:
            commit = same
        return commit

    def merge_bases(self, one: str, other: str) -> list[ModelCommit]:
        """The latest commits that both descend from, none of them an ancestor of another.

        The one with the most commits before it on its line comes first, and of those the one with
        the greatest id.
        """
        common = self.ancestors(one) & self.ancestors(other)
        lower = {a for commit in common for a in self.ancestors(commit) - {commit}}
        latest = (self.commits[commit] for commit in common - lower)
        return sorted(latest, key=lambda c: (c.place, c.id), reverse=True)

    def all_bases(self, one: str, other: str, levels: int = LEVELS) -> set[str]:
        """The merge bases, and those of any two of several bases themselves."""
        found = {base.id for base in self.merge_bases(one, other)}
        pairs = combinations(found, 2) if levels > 1 else ()
        return found.union(*(self.all_bases(*pair, levels - 1) for pair in pairs))

    # Merging -------------------------------------------------------------------------------------

    def has_had(self, branch: str, other: str) -> bool:
        """Whether the branch has ever held exactly what the other holds now."""
        wanted = self.origin(self.lines[other][-1])
        return any(self.origin(c) == wanted for c in self.ancestors(self.lines[branch][-1]))

    def knows_schema(self, branch: str, shape: Shape) -> bool:
        """Whether a schema is that of the branch, or was before."""
        return any(self.commits[commit].world.shape == shape for commit in self.lines[branch])

    def is_up_to_date(self, source: str, target: str) -> bool:
        return self.has_had(target, source)

    def is_forward(self, source: str, target: str) -> bool:
        """Whether the target has no change that the source does not have too."""
        return self.has_had(source, target)


# Commits that a step makes -----------------------------------------------------------------------


@dataclass(frozen=True)
class Foretold:
    """What a write comes to on its branch."""

    world: World
    kind: str | None = None
    """Of the commit; if left out there is none but for upkeep."""
    merged: str | None = None
    """The commit that was merged. Then there is a commit even if no row changes."""
    is_forward: bool = False
    """Whether the rows are those of the merged commit by descent, not just by value."""


@dataclass(frozen=True)
class Spelling:
    """What one must know of a graph to write a step as a call."""

    ids: Ids
    commits: tuple[str, ...] = ()
    """All there ever were, in the order in which they were made."""
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """The schema of each branch."""

    def shape(self, branch: str) -> Shape:
        return self.shapes.get(branch, Shape())

    def counted_back(self, commits: int) -> str:
        return self.commits[-1 - commits % len(self.commits)]


def record(model: Model, branch: str, found: Iterable[Any], foretold: Foretold) -> None:
    """Take over the commits that a write made. `found` is the line now, as the graph tells it.

    Of the new commits one at most is no upkeep; before it the old rows are there, from it on the
    new ones.
    """
    line = model.lines[branch]
    told = [*reversed(list(found))]
    assert [c.graph_commit_id for c in told[: len(line)]] == line, f"the past of {branch} changed"
    world, changes = model.world(branch), 0
    for commit in told[len(line) :]:
        assert commit.parent_commit_id == line[-1], "each commit stands on the one before"
        parents: tuple[str, ...] = (line[-1],)
        same_rows_as: str | None = line[-1]
        merged = None
        if commit.kind not in UPKEEP:
            changes, world, merged = changes + 1, foretold.world, foretold.merged
            assert commit.kind == foretold.kind, f"a commit of the kind {commit.kind}"
            same_rows_as = merged if foretold.is_forward else None
        assert commit.merged_parent_commit_id == merged, "a merge has two parents, others one"
        model.commits[commit.graph_commit_id] = ModelCommit(
            commit.graph_commit_id,
            world,
            parents if merged is None else (*parents, merged),
            same_rows_as,
            len(line),
            commit.kind,
            branch,
        )
        line.append(commit.graph_commit_id)
    assert changes <= 1, "one step is one change"
    assert changes or foretold.merged is None, f"no merge was published on {branch}"
    assert world == foretold.world, f"nothing was published on {branch}"
