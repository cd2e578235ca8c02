"""PageRank and weak components, beside igraph: ours in process, and on Spark if that is asked for.

    python -m bench.analytics                     size S
    python -m bench.analytics --size M            2.4 million edges
    python -m bench.analytics --size L --spark    24 million

Ours reads its files and makes adjacency of them in the first round, and keeps it; igraph makes its
graph when it is opened. Both are shown. Later rounds are interleaved, and figures are medians of
them. Spark keeps nothing from one question to the next, and is asked once. Scores must agree to
nine digits, and the numbers of components altogether.
"""

import argparse
import importlib
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measuring.worker import Steps, Worker, show
from bench.workloads.people import SIZES, Data, make

OURS, SPARK, IGRAPH = "omnigraph", "omnigraph on Spark", "igraph"
CLASSES = {
    OURS: ("omnigraph", "Analytics"),
    SPARK: ("omnigraph", "AnalyticsOnSpark"),
    IGRAPH: ("igraph", "Analytics"),
}
ROUNDS = 5
QUESTIONS = ("PageRank", "weak components")
GOAL = 1.5

Figures = dict[str, list[float]]
"""Seconds, per system."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--size", choices=SIZES, default="S")
    options.add_argument("--spark", action="store_true", help="ours on Spark too")
    options.add_argument("--without-igraph", action="store_true", help="ours alone, no ratio")
    options.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    given = options.parse_args()
    size, data = SIZES[given.size], make(given.size, given.directory)
    print(f"size {given.size}: {size.people:,} people, {size.follows:,} follows\n")
    names = [OURS, *[SPARK] * given.spark, *[IGRAPH] * (not given.without_igraph)]
    place = given.directory / f"analytics-{given.size}"
    workers = [Worker(name, start, name, data, place) for name in names]
    try:
        report(measure(workers), workers)
    finally:
        for worker in workers:
            worker.stop()


def measure(workers: list[Worker]) -> Iterator[tuple[str, Figures]]:
    """Each measure with its figures, as soon as they are there: the whole can take an hour."""
    yield "open", {worker.name: [worker.call("open")[0]] for worker in workers}
    for question in QUESTIONS:
        first = ask(question, workers)
        yield f"{question}, first", {name: [seconds] for name, seconds in first.items()}
        kept = [worker for worker in workers if worker.name != SPARK]
        later = [ask(question, kept) for _ in range(ROUNDS)]
        yield question, {name: [one[name] for one in later] for name in later[0]}


def ask(question: str, workers: list[Worker]) -> dict[str, float]:
    """The seconds each system needs for an answer; all must give the same one."""
    seconds, answers = {}, {}
    for worker in workers:
        seconds[worker.name], answers[worker.name] = worker.call(question)
    if len(set(answers.values())) > 1:
        sys.exit(f"the systems disagree on {question}: {answers}")
    return seconds


def report(measures: Iterator[tuple[str, Figures]], workers: list[Worker]) -> None:
    names = [worker.name for worker in workers]
    ratios = [name for name in names if name != IGRAPH and IGRAPH in names]
    heads = [*names, *(f"{name} / igraph" for name in ratios)]
    print(f"{'':24}" + "".join(f"{head:>28}" for head in heads), flush=True)
    for measure_name, by_system in measures:
        medians = {name: statistics.median(seconds) for name, seconds in by_system.items()}
        cells = [show(medians[name]) if name in medians else "" for name in names]
        cells += [
            f"{medians[name] / medians[IGRAPH]:.2f}×" if name in medians else "" for name in ratios
        ]
        print(f"{measure_name:24}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    print(f"\nthe goal in process: at most {GOAL}× igraph, once adjacency is there")


def start(name: str, data: Data, place: Path) -> tuple[str, Steps]:
    """Inside a worker: the system, and what it can be asked to do."""
    module, kind = CLASSES[name]
    system = getattr(importlib.import_module(f"bench.adapters.{module}"), kind)()

    def open_(_: None) -> None:
        system.open(place)

    def ranks(_: None) -> tuple[str, float]:
        person, score = system.ranks()
        return person, float(f"{score:.9g}")

    if name == OURS and not place.exists():
        half = place.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        system.load(data, half)
        half.rename(place)
    elif name == IGRAPH:
        system.load(data, place)
    return system.version(), {
        "open": open_,
        "PageRank": ranks,
        "weak components": lambda _: system.components(),
    }


if __name__ == "__main__":
    main()
