"""What changes cost: ours beside LanceDB and Ladybug, and as the history grows.

    python -m bench.changes                      100,000 people, every system
    python -m bench.changes --people 10000 --systems omnigraph,lancedb --commits 10,100

Each system works in a process of its own and rounds are interleaved, as in `run.py`. After every
measure all must count the same people, follows and years, or the run fails. Ours checks every rule
of the schema, counts the follows that a delete takes along, and is durable; what the others promise
is printed. Figures are medians. The last table is one-row inserts after so many commits.
"""

import argparse
import importlib
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.measuring.worker import Steps, Worker, show
from bench.workloads.changes import base_of, people

OURS = "omnigraph"
SYSTEMS = (OURS, "lancedb", "ladybug")
ROUNDS = 9
BULK_ROUNDS = 5
UPSERTED = 10_000
KNOWN_SHARE = 0.8
"""Of upserted people so many are there already."""
AT_ONCE = 20
"""Inserts that are timed together at a length of history."""

Figures = dict[str, dict[str, list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--commits", default="10,100,1000,2000", help="empty: leave it out")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    home = chosen.directory / "changes"
    shutil.rmtree(home, ignore_errors=True)
    names = chosen.systems.split(",")
    workers = [Worker(name, start, name, chosen.people, home / name) for name in names]
    try:
        for worker in workers:
            print(f"{worker.name} {worker.version}: {worker.call('durability')[1]}")
        report(measure(workers, chosen.people), workers)
        lengths = [int(length) for length in chosen.commits.split(",") if length]
        if lengths:
            grow(workers, lengths, first=10 * chosen.people)
    finally:
        for worker in workers:
            worker.stop()


def measure(workers: list[Worker], size: int) -> Figures:
    figures: Figures = {}

    def each(measure_name: str, step: str, arguments: Iterator[object], rounds: int) -> None:
        for number in range(rounds + 1):
            argument, found = next(arguments), {}
            for worker in workers:
                if step == "upsert":
                    worker.call("take", argument)
                seconds, _ = worker.call(step, argument)
                if number > 0:  # the first round warms every system alike
                    figures.setdefault(measure_name, {}).setdefault(worker.name, []).append(seconds)
                found[worker.name] = worker.call("counts")[1]
            if len(set(found.values())) > 1:
                sys.exit(f"the systems disagree after {measure_name}: {found}")

    each("insert of one person", "insert", iter(range(2 * size, 3 * size)), ROUNDS)
    each(f"upsert of {UPSERTED:,} people", "upsert", upserts(size), BULK_ROUNDS)
    each("delete of a person with follows", "delete", iter(range(7, size, 11)), ROUNDS)
    return figures


def upserts(size: int) -> Iterator[tuple[list[int], int]]:
    """Numbers of people and the age to give them: some are there, others are new."""
    rng = np.random.default_rng(1)
    known = int(min(UPSERTED * KNOWN_SHARE, size))
    for number in range(1, BULK_ROUNDS + 2):
        old = rng.choice(size, known, replace=False)
        new = np.arange(UPSERTED - known) + size * (3 + number)
        yield np.concatenate([old, new]).tolist(), 30 + number


def report(figures: Figures, workers: list[Worker]) -> None:
    names = [worker.name for worker in workers]
    print(f"\nload average {os.getloadavg()[0]:.1f}\n")
    print(f"{'':34}" + "".join(f"{name:>16}" for name in names) + f"{'to lancedb':>14}")
    for measure_name, by_system in figures.items():
        medians = {name: statistics.median(by_system[name]) for name in names}
        ratio = f"{medians[OURS] / medians['lancedb']:.2f}×" if "lancedb" in medians else "–"
        shown = "".join(f"{show(medians[name]):>16}" for name in names)
        print(f"{measure_name:34}{shown}{ratio:>14}")


def grow(workers: list[Worker], lengths: list[int], *, first: int) -> None:
    print(f"\n{'one insert after … commits':34}" + "".join(f"{w.name:>16}" for w in workers))
    done = 0
    for length in lengths:
        shown = []
        for worker in workers:
            worker.call("inserts", (first + done, max(length - AT_ONCE - done, 0)))
            start_at = first + max(length - AT_ONCE, done)
            seconds, _ = worker.call("inserts", (start_at, AT_ONCE))
            shown.append(f"{show(seconds / AT_ONCE):>16}")
        done = max(length, done + AT_ONCE)
        print(f"{length:<34,}" + "".join(shown))


def start(name: str, size: int, place: Path) -> tuple[str, Steps]:
    """Inside a worker: the system with its tables made, and what it can be asked to do."""
    system = importlib.import_module(f"bench.adapters.{name}").Changes()
    system.make(base_of(size), place)

    def inserts(numbers: tuple[int, int]) -> None:
        begin, count = numbers
        for number in range(begin, begin + count):
            system.insert(number)

    rows: list[pa.Table] = []

    def take(asked: tuple[list[int], int]) -> None:
        rows[:] = [people(np.array(asked[0]), age=asked[1])]

    return system.version(), {
        "durability": lambda _: system.durability,
        "insert": system.insert,
        "inserts": inserts,
        "take": take,
        "upsert": lambda _: system.upsert(rows[0]),
        "delete": system.delete,
        "counts": lambda _: system.counts(),
    }


if __name__ == "__main__":
    main()
