"""Options and Hypothesis profiles that all tests share.

`--bless` writes what the golden cases got as what they expect. `--deep` runs whole matrices and
looks at many more random examples, and at new ones each time; without it they are few and always
the same. `--soak` does so for hours. `--quick` runs the tests that show most for a second.
"""

import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, settings

from omnigraph.pipeline.spark.session import Spark, SparkSettings
from tests.matrices import chosen_rows
from tests.quick import is_slow, quick_ones

pytest_plugins = ("tests.places",)

for name, max_examples in (("quick", 8), ("usual", 10)):
    settings.register_profile(name, max_examples=max_examples, derandomize=True, deadline=None)
for name, max_examples in (("deep", 200), ("soak", 2000)):
    settings.register_profile(
        name,
        max_examples=max_examples,
        # Hypothesis itself would say otherwise where a variable called CI is set.
        derandomize=False,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="what shows most for a second")
    parser.addoption("--bless", action="store_true", help="rewrite what golden cases expect")
    parser.addoption("--deep", action="store_true", help="whole matrices, more random examples")
    parser.addoption("--soak", action="store_true", help="all that is deep, for hours")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell begins what it runs in the background. Tests send themselves a Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--soak"):
        config.option.deep = True
    chosen = [name for name in ("soak", "deep", "quick") if config.getoption(f"--{name}")]
    settings.load_profile(chosen[0] if chosen else "usual")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Literal[True] | None:
    return True if config.getoption("--quick") and is_slow(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `deep` or `soak` only run with the option of that name.

    `matrices` and `quick` leave out more.
    """
    left_out = [name for name in ("deep", "soak") if not config.getoption(f"--{name}")]
    chosen = [item for item in items if not any(map(item.get_closest_marker, left_out))]
    if not config.getoption("--deep"):
        chosen = list(chosen_rows(chosen))
    if config.getoption("--quick"):
        chosen = list(quick_ones(chosen))
    config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that begins a Spark session is in a group: one worker has a JVM, and not each."""
    had_one = _has_session()
    yield
    if not had_one and _has_session():
        assert item.get_closest_marker("xdist_group"), "load with engine local, or mark the test"


def _has_session() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


@pytest.fixture
def is_blessing(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave nothing in the home of whoever runs them, and mind nothing that is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("OMNIGRAPH_PROFILE", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Spark]:
    """The one Spark session of a test run."""
    with Spark.open(SparkSettings(master="local[2]")) as session:
        yield session
