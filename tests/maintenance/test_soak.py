"""Writers, readers, an optimizer and a cleanup at work together, round by round.

In a round all work at the same time, and each does a fixed amount of work, so a busy machine only
takes longer. Between rounds nobody works: files, versions and memory are counted then.

Writers are processes. Each of their commits moves two tables, so a reader that saw half of one
would count differently. Texts and vectors are searched, so that what is kept for a search follows
writes, compactions and indexes like everything else.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest

from omnigraph import Graph
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.settings import Settings
from tests.maintenance.world import age_files, files, named_by_nobody
from tests.processes import pool

SCHEMA = """
node Counter { name: String @key  value: I64 }
node Event {
    name: String @key @index
    owner: String
    number: I64
    text: String
    vector: Vector(8)? @embed("text", model="mock")
}
edge Counts: Counter -> Event
"""
QUERIES = """
query begin($name: String) { insert Counter { name: $name, value: 0 } }
query count($name: String, $value: I64, $event: String) {
    update Counter set { value: $value } where name = $name
    insert Event { name: $event, owner: $name, number: $value, text: $event }
    insert Counts { from: $name, to: $event }
}
query forget($name: String, $number: I64) {
    delete Event where owner = $name and number <= $number
}
query counters() { match { $c: Counter } return { $c.name as name, $c.value as value } }
query last() { match { $e: Event } return { $e.owner as name, max($e.number) as value } }
query events() { match { $e: Event } return { count($e) as n } }
query counted() { match { $c: Counter  $c counts $e } return { count($e) as n } }
query worded() { match { $e: Event  search($e.text, "event") } return { count($e) as n } }
query best($q: String) {
    match { $e: Event }
    return { $e.name as name, bm25($e.text, $q) as score }
    order { score desc }
    limit 1
}
query vectors() { match { $e: Event  $e.vector is not null } return { count($e) as n } }
query near($q: String) {
    match { $e: Event }
    return { $e.name as name, nearest($e.vector, $q) as distance }
    order { distance }
    limit 1000
}
"""
WRITERS = ("ada", "bob")
COMMITS = 4
"""Of a writer in a round, on main; it makes half as many on a branch, and merges them."""
LOOKS = 3
ALIVE = 30
"""Events of a writer before a round: earlier ones go, so that the rows don't grow."""
# Nobody falls more commits behind than are made in a round, so nobody needs one that goes.
KEEP = 40

SETTINGS = Settings(embed=EmbedConfig("mock"))


def opened(uri: str) -> Graph:
    return Graph.open(uri, durability="relaxed", settings=SETTINGS)


# Those who take part ------------------------------------------------------------------------------


