"""A Ctrl-C is a `KeyboardInterrupt`, whoever is at work when it comes."""

import signal
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from omnigraph import Graph
from omnigraph.base.errors import StorageFailed
from omnigraph.engine.engine import Engine


def press(number: int) -> int:
    signal.raise_signal(signal.SIGINT)
    return number


def while_it_calls_python(_: Engine) -> None:
    connection = duckdb.connect(config={"threads": 1})
    connection.create_function("press", press, ["BIGINT"], "BIGINT")
    connection.execute("SELECT press(n.range) FROM range(1) AS n").fetchall()


def between_two_steps(_: Engine) -> None:
    # What DuckDB raises; when it looks for signals can't be foreseen.
    raise RuntimeError("Query interrupted")


def under_an_error_of_ours(_: Engine) -> None:
    try:
        between_two_steps(_)
    except RuntimeError as error:
        raise StorageFailed(doing="match rows in", path="here", reason=str(error)) from error


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.init(tmp_path / "g", "node City { name: String @key }", durability="relaxed")


@pytest.mark.parametrize(
    "use_case", [while_it_calls_python, between_two_steps, under_an_error_of_ours]
)
def test_a_ctrl_c_in_a_query_of_duckdb_is_an_interruption(
    graph: Graph, use_case: Callable[[Engine], None]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        graph.engine.run(use_case)


def test_other_errors_stay_what_they_are(graph: Graph) -> None:
    def fail(_: Engine) -> None:
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        graph.engine.run(fail)
