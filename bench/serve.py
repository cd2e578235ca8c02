"""A server under many clients: what it loses (nothing), how fair it is, and what a request costs.

    python -m bench.serve                              64 clients for two minutes
    python -m bench.serve --seconds 10 --clients 16    a short look

Three things are measured:

- `cost`: the processor time of a server for one small request, beside that of the same call in
  process. One client, one request after the other; rounds are interleaved.
- `mixed`: clients of several actors read, and one in eight of them writes, over HTTP; and then the
  same calls by as many threads in one process. `fair` is the number of requests of the actor that
  got most, to that of the one that got least, of reads and of writes. The memory of the server is
  looked at when it is warm, in the middle and at the end.
- `kept`: every write that was acknowledged is there, once, and whole. The run fails if one is not.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measuring.processes import TICKS_A_SECOND, tree_of
from bench.measuring.worker import Steps, Worker, show
from bench.workloads.served import (
    ACTORS,
    PEOPLE,
    POLICY,
    Door,
    Here,
    There,
    make_served,
)
from omnigraph import Graph
from omnigraph.policy.policy import Policy

COST_ROUNDS = 5
COST_READS, COST_WRITES = 400, 20
CLIENTS_A_WRITER = 8
"""Of so many clients of an actor one writes and the others read."""
TORN_EVERY = 50
"""Of the reads of a client, one in so many looks at all notes."""
GOAL_MS = 1.0
ADDRESS = "OMNIGRAPH_LISTEN_ADDR="

Doors = Callable[[str], Door]
"""A door for a client that acts as somebody."""


@dataclass
class Tally:
    """What one client has seen."""

    actor: str
    is_writer: bool
    reads_s: list[float] = field(default_factory=list)
    writes_s: list[float] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    torn: int = 0
    failures: list[str] = field(default_factory=list)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--seconds", type=float, default=120.0)
    options.add_argument("--only", choices=("cost", "mixed"))
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="ogserve-") as directory:
        place = Path(directory) / "served.omni"
        make_served(place)
        here = Worker("in process", start_here, str(place))
        with served(place) as (pid, doors):
            if given.only != "mixed":
                report_cost(doors, pid, here)
            if given.only != "cost":
                report_mixed(doors, pid, here, given.clients, given.seconds, place)
        here.stop()


# The server, and the same graph in a process of its own ------------------------------------------


@contextmanager
def served(place: Path) -> Iterator[tuple[int, Doors]]:
    """`omnigraph serve`: its process id, and doors to it."""
    tokens = {actor: f"token of {actor}" for actor in ACTORS}
    policy = place.with_name("policy.yaml")
    policy.write_text(POLICY)
    command = [sys.executable, "-m", "omnigraph", "serve", "--store", str(place)]
    with subprocess.Popen(
        [*command, "--policy", str(policy), "--bind", "127.0.0.1:0"],
        env={**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(tokens)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            host, _, port = process.stdout.readline().strip().removeprefix(ADDRESS).rpartition(":")
            yield process.pid, lambda actor: There(host, int(port), tokens[actor])
        finally:
            process.terminate()
            process.wait()


def start_here(place: str) -> tuple[str, Steps]:
    graph = Graph.open(place).under_policy(Policy.of_text(POLICY))

    def cost(asked: tuple[str, int]) -> float:
        name, many = asked
        door = Here(graph, ACTORS[0])
        began = time.process_time()
        repeat(door, name, many)
        return time.process_time() - began

    def mixed(asked: tuple[int, float]) -> list[Tally]:
        return run_clients(lambda actor: Here(graph, actor), *asked)

    return "", {"cost": cost, "mixed": mixed}


# What one request costs ---------------------------------------------------------------------------


def report_cost(doors: Doors, pid: int, here: Worker) -> None:
    print(f"{'processor time of a request':30}{'server':>12}{'in process':>12}{'more':>12}")
    for name, many in (("point", COST_READS), ("friends", COST_READS), ("put", COST_WRITES)):
        there_s, here_s = [], []
        door = doors(ACTORS[0])
        repeat(door, name, many)  # all is imported and warm
        here.call("cost", (name, many))
        for _ in range(COST_ROUNDS):
            before = spent_s(pid)
            repeat(door, name, many)
            there_s.append((spent_s(pid) - before) / many)
            here_s.append(here.call("cost", (name, many))[1] / many)
        server, alone = statistics.median(there_s), statistics.median(here_s)
        more_ms = (server - alone) * 1000
        verdict = "" if more_ms <= GOAL_MS else f"   above the goal of {GOAL_MS} ms"
        print(f"{name:30}{show(server):>12}{show(alone):>12}{more_ms:>9.2f} ms{verdict}")


def repeat(door: Door, name: str, many: int) -> None:
    for number in range(many):
        if name == "put":
            door.change("put", {"key": f"{name}-{os.urandom(8).hex()}", "person": "0"})
        else:
            door.ask(name, {"n": number})


def spent_s(pid: int) -> float:
    return sum(ticks for ticks, _ in tree_of(pid)) / TICKS_A_SECOND


# Many at once -------------------------------------------------------------------------------------


def report_mixed(
    doors: Doors, pid: int, here: Worker, clients: int, seconds: float, place: Path
) -> None:
    run_clients(doors, clients, min(seconds, 5.0))  # threads, caches and pools are there
    before = commits_of(place)
    memory = [rss_of(pid)]
    middle = threading.Timer(seconds / 2, lambda: memory.append(rss_of(pid)))
    middle.start()
    tallies = run_clients(doors, clients, seconds)
    middle.join()
    memory.append(rss_of(pid))
    kept(doors, tallies, made=commits_of(place) - before)
    alone: list[Tally] = here.call("mixed", (clients, max(seconds / 4, 1.0)))[1]
    header = ("requests", "a second", "read p50", "p99", "write p50", "p99")
    words = "".join(f"{word:>11}" for word in header)
    print(f"\n{f'{clients} clients':18}{words}{'fair':>16}")
    rates = [
        report_line("over HTTP", tallies, seconds),
        report_line("in process", alone, max(seconds / 4, 1.0)),
    ]
    print(f"{'':18}{rates[0] / rates[1]:>21.2f}×")
    shown = " ".join(f"{size / 2**20:.0f}" for size in memory)
    print(f"memory of the server when warm, in the middle, at the end: {shown} MiB")


def report_line(name: str, tallies: list[Tally], seconds: float) -> float:
    reads = sorted(each for tally in tallies for each in tally.reads_s)
    writes = sorted(each for tally in tallies for each in tally.writes_s)
    count = len(reads) + len(writes)
    rate = count / seconds
    fair = f"{fairness(tallies, is_writer=False):.2f}×, {fairness(tallies, is_writer=True):.2f}×"
    points = [show(at(times, share)) for times in (reads, writes) for share in (0.5, 0.99)]
    shown = "".join(f"{point:>11}" for point in points)
    print(f"{name:18}{count:>11}{rate:>11.0f}{shown}{fair:>16}")
    return rate


def fairness(tallies: list[Tally], *, is_writer: bool) -> float:
    """The most requests of an actor to the fewest."""
    by_actor = Counter(dict.fromkeys(ACTORS, 0))
    for tally in tallies:
        if tally.is_writer is is_writer:
            by_actor[tally.actor] += len(tally.reads_s) + len(tally.writes_s)
    return max(by_actor.values()) / max(min(by_actor.values()), 1)


def at(times: list[float], share: float) -> float:
    return times[min(int(len(times) * share), len(times) - 1)] if times else 0.0


def run_clients(doors: Doors, clients: int, seconds: float) -> list[Tally]:
    """So many clients at once, in turns of the actors, until the time is over."""
    ready = threading.Barrier(clients)

    def one(number: int) -> Tally:
        actor = ACTORS[number % len(ACTORS)]
        tally = Tally(actor, is_writer=number // len(ACTORS) % CLIENTS_A_WRITER == 0)
        door = doors(tally.actor)
        door.ask("point", {"n": number})
        ready.wait()
        until = time.perf_counter() + seconds
        chance = random.Random(number)
        while time.perf_counter() < until and not tally.failures:
            step(door, tally, chance)
        return tally

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(one, range(clients)))


def step(door: Door, tally: Tally, chance: random.Random) -> None:
    number = chance.randrange(PEOPLE)
    began = time.perf_counter()
    try:
        if tally.is_writer:
            key = os.urandom(8).hex()
            door.change("put", {"key": key, "person": str(number)})
            tally.writes_s.append(time.perf_counter() - began)
            tally.written.append(key)
            return
        if chance.randrange(TORN_EVERY) == 0:
            tally.torn += door.ask("torn", {})[0]["notes"]
        else:
            door.ask(chance.choice(("point", "friends")), {"n": number})
        tally.reads_s.append(time.perf_counter() - began)
    except Exception as failure:  # noqa: BLE001 - told at the end, by name
        tally.failures.append(f"{type(failure).__name__}: {failure}")


def kept(doors: Doors, tallies: list[Tally], *, made: int) -> None:
    """Leave unless every acknowledged write is there, once, and no answer was torn."""
    failures = [failure for tally in tallies for failure in tally.failures]
    written = [key for tally in tallies for key in tally.written]
    found = Counter(row["n.key"] for row in doors(ACTORS[0]).ask("notes", {}))
    lost = [key for key in written if not found[key]]
    twice = [key for key in written if found[key] > 1]
    torn = sum(tally.torn for tally in tallies)
    print(f"\n{len(written)} writes acknowledged, {made} commits of them:", end=" ")
    print(f"{len(lost)} lost, {len(twice)} twice, {torn} torn, {len(failures)} failed")
    if lost or twice or torn or failures or made != len(written):
        sys.exit("\n".join(["the server did not keep its word", *sorted(set(failures))]))


def commits_of(place: Path) -> int:
    commits = Graph.open(place, read_only=True).commits()
    return sum(commit.kind == "mutation" for commit in commits)


def rss_of(pid: int) -> int:
    return sum(size for _, size in tree_of(pid))


if __name__ == "__main__":
    main()
