"""Questions of many shapes beside other systems, in one run on one machine.

    python -m bench.shapes                       size S, every system
    python -m bench.shapes --size M --only "mutual trust,by day"
    python -m bench.shapes --state "after a delete"

Where `queries.py` asks what a social network is asked, this asks what else a graph is asked: values
of edges summed and grouped, cycles, edges back, large answers, walks from everywhere; on the graph
as it was loaded, after deletes, on a fork, and first after a commit. Each system works in a process
of its own on a copy of what it loaded, and rounds are interleaved. Answers must agree, or the run
fails. Beside the time by the clock stands that of the processors, all cores together, which other
work on the machine disturbs less.
"""

import argparse
import hashlib
import importlib
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.measuring.worker import Steps, Worker, show
from bench.workloads.payments import LARGE, SEED, SIZES, SMALL, STATES, WARM, hub, make

OURS = "omnigraph"
SYSTEMS = (OURS, "ladybug", "duckdb")
ROUNDS = 7
ACCOUNTS = [7, 77, 300, 901, 1907]
"""Of whom small questions ask; they are there at every size and in every state."""
REPEATS = 4
"""A small question is asked of each account so often in a round: one call is over too soon."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How long one question took, in seconds by the clock and of the processor, and its answer."""

    wall: float
    cpu: float
    answer: str


Figures = dict[tuple[str, str], dict[str, list[Asked]]]
"""Every round, the first one first, per state, question and system."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--only", default="", help="questions, with commas between")
    parser.add_argument("--state", choices=STATES, help="one state of the graph only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    files = make(chosen.size, chosen.directory)
    home = chosen.directory / f"payments-db-{chosen.size}-{SEED}"
    names = chosen.systems.split(",")
    workers = [Worker(name, start, name, files, home / name) for name in names]
    only = _questions(chosen.only)
    try:
        figures: Figures = {}
        for state, questions in STATES.items():
            for worker in workers:
                worker.call("reach", state)
            if chosen.state in (None, state):
                asked = [q for q in questions if q in only]
                measure(workers, state, asked, figures, rounds=chosen.rounds, hub=hub(files))
        report(figures, workers)
    finally:
        for worker in workers:
            worker.stop()


def _questions(given: str) -> list[str]:
    """The names may hold commas themselves."""
    return [name for name in WARM if not given or name in given]


def measure(
    workers: list[Worker],
    state: str,
    questions: list[str],
    figures: Figures,
    *,
    rounds: int,
    hub: int,
) -> None:
    pairs = _pairs()
    for name in questions:
        numbers = [hub] if "hub" in name else ACCOUNTS * REPEATS if name in SMALL else [None]
        if state == "first after a commit":
            numbers = numbers[:1]
        for _ in range(rounds + 1):
            if state == "first after a commit":
                ends = next(pairs)
                for worker in workers:
                    worker.call("commit", ends)
            answers = {}
            for worker in workers:
                _, asked = worker.call("ask", (name, numbers))
                figures.setdefault((state, name), {}).setdefault(worker.name, []).append(asked)
                answers[worker.name] = asked.answer
            if len({answer.split(" ")[0] for answer in answers.values()}) > 1:
                sys.exit(f"the systems disagree on {name} {state}: {answers}")


def _pairs() -> Iterator[tuple[int, int]]:
    """Ends of new edges, each once and none of a closed account."""
    return ((source, target) for source in range(3, 500, 2) for target in range(4, 500, 50))


def report(figures: Figures, workers: list[Worker]) -> None:
    names = [w.name for w in workers]
    head = "".join(f"{w.name + ' ' + w.version:>18}" for w in workers) + f"{'ratio':>9}"
    head += "".join(f"{n[:9] + ' cpu':>14}" for n in names) + f"{'ratio':>9}"
    print(f"load average {os.getloadavg()[0]:.1f}\n\n{'median':44}{head}")
    ratios: dict[str, list[tuple[float, float]]] = {}
    for (state, question), by_system in figures.items():
        # The first round warms up; a first question after a commit is a first one in every round.
        walls = {n: statistics.median(a.wall for a in by_system[n][1:]) for n in names}
        cpus = {n: statistics.median(a.cpu for a in by_system[n][1:]) for n in names}
        both = (_ratio(walls), _ratio(cpus))
        ratios.setdefault(state, []).append(both)
        line = f"{question + (', ' if state else '') + state:44}"
        line += "".join(f"{show(walls[n]):>18}" for n in names) + f"{both[0]:>8.2f}×"
        line += "".join(f"{show(cpus[n]):>14}" for n in names) + f"{both[1]:>8.2f}×"
        print(line)
    print("\ngeometric mean of the ratios, by the clock and of processor time")
    for state, found in ratios.items():
        print(f"{state or 'as loaded':44}{_mean(found)}")
    print(f"{'all':44}{_mean([r for found in ratios.values() for r in found])}")


def _ratio(seconds: dict[str, float]) -> float:
    """Ours to the best of the others; NaN where there is nobody to compare."""
    others = [s for name, s in seconds.items() if name != OURS]
    return seconds[OURS] / min(others) if OURS in seconds and others else math.nan


def _mean(ratios: list[tuple[float, float]]) -> str:
    means = [math.exp(statistics.mean(map(math.log, each))) for each in zip(*ratios, strict=True)]
    return "".join(f"{mean:8.2f}×" for mean in means)


# In a worker -------------------------------------------------------------------------------------


def start(name: str, files: Path, place: Path) -> tuple[str, Steps]:
    """The system, loaded once and opened as a copy that may be changed."""
    system = importlib.import_module(f"bench.adapters.{name}").Payments()
    if not place.exists():
        system.load(files, place)
    scratch = place.with_name(f"{place.name}-scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(place, scratch)
    system.open(scratch)
    changes = {"after a delete": system.delete, "on a fork": system.fork}
    return system.version(), {
        "reach": lambda state: changes[state]() if state in changes else None,
        "commit": lambda ends: system.commit(*ends),
        "ask": lambda asked: _asked(system, *asked),
    }


def _asked(system: Any, name: str, numbers: list[int | None]) -> Asked:
    as_arrow = name in LARGE and "Python" not in name
    wall, cpu = time.perf_counter(), time.process_time()
    if as_arrow:
        answers: list[Any] = [system.fetch(name)]
    else:
        answers = [system.ask(name, number) for number in numbers]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Asked(wall / len(numbers), cpu / len(numbers), _digest(answers, is_ordered=name))


def _digest(answers: list[Any], *, is_ordered: str) -> str:
    """Equal for equal answers, with a look at the first rows."""
    rows = []
    for answer in answers:
        found = _rows(answer) if isinstance(answer, pa.Table) else answer
        found = [tuple(_rounded(value) for value in row) for row in found]
        rows.append(sorted(found) if is_ordered in LARGE else found)
    return f"{hashlib.sha256(repr(rows).encode()).hexdigest()[:16]} {str(rows)[:200]}"


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _rounded(value: Any) -> Any:
    """Means may be added up in any order."""
    return f"{value:.9g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
