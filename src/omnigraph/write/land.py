"""Moving datasets: each staged transaction becomes the next version of its table.

Only between `arm` and `disarm`, and no reader can see it: the manifest still names the versions
before. A landing that does not go as staged is never mended here, only reported; recovery looks at
what is there and decides.
"""

import logging
from collections.abc import Sequence
from functools import partial

from omnigraph.base.errors import StorageFailed
from omnigraph.base.failpoints import Failpoint, Faults
from omnigraph.base.frozen import frozen
from omnigraph.store.graph_store import FencedBranch, GraphStore
from omnigraph.store.transactions import StagedTransaction
from omnigraph.write.sidecar import Sidecar, SidecarTable, put_sidecar, sidecar_name
from omnigraph.write.stage import Staged, at_once

__all__ = ["Armed", "Landed", "arm", "disarm", "land"]

log = logging.getLogger(__name__)


@frozen
class Armed:
    """The note is durable: datasets may move."""

    fenced: FencedBranch
    sidecar: Sidecar


@frozen
class Landed:
    """Every dataset has moved: the commit may be published."""

    fenced: FencedBranch
    sidecar: Sidecar


def arm(store: GraphStore, staged: Staged) -> Armed:
    """Write down what is about to happen. From here on recovery finishes or undoes a crash."""
    sidecar = Sidecar(
        name=sidecar_name(staged.fenced.branch, staged.operation_id),
        operation_id=staged.operation_id,
        fencing=staged.fenced.number,
        commit=staged.commit,
        tables=tuple(
            SidecarTable(table.key, table.pinned, table.transactions) for table in staged.tables
        ),
        merged=staged.merged,
    )
    staged.fenced.hold.check()
    put_sidecar(store, sidecar)
    return Armed(staged.fenced, sidecar)


def land(store: GraphStore, armed: Armed, faults: Faults) -> Landed:
    """Move each dataset to the version that was staged, by one step alone, then all at once."""
    left = [table.transactions for table in armed.sidecar.tables]
    armed.fenced.hold.check()
    if left:
        store.datasets.land(left[0][0])
        faults.reach(Failpoint.AFTER_LAND_1)
        armed.fenced.hold.check()
        left[0] = left[0][1:]
    at_once(partial(_land_all, store), [transactions for transactions in left if transactions])
    return Landed(armed.fenced, armed.sidecar)


def _land_all(store: GraphStore, transactions: Sequence[StagedTransaction]) -> None:
    for transaction in transactions:
        store.datasets.land(transaction)


def disarm(store: GraphStore, armed: Armed) -> None:
    """Remove the note of a write that is done."""
    try:
        store.objects.delete(armed.sidecar.name)
    except StorageFailed as failure:
        # The commit is visible. The next writer finds the note and sees that it is done.
        log.warning("%s stays for the next writer to remove: %s", armed.sidecar.name, failure)
