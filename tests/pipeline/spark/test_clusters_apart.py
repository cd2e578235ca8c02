"""Loads on a cluster whose hosts are apart, and can be cut off from each other.

Whatever happens, a graph has all rows of a load or none, and none twice.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import LoadUnderWay, OmnigraphError, StorageFailed
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.limits import LoadLimits
from tests.pipeline.limits import with_limits
from tests.pipeline.spark.apart import (
    DRIVER,
    MASTER,
    STORE,
    TASKS,
    WORKERS,
    Apart,
    Remote,
    apart,
)
from tests.pipeline.spark.clusters import HELD, contents, spark_there
from tests.pipeline.world import edge, node, text
from tests.processes import PATIENCE_S, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { @key(src, dst) }
"""
QUERY = """
query far($name: String) {
    match { $p: Person { name: $name }  $p knows{1,3} $f }
    return { $f.name as who, $f.age as age }
    order { who }
}
"""
LOST = WORKERS[1]


def people(count: int) -> str:
    return text(
        [
            *(node("Person", name=f"p{n:05}", age=n % 90) for n in range(count)),
            *(edge("Knows", f"p{n:05}", f"p{(n * 7 + 1) % count:05}") for n in range(count)),
        ]
    )


MANY = people(2_000)
NOTHING: dict[str, list[dict[str, Any]]] = {"Person": [], "Knows": []}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    with apart(tmp_path_factory.mktemp("apart")) as made:
        yield made


@pytest.fixture
def cluster(hosts: Apart) -> Iterator[Apart]:
    """With nobody cut off from anybody, before a test and after it."""
    # With fewer hosts a load runs on the others, and nobody misses one that is cut off. A new
    # driver begins a new log, so it has to be there before the log is listened to.
    hosts.wait_until_whole()
    hosts.listen()
    yield hosts
    hosts.network.heal()


