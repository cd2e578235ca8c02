"""Writers of one branch beside one writer alone that makes as many commits.

    python -m bench.writers                          on a disk: threads and processes
    python -m bench.writers --place s3               in a bucket of the S3 server of the tests
    python -m bench.writers --only processes --processes 8 --commits 50

Each commit updates one row of one type, durably. `alone` makes the same number of commits in one
thread: writers that succeed one after the other can be no quicker than that, but for what they do
before their turn. A writer that is refused counts as such and does not try again. `ratio` is the
time of all writers to that of one alone. Two figures tell how fair the turns are: `spread` is the
time of the writer that is done first to that of the last, and `longest` the longest wait for a
commit, to the mean.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench.measuring.worker import show
from omnigraph import Graph
from omnigraph.base.errors import ConflictError

SCHEMA = "node Tally { name: String @key  value: I64 }"
QUERIES = """
query put($name: String) { insert Tally { name: $name, value: 0 } }
query set($name: String, $value: I64) { update Tally set { value: $value } where name = $name }
"""
SERVER = Path(__file__).parent.parent / "tests" / "s3_server.py"
BUCKET = "bench"


@dataclass(frozen=True)
class Turns:
    """What became of the commits of one writer, and when."""

    waits_s: list[float]
    refused: int
    done_s: float
    """Since the first writer of all began."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--place", choices=("disk", "s3"), default="disk")
    parser.add_argument("--only", choices=("threads", "processes"))
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--commits", type=int, help="of each writer (threads 6, processes 25)")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    header = ("commits", "refused", "a second", "ratio", "spread", "longest")
    print(f"{'':30}" + "".join(f"{word:>10}" for word in header))
    with place_of(chosen.place) as place:
        if chosen.only != "processes":
            compare(place, "threads", chosen.threads, chosen.commits or 6, chosen.rounds)
        if chosen.only != "threads":
            compare(place, "processes", chosen.processes, chosen.commits or 25, chosen.rounds)


def compare(place: str, kind: str, writers: int, commits: int, rounds: int) -> None:
    run = {"threads": in_threads, "processes": in_processes}[kind]
    rows = {
        f"{writers} {kind}, a row each": [f"t{number}" for number in range(writers)],
        f"{writers} {kind}, the same row": ["t0"] * writers,
    }
    alone: list[float] = []
    together: dict[str, list[tuple[float, list[Turns]]]] = {name: [] for name in rows}
    for _ in range(rounds):  # in turns, so that noise hits all alike
        alone.append(max(turns.done_s for turns in in_threads(place, ["t0"], writers * commits)))
        for name, targets in rows.items():
            turns = run(place, targets, commits)
            together[name].append((max(writer.done_s for writer in turns), turns))
    total = writers * commits
    print(f"{'one thread alone':30}{total:>10}{0:>10}{total / statistics.median(alone):>10.1f}")
    for name, found in together.items():
        seconds, turns = sorted(found, key=lambda one: one[0])[len(found) // 2]
        refused = sum(writer.refused for writer in turns)
        done = total - refused
        waits = [wait for writer in turns for wait in writer.waits_s]
        figures = (
            f"{done:>10}{refused:>10}{done / seconds:>10.1f}"
            f"{seconds / statistics.median(alone):>9.2f}×"
            f"{min(writer.done_s for writer in turns) / seconds:>10.2f}"
            f"{max(waits) / statistics.mean(waits):>9.1f}×"
        )
        print(f"{name:30}{figures}   a commit {show(statistics.median(waits))}")


def graph_with(place: str, rows: list[str]) -> Graph:
    graph = Graph.init(f"{place}/{uuid.uuid4().hex}", SCHEMA)
    for name in dict.fromkeys(rows):
        graph.mutate(QUERIES, "put", {"name": name})
    return graph


def in_threads(place: str, rows: list[str], commits: int) -> list[Turns]:
    graph = graph_with(place, rows)
    ready = threading.Barrier(len(rows) + 1)
    with ThreadPoolExecutor(len(rows)) as pool:
        began: list[float] = []
        turns = [
            pool.submit(write, graph, row, commits, ready.wait, lambda: began[0]) for row in rows
        ]
        began.append(time.time())
        ready.wait()
        return [one.result() for one in turns]


def in_processes(place: str, rows: list[str], commits: int) -> list[Turns]:
    graph = graph_with(place, rows)
    context = get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(len(rows), context) as pool:
        ready, begin = manager.Barrier(len(rows) + 1), manager.Event()
        turns = [pool.submit(open_and_write, graph.uri, row, commits, ready, begin) for row in rows]
        ready.wait()
        begin.set()
        return [one.result() for one in turns]


def open_and_write(
    uri: str, row: str, commits: int, ready: threading.Barrier, begin: threading.Event
) -> Turns:
    graph = Graph.open(uri)
    graph.mutate(QUERIES, "set", {"name": row, "value": 0})  # all is imported and warm
    ready.wait()
    begin.wait()
    return write(graph, row, commits, lambda: None, time.time)


def write(
    graph: Graph, row: str, commits: int, wait: Callable[[], object], began: Callable[[], float]
) -> Turns:
    wait()
    since, waits, refused = began(), [], 0
    for _ in range(commits):
        asked = time.perf_counter()
        try:
            # No two values are alike: an update that changes nothing makes no commit.
            value = {"name": row, "value": uuid.uuid4().int >> 66}
            assert graph.mutate(QUERIES, "set", value).commit is not None
        except ConflictError:
            refused += 1
        waits.append(time.perf_counter() - asked)
    return Turns(waits, refused, time.time() - since)


@contextmanager
def place_of(kind: str) -> Iterator[str]:
    if kind == "disk":
        with tempfile.TemporaryDirectory(prefix="ogwriters-") as directory:
            yield directory
        return
    if importlib.util.find_spec("moto") is None:
        sys.exit("the S3 server of the tests is in .venv: .venv/bin/python -m bench.writers …")
    server = subprocess.Popen(
        [sys.executable, SERVER, "careless"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
    request = partial(urllib.request.Request, f"{endpoint}/{BUCKET}", method="PUT")
    urllib.request.urlopen(request()).close()
    os.environ |= {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_S3_FORCE_PATH_STYLE": "true",
        "AWS_ALLOW_HTTP": "true",
    }
    try:
        yield f"s3://{BUCKET}"
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
