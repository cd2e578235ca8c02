"""A graph's storage with parts of one's own, such as fail on request."""

from dataclasses import replace
from pathlib import Path

from omnigraph.base.clock import Clock, SystemClock
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import FENCE_TIMEOUT_S, GraphStore
from omnigraph.store.lease import LEASE_S
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.objects import Objects
from omnigraph.store.storage import Storage
from omnigraph.store.upgrade import UPGRADES, Upgrades
from tests.buckets import location_of


def store_of(
    place: Path | str,
    *,
    objects: Objects | None = None,
    datasets: Datasets | None = None,
    clock: Clock | None = None,
    upgrades: Upgrades = UPGRADES,
    lease_s: float = LEASE_S,
    fence_timeout_s: float = FENCE_TIMEOUT_S,
    limits: StoreLimits = DEFAULT_LIMITS,
) -> GraphStore:
    """The graph at a place, relaxed, with the given parts instead of the usual ones."""
    clock = clock or SystemClock()
    usual = Storage.at(
        location_of(place),
        clock=clock,
        durability=Durability.RELAXED,
        lease_s=lease_s,
    )
    storage = replace(usual, objects=objects or usual.objects, datasets=datasets or usual.datasets)
    return GraphStore(
        storage,
        clock=clock,
        upgrades=upgrades,
        fence_timeout_s=fence_timeout_s,
        limits=limits,
    )
