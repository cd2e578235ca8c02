"""The study's questions beside other systems, in one run on one machine.

    python -m bench.queries                  size S, every system
    python -m bench.queries --size M --systems omnigraph,duckdb

Each system works in a process of its own and rounds are interleaved, as in `run.py`. Answers must
agree, or the run fails. Beside the medians of warm rounds stand the first time a question was asked
after opening, the peak memory of each process, and what a cold start is made of.
"""

import argparse
import importlib
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measuring.worker import Steps, Worker, show
from bench.workloads.people import SIZES
from bench.workloads.study import POINT, STUDY, make

OURS = "omnigraph"
SYSTEMS = (OURS, "ladybug", "duckdb")
ROUNDS = 7
PEOPLE = [7, 77, 300, 555, 901]
"""Of whom point questions ask; they are there at every size."""

COLD = {
    "python": "",
    "… + pyarrow + lance (the floor)": "import pyarrow, lance",
    "… import omnigraph": "import omnigraph",
    "… import Graph": "from omnigraph import Graph",
    "… open": "from omnigraph import Graph; g = Graph.open(P)",
    "… first point read": "from omnigraph import Graph; g = Graph.open(P); g.query(Q, params=N)",
}
POINT_READ = "query q($n: I64) { match { $p: Person { number: $n } } return { $p.name } }"

Figures = dict[str, dict[str, list[float]]]
"""Seconds of every round, the first one first, per question and system."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    files = make(chosen.size, chosen.directory)
    home = chosen.directory / f"study-db-{chosen.size}"
    names = chosen.systems.split(",")
    workers = [Worker(name, start, name, files, home / name) for name in names]
    try:
        for worker in workers:
            worker.call("open")
        report(measure(workers), workers)
    finally:
        for worker in workers:
            worker.stop()
    if (home / OURS).exists():
        cold_start(home / OURS)


def measure(workers: list[Worker]) -> Figures:
    figures: Figures = {}
    questions = [(name, [None]) for name in STUDY] + [(name, PEOPLE) for name in POINT]
    for name, people in questions:
        for _ in range(ROUNDS + 1):
            answers = {}
            for worker in workers:
                seconds, answers[worker.name] = worker.call("ask", (name, people))
                figures.setdefault(name, {}).setdefault(worker.name, []).append(
                    seconds / len(people)
                )
            if len({repr(rounded(a)) for a in answers.values()}) > 1:
                shown = {system: str(a)[:300] for system, a in answers.items()}
                sys.exit(f"the systems disagree on {name}: {shown}")
    return figures


def rounded(value: Any) -> Any:
    """Means may be added up in any order."""
    if isinstance(value, float):
        return f"{value:.9g}"
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else value


def report(figures: Figures, workers: list[Worker]) -> None:
    names = [w.name for w in workers]
    head = "".join(f"{w.name + ' ' + w.version:>22}" for w in workers)
    print(f"load average {os.getloadavg()[0]:.1f}\n\n{'warm, median':32}{head}{'ratio':>9}")
    ratios = {}
    for question, by_system in figures.items():
        medians = {n: statistics.median(by_system[n][1:]) for n in names}
        others = [m for n, m in medians.items() if n != OURS]
        ratio = ""
        if OURS in medians and others:
            ratios[question] = medians[OURS] / min(others)
            ratio = f"{ratios[question]:.2f}×"
        print(f"{question:32}" + "".join(f"{show(medians[n]):>22}" for n in names) + f"{ratio:>9}")
    study = [math.log(r) for q, r in ratios.items() if q in STUDY]
    if study:
        print(f"\nthe study's questions, geometric mean: {math.exp(statistics.mean(study)):.2f}×")
    print(f"\n{'first time':32}{head}")
    for question, by_system in figures.items():
        print(f"{question:32}" + "".join(f"{show(by_system[n][0]):>22}" for n in names))
    peaks = [f"{w.call('memory')[1] / 2**20:.0f} MiB" for w in workers]
    print(f"\n{'peak memory':32}" + "".join(f"{p:>22}" for p in peaks))


def cold_start(place: Path) -> None:
    """Whole processes, from nothing to the end of each step; the best of three."""
    print("\ncold start of a process")
    for step, code in COLD.items():
        setup = f"P, Q, N = {str(place)!r}, {POINT_READ!r}, {{'n': 77}}\n"
        times = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", setup + code], check=True)
            times.append(time.perf_counter() - began)
        print(f"{step:32}{show(min(times)):>22}")


def start(name: str, files: Path, place: Path) -> tuple[str, Steps]:
    """Inside a worker: the system, loaded once, and what it can be asked to do."""
    system = importlib.import_module(f"bench.adapters.{name}").Study()
    if not place.exists():
        system.load(files, place)
    return system.version(), {
        "open": lambda _: system.open(place),
        "ask": lambda asked: [system.ask(asked[0], person) for person in asked[1]],
        "memory": lambda _: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    main()
