"""Ours beside the systems people would use instead, in one run on one machine.

    python -m bench.run                      sizes S, every system
    python -m bench.run --size M --systems omnigraph,duckdb

Each system works in a process of its own, so that memory and native libraries do not mix. Rounds
are interleaved: round r runs on every system before round r+1, so that noise hits all alike.
Answers must agree, or the run fails. Figures are medians, and ratios to the best other system;
differences below 1.5× are noise.
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

OURS = "omnigraph"
SYSTEMS = (OURS, "ladybug", "duckdb")
LOADS = 2
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    names = chosen.systems.split(",")
    data = make(chosen.size, chosen.directory)
    size = SIZES[chosen.size]
    print(f"size {chosen.size}: {size.people:,} people, {size.follows:,} follows\n")
    workers = [Worker(name, start, name, data, chosen.directory / "db" / name) for name in names]
    try:
        report(measure(workers, data), workers)
    finally:
        for worker in workers:
            worker.stop()


Figures = dict[str, dict[str, list[float]]]
"""Seconds of every round, per measure and system."""


def measure(workers: list[Worker], data: Data) -> Figures:
    figures: Figures = {}
    for worker in workers:
        worker.call("prepare")
    for _ in range(LOADS):
        for worker in workers:
            note(figures, "load NDJSON", worker, worker.call("load")[0])
    for worker in workers:
        note(figures, "open + first one-hop", worker, worker.call("open", data.sources[0])[0])
    for measure_name, method, arguments in (
        ("one-hop count from a person", "one_hop", data.sources),
        ("two-hop paths from a person", "two_hop", data.sources),
        ("all two-hop paths", "all_two_hop", [None]),
    ):
        for round_number in range(ROUNDS + 1):
            answers = {}
            for worker in workers:
                seconds, answers[worker.name] = worker.call(method, arguments)
                if round_number > 0:  # the first round warms every system alike
                    note(figures, measure_name, worker, seconds / len(arguments))
            if len({str(a) for a in answers.values()}) > 1:
                sys.exit(f"the systems disagree on {measure_name}: {answers}")
    return figures


def note(figures: Figures, measure_name: str, worker: Worker, seconds: float) -> None:
    figures.setdefault(measure_name, {}).setdefault(worker.name, []).append(seconds)


def report(figures: Figures, workers: list[Worker]) -> None:
    names = [w.name for w in workers]
    print(
        f"{'':30}" + "".join(f"{w.name + ' ' + w.version:>22}" for w in workers) + f"{'ratio':>9}"
    )
    for measure_name, by_system in figures.items():
        medians = {name: statistics.median(by_system[name]) for name in names}
        others = [m for name, m in medians.items() if name != OURS]
        ratio = f"{medians[OURS] / min(others):.2f}×" if OURS in medians and others else "–"
        print(
            f"{measure_name:30}" + "".join(f"{show(medians[n]):>22}" for n in names) + f"{ratio:>9}"
        )
    print("\nratio: ours to the best of the others; below 1 ours is quicker")


def start(name: str, data: Data, place: Path) -> tuple[str, Steps]:
    """Inside a worker: the system, and what it can be asked to do."""
    system = importlib.import_module(f"bench.adapters.{name}").People()

    def load(_: None) -> None:
        shutil.rmtree(place, ignore_errors=True)
        system.load(data, place)

    def open_and_ask(person: int) -> int:
        system.open(place)
        return int(system.one_hop(person))

    return system.version(), {
        "prepare": lambda _: system.prepare(),
        "load": load,
        "open": open_and_ask,
        "one_hop": lambda people: [system.one_hop(p) for p in people],
        "two_hop": lambda people: [system.two_hop(p) for p in people],
        "all_two_hop": lambda _: [system.all_two_hop()],
    }


if __name__ == "__main__":
    main()
