"""A cluster whose master, workers, driver and bucket are on hosts of their own: see `namespaces`.

A test looks at the bucket through a watcher, a process on the bucket's own host: it sees what is
there, whichever other hosts are cut off.
"""

import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.layout import EDGES, NODES, STAGING
from tests.buckets import BUCKET, CARELESS, ENDPOINT, bucket_variables, location_of
from tests.pipeline.spark.clusters import (
    SMALL,
    Driver,
    Server,
    contents,
    load_there,
    spark_there,
    spark_variables,
    standalone,
)
from tests.pipeline.spark.namespaces import Network, network
from tests.places import SERVER as S3_SERVER
from tests.processes import wait_until

MASTER, WORKERS, DRIVER, STORE = "master", ("worker1", "worker2"), "driver", "store"

# So soon after its last word a host is taken for lost, by the driver and by the master. Both wait
# for minutes otherwise.
NOTICED = {
    # A task that has failed on one worker is run on the other one.
    "spark.excludeOnFailure.enabled": "true",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "16s",
    "spark.network.timeoutInterval": "2s",
}
# The master forgets a worker that was away for so many of these times, and never takes it back:
# on a busy machine 16 of them, the default, are soon over.
NOTICED_BY_MASTER = "-Dspark.worker.timeout=6 -Dspark.dead.worker.persistence=1000"

TASKS = LoadLimits(min_task_bytes=6_000, max_task_bytes=6_000, max_lookup_bytes=-1)
"""Any load is a large one, in so many tasks that both workers are at work for seconds."""


@dataclass
class Apart:
    network: Network
    spark: Server
    driver: Driver
    watcher: Driver
    _heard: dict[str, int] = field(default_factory=dict)

    def new_graph(self, schema: str) -> "Remote":
        name = uuid.uuid4().hex
        remote = Remote(self, f"s3://{BUCKET}/{name}/g", f"s3://{BUCKET}/{name}/in")
        self.watcher.run(init_there, remote.uri, schema)
        return remote

    def listen(self) -> None:
        """From here on it counts who is lost."""
        self._heard = {name: len(self._log(name)) for name in (DRIVER, MASTER)}

    def has_lost(self, name: str) -> bool:
        """True if the driver has given up a worker."""
        return f"on {self.network.address(name)}: " in self._news(DRIVER)

    def removed_workers(self) -> int:
        """How many workers the master has given up."""
        return self._news(MASTER).count("because we got no heartbeat")

    def hosts_of_executors(self) -> set[str]:
        """Where the driver has executors, as it says itself."""
        return self.driver.run(hosts_there)

    def wait_until_whole(self, *, without: Sequence[int] = ()) -> None:
        """Until each worker has an executor, and not all of the old ones are there."""
        wanted = {self.network.address(name) for name in WORKERS}

        def is_whole() -> bool:
            is_new = not without or not {*without} <= {*self.spark.executors()}
            return is_new and self.hosts_of_executors() == wanted

        wait_until(is_whole, "a worker does not come back")

    def _news(self, name: str) -> str:
        return self._log(name)[self._heard.get(name, 0) :]

    def _log(self, name: str) -> str:
        log = self.spark.place / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""


@dataclass
class Remote:
    """A graph in the bucket, with its input beside it."""

    cluster: Apart
    uri: str
    inputs: str

    def give(self, text: str) -> str:
        """The address of an input of these lines."""
        self.cluster.watcher.run(put_there, self.inputs, "in.jsonl", text.encode())
        return f"{self.inputs}/in.jsonl"

    def start(self, source: str, **options: Any) -> None:
        """Begin a load on the cluster, of many tasks."""
        self.cluster.driver.start(
            load_there, self.uri, source, **{"limits": TASKS, "mode": "append", **options}
        )

    def load(self, source: str, **options: Any) -> LoadResult:
        self.start(source, **options)
        result: LoadResult = self.cluster.driver.answer()
        return result

    def wait_for_receipts(self, *, at_least: int) -> None:
        wait_until(lambda: len(self.staged()) > at_least, "no task was ever done")

    def staged(self) -> list[str]:
        """The record of a load, and the receipts of its tasks."""
        return self.cluster.watcher.run(staged_there, self.uri)

    def look(self) -> "Seen":
        return self.cluster.watcher.run(look_there, self.uri)

    def assert_rows(self, expected: Mapping[str, Any]) -> None:
        assert self.look().rows == expected

    def assert_holds(self, expected: Mapping[str, Any]) -> None:
        """These rows, and no file that is none of theirs."""
        seen = self.look()
        assert seen.rows == expected
        assert (seen.staged, seen.unnamed) == ([], [])

    def assert_holds_when_swept(self, expected: Mapping[str, Any]) -> None:
        """These rows, and no trace of the load. A task that was stopped, or never heard what became
        of its request, may have left a file that nobody knows: a clean-up removes it."""
        seen = self.look()
        assert (seen.rows, seen.staged) == (expected, [])
        self.sweep()
        self.assert_holds(expected)

    def sweep(self) -> None:
        """What a clean-up does once its time of grace is over."""
        self.cluster.watcher.run(sweep_there, self.uri)


