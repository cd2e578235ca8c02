"""Options and Hypothesis profiles that all tests share.

`--bless` writes what the golden cases got as what they expect. `--deep` looks at many more random
examples, and at new ones each time; without it they are few and always the same.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from omnigraph.pipeline.spark.session import Spark, SparkSettings

pytest_plugins = ("tests.places",)

settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
settings.register_profile(
    "deep", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite what golden cases expect")
    parser.addoption("--deep", action="store_true", help="many more random examples")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("deep" if config.getoption("--deep") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `--deep`, what is marked `deep` is no part of the run."""
    if config.getoption("--deep"):
        return
    deep = [item for item in items if item.get_closest_marker("deep")]
    config.hook.pytest_deselected(items=deep)
    items[:] = [item for item in items if item not in deep]


@pytest.fixture
def is_blessing(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave nothing in the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Spark]:
    """The one Spark session of a test run."""
    with Spark.open(SparkSettings(master="local[2]")) as session:
        yield session
