"""What it costs to look at a change and to take it: the same change on graphs of two sizes.

    python -m bench.review                       10,000 and 1,000,000 people, 1,000 rows changed
    python -m bench.review --people 10000,100000 --rounds 3 --spread

A branch replaces 400 people, adds 300 and removes 300: people who stand together, or with
`--spread` any. Measured are the diff of main and the branch, what its commits changed by the feed,
and its merge into main, by a handle that was just opened: on the clock, in time of processors
(which other programs on the machine disturb less), and in calls to storage. Figures are medians.

The last column is the larger graph's figure as a multiple of the smaller one's: it should stay
near 1. Where the people are spread, each of them lies in a block of its own on the larger graph,
and several lie in one on the smaller: so to read them costs more, up to a point.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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
COUNTED = {
    Datasets: ("open",),
    Dataset: ("scan", "rows_at", "rows_of", "rows_among"),
    DiskObjects: ("get", "list", "exists"),
}

Figures = dict[str, dict[int, list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", default="10000,1000000")
    parser.add_argument("--rounds", type=int, default=7)
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
            change(Graph.open(str(place), durability="relaxed"), size, number, chosen.spread)
            found = measured(place, f"round{number}")
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


def change(graph: Graph, size: int, number: int, is_spread: bool) -> None:
    """A thousand rows, on a branch of their own."""
    branch = f"round{number}"
    graph.branch_create(branch)
    known = np.arange(UPDATED) + number * UPDATED
    if is_spread:
        known = np.random.default_rng(number).choice(size // 2, UPDATED, replace=False)
    fresh = np.arange(ADDED) + 10 * size + number * ADDED
    rows = people(np.concatenate([known, fresh]), age=31 + number)
    graph.load({"Person": rows}, mode="merge", engine="local", branch=branch)
    low = size - (number + 1) * REMOVED
    graph.mutate(REMOVE, {"low": low, "high": low + REMOVED}, branch=branch)


def measured(place: Path, branch: str) -> dict[str, float]:
    base = Graph.open(str(place), read_only=True).commits(branch)[2].graph_commit_id

    def compare(graph: Graph) -> None:
        assert len(graph.diff("main", branch).to_pylist()) == UPDATED + ADDED + REMOVED

    def follow(graph: Graph) -> None:
        page = graph.changes(start=f"after:{base}", branch=branch, limit=10_000)
        assert len(page) == UPDATED + ADDED + REMOVED

    def merge(graph: Graph) -> None:
        assert graph.branch_merge(branch).commit is not None

    figures: dict[str, float] = {}
    for name, step in {"diff": compare, "feed": follow, "merge": merge}.items():
        graph = Graph.open(str(place), durability="relaxed")
        graph.commits(branch, limit=1)
        calls, cpu, clock = counted(partial(step, graph))
        figures |= {name: clock, f"{name}, of processors": cpu, f"{name}, calls": calls}
    return figures


def counted(step: Callable[[], Any]) -> tuple[int, float, float]:
    """How many calls to storage it makes, and how long it takes: of processors, and in all."""
    calls: Counter[str] = Counter()
    originals = [
        (cls, name, getattr(cls, name))
        for cls, names in COUNTED.items()
        for name in names
        if hasattr(cls, name)
    ]
    for cls, name, original in originals:
        setattr(cls, name, _counting(original, name, calls))
    try:
        start, start_cpu = time.perf_counter(), time.process_time()
        step()
        cpu, clock = time.process_time() - start_cpu, time.perf_counter() - start
    finally:
        for cls, name, original in originals:
            setattr(cls, name, original)
    return sum(calls.values()), cpu, clock


def _counting(original: Any, name: str, calls: Counter[str]) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        calls[name] += 1
        return original(*args, **options)

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
