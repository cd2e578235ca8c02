"""Options and Hypothesis profiles that all tests share.

`--bless` writes what the golden cases got as what they expect. `--deep` runs whole matrices and
looks at many more random examples, and at new ones each time; without it they are few and always
the same. `--soak` does so for hours.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from omnigraph.pipeline.spark.session import Spark, SparkSettings

pytest_plugins = ("tests.places",)

settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
for name, max_examples in (("deep", 200), ("soak", 2000)):
    settings.register_profile(
        name, max_examples=max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite what golden cases expect")
    parser.addoption("--deep", action="store_true", help="whole matrices, more random examples")
    parser.addoption("--soak", action="store_true", help="all that is deep, for hours")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--soak"):
        config.option.deep = True
        settings.load_profile("soak")
    else:
        settings.load_profile("deep" if config.getoption("--deep") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `deep` or `soak` only run with the option of that name."""
    left_out = [name for name in ("deep", "soak") if not config.getoption(f"--{name}")]
    later = [item for item in items if any(map(item.get_closest_marker, left_out))]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


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
