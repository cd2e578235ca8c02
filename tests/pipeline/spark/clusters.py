"""Real Spark servers, and a driver that uses them from a process of its own.

They are on loopback, or on hosts that `namespaces` makes. A process holds one Spark session, and
that of a test run is local: so a cluster's driver is another process, which loads what it is told
to by way of the public `Graph`.
"""

import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import pyspark

from omnigraph import Graph
from omnigraph.base.errors import OmnigraphError, SparkFailed
from omnigraph.engine.results import LoadResult
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.spark.java import find_java_home
from omnigraph.pipeline.spark.session import Spark, SparkSettings
from omnigraph.store.arrow import table_schema
from tests.pipeline.limits import with_limits
from tests.processes import PATIENCE_S, end_with_parent, under_a_warden

T = TypeVar("T")

REPOSITORY = Path(__file__).parents[3]

# The second compiler and the parallel collector pay off in programs that run for longer than these.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
DEPLOY = "org.apache.spark.deploy"

# Small tables: two parts of a shuffle are enough, and a heartbeat tells early of what has died.
SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.driver.host": "127.0.0.1",
}

# A task that takes far longer than others is run a second time, and what is slow may end by itself.
IMPATIENT = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.quantile": "0.5",
    "spark.python.task.killTimeout": "20s",
}


@dataclass
class Server:
    """Processes on this machine that together are a place to run Spark."""

    url: str
    place: Path
    """Where it keeps what it prints."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def logs(self) -> str:
        """All that was printed: by the servers, by executors, and by the drivers' Spark."""
        files = [*self.place.glob("*.log"), *self.place.glob("work*/*/*/std*")]
        return "".join(file.read_text(errors="replace") for file in files)

    def executors(self) -> list[int]:
        """The processes that run tasks for a driver now."""
        found = [*processes()]
        wardens = {process.pid for process in self.processes}
        servers = {pid for pid, parent, _ in found if parent in wardens}
        return [pid for pid, parent, words in found if parent in servers and "Coarse" in words]


@dataclass(frozen=True)
class Host:
    """Where a server listens, and what begins the command line of a process there."""

    address: str
    inside: tuple[str, ...] = ()


# Spark takes them for two machines.
LOOPBACKS = (Host("127.0.0.1"), Host("127.0.0.2"))


