"""Vectors, words and both, filtered or followed by a hop: ours beside LanceDB.

    python -m bench.search                      100,000 papers, vectors of 128 numbers
    python -m bench.search --papers 20000 --rounds 3

Each system works in a process of its own and rounds are interleaved. Every question is asked of
both in turn; figures are medians over questions and rounds, after a first round that warms both.
Before that, both load the rows and build the indexes of their files: of vectors, of words and of
what filters go by. What a first query of ours derives and keeps in memory, which then answers, is a
step by itself. Of each step the time, the processor's time and the most memory are shown.
Ours is exact at this size. `found` is the share of our ten best that the other has too: its vectors
are searched by an approximate index, and it fuses only as many rows as are asked for.
"""

import argparse
import importlib
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.measuring.processes import Watch
from bench.measuring.worker import Steps, Worker, show
from bench.workloads.papers import Question, papers_of, questions

OURS, PEER = "omnigraph", "lancedb"
BUILDS = ("load", "index", "derive")
KINDS = ("vector", "filtered_vector", "bm25", "filtered_bm25", "hybrid", "hybrid_and_hop")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--papers", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    home = chosen.directory / "search"
    shutil.rmtree(home, ignore_errors=True)
    sizes = (chosen.papers, chosen.width)
    workers = [Worker(name, start, name, *sizes, home / name) for name in (OURS, PEER)]
    try:
        for worker in workers:
            print(f"{worker.name} {worker.version}")
        for step in BUILDS:
            build(step, workers)
        asked = questions(chosen.questions, chosen.width)
        print(f"{'':18}{OURS:>12}{PEER:>12}{'ratio':>8}{'found':>8}")
        for kind in KINDS:
            compare(kind, asked, workers, chosen.rounds)
    finally:
        for worker in workers:
            worker.stop()


def build(step: str, workers: list[Worker]) -> None:
    """One step of making the tables, by each in turn."""
    shown = []
    for worker in workers:
        with Watch(worker.pid) as watch:
            spent, _ = worker.call(step)
        peak = f"{watch.peak_bytes / 2**20:,.0f} MiB"
        shown.append(f"{show(spent):>9}{watch.cpu_s:9.1f} s{peak:>12}")
    print(f"{step:18}{shown[0]}  |{shown[1]}")


def compare(kind: str, asked: list[Question], workers: list[Worker], rounds: int) -> None:
    spent: dict[str, list[float]] = {worker.name: [] for worker in workers}
    shares = []
    for number in range(rounds + 1):
        for question in asked:
            answers = {}
            for worker in workers:
                seconds, answers[worker.name] = worker.call(kind, question)
                if number:
                    spent[worker.name].append(seconds)
            found = set(answers[OURS])
            assert found, f"{kind} finds nothing for {question.text}"
            shares.append(len(found & set(answers[PEER])) / len(found))
    ours, peer = (statistics.median(spent[name]) for name in (OURS, PEER))
    ratio, share = ours / peer, statistics.mean(shares)
    print(f"{kind:18}{show(ours):>12}{show(peer):>12}{ratio:8.2f}{share:8.2f}")


def start(name: str, count: int, width: int, place: Path) -> tuple[str, Steps]:
    """Inside a worker: what the system can be asked to do."""
    # A hybrid search of LanceDB warns of the columns it picks itself, each time.
    os.environ["LANCEDB_LOG"] = "error"
    system = importlib.import_module(f"bench.adapters.{name}").Searches()
    papers = papers_of(count, width)
    steps = {kind: getattr(system, kind) for kind in KINDS}
    load = partial(system.load, papers, place)
    builds = {"load": load, "index": system.index, "derive": system.derive}
    return system.version(), {name: _alone(work) for name, work in builds.items()} | steps


def _alone(work: Callable[[], object]) -> Callable[[object], object]:
    return lambda _: work()


if __name__ == "__main__":
    main()
