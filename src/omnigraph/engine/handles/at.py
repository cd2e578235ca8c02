"""`At`: a graph at one commit, held still. Reading it asks nothing about newer commits.

yesterday = graph.at("2026-03-01T12:00Z")
yesterday.query("people.gq", "staff")
graph.query("people.gq", "staff", snapshot=yesterday)  # the same
"""

from omnigraph.engine.backend import Backend
from omnigraph.engine.handles.reads import Reads
from omnigraph.engine.requests import Moment
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import Held
from omnigraph.store.snapshot import Snapshot

__all__ = ["At", "moment_of"]


class At(Reads):
    """A graph at one commit. `Graph.at` and `Graph.snapshot` make it."""

    def __init__(self, backend: Backend, held: Held) -> None:
        if held.stored is not None:
            super().__init__(backend, held.branch, held.stored)
        else:
            # A server is asked for the commit, wherever it was made.
            super().__init__(backend, None, held.commit.graph_commit_id)
        self.held = held
        """For this package's own use."""

    @property
    def commit(self) -> CommitInfo:
        """The commit that is held."""
        return self.held.commit

    @property
    def graph_commit_id(self) -> str:
        """The id of the commit that is held."""
        return self.held.commit.graph_commit_id

    @property
    def branch(self) -> str:
        """The branch that was asked for; of a commit that was asked for, the one it was made on."""
        return self.held.branch

    @property
    def stored(self) -> Snapshot:
        """What storage holds of the commit: for this package's own use."""
        assert self.held.stored is not None, "a server holds it"
        return self.held.stored

    def __repr__(self) -> str:
        commit = self.commit
        made = commit.created_at.isoformat(sep=" ", timespec="milliseconds")
        return f"<At {commit.graph_commit_id}: {commit.kind} on {self.branch}, {made}>"


def moment_of(backend: Backend, snapshot: Moment | At | None) -> Moment | Snapshot | None:
    """The moment that a caller names. A moment of this backend is read as it is held."""
    if not isinstance(snapshot, At):
        return snapshot
    is_ours = snapshot.backend is backend and snapshot.held.stored is not None
    return snapshot.stored if is_ours else snapshot.graph_commit_id