@contextmanager
def standalone(
    place: Path,
    master: Host = LOOPBACKS[0],
    workers: Sequence[Host] = LOOPBACKS,
    *,
    java_options: str = "",
    surroundings: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """A master, and workers of one core each. They are told `java_options`, and find
    `surroundings` in their environment."""
    told = {"SPARK_DAEMON_JAVA_OPTS": f"{QUICK_START} {java_options}", **(surroundings or {})}
    with _stopped_at_the_end() as processes:

        def start(host: Host, log: Path, command: str) -> Path:
            there = {**told, "SPARK_LOCAL_IP": host.address}
            return _spark("spark-class", command.split(), log, processes, host, there)

        listens = f"--host {master.address} --port 0 --webui-port 0"
        log = start(master, place / "master.log", f"{DEPLOY}.master.Master {listens}")
        url = _told(log, r"Starting Spark master at (spark://\S+)", processes)
        logs = []
        for number, host in enumerate(workers, start=1):
            worker = (
                f"{DEPLOY}.worker.Worker --host {host.address} --webui-port 0 "
                f"-c 1 -m 1g --work-dir {place / f'work{number}'} {url}"
            )
            logs.append(start(host, place / f"worker{number}.log", worker))
        for log in logs:
            _told(log, r"(Successfully registered)", processes)
        yield Server(url, place, processes)


@contextmanager
def connect_server(place: Path) -> Iterator[Server]:
    """A Spark Connect server that runs tasks on this machine."""
    options = {
        **SMALL,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    arguments = [
        "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master=local[2,2]",
        *(f"--conf={name}={value}" for name, value in options.items()),
        "spark-internal",
    ]
    with _stopped_at_the_end() as processes:
        log = _spark("spark-submit", arguments, place / "connect.log", processes)
        address = _told(log, r"Spark Connect server started at: (\S+:\d+)", processes)
        yield Server(f"sc://127.0.0.1:{address.rpartition(':')[2]}", place, processes)


def _spark(
    program: str,
    arguments: list[str],
    log: Path,
    processes: list[subprocess.Popen[bytes]],
    host: Host = LOOPBACKS[0],
    surroundings: Mapping[str, str] | None = None,
) -> Path:
    home = Path(pyspark.__file__).parent
    with log.open("wb") as output:
        ours = {**_surroundings(), "SPARK_HOME": str(home), **(surroundings or {})}
        environment = {**os.environ, **ours}
        command = [*host.inside, str(home / "bin" / program), *arguments]
        processes.append(under_a_warden(command, environment=environment, output=output))
    return log


def _surroundings() -> dict[str, str]:
    return {
        "JAVA_HOME": str(find_java_home(os.environ)),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _told(log: Path, pattern: str, processes: list[subprocess.Popen[bytes]]) -> str:
    """What a server's log says once it is up."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        is_alive = all(process.poll() is None for process in processes)
        assert is_alive and time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.05)
    return found[1]


@contextmanager
def _stopped_at_the_end() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield processes
    finally:
        for process in reversed(processes):
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def ancestors(pid: int) -> list[int]:
    """Who started a process, who started that, and so on."""
    parents = {one: parent for one, parent, _ in processes()}
    found = []
    while (pid := parents.get(pid, 0)) > 1:
        found.append(pid)
    return found


def processes() -> Iterator[tuple[int, int, str]]:
    """Every process of the machine, with its parent and its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
                words = (entry / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue
            yield int(entry.name), int(status.rpartition(")")[2].split()[1]), words


# A driver in a process of its own -----------------------------------------------------------------


class Driver:
    """Runs functions, one after the other, in one process that keeps its Spark session.

    It starts afresh when nobody took its last answer, since whoever asked has failed or run out of
    time meanwhile, and when its Spark has failed: so no test suffers from the one before.
    """

    def __init__(
        self, environment: Mapping[str, str], enter: Callable[[], None] | None = None
    ) -> None:
        """`enter` is called in the process before anything else."""
        self._environment = dict(environment)
        self._enter = enter
        self._running: tuple[BaseProcess, Connection] | None = None
        self._asked = 0
        self._is_waiting = False

    def start(self, work: Callable[..., T], *arguments: Any, **options: Any) -> None:
        if self._is_waiting or (self._running is not None and not self._running[0].is_alive()):
            self._end(is_patient=False)
        self._asked += 1
        self._is_waiting = True
        self._pipe().send((self._asked, work, arguments, options))

    def answer(self) -> Any:
        """What the work that was started gave; its error is raised here."""
        assert self._running is not None, "nothing was asked"
        _, pipe = self._running
        assert pipe.poll(PATIENCE_S), "the driver does not answer"
        number, is_error, answer = pipe.recv()
        assert number == self._asked, "this is the answer to another question"
        self._is_waiting = False
        if not is_error:
            return answer
        if isinstance(answer, SparkFailed):
            self._end(is_patient=False)
        raise answer

    def run(self, work: Callable[..., T], *arguments: Any, **options: Any) -> T:
        self.start(work, *arguments, **options)
        answer: T = self.answer()
        return answer

    def stop(self) -> None:
        self._end(is_patient=not self._is_waiting)

    def kill(self) -> None:
        """By the signal that no process survives, whatever it does at the moment."""
        self._end(is_patient=False)

    def _pipe(self) -> Connection:
        if self._running is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(self._enter, self._environment, theirs))
            process.start()
            theirs.close()
            self._running = process, ours
        return self._running[1]

    def _end(self, *, is_patient: bool) -> None:
        """Without its process Spark ends by itself; with patience, in good order."""
        if self._running is not None:
            process, pipe = self._running
            pipe.close()
            process.join(30 if is_patient else 0)
            process.kill()
            process.join()
        self._running, self._is_waiting = None, False


def cluster_environment(server: Server) -> dict[str, str]:
    """What a driver of that server finds in its environment, and needs no more."""
    if server.url.startswith("sc://"):
        return {"OMNIGRAPH_SPARK_REMOTE": server.url}
    return {**spark_variables(server, SMALL | IMPATIENT), "SPARK_LOCAL_IP": "127.0.0.1"}


def spark_variables(server: Server, options: Mapping[str, str]) -> dict[str, str]:
    """What tells a driver of a standalone cluster."""
    return {
        "OMNIGRAPH_SPARK_MASTER": server.url,
        "OMNIGRAPH_SPARK_OPTIONS": " ".join(f"'{n}={value}'" for n, value in options.items()),
        "OMNIGRAPH_SPARK_LOG": str(server.place / "driver.log"),
    }


def load_there(
    uri: str, source: Any, *, limits: LoadLimits | None = None, **options: Any
) -> LoadResult:
    """Inside a driver. The handle stays open, and with it the session that the next load joins."""
    graph = Graph.open(uri, settings=with_limits(limits or LoadLimits()))
    HELD.append(graph)
    return graph.load(source, engine="spark", **options)


def spark_there() -> Spark:
    """Inside a driver: its session, begun now if no load has yet."""
    found = Settings.from_environment()
    return Spark.open(
        SparkSettings(
            found.spark_master or SparkSettings().master,
            found.spark_remote,
            options=found.spark_options,
            log=found.spark_log,
        )
    )


HELD: list[Graph] = []


def contents(graph: Graph, branch: str = "main") -> dict[str, list[dict[str, Any]]]:
    """Every row, without the ids that a load makes up."""
    snapshot = graph.snapshot(branch).stored
    found: dict[str, list[dict[str, Any]]] = {}
    for entity in snapshot.catalog.entities:
        names = [n for n in table_schema(entity).names if n != "id" or entity.key]
        rows = snapshot.dataset(entity).scan(names).to_pylist()
        found[entity.name] = sorted(rows, key=lambda row: [str(value) for value in row.values()])
    return found


def _serve(
    enter: Callable[[], None] | None, environment: Mapping[str, str], pipe: Connection
) -> None:
    if enter is not None:
        enter()
    end_with_parent()
    os.environ.update(environment)
    while True:
        try:
            number, work, arguments, options = pipe.recv()
        except EOFError:
            break
        try:
            pipe.send((number, False, work(*arguments, **options)))
        except OmnigraphError as error:
            pipe.send((number, True, error))
    for graph in HELD:
        graph.close()
