"""`At`: a graph at one commit, held still. Reading it asks nothing about newer commits.

yesterday = graph.at("2026-03-01T12:00Z")
yesterday.query("people.gq", "staff")
graph.query("people.gq", "staff", snapshot=yesterday)  # the same
"""

from omnigraph.engine.engine import Engine
from omnigraph.engine.handles.reads import Reads
from omnigraph.engine.requests import Moment
from omnigraph.engine.results import CommitInfo
from omnigraph.store.snapshot import Snapshot

__all__ = ["At", "moment_of"]


class At(Reads):
    """A graph at one commit. `Graph.at` and `Graph.snapshot` make it."""

    def __init__(self, engine: Engine, stored: Snapshot) -> None:
        super().__init__(engine, stored.branch, stored)
        self.stored = stored
        """What storage holds of the commit: for this package's own use."""

    @property
    def commit(self) -> CommitInfo:
        return CommitInfo.of(self.stored.commit)

    @property
    def graph_commit_id(self) -> str:
        return self.stored.commit.id

    @property
    def branch(self) -> str:
        """The branch that was asked for; of a commit that was asked for, the one it was made on."""
        return self.stored.branch

    def __repr__(self) -> str:
        commit = self.commit
        made = commit.created_at.isoformat(sep=" ", timespec="milliseconds")
        return f"<At {commit.graph_commit_id}: {commit.kind} on {self.branch}, {made}>"


def moment_of(engine: Engine, snapshot: Moment | At | None) -> Moment | Snapshot | None:
    """The moment that a caller names. A moment of this engine is read as it is held."""
    if not isinstance(snapshot, At):
        return snapshot
    return snapshot.stored if snapshot.engine is engine else snapshot.stored.commit.id
