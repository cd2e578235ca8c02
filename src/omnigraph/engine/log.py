"""The log of a graph: the commits of all its branches, and how they descend from each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from omnigraph.base.ids import BranchName, CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import LogRead
from omnigraph.engine.results import CommitInfo

__all__ = ["Log", "log"]


@dataclass(frozen=True, slots=True)
class Log:
    """Commits of several lines, and the branches at whose heads they stand."""

    commits: tuple[CommitInfo, ...]
    """Newest first: each stands before its parents, whatever clocks say."""
    heads: Mapping[BranchName, CommitId]
    """The head of each branch, main first."""


def log(engine: Engine, request: LogRead) -> Log:
    """The commits that branches descend from, on their lines and by merges."""
    engine.gate.allow(request)
    branches = engine.store.branches
    named = branches.list() if request.is_whole else [branches.resolve(request.branch)]
    history = engine.store.history()
    heads = history.heads(branch.name for branch in named)
    found = islice(history.descent(heads.values()), request.limit)
    return Log(tuple(map(CommitInfo.of, found)), heads)
