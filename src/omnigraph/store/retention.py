"""Which commits a clean-up keeps, and so which versions of tables.

Of each branch the newest commits stay, and every commit that was the newest at some time since a
given moment. They are the end of the branch's line, without a gap: a cursor of a change feed that
stands on one of them finds all that came after it. Beside them stay the commits that two branches
are merged from, and those that somebody in this process reads.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.history import CommitLog
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import DatasetRef

__all__ = ["KeptFor", "Retained", "Retention", "retained"]


class KeptFor(StrEnum):
    """Why a commit can still be read."""

    NEWEST = "newest"
    """It is among the newest commits of a branch."""
    RECENT = "recent"
    """It was the newest commit of a branch not long ago."""
    MERGE_BASE = "merge_base"
    """Two branches are compared with it when one is merged into the other."""
    IN_USE = "in_use"
    """A handle or a query of this process reads it."""


@frozen
class Retention:
    """How much of each branch's line stays."""

    commits: int
    """So many of the newest, at least 1."""
    since_ms: int
    """And those that were the newest at this moment or later."""


@dataclass
class Retained:
    commits: dict[CommitId, KeptFor] = field(default_factory=dict)
    refs: set[DatasetRef] = field(default_factory=set)
    """The versions of tables that these commits pin."""

    def add(self, commit: CommitId, reason: KeptFor, refs: Iterable[DatasetRef]) -> None:
        self.commits.setdefault(commit, reason)
        self.refs.update(refs)


def retained(
    store: GraphStore,
    branches: Iterable[BranchName],
    retention: Retention,
    in_use: Iterable[Snapshot],
) -> Retained:
    """The commits that stay. The caller holds the fences of all branches."""
    history, kept, heads = store.history(), Retained(), dict[CommitId, None]()
    for branch in branches:
        ending = list(_end_of_line(history.line(branch), retention))
        heads[ending[0][0].id] = None
        for commit, reason in ending:
            kept.add(commit.id, reason, (change.ref for change in commit.changes))
        kept.refs |= store.refs_at(ending[-1][0])
    for base in history.all_bases(heads):
        if base not in kept.commits:
            _keep_rows_of(store, history, base, heads, kept)
    for snapshot in in_use:
        refs = (entry.ref for entry in snapshot.tables.values())
        kept.add(snapshot.commit.id, KeptFor.IN_USE, refs)
    return kept


def _end_of_line(line: Iterator[Commit], retention: Retention) -> Iterator[tuple[Commit, KeptFor]]:
    """The commits that stay for their branch's own sake, newest first."""
    newest_until_ms: int | None = None
    for number, commit in enumerate(line):
        if number < retention.commits:
            yield commit, KeptFor.NEWEST
        elif newest_until_ms is not None and newest_until_ms >= retention.since_ms:
            yield commit, KeptFor.RECENT
        else:
            return
        newest_until_ms = commit.created_at_ms


def _keep_rows_of(
    store: GraphStore,
    history: CommitLog,
    base: CommitId,
    heads: Mapping[CommitId, None],
    kept: Retained,
) -> None:
    """Keep a merge base; if its own files are gone, commits that show the same rows."""
    alike = [history.ancestor_like(base, of=head) for head in heads]
    wanted = [history.get(base), *(commit for commit in alike if commit is not None)]
    for commit in wanted:
        if store.has_rows_of(commit):
            kept.add(commit.id, KeptFor.MERGE_BASE, store.refs_at(commit))
            return
