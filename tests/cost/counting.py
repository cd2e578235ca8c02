"""Storage that counts what is asked of it."""

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.base.clock import SystemClock
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.location import DiskLocation
from omnigraph.store.objects import DiskObjects
from omnigraph.store.storage import Storage
from tests.buckets import location_of

Calls = Counter[str]

# Longer than the manifest's clock is unsure of what it saw, so that every run counts the same.
SETTLE_S = 0.03

# An opening of a dataset is what most other calls rest on, so it counts by itself.
INSIDE = {"_handle"}
# Tables are staged and landed by several threads.
COUNTING = threading.Lock()
# These ask nothing of storage.
PURE = {"location", "stage"}


class CountedObjects(DiskObjects):
    def __init__(self, root: Path, calls: Calls) -> None:
        super().__init__(root, Durability.RELAXED)
        self._calls = calls

    def __getattribute__(self, name: str) -> Any:
        return _counted(super().__getattribute__, name)


class CountedDatasets(Datasets):
    def __init__(self, root: Path, calls: Calls) -> None:
        super().__init__(location_of(root), Durability.RELAXED)
        self._calls = calls

    def __getattribute__(self, name: str) -> Any:
        return _counted(super().__getattribute__, name)


def _counted(get: Any, name: str) -> Any:
    found = get(name)
    if callable(found) and (name in INSIDE or not name.startswith("_")) and name not in PURE:
        with COUNTING:
            get("_calls")[name] += 1
    return found


class CountedFences:
    """No fence is ever given: whoever asks for one fails."""

    def require(self) -> None:
        raise AssertionError("a reader asked for a fence")

    def hold(
        self, name: str, *, timeout_s: float, at_least: int = 0, is_lasting: bool = True
    ) -> Any:
        raise AssertionError(f"a reader asked for the fence {name}")


def counted_store(place: Path, *, without_fences: bool = False) -> tuple[GraphStore, Calls]:
    """A cold handle of the graph, and the calls it will have made."""
    calls: Calls = Counter()
    clock = SystemClock()
    storage = Storage.at(DiskLocation(place), clock=clock, durability=Durability.RELAXED)
    storage = replace(
        storage, objects=CountedObjects(place, calls), datasets=CountedDatasets(place, calls)
    )
    if without_fences:
        storage = replace(storage, fences=CountedFences())
    return GraphStore(storage, clock=clock), calls