@pytest.fixture
def remote(cluster: Apart) -> Remote:
    return cluster.new_graph(SCHEMA)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What a load in this process makes of the large input."""
    return loaded_here(tmp_path_factory.mktemp("here"), MANY)


def loaded_here(place: Path, lines: str) -> dict[str, list[dict[str, Any]]]:
    (place / "in.jsonl").write_text(lines)
    with Graph.init(place / "g", SCHEMA) as graph:
        graph.load(place / "in.jsonl", mode="append", engine="local")
        return contents(graph)


# Nobody is cut off --------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_cluster_of_several_hosts_loads_answers_and_exports(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    remote.start(remote.give(MANY))
    result = cluster.driver.answer()
    assert (result.engine, result.inserted, result.tasks > 20) == ("spark", 4_000, True)
    remote.assert_holds(expected)
    assert cluster.hosts_of_executors() == {cluster.network.address(name) for name in WORKERS}

    export = f"{remote.inputs}/export"
    answers = cluster.driver.run(read_there, remote.uri, export)
    assert answers == cluster.watcher.run(ask_here, remote.uri)
    assert len(answers) > 2
    copy = cluster.new_graph(SCHEMA)
    cluster.watcher.run(load_here, copy.uri, export, engine="local")
    copy.assert_holds(expected)


def read_there(uri: str, target: str) -> list[dict[str, Any]]:
    """Inside the driver."""
    graph = Graph.open(uri, read_only=True)
    HELD.append(graph)
    session = spark_there().session
    graph.export(target, format="parquet", engine="spark", spark=session)
    return graph.query(QUERY, {"name": "p00007"}, engine="spark", spark=session).to_pylist()


def ask_here(uri: str) -> list[dict[str, Any]]:
    with Graph.open(uri, read_only=True) as graph:
        return graph.query(QUERY, {"name": "p00007"}).to_pylist()


def load_here(uri: str, source: str, *, limits: LoadLimits = TASKS, **options: Any) -> LoadResult:
    """Beside the bucket."""
    with Graph.open(uri, settings=with_limits(limits)) as graph:
        return graph.load(source, mode="append", **options)


# A worker is cut off ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [400, pytest.param(2_000, marks=pytest.mark.deep)])
def test_a_worker_cut_off_in_a_load_costs_no_row(
    cluster: Apart, remote: Remote, tmp_path: Path, count: int
) -> None:
    remote.start(remote.give(people(count)))
    remote.wait_for_receipts(at_least=2)
    cluster.network.cut(LOST)
    result = cluster.driver.answer()
    assert (result.engine, result.inserted) == ("spark", 2 * count)
    assert cluster.has_lost(LOST), "the load was over before the worker was cut off"
    remote.assert_holds_when_swept(loaded_here(tmp_path, people(count)))


HIDDEN_FROM = {
    "all": (MASTER, DRIVER, STORE, WORKERS[0]),
    # Its tasks go on, write their files and leave their receipts: nobody hears of their end.
    "the driver and the master": (MASTER, DRIVER),
}


@pytest.mark.deep
@pytest.mark.parametrize("hidden", HIDDEN_FROM)
@pytest.mark.parametrize("healed", ["in the load", "after it"])
def test_a_worker_that_comes_back_with_late_tasks_changes_nothing(
    cluster: Apart,
    remote: Remote,
    expected: dict[str, list[dict[str, Any]]],
    hidden: str,
    healed: str,
) -> None:
    before = cluster.spark.executors()
    remote.start(remote.give(MANY))
    remote.wait_for_receipts(at_least=3)
    for other in HIDDEN_FROM[hidden]:
        cluster.network.hide(other, from_=LOST)
    if healed == "in the load":
        wait_until(lambda: cluster.has_lost(LOST), "nobody misses the worker")
        cluster.network.heal()
    result = cluster.driver.answer()
    assert result.inserted == 4_000
    remote.assert_rows(expected)
    cluster.network.heal()
    # What the worker did meanwhile is over when its executor is another one.
    cluster.wait_until_whole(without=before)
    remote.assert_holds_when_swept(expected)


# The bucket is cut off ----------------------------------------------------------------------------


@pytest.mark.deep
def test_a_bucket_that_a_worker_does_not_reach_for_a_while_costs_no_row(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    remote.start(remote.give(MANY))
    remote.wait_for_receipts(at_least=3)
    cluster.network.hide(STORE, from_=LOST)
    done = len(remote.staged())
    # The other worker goes on meanwhile.
    remote.wait_for_receipts(at_least=done + 10)
    cluster.network.heal()
    assert cluster.driver.answer().inserted == 4_000
    remote.assert_holds_when_swept(expected)


@pytest.mark.deep
def test_a_bucket_that_the_driver_does_not_reach_for_a_while_costs_no_row(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    remote.start(remote.give(MANY))
    remote.wait_for_receipts(at_least=3)
    cluster.network.hide(STORE, from_=DRIVER)
    remote.wait_for_receipts(at_least=len(remote.staged()) + 10)
    cluster.network.heal()
    assert cluster.driver.answer().inserted == 4_000
    remote.assert_holds_when_swept(expected)


@pytest.mark.deep
def test_where_one_worker_never_reaches_the_bucket_the_other_loads_alone(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    remote.start(remote.give(MANY))
    remote.wait_for_receipts(at_least=2)
    cluster.network.hide(STORE, from_=LOST)
    assert cluster.driver.answer().inserted == 4_000
    remote.assert_holds_when_swept(expected)


@pytest.mark.deep
def test_where_no_worker_reaches_the_bucket_a_load_fails_and_leaves_nothing(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    source = remote.give(MANY)
    remote.start(source)
    remote.wait_for_receipts(at_least=2)
    for worker in WORKERS:
        cluster.network.hide(STORE, from_=worker)
    with pytest.raises(StorageFailed, match="on the worker"):
        cluster.driver.answer()
    remote.assert_holds_when_swept(NOTHING)
    cluster.network.heal()
    # Spark has excluded both workers for a while.
    cluster.driver.kill()
    assert remote.load(source).inserted == 4_000
    remote.assert_holds_when_swept(expected)


# The master is cut off ----------------------------------------------------------------------------


@pytest.mark.deep
def test_a_master_that_nobody_reaches_for_a_while_costs_no_row(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    remote.start(remote.give(MANY))
    remote.wait_for_receipts(at_least=2)
    cluster.network.cut(MASTER)
    # It takes both workers for lost, and tells the driver so when it is back.
    wait_until(lambda: cluster.removed_workers() == len(WORKERS), "the master misses nobody")
    cluster.network.heal()
    assert cluster.driver.answer().inserted == 4_000
    remote.assert_holds_when_swept(expected)


# The driver dies, or is cut off -------------------------------------------------------------------


@pytest.mark.deep
def test_a_load_whose_driver_is_killed_is_gone_on_with(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    source = remote.give(MANY)
    done = kill_in_the_middle(cluster, remote, source, load_id="monday")
    result = once_free(lambda: remote.load(source, load_id="monday", resume=True))
    assert done <= result.resumed_tasks < result.tasks
    assert result.inserted == 4_000
    remote.assert_holds_when_swept(expected)
    assert remote.load(source, load_id="monday").is_repeat
    remote.assert_holds(expected)


@pytest.mark.deep
@pytest.mark.parametrize("load_id", ["monday", None])
def test_a_load_whose_driver_is_killed_is_begun_anew(
    cluster: Apart,
    remote: Remote,
    expected: dict[str, list[dict[str, Any]]],
    load_id: str | None,
) -> None:
    source = remote.give(MANY)
    kill_in_the_middle(cluster, remote, source, load_id=load_id)
    result = once_free(lambda: remote.load(source, load_id=load_id))
    assert (result.inserted, result.resumed_tasks) == (4_000, 0)
    remote.assert_rows(expected)
    remote.sweep()
    remote.assert_holds(expected)


@pytest.mark.deep
def test_of_a_driver_that_is_cut_off_and_the_next_one_only_one_publishes(
    cluster: Apart, remote: Remote, expected: dict[str, list[dict[str, Any]]]
) -> None:
    source = remote.give(MANY)
    remote.start(source, load_id="monday")
    remote.wait_for_receipts(at_least=3)
    cluster.network.cut(DRIVER)
    # The next one is beside the bucket, and runs in its own process.
    options = {"limits": TASKS, "engine": "local", "load_id": "monday", "resume": True}
    result = once_free(lambda: cluster.watcher.run(load_here, remote.uri, source, **options))
    assert result.inserted == 4_000 and result.resumed_tasks > 0
    remote.assert_rows(expected)
    cluster.network.heal()
    try:
        assert cluster.driver.answer().commit == result.commit
    except OmnigraphError as error:
        assert error.code in {"storage_error", "spark_error"}
    remote.assert_rows(expected)
    remote.sweep()
    remote.assert_holds(expected)


def kill_in_the_middle(cluster: Apart, remote: Remote, source: str, *, load_id: str | None) -> int:
    """Kill the driver in its load; gives how many tasks were done."""
    remote.start(source, load_id=load_id)
    remote.wait_for_receipts(at_least=3)
    cluster.driver.kill()
    wait_until(lambda: not cluster.spark.executors(), "the executors of a dead driver live on")
    seen = remote.look()
    assert seen.rows == NOTHING
    return len(seen.staged) - 1


def once_free(load: Callable[[], LoadResult]) -> LoadResult:
    """The load, begun again until the lease of its dead driver has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return load()
        except LoadUnderWay:
            assert time.monotonic() < deadline, "the lease of a dead driver does not end"
            time.sleep(0.5)
