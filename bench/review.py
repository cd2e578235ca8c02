"""What it costs to look at a change and to take it: the same change on graphs of two sizes.

    python -m bench.review                       10,000 and 1,000,000 people, 1,000 rows changed
    python -m bench.review --people 10000,100000 --rounds 3

A branch replaces 400 people, adds 300 and removes 300. Measured are the diff of main and the
branch, what its commits changed by the feed, and its merge into main, each by a handle that was
just opened and by one that stays. Figures are medians; calls are those to storage by a handle that
was just opened. The last column is the larger graph's figure as a multiple of the smaller one's:
the cost follows the change, so it should stay near 1.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
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
    Dataset: ("scan", "rows_at", "rows_of", "rows_among", "_deleted_offsets"),
    DiskObjects: ("get", "list", "exists"),
}

Figures = dict[str, dict[int, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", default="10000,1000000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    home = chosen.directory / "review"
    shutil.rmtree(home, ignore_errors=True)
    sizes = [int(size) for size in chosen.people.split(",")]
    figures: Figures = {}
    places = {size: made(home / str(size), size) for size in sizes}
    for number in range(chosen.rounds):
        for size, place in places.items():
            for name, figure in measured(place, size, number).items():
                figures.setdefault(name, {}).setdefault(size, []).append(figure)  # type: ignore
    report(figures, sizes)


def made(place: Path, size: int) -> Path:
    """The graph, with a branch for every round and a change on each."""
    graph = Graph.init(str(place), SCHEMA, durability="relaxed")
    graph.load({"Person": people(np.arange(size), age=30)}, mode="append", engine="local")
    graph.optimize()
    return place


def change(graph: Graph, branch: str, size: int, number: int) -> None:
    """A thousand rows, spread over the table."""
    rng = np.random.default_rng(number)
    known = rng.choice(size // 2, UPDATED, replace=False)
    fresh = np.arange(ADDED) + 10 * size + number * ADDED
    rows = people(np.concatenate([known, fresh]), age=31 + number)
    graph.load({"Person": rows}, mode="merge", engine="local", branch=branch)
    low = size - (number + 1) * REMOVED
    graph.mutate(REMOVE, {"low": low, "high": low + REMOVED}, branch=branch)


def measured(place: Path, size: int, number: int) -> dict[str, float]:
    branch = f"round{number}"
    graph = Graph.open(str(place), durability="relaxed")
    graph.branch_create(branch)
    change(graph, branch, size, number)

    def compare(handle: Graph) -> None:
        assert len(handle.diff("main", branch).to_pylist()) == UPDATED + ADDED + REMOVED

    def follow(handle: Graph) -> None:
        start = f"after:{handle.commits(branch)[2].graph_commit_id}"
        assert len(handle.changes(start=start, branch=branch, limit=10_000)) == 1_000

    figures: dict[str, float] = {}
    for name, step in (("diff", compare), ("feed", follow)):
        fresh = Graph.open(str(place), read_only=True)
        calls, figures[f"{name}, just opened"] = counted(lambda: step(fresh))  # noqa: B023
        figures[f"{name}, calls"] = calls
        figures[name] = seconds(lambda: step(fresh))  # noqa: B023
    fresh = Graph.open(str(place), durability="relaxed")
    calls, figures["merge, just opened"] = counted(lambda: fresh.branch_merge(branch))
    figures["merge, calls"] = calls
    return figures


def seconds(step: Callable[[], Any]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def counted(step: Callable[[], Any]) -> tuple[int, float]:
    """How many calls to storage it makes, and how long it takes."""
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
        spent = seconds(step)
    finally:
        for cls, name, original in originals:
            setattr(cls, name, original)
    return sum(calls.values()), spent


def _counting(original: Any, name: str, calls: Counter[str]) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        calls[name] += 1
        return original(*args, **options)

    return call


def report(figures: Figures, sizes: list[int]) -> None:
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    print(f"{'':24}" + "".join(f"{f'{size:,} people':>20}" for size in sizes) + f"{'':>10}")
    for name, by_size in figures.items():
        medians = [statistics.median(by_size[size]) for size in sizes]  # type: ignore
        shown = (f"{m:.0f}" if name.endswith("calls") else show(m) for m in medians)
        ratio = f"{medians[-1] / medians[0]:.2f}×"
        print(f"{name:24}" + "".join(f"{text:>20}" for text in shown) + f"{ratio:>10}")


if __name__ == "__main__":
    main()
