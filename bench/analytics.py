"""PageRank and weak components, beside igraph: ours in process, and on Spark if that is asked for.

    python -m bench.analytics                     size S
    python -m bench.analytics --size M            2.4 million edges
    python -m bench.analytics --size L --spark    24 million

Ours reads its files and makes adjacency of them in the first round, and keeps it; igraph makes its
graph when it is opened. Both are shown. Later rounds are interleaved, and figures are medians of
them. Scores must agree to nine digits, and the numbers of components altogether.
"""

import argparse
import importlib
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from bench.measuring.worker import Steps, Worker, show
from bench.workloads.people import SIZES, Data, make

OURS, SPARK, IGRAPH = "omnigraph", "omnigraph on Spark", "igraph"
CLASSES = {
    OURS: ("omnigraph", "Analytics"),
    SPARK: ("omnigraph", "AnalyticsOnSpark"),
    IGRAPH: ("igraph", "Analytics"),
}
ROUNDS, ROUNDS_ON_SPARK = 5, 1
QUESTIONS = ("PageRank", "weak components")
GOAL = 1.5

Figures = dict[str, dict[str, list[float]]]
"""Seconds, per measure and system."""


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


def measure(workers: list[Worker]) -> Figures:
    figures: Figures = {"open": {w.name: [w.call("open")[0]] for w in workers}}
    for question in QUESTIONS:
        first: dict[str, list[float]] = figures.setdefault(f"{question}, first", {})
        later: dict[str, list[float]] = figures.setdefault(question, {})
        for round_number in range(ROUNDS + 1):
            answers = {}
            for worker in workers:
                if worker.name == SPARK and round_number > ROUNDS_ON_SPARK:
                    continue
                seconds, answers[worker.name] = worker.call(question)
                into = first if round_number == 0 else later
                into.setdefault(worker.name, []).append(seconds)
            if len(set(answers.values())) > 1:
                sys.exit(f"the systems disagree on {question}: {answers}")
    return figures


def report(figures: Figures, workers: list[Worker]) -> None:
    names = [worker.name for worker in workers]
    ratios = [name for name in names if name != IGRAPH and IGRAPH in names]
    heads = [*names, *(f"{name} / igraph" for name in ratios)]
    print(f"{'':24}" + "".join(f"{head:>28}" for head in heads))
    for measure_name, by_system in figures.items():
        medians = {name: statistics.median(by_system[name]) for name in names}
        cells = [show(medians[name]) for name in names]
        cells += [f"{medians[name] / medians[IGRAPH]:.2f}×" for name in ratios]
        print(f"{measure_name:24}" + "".join(f"{cell:>28}" for cell in cells))
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
