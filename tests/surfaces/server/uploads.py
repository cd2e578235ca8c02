"""Load jobs as a client sees them, and graphs whose loads a test holds still."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.base.clock import SystemClock
from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.server.world import G

JOBS = f"{G}/load/jobs"
OVER = ("succeeded", "failed", "cancelled")


def people(many: int, prefix: str = "p") -> bytes:
    data = ({"name": f"{prefix}{n}", "age": n % 90} for n in range(many))
    return b"".join(json.dumps({"type": "Person", "data": d}).encode() + b"\n" for d in data)


def parts_of(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


class Jobs:
    """The load jobs of a server, by anything that has `request`, as one actor."""

    def __init__(self, client: Any, token: str | None = None) -> None:
        self._client = client
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, **more: Any) -> Any:
        headers = {**self._headers, **more.pop("headers", {})}
        return self._client.request(method, path, headers=headers, **more)

    def create(self, **order: Any) -> Any:
        return self.ask("POST", JOBS, json={"mode": "append", **order})

    def upload(self, data: bytes, *, part_bytes: int = 1 << 20, **order: Any) -> str:
        """A job that has all its parts and is not started: its id."""
        begun = self.create(upload={}, **order)
        assert begun.status_code == 202, begun.text
        id_ = str(begun.json()["id"])
        for number, part in enumerate(parts_of(data, part_bytes), 1):
            put = self.put(id_, number, part)
            assert put.status_code == 200, put.text
        return id_

    def load(self, data: bytes, *, part_bytes: int = 1 << 20, **order: Any) -> str:
        """The same, started."""
        id_ = self.upload(data, part_bytes=part_bytes, **order)
        started = self.start(id_, len(parts_of(data, part_bytes)))
        assert started.status_code == 202, started.text
        return id_

    def put(self, id_: str, number: int, part: bytes, **headers: str) -> Any:
        typed = {"Content-Type": "application/octet-stream", **headers}
        return self.ask("PUT", f"{JOBS}/{id_}/parts/{number}", content=part, headers=typed)

    def start(self, id_: str, part_count: int) -> Any:
        return self.ask("POST", f"{JOBS}/{id_}/start", json={"part_count": part_count})

    def get(self, id_: str) -> Any:
        return self.ask("GET", f"{JOBS}/{id_}").json()

    def cancel(self, id_: str) -> Any:
        return self.ask("DELETE", f"{JOBS}/{id_}").json()

    def state(self, id_: str) -> str:
        return str(self.get(id_)["state"])

    def ended(self, id_: str) -> Any:
        wait_until(lambda: self.state(id_) in OVER, f"job {id_} never ended")
        return self.get(id_)

    def ids(self) -> list[str]:
        return [job["id"] for job in self.ask("GET", JOBS).json()["jobs"]]


class HeldClock(SystemClock):
    """A clock that stands still when it is told to: what asks it for an id waits.

    A load asks when it begins to stage, so it is held before it has written anything.
    """

    def __init__(self) -> None:
        super().__init__()
        self._go = threading.Event()
        self._go.set()
        self.is_asked = threading.Event()

    def hold(self) -> None:
        self.is_asked.clear()
        self._go.clear()

    def go(self) -> None:
        self._go.set()

    def ulid(self) -> str:
        if not self._go.is_set():
            self.is_asked.set()
            assert self._go.wait(PATIENCE_S), "the clock was never let go"
        return super().ulid()


def reopened(place: Path, *, clock: SystemClock | None = None, faults: Faults = NEVER) -> Graph:
    """The graph of `make_graph`, by an engine of its own."""
    uri = str(place / "people.omni")
    return Graph(Engine.open(uri, settings=Settings(), clock=clock, faults=faults))


def names(graph: Graph, branch: str = "main") -> list[str]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name } }", branch=branch)
    return sorted(row["p.name"] for row in rows.to_pylist())


def files_in(place: Path, leaving_out: Sequence[str] = ("lock", "job.json")) -> list[str]:
    found = (path for path in place.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(place)) for path in found if path.name not in leaving_out)
