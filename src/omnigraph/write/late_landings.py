"""Versions that no commit will ever name, made by writers who had already lost.

A writer that stood still past its lease may land a table after another writer has taken its branch
over. It can't publish any more, so no reader sees it; but the table's newest version then holds
what no commit names, and the next write would carry it along. So it is restored on the spot. Only
whoever holds the fence restores: a `Restore` lands over anything, also over a commit.
"""

from omnigraph.base.errors import RecoveryRequired, StorageFailed
from omnigraph.store.datasets import LandingRefused, VersionOrigin
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.transactions import DatasetRef, Restore

__all__ = ["is_late_landing", "newest_like", "restored", "trace"]

# Each further try means that one more writer came back to life within milliseconds.
TRIES = 5


def trace(fenced: FencedBranch, operation_id: str, table_key: str) -> dict[str, str]:
    """What every version that a writer makes says of it."""
    return {
        "operation_id": operation_id,
        "table_key": table_key,
        "fencing": str(fenced.number),
    }


def is_late_landing(store: GraphStore, fenced: FencedBranch, note: VersionOrigin) -> bool:
    """Whether a version was made by a writer that can't publish it any more."""
    if note.operation_id is None:
        return False
    return note.fencing < fenced.number or store.audit.has(note.operation_id)


def newest_like(
    store: GraphStore, fenced: FencedBranch, ref: DatasetRef, *, traced: dict[str, str]
) -> DatasetRef:
    """The table's newest version, which holds what `ref`, named by the manifest, holds.

    It is `ref` itself, or a restoration of it. Late landings on top of it are undone here; landings
    of strangers are not ours to undo.
    """
    if store.datasets.is_newest(ref) or store.datasets.drop_torn(
        ref.path, ref.branch, ref.version + 1
    ):
        return ref
    newest = store.datasets.newest_version(ref.path, ref.branch)
    since: list[VersionOrigin] = []
    for note in store.datasets.origins_after(ref):
        since = [] if note.restores == ref.version else [*since, note]
    if newest < ref.version or not all(is_late_landing(store, fenced, note) for note in since):
        # To go on would build on rows that no commit names, and publish them with ours.
        reason = f"{ref.path} stands at version {newest} and the manifest names {ref.version}"
        raise RecoveryRequired(sidecar="no sidecar", reason=reason)
    return restored(store, fenced, ref, since=ref, traced=traced)


def restored(
    store: GraphStore,
    fenced: FencedBranch,
    ref: DatasetRef,
    *,
    since: DatasetRef,
    traced: dict[str, str],
) -> DatasetRef:
    """A version after `since`, and the newest, that holds what `ref` holds.

    Whatever was staged before it can land no more.
    """
    for _ in range(TRIES):
        notes = store.datasets.origins_after(since)
        if notes and notes[-1].restores == ref.version:
            return DatasetRef(since.path, since.branch, notes[-1].version)
        newest = DatasetRef(since.path, since.branch, notes[-1].version if notes else since.version)
        try:
            return store.datasets.land(store.datasets.stage(newest, Restore(ref.version), traced))
        except LandingRefused:
            fenced.hold.confirm()
    raise StorageFailed(doing="restore", path=ref.path, reason="others keep moving it")