def write(uri: str, name: str, number: int) -> int:
    """In a process of its own: the commits of a round, the last ones by way of a branch."""
    graph = opened(uri)
    first = number * (COMMITS + COMMITS // 2) + 1
    graph.mutate(QUERIES, "forget", {"name": name, "number": first - ALIVE})
    for value in range(first, first + COMMITS):
        _count(graph, name, value, "main")
    graph.branch_create(f"of-{name}")
    for value in range(first + COMMITS, first + COMMITS + COMMITS // 2):
        _count(graph, name, value, f"of-{name}")
    graph.branch_merge(f"of-{name}", delete=True)
    return _resident_bytes()


def _count(graph: Graph, name: str, value: int, branch: str) -> None:
    given = {"name": name, "value": value, "event": f"{name} event {value}"}
    graph.mutate(QUERIES, "count", given, branch=branch)


class Reader:
    """Reads while others write. What it reads is whole, and never goes back."""

    def __init__(self, uri: str) -> None:
        self._graph = opened(uri)
        self._seen = dict.fromkeys(WRITERS, 0)

    def look(self) -> None:
        for _ in range(LOOKS):
            self._look()

    def _look(self) -> None:
        moment = self._graph.snapshot()
        values = {row["name"]: row["value"] for row in moment.query(QUERIES, "counters")}
        assert all(values[name] >= self._seen[name] for name in WRITERS)
        self._seen = values
        last = {row["name"]: row["value"] for row in moment.query(QUERIES, "last")}
        assert last == {name: value for name, value in values.items() if value}
        events, counted, worded = (
            moment.query(QUERIES, name).to_pylist() for name in ("events", "counted", "worded")
        )
        assert events == counted == worded
        for name, value in values.items():
            if value:
                asked = {"q": f"{name} event {value}"}
                assert moment.query(QUERIES, "best", asked).to_pylist()[0]["name"] == asked["q"]
        near = moment.query(QUERIES, "near", {"q": "ada event"}).to_pylist()
        assert [{"n": len(near)}] == moment.query(QUERIES, "vectors").to_pylist()
        assert near == sorted(near, key=lambda row: (row["distance"], row["name"]))


class Keeper:
    """Makes vectors, optimizes and cleans up."""

    def __init__(self, uri: str) -> None:
        self._graph = opened(uri)
        self.most_versions = 0

    def tidy(self) -> None:
        self._graph.embed()
        self._graph.optimize()
        result = self._graph.cleanup(keep=KEEP, grace="0s", confirm=True)
        tables = (result.tables[name] for name in ("node:Counter", "node:Event", "edge:Counts"))
        self.most_versions = max(self.most_versions, *(table.kept_versions for table in tables))


# Rounds -------------------------------------------------------------------------------------------


Work = Callable[[], None]


@dataclass
class Soak:
    """What was counted after each round."""

    rounds: int = 0
    files: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    """Of this process, in which readers and the keeper are."""
    resident_writers: list[int] = field(default_factory=list)

    def take(self, uri: str, writers: Executor, here: Executor, works: Sequence[Work]) -> None:
        away = [writers.submit(write, uri, name, self.rounds) for name in WRITERS]
        for each in [here.submit(work) for work in works]:
            each.result()
        self.resident_writers.append(max(each.result() for each in away))
        self.rounds += 1
        sizes = files(uri)
        self.files.append(len(sizes))
        self.bytes.append(sum(sizes.values()))
        self.resident.append(_resident_bytes())
        # Nobody reads now, so nothing is too young to go in the next round.
        age_files(uri, by_s=120)

    def is_flat(self, counts: list[int], *, slack: int) -> bool:
        """Whether the last third is like the one before it."""
        third = len(counts) // 3
        return median(counts[-third:]) <= 1.2 * median(counts[third : 2 * third]) + slack


def soak(place: Path, rounds: int) -> Soak:
    uri = str(place / "g")
    graph = Graph.init(uri, SCHEMA, durability="relaxed", settings=SETTINGS)
    for name in WRITERS:
        graph.mutate(QUERIES, "begin", {"name": name})
    counted, keeper = Soak(), Keeper(uri)
    works = [Reader(uri).look, Reader(uri).look, keeper.tidy]
    with pool(len(WRITERS)) as writers, ThreadPoolExecutor(len(works)) as here:
        for _ in range(rounds):
            counted.take(uri, writers, here, works)
    # All was counted, by whomever it is asked: also after many rounds on one handle.
    total = rounds * (COMMITS + COMMITS // 2)
    for work in works:
        work()
    for handle in (graph, opened(uri)):
        rows = {row["name"]: row["value"] for row in handle.query(QUERIES, "counters")}
        assert rows == dict.fromkeys(WRITERS, total)
        alive = len(WRITERS) * min(total, ALIVE + COMMITS + COMMITS // 2 - 1)
        for name in ("events", "counted", "worded", "vectors"):
            assert handle.query(QUERIES, name).to_pylist() == [{"n": alive}], name
    assert len(graph.commits()) > len(WRITERS) * rounds, "all are known, however few can be read"
    # Nothing has moved without a commit, and nothing lies there that nobody names.
    assert graph.repair().findings == ()
    age_files(uri, by_s=120)
    graph.cleanup(keep=KEEP, grace="0s", confirm=True)
    assert not named_by_nobody(uri)
    # While writers are at work, versions of a round come to those that stay.
    assert keeper.most_versions <= 2 * KEEP
    return counted


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_flat(counted: Soak) -> None:
    assert counted.is_flat(counted.files, slack=20), counted.files
    assert counted.is_flat(counted.bytes, slack=1 << 20), counted.bytes
    assert counted.is_flat(counted.resident, slack=50 << 20), counted.resident
    assert counted.is_flat(counted.resident_writers, slack=50 << 20), counted.resident_writers


def test_writers_readers_an_optimizer_and_a_cleanup_get_on_with_each_other(tmp_path: Path) -> None:
    soak(tmp_path, rounds=5)


@pytest.mark.deep
def test_for_minutes_neither_files_nor_versions_nor_memory_grow(tmp_path: Path) -> None:
    check_flat(soak(tmp_path, rounds=60))


@pytest.mark.soak
def test_so_it_is_for_half_an_hour(tmp_path: Path) -> None:
    check_flat(soak(tmp_path, rounds=900))
