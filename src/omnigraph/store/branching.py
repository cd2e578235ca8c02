"""Making and deleting branches of a graph, under the fence over their names."""

import logging
from dataclasses import replace
from itertools import takewhile

from omnigraph.base.errors import (
    ArgumentInvalid,
    CommitReclaimed,
    FenceLost,
    PreconditionFailed,
    StorageFailed,
)
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.branches import Branch, check_branch_name
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.manifest import ManifestState
from omnigraph.store.transactions import DatasetRef

__all__ = ["create_branch", "delete_branch"]

log = logging.getLogger(__name__)


def create_branch(
    store: GraphStore, name: BranchName, from_: BranchName = MAIN, *, at: CommitId | None = None
) -> Branch:
    """A new branch whose head is the head of `from_`. Takes no longer for a larger graph.

    `at` is any commit to start from instead. It may raise `CommitMissing` or `CommitReclaimed`.
    """
    check_branch_name(name)
    # Two makers of one name would not collide in Lance: each fork has a name of its own.
    with store.fence_over_names() as names:
        if at is not None:
            from_ = _branch_of(store, at)  # which nobody deletes now
        with store.fence(from_) as source:
            made = _fork(store, name, source.state, at=at, fencing=names.number)
        try:
            names.confirm()
        except FenceLost:
            # Someone else may have made one of this name meanwhile, which then is the one.
            store.branches.discard(made)
            raise
        return made


def _branch_of(store: GraphStore, commit: CommitId) -> BranchName:
    """A branch on whose line the commit stands: its files stay as long as that branch."""
    history = store.history()
    if (branch := history.branch_of(commit)) is None:
        raise CommitReclaimed(commit=commit, branch=history.get(commit).branch)
    return branch


def _fork(
    store: GraphStore, name: BranchName, state: ManifestState, *, at: CommitId | None, fencing: int
) -> Branch:
    """A new branch at the head of a state, or at an earlier commit of its line."""
    source = DatasetRef(MANIFEST, state.branch, state.version)
    if at is None or at == state.head:
        return store.branches.create(name, source, fencing=fencing)
    commit = store.history().get(at)
    tables = store.tables_at(store.history(), commit)
    store.require_rows(commit, (entry.ref for entry in tables.values()))

    def rewind(fork: DatasetRef) -> DatasetRef:
        forked, head = store.manifest.newest(fork.branch), commit.to_row()
        rewound = store.manifest.rewind(forked, name=name, tables=tables, commit=head)
        store.manifest.forget(fork.branch)
        return replace(fork, version=rewound.version)

    return store.branches.create(name, source, rewind=rewind, fencing=fencing)


def delete_branch(
    store: GraphStore,
    name: BranchName,
    *,
    only_if_unwritten: bool = False,
    if_commit: CommitId | None = None,
) -> bool:
    """Remove a branch that none was made from. It is gone at once; its files follow.

    With `only_if_unwritten` a branch that has a commit of its own stays, and it is False. With
    `if_commit` one that shows other rows than this commit raises `PreconditionFailed`.
    """
    if name == MAIN:
        raise ArgumentInvalid(
            argument="branch", value=name, rule="the branch main can't be deleted"
        )
    # The names' fence too, or one could be made from it meanwhile.
    with store.fence_over_names(), store.fence(name) as fenced:
        if only_if_unwritten and store.commit_of(fenced.state.recent[-1]).branch == name:
            return False
        if if_commit is not None:
            _require_rows_of(store, if_commit, fenced)
        is_needed = _holds_a_base(store, fenced.branch)
        paths = {entry.ref.path for entry in fenced.state.tables.values()}
        store.branches.delete(fenced.branch)
    store.forget(fenced.branch)
    for path in () if is_needed else sorted(paths):
        _reclaim_forks(store, path, fenced.branch)
    return True


def _require_rows_of(store: GraphStore, commit: CommitId, fenced: FencedBranch) -> None:
    history, head = store.history(), fenced.state.head
    if history.origin_of_rows(head) != history.origin_of_rows(commit):
        raise PreconditionFailed(branch=fenced.branch.name, expected=commit, actual=head)


def _holds_a_base(store: GraphStore, branch: Branch) -> bool:
    """True if two other branches will be merged from a commit with rows in files of this one: they
    must stay.

    The commit may be one of a branch that was made from this one, and is gone. No later merge makes
    a commit such a base. Whoever merges a commit of the branch once it is gone has it by way of a
    commit that is a later base.
    """
    history = store.history()
    line = takewhile(lambda commit: commit.branch == branch.name, history.line(branch.name))
    own = {commit.id for commit in line}
    if not own:
        return False
    others = (other for other in store.branches.list() if other != branch)
    bases = history.bases_from(own, [store.state(each).head for each in others])
    tables = (store.tables_at(history, history.get(base)) for base in bases)
    return any(branch.owns(entry.ref) for found in tables for entry in found.values())


def _reclaim_forks(store: GraphStore, path: str, branch: Branch) -> None:
    """Free what a deleted branch had of a table. What stays is in nobody's way."""
    try:
        own = [f for f in store.datasets.fork_names(path) if branch.owns(DatasetRef(path, f, 0))]
        # A fork that others were made from is left to a clean-up: the files of a deleted branch may
        # be kept for a merge.
        forks = store.datasets.forks(path) if own else {}
        needed = {parent for fork, parent in forks.items() if fork not in own}
        for fork in own:
            if fork not in needed:
                store.datasets.delete_fork(path, fork)
    except StorageFailed as failure:
        log.warning("could not delete files of the deleted branch %s: %s", branch.name, failure)
