"""The log of a graph: the commits of all its branches, and how they descend from each other."""

from collections.abc import Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.history import at_most, known, readable
from omnigraph.engine.requests import LogRead
from omnigraph.engine.results import CommitInfo, shown_commit
from omnigraph.engine.travel import told

__all__ = ["Log", "log"]


@frozen
class Log:
    """Commits of several lines, and the branches at whose heads they stand."""

    commits: tuple[CommitInfo, ...]
    """Newest first: each stands before its parents, whatever clocks say."""
    heads: Mapping[BranchName, CommitId]
    """The head of each branch, main first."""

    def to_svg(self) -> str:
        """A picture of how the newest commits descend from each other, for a file."""
        from omnigraph.engine.notebook.page import ALONE

        return self._svg(ALONE)

    def _repr_html_(self) -> str:
        """The same picture, for a notebook."""
        from omnigraph.engine.notebook.page import in_page

        return in_page(self._svg(""))

    def _svg(self, style: str) -> str:
        from omnigraph.engine.notebook.history import COMMITS_SHOWN, history_svg

        shown = [
            shown_commit(
                commit,
                parents=(commit.parent_commit_id, commit.merged_parent_commit_id),
                names=tuple(n for n, head in self.heads.items() if head == commit.graph_commit_id),
            )
            for commit in self.commits[:COMMITS_SHOWN]
        ]
        return history_svg(shown, len(self.commits), style)


def log(engine: Engine, request: LogRead) -> Log:
    """The commits that branches descend from, on their lines and by merges, as far as the actor
    may read the branches that they were made on."""
    engine.gate.allow(request)
    named = [engine.store.branches.resolve(request.branch)] if not request.is_whole else None
    named = readable(engine, request) if named is None else named
    for branch in named:
        engine.finish_pending(branch.name, request.actor)
    history = engine.store.history()
    heads = history.heads(branch.name for branch in named)
    found = at_most(request.limit, known(engine, request, history.descent(heads.values())))
    return Log(tuple(told(engine, request, commit) for commit in found), heads)