@dataclass(frozen=True)
class Seen:
    """What is in the bucket."""

    rows: dict[str, list[dict[str, Any]]]
    staged: list[str]
    unnamed: list[str]
    """Data files that no commit names."""


@contextmanager
def apart(place: Path) -> Iterator[Apart]:
    with (
        network(MASTER, *WORKERS, DRIVER, STORE) as hosts,
        _bucket(hosts) as endpoint,
        standalone(
            place,
            hosts.host(MASTER),
            [hosts.host(worker) for worker in WORKERS],
            java_options=NOTICED_BY_MASTER,
        ) as spark,
    ):
        variables = bucket_variables(endpoint)
        watcher = Driver({**variables, ENDPOINT: endpoint}, hosts.enter(STORE))
        here = hosts.address(DRIVER)
        options = SMALL | NOTICED | {"spark.driver.host": here, "spark.driver.bindAddress": here}
        environment = {
            **variables,
            **spark_variables(spark, options),
            "SPARK_LOCAL_IP": here,
        }
        driver = Driver(environment, hosts.enter(DRIVER))
        try:
            watcher.run(make_buckets, endpoint)
            yield Apart(hosts, spark, driver, watcher)
        finally:
            hosts.heal()
            driver.stop()
            watcher.stop()


@contextmanager
def _bucket(hosts: Network) -> Iterator[str]:
    """An S3 server on its own host; gives its endpoint."""
    host = hosts.host(STORE)
    server = subprocess.Popen(
        [*host.inside, sys.executable, str(S3_SERVER), CARELESS, host.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        yield f"http://{host.address}:{int(server.stdout.readline())}"
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


# In the watcher -----------------------------------------------------------------------------------


def make_buckets(endpoint: str) -> None:
    request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
    urllib.request.urlopen(request).close()


def init_there(uri: str, schema: str) -> None:
    Graph.init(uri, schema).close()


def put_there(folder: str, name: str, data: bytes) -> None:
    location_of(folder).objects().put(name, data)


def staged_there(uri: str) -> list[str]:
    return sorted(location_of(uri).objects().walk(STAGING))


def sweep_there(uri: str) -> None:
    with Graph.open(uri) as graph:
        graph.cleanup(grace="0s", confirm=True)


def look_there(uri: str) -> Seen:
    with Graph.open(uri) as graph:
        objects = graph.engine.store.objects
        names = sorted(objects.walk(""))
        snapshot = graph.snapshot().stored
        datasets = [snapshot.dataset(entity) for entity in snapshot.catalog.entities]
        named = {f.path for d in datasets for part in d.fragments for f in part.files}
        tables = [name for name in names if name.startswith((NODES, EDGES))]
        files = {name.rsplit("/", 1)[-1] for name in tables if "/data/" in name}
        staged = [name for name in names if name.startswith(STAGING)]
        return Seen(contents(graph), staged, sorted(files - named))


# In the driver ------------------------------------------------------------------------------------


def hosts_there() -> set[str]:
    known = spark_there().session.sparkContext._jsc.sc().getExecutorMemoryStatus()
    names = [known.keys().toList().apply(number) for number in range(known.size())]
    return {name.rpartition(":")[0] for name in names} - {os.environ["SPARK_LOCAL_IP"]}
