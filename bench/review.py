"""What it costs to look at a change and to take it: the same change on graphs of two sizes.

    python -m bench.review                       10,000 and 1,000,000 people, 1,000 rows changed
    python -m bench.review --people 10000,100000 --rounds 3 --spread

A branch replaces 400 people, adds 300 and removes 300: people who stand together, or with
`--spread` any. Measured are the diff of main and the branch, what its commits changed by the feed,
and its merge into main, once while main has stayed where it was and once after main has changed as
many people itself, by a handle that was just opened: on the clock, in time of processors (which
other programs on the machine disturb less), and in calls to storage. Figures are medians.

The last column is the larger graph's figure as a multiple of the smaller one's: it should stay
near 1. To land a version in which rows are replaced, Lance itself walks through the row ids of the
fragments that held them, some 20 ms for a million: the figures are told without that as well.
Where the people are spread, each of them lies in a block of its own on the larger graph, and
several lie in one on the smaller: so to read them costs more, up to a point.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.measuring.worker import show
from bench.workloads.changes import people
from omnigraph import Graph
from omnigraph.store.datasets import Dataset, Datasets
from omnigraph.store.objects import DiskObjects

SCHEMA = "node Person { number: I64 @key  name: String  age: I32 }"
REMOVE = """
query remove($low: I64, $high: I64) {
  delete Person where number >= $low and number < $high
}
"""
UPDATED, ADDED, REMOVED = 400, 300, 300
# As many as the smaller graph has people for.
MOST_CHANGES = 12
COUNTED = {
    Datasets: ("open",),
    Dataset: ("scan", "rows_at", "rows_of", "rows_among"),
    DiskObjects: ("get", "list", "exists"),
}

Figures = dict[str, dict[int, list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", default="10000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spread", action="store_true", help="change people here and there")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    home = chosen.directory / "review"
    shutil.rmtree(home, ignore_errors=True)
    sizes = [int(size) for size in chosen.people.split(",")]
    figures: Figures = {}
    places = {size: made(home / str(size), size) for size in sizes}
    for number in range(chosen.rounds + 1):
        for size, place in places.items():
            found = measured(place, size, number, chosen.spread)
            if number > 0:  # the first round warms both alike
                for name, figure in found.items():
                    figures.setdefault(name, {}).setdefault(size, []).append(figure)
    report(figures, sizes)


def made(place: Path, size: int) -> Path:
    """The graph, tidied."""
    graph = Graph.init(str(place), SCHEMA, durability="relaxed")
    graph.load({"Person": people(np.arange(size), age=30)}, mode="append", engine="local")
    graph.optimize()
    return place


def change(graph: Graph, branch: str, size: int, number: int, is_spread: bool) -> None:
    """A thousand rows, others for each number."""
    known = np.arange(UPDATED) + number * UPDATED
    if is_spread:
        part = size // 2 // MOST_CHANGES
        known = np.random.default_rng(number).choice(part, UPDATED, replace=False) + number * part
    fresh = np.arange(ADDED) + 10 * size + number * ADDED
    rows = people(np.concatenate([known, fresh]), age=31 + number)
    graph.load({"Person": rows}, mode="merge", engine="local", branch=branch)
    low = size - (number + 1) * REMOVED
    graph.mutate(REMOVE, {"low": low, "high": low + REMOVED}, branch=branch)


def measured(place: Path, size: int, number: int, is_spread: bool) -> dict[str, float]:
    """The figures of one round, which changes people three times."""
    ahead, beside = f"ahead{number}", f"beside{number}"
    graph = Graph.open(str(place), durability="relaxed")
    graph.branch_create(ahead)
    change(graph, ahead, size, 3 * number, is_spread)
    base = graph.commits(ahead)[2].graph_commit_id

    def compare(graph: Graph) -> None:
        assert len(graph.diff("main", ahead).to_pylist()) == UPDATED + ADDED + REMOVED

    def follow(graph: Graph) -> None:
        page = graph.changes(start=f"after:{base}", branch=ahead, limit=10_000)
        assert len(page) == UPDATED + ADDED + REMOVED

    def catch_up(graph: Graph) -> None:
        assert graph.branch_merge(ahead).outcome == "fast_forward"

    def merge(graph: Graph) -> None:
        assert graph.branch_merge(beside).outcome == "merged"

    figures = taken(place, ahead, {"diff": compare, "feed": follow, "fast forward": catch_up})
    graph.branch_create(beside)
    change(graph, beside, size, 3 * number + 1, is_spread)
    change(graph, "main", size, 3 * number + 2, is_spread)
    return figures | taken(place, beside, {"merge": merge})


def taken(
    place: Path, branch: str, steps: Mapping[str, Callable[[Graph], None]]
) -> dict[str, float]:
    """The figures of each step, by a handle of its own."""
    figures: dict[str, float] = {}
    for name, step in steps.items():
        graph = Graph.open(str(place), durability="relaxed")
        graph.commits(branch, limit=1)
        with Watched() as watched:
            start, start_cpu = time.perf_counter(), time.process_time()
            step(graph)
            cpu, clock = time.process_time() - start_cpu, time.perf_counter() - start
        figures |= {name: clock, f"{name}, of processors": cpu, f"{name}, calls": watched.calls}
        if watched.landing_s:
            figures[f"{name}, but landing"] = cpu - watched.landing_s
    return figures


class Watched:
    """Counts calls to storage, and the time of processors that landing takes."""

    def __init__(self) -> None:
        self.calls = 0
        self.landing_s = 0.0
        self._replaced = ExitStack()

    def __enter__(self) -> "Watched":
        for cls, names in COUNTED.items():
            for name in names:
                self._replaced.enter_context(patch.object(cls, name, self._counting(cls, name)))
        self._replaced.enter_context(patch.object(Datasets, "land", self._timing(Datasets.land)))
        return self

    def __exit__(self, *_: object) -> None:
        self._replaced.close()

    def _counting(self, cls: type, name: str) -> Callable[..., Any]:
        original = getattr(cls, name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls += 1
            return original(*args, **options)

        return call

    def _timing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return original(*args, **options)
            finally:
                self.landing_s += time.process_time() - start

        return call


def report(figures: Figures, sizes: list[int]) -> None:
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    print(f"{'':24}" + "".join(f"{f'{size:,} people':>20}" for size in sizes) + f"{'':>10}")
    for name, by_size in figures.items():
        medians = [statistics.median(by_size[size]) for size in sizes]
        shown = (f"{m:.0f}" if name.endswith("calls") else show(m) for m in medians)
        ratio = f"{medians[-1] / medians[0]:.2f}×"
        print(f"{name:24}" + "".join(f"{text:>20}" for text in shown) + f"{ratio:>10}")


if __name__ == "__main__":
    main()
