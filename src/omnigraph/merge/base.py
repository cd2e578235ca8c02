"""The base of a merge: the moment that both sides are compared with."""

from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot

__all__ = ["base_of"]


def base_of(store: GraphStore, ours: Snapshot, theirs: Snapshot) -> Snapshot:
    """The merge base of two heads, or a commit with the rows of it that is nearer to theirs.

    A commit on the line of theirs shares more files with it. An earlier base would not do: what
    both sides took from the base would look new on each, and what one of them deleted since would
    come back. Raises `CommitReclaimed` where the rows of the base are gone.
    """
    history, heads = store.history(), (ours.commit.id, theirs.commit.id)
    base = history.merge_base(*heads)
    for head in reversed(heads):
        near = history.ancestor_like(base.id, of=head)
        if near is not None and store.has_rows_of(near):
            return store.snapshot_at(near.id)
    return store.snapshot_at(base.id)
