"""Versions that no commit will ever name, made by writers that had already lost their fence.

A writer that stood still past its lease may land a table after another writer has taken its branch
over. It can't publish any more, so no reader sees its rows; but the table's newest version then
holds rows that no commit names, and the next write would carry them along. So the table is restored
on the spot. Only the holder of the fence restores: a `Restore` lands over anything, also over a
commit.
"""

from omnigraph.base.errors import RecoveryRequired, StorageFailed
from omnigraph.store.datasets import LandingRefused, VersionOrigin
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.transactions import DatasetRef, Restore

__all__ = ["is_late_landing", "newest_like", "restored", "trace"]

# Each further try means that one more writer came back to life within milliseconds.
MAX_RESTORE_TRIES = 5


def trace(fenced: FencedBranch, operation_id: str, table_key: str) -> dict[str, str]:
    """The properties of every version that a writer makes: they tell whose it is."""
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
    store: GraphStore, fenced: FencedBranch, ref: DatasetRef, *, properties: dict[str, str]
) -> DatasetRef:
    """The table's newest version with the same rows as `ref`, which the manifest names.

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
    return restored(store, fenced, ref, since=ref, properties=properties)


def restored(
    store: GraphStore,
    fenced: FencedBranch,
    ref: DatasetRef,
    *,
    since: DatasetRef,
    properties: dict[str, str],
) -> DatasetRef:
    """The newest version, after `since`, with the same rows as `ref`; lands one if there is none.

    A transaction that was staged before it can land no more.
    """
    for _ in range(MAX_RESTORE_TRIES):
        notes = store.datasets.origins_after(since)
        if notes and notes[-1].restores == ref.version:
            there = DatasetRef(since.path, since.branch, notes[-1].version)
            store.datasets.secure(there)
            return there
        newest = DatasetRef(since.path, since.branch, notes[-1].version if notes else since.version)
        try:
            return store.datasets.land(
                store.datasets.stage(newest, Restore(ref.version), properties)
            )
        except LandingRefused:
            fenced.hold.confirm()
    raise StorageFailed(doing="restore", path=ref.path, reason="others keep moving it")
