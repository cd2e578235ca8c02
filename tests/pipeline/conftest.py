from collections.abc import Iterator

import pytest

from omnigraph.pipeline.load import load
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner
from tests.pipeline.spark.clusters import (
    Driver,
    Server,
    cluster_environment,
    connect_server,
    standalone,
)

ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


# What the loads of the matrix have shown on Spark already.
DEEP_ON_SPARK = [*ON_SPARK, pytest.mark.deep]


@pytest.fixture(params=["local", "local-large", pytest.param("spark-large", marks=DEEP_ON_SPARK)])
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Whoever uses this holds for a load whoever runs it; a large one is any that says so."""
    engine, _, size = request.param.partition("-")
    if size == "large":
        monkeypatch.setattr(load, "SMALL_BYTES", -1)
    if engine == "local":
        return InProcess()
    spark: Runner = request.getfixturevalue("spark")
    return spark


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with standalone(tmp_path_factory.mktemp("cluster")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster_driver(cluster: Server) -> Iterator[Driver]:
    driver = Driver(cluster_environment(cluster))
    yield driver
    driver.stop()


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with connect_server(tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture(scope="session")
def connect_driver(connect: Server) -> Iterator[Driver]:
    driver = Driver(cluster_environment(connect))
    yield driver
    driver.stop()
