"""A folder that a test edits, the storage it is applied to, and what must be true afterwards."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.failpoints import Crash
from omnigraph.cluster.apply import Applied, apply, plan, unfinished
from omnigraph.cluster.control import approve
from omnigraph.cluster.folder import Folder, read_folder
from omnigraph.cluster.lock import force_unlock, read_lock
from omnigraph.cluster.observe import Present, observe
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.plan import Plan
from omnigraph.cluster.steps import NEVER, ApplyFaults, ApplyPoint
from omnigraph.engine.settings import Settings
from tests.buckets import bucket_access

PERSON = "node Person { name: String @key }\n"
AGED = "node Person { name: String @key  age: I32? }\n"
PET = "node Pet { name: String @key }\n"
NAMES = "query names() { match { $p: Person } return { $p.name } }\n"
READERS = """version: 1
rules:
  - {id: read, allow: {actors: [ada], actions: [read, invoke_query, schema_apply]}}
"""
LISTERS = """version: 1
rules:
  - {id: list, allow: {actors: [ada], actions: [graph_list]}}
"""


def settings() -> Settings:
    return replace(Settings(), bucket_access=bucket_access())


class Deployment:
    """A folder at `path`, for a storage that lies anywhere."""

    def __init__(self, path: Path, storage: str | None = None) -> None:
        self.path = path
        self.storage = storage or str(path.parent / "storage")
        path.mkdir(exist_ok=True)

    def write(self, files: Mapping[str, str | None], **graphs: str) -> "Deployment":
        """Write files, and a `cluster.yaml` with these graphs: the YAML of each."""
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        if graphs:
            policies = graphs.pop("policies", None)
            lines = ["version: 1", "metadata: {name: brain}", f"storage: '{self.storage}'"]
            lines += ["graphs:", *(f"  {id_}: {{{given}}}" for id_, given in graphs.items())]
            lines += [] if policies is None else [f"policies: {{{policies}}}"]
            (self.path / "cluster.yaml").write_text("\n".join(lines) + "\n")
        return self

    @property
    def folder(self) -> Folder:
        return read_folder(self.path)

    @property
    def place(self) -> ClusterPlace:
        return ClusterPlace.at(self.storage, settings=settings())

    def plan(self) -> Plan:
        return plan(self.place, self.folder)

    def apply(self, *, faults: ApplyFaults = NEVER, **more: Any) -> Applied:
        return apply(self.place, self.folder, faults=faults, **more)

    def approve_all(self) -> None:
        wanted = self.plan()
        approve(self.place, self.folder, [change.address for change in wanted.losses])

    def graph(self, id_: str) -> Graph:
        return Graph.open(str(self.place.graph(id_)), settings=settings())

    def schema(self, id_: str) -> str:
        there = observe(self.place, id_)
        assert isinstance(there, Present), there
        return there.schema

    def changes(self) -> list[tuple[str, str]]:
        return [(change.action, change.address) for change in self.plan().changes]

    def unlock(self) -> None:
        lock = read_lock(self.place)
        assert lock is not None
        force_unlock(self.place, lock.id)

    def assert_settled(self) -> None:
        """The storage is what the folder says, and nothing waits."""
        folder, place = self.folder, self.place
        ledger, _ = place.ledger()
        assert self.plan().is_empty
        assert dict(ledger.resources) == {a: r.entry for a, r in folder.resources.items()}
        assert unfinished(place) is None and read_lock(place) is None
        assert place.objects.list("approvals") == []
        for address, entry in ledger.resources.items():
            assert entry.content is None or place.text(entry.content) is not None, address


class DiesAt:
    """Dies the first time a point is reached."""

    def __init__(self, point: ApplyPoint) -> None:
        self._point = point

    def reach(self, point: ApplyPoint) -> None:
        if point is self._point:
            raise Crash(point.value)


class Does:
    """Does something the first time a point is reached."""

    def __init__(self, point: ApplyPoint, what: Callable[[], None]) -> None:
        self._point, self._what = point, what

    def reach(self, point: ApplyPoint) -> None:
        if point is self._point:
            self._what()


@contextmanager
def dies() -> Iterator[None]:
    with pytest.raises(Crash):
        yield
