"""Writers, readers, an optimizer and a cleanup at work together, for as long as it takes.

Writers are processes. Each of their commits moves two tables, so a reader that saw half of one
would count differently. With `--deep` and `--soak` the same runs longer, and memory is looked at.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.results import CleanupResult
from omnigraph.store.limits import StoreLimits
from tests.maintenance.world import age_files, files, named_by_nobody
from tests.processes import pool

SCHEMA = """
node Counter { name: String @key  value: I64 }
node Event { name: String @key @index }
"""
COUNT = """
query begin($name: String) { insert Counter { name: $name, value: 0 } }
query count($name: String, $value: I64, $event: String) {
    update Counter set { value: $value } where name = $name
    insert Event { name: $event }
}
query counters() { match { $c: Counter } return { $c.name as name, $c.value as value } }
query events() { match { $e: Event } return { count($e) as n } }
"""
WRITERS, KEEP = 2, 20
# Versions of the manifest stay for a minute otherwise, which is longer than the short run takes.
SETTINGS = Settings(store_limits=StoreLimits(keep_versions_s=2))


def opened(uri: str) -> Graph:
    return Graph.open(uri, durability="relaxed", settings=SETTINGS)


def write(uri: str, name: str, commits: int) -> None:
    """In a process of its own: so many commits, each of both tables."""
    graph = opened(uri)
    for number in range(1, commits + 1):
        event = f"{name}-{number}"
        graph.mutate(COUNT, "count", {"name": name, "value": number, "event": event})


class Watch:
    """Reads while others write. What it reads was whole, and never goes back."""

    def __init__(self, uri: str) -> None:
        self._graph = opened(uri)
        self._seen = 0
        self.reads = 0

    def look(self) -> None:
        moment = self._graph.snapshot()
        counted = sum(row["value"] for row in moment.query(COUNT, "counters"))
        assert moment.query(COUNT, "events").to_pylist() == [{"n": counted}]
        assert counted >= self._seen
        self._seen, self.reads = counted, self.reads + 1


class Keeper:
    """Optimizes and cleans up by turns."""

    def __init__(self, uri: str) -> None:
        self._graph = opened(uri)
        self.rounds = 0
        self.most_versions = 0
        self.resident: list[int] = []

    def tidy(self) -> None:
        self._graph.optimize()
        result = self._graph.cleanup(keep=KEEP, grace="0s", confirm=True)
        self.most_versions = max(self.most_versions, _versions(result))
        self.rounds += 1
        self.resident.append(_resident_bytes())


@contextmanager
def repeated(*works: Callable[[], None]) -> Iterator[list[BaseException]]:
    """Do each again and again in a thread of its own; what goes wrong is collected."""
    is_over, failures = threading.Event(), list[BaseException]()

    def run(work: Callable[[], None]) -> None:
        try:
            while True:
                work()
                if is_over.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - told when all are done
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def soak(place: Path, commits: int) -> Keeper:
    uri = str(place / "g")
    graph = Graph.init(uri, SCHEMA, durability="relaxed", settings=SETTINGS)
    names = [f"w{number}" for number in range(WRITERS)]
    for name in names:
        graph.mutate(COUNT, "begin", {"name": name})
    watches, keeper = [Watch(uri), Watch(uri)], Keeper(uri)
    looks = [watch.look for watch in watches]
    with repeated(*looks, keeper.tidy) as failures, pool(WRITERS) as writers:
        for writer in [writers.submit(write, uri, name, commits) for name in names]:
            writer.result()
    assert not failures, failures
    assert keeper.rounds and all(watch.reads for watch in watches)
    rows = {row["name"]: row["value"] for row in graph.query(COUNT, "counters")}
    assert rows == dict.fromkeys(names, commits)
    assert graph.query(COUNT, "events").to_pylist() == [{"n": WRITERS * commits}]
    age_files(place / "g", by_s=60)
    final = graph.cleanup(keep=KEEP, grace="0s", confirm=True)
    assert not named_by_nobody(uri)
    # Of each table no more versions than commits that stay, and of those few files each.
    assert _versions(final) <= KEEP + 1
    assert len(files(uri)) <= 40 * KEEP
    assert len(graph.commits()) > WRITERS * commits, "all are known, however few can be read"
    return keeper


def _versions(result: CleanupResult) -> int:
    tables = ("node:Counter", "node:Event")
    return max(result.tables[name].kept_versions for name in tables)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_writers_readers_an_optimizer_and_a_cleanup_get_on_with_each_other(tmp_path: Path) -> None:
    soak(tmp_path, commits=25)


@pytest.mark.deep
def test_for_minutes_neither_files_nor_versions_nor_memory_grow(tmp_path: Path) -> None:
    keeper = soak(tmp_path, commits=600)
    early, late = keeper.resident[len(keeper.resident) // 3], keeper.resident[-1]
    assert late < 1.5 * early + (100 << 20)
