from collections.abc import Iterator

import pytest

from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner
from tests.pipeline.limits import LARGE
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
def runner(request: pytest.FixtureRequest) -> Runner:
    """Whoever uses this holds for a load whoever runs it, with the `limits` of its size."""
    if request.param.startswith("local"):
        return InProcess()
    spark: Runner = request.getfixturevalue("spark")
    return spark


@pytest.fixture
def limits(request: pytest.FixtureRequest) -> LoadLimits:
    """A large load is any that says so."""
    return LARGE if request.node.callspec.params["runner"].endswith("large") else LoadLimits()


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
