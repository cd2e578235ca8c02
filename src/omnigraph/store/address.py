"""The address at which a graph's forks are at home, recorded in the graph itself.

Forks name the files that they read by their whole address. A graph that was moved or copied has
forks which still read files at the old one: `moving` brings them here.
"""

import json

from omnigraph.base.errors import GraphMissing, GraphMoved
from omnigraph.store.datasets import Datasets
from omnigraph.store.layout import ADDRESS, MANIFEST
from omnigraph.store.objects import Objects

__all__ = ["Address"]


class Address:
    def __init__(self, objects: Objects, datasets: Datasets) -> None:
        self._objects = objects
        self._datasets = datasets
        self.here = str(datasets.root)

    def record(self, address: str | None) -> None:
        self._objects.put(ADDRESS, json.dumps({"address": address}).encode())

    def recorded(self) -> str | None:
        """Where all forks are known to be at home; None if nobody has looked."""
        if (data := self._objects.get(ADDRESS)) is None:
            return None
        try:
            address = json.loads(data)["address"]
        except (ValueError, KeyError, TypeError):
            return None
        return address if isinstance(address, str) else None

    def require_here(self) -> None:
        """Raise if the graph was moved away, or brought to another address, while it was open.

        One directory of a disk may be seen under several addresses that no link shows, such as
        mounts of it.
        """
        recorded = self.recorded()
        if recorded is None and not self._datasets.is_there(MANIFEST):
            raise GraphMissing(self.here)
        if recorded != self.here:
            raise GraphMoved(here=self.here, there=recorded)
