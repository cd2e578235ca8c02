"""A graph that was moved or copied is brought to where it lies now."""

import logging

from omnigraph.base.errors import GraphMoved, StorageFailed
from omnigraph.store.graph_store import GraphStore

__all__ = ["bring_here"]

log = logging.getLogger(__name__)


def bring_here(store: GraphStore) -> None:
    """Bring the branches of a graph that was moved or copied to where it lies now.

    Ask before anything else that writes: a clean-up or a recovery at a new address could take
    files of the old one for its own. Costs one small read where nothing has moved.
    """
    address = store.address
    recorded = address.recorded()
    if recorded == address.here:
        return
    try:
        _bring_branches_here(store)
    except StorageFailed as failure:
        # A graph from before addresses were recorded may lie where nobody can write.
        if recorded is None and not store.datasets.has_forks_elsewhere():
            return
        raise GraphMoved(here=address.here, there=recorded, reason=str(failure)) from failure


def _bring_branches_here(store: GraphStore) -> None:
    address = store.address
    with store.fence_over_names():  # no branch comes or goes, and nobody else does this
        if address.recorded() == address.here:
            return
        address.record(None)  # from now on no writer gets past its fence
        for branch in store.branches.list():
            with store.turn(branch.name) as turn, store.hold(branch.incarnation, turn):
                pass  # and a writer that was behind it is done
        rewritten = store.datasets.bring_forks_here()
        # Last: until it is there, everything is looked at again.
        address.record(address.here)
    if rewritten:
        log.info("the graph was moved to %s: rewrote %s version files", address.here, rewritten)
