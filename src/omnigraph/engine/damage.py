"""Files of the newest commits that are missing or incomplete, and the commits that are readable.

Only on a disk: a bucket has an object whole or not at all.
"""

from collections.abc import Mapping
from functools import cache

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.commits import Commit
from omnigraph.store.datasets.named_files import flaws_of_version
from omnigraph.store.datasets.whole_files import Flaw
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.manifest import ManifestState
from omnigraph.store.transactions import DatasetRef

__all__ = ["Damage", "damage_at", "last_readable", "require_readable_heads"]


@frozen
class Damage:
    """A table of a branch's newest commit can't be read whole."""

    branch: BranchName
    table: TableKey
    flaw: Flaw

    def __str__(self) -> str:
        needs = f"the newest commit of {self.branch} needs this file of {self.table}"
        return f"{needs}: it {self.flaw.reason}"


def damage_at(store: GraphStore, states: Mapping[BranchName, ManifestState]) -> dict[Flaw, Damage]:
    """Missing and incomplete files that newest commits need, each file once."""
    found: dict[Flaw, Damage] = {}
    for branch, state in states.items():
        for key, entry in sorted(state.tables.items()):
            for flaw in flaws_of_version(store.datasets, store.objects, entry.ref):
                found.setdefault(flaw, Damage(branch, key, flaw))
    return found


def require_readable_heads(store: GraphStore, states: Mapping[BranchName, ManifestState]) -> None:
    """Refuse to remove older commits while the newest can't be read: only they may be readable."""
    for flaw, damage in damage_at(store, states).items():
        raise StorageFailed(
            doing="clean up",
            path=flaw.name,
            reason=str(damage),
            advice="run omnigraph repair: it names the last commit that can be read",
        )


def last_readable(store: GraphStore, branch: BranchName) -> CommitId | None:
    """The newest commit of a branch whose files are all whole; None if no commit has them all."""
    history = store.history()

    @cache
    def is_whole(ref: DatasetRef) -> bool:
        if not store.datasets.has_version(ref):
            return False
        return not any(flaws_of_version(store.datasets, store.objects, ref))

    def is_readable(commit: Commit) -> bool:
        return all(is_whole(entry.ref) for entry in store.tables_at(history, commit).values())

    return next((commit.id for commit in history.line(branch) if is_readable(commit)), None)
