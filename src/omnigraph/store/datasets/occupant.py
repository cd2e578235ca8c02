"""Which graph lies at a root: remembered, so that another graph put in its place is noticed.

A graph that is removed and made again has the same paths and the same version numbers with other
contents. Whatever a handle keeps of the old graph (open datasets, Lance's own cache, rows read
from them) would be mixed with the new one. So a handle that finds another graph serves nobody any
more: its owner opens the graph again.

A backup of the same graph, put back, has the same id. The manifest notices that one: the head that
a handle has seen is not part of its history.
"""

import json

from omnigraph.base.errors import GraphReplaced
from omnigraph.store.layout import GRAPH
from omnigraph.store.objects import Objects

__all__ = ["Occupant"]


class Occupant:
    def __init__(self, objects: Objects, address: str) -> None:
        self._objects = objects
        self._address = address
        self._id: str | None = None
        self._fingerprint: str | None = None

    def remember(self) -> None:
        """Take what lies there now for the graph, if nothing is remembered yet."""
        if self._id is None and (fingerprint := self._objects.fingerprint(GRAPH)) is not None:
            self._id, self._fingerprint = self._read(), fingerprint

    def require_same(self) -> None:
        """Raise `GraphReplaced` if another graph lies there. One look while nothing was touched."""
        if self._id is None or self._objects.fingerprint(GRAPH) == self._fingerprint:
            return
        # Touched, not replaced: a backup by hard links, a change of owner, a move and back.
        fingerprint, found = self._objects.fingerprint(GRAPH), self._read()
        if found is not None and found != self._id:
            raise GraphReplaced(self._address)
        self._fingerprint = fingerprint

    def _read(self) -> str | None:
        try:
            return str(json.loads(self._objects.get(GRAPH) or b"")["id"])
        except (ValueError, KeyError, TypeError):
            return None  # no id to compare by; `GraphStore.graph_id` reports that
