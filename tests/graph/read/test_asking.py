"""What is wrong with a question is said before anything is read, by a typed error."""

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    BranchMissing,
    CommitMissing,
    LimitExceeded,
    ParameterInvalid,
    QueryMissing,
)
from omnigraph.read.context import Budget
from tests.graph.read.town import Town

QUERIES = """
query named($name: String, $age: I32?) {
    match { $p: Person { name: $name }  $p.age >= $age } return { $p.email }
}
query several($ages: [I32], $since: Date) {
    match { $p: Person  $p.age in $ages } return { $p.email, $since as s }
}
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place: Path = tmp_path_factory.mktemp("asking") / "graph"
    schema = "node Person { email: String @key  name: String?  age: I32? }"
    with Graph.init(str(place), schema, durability="relaxed") as graph:
        graph.mutate('query q() { insert Person { email: "a", name: "Ann", age: 3 } }')
        yield graph


@pytest.mark.parametrize(
    ("name", "given", "code", "parameter"),
    [
        ("named", {}, "P001", "name"),
        ("named", {"name": None}, "P002", "name"),
        ("named", {"name": 3}, "P002", "name"),
        ("named", {"name": "Ann", "age": "old"}, "P002", "age"),
        ("named", {"name": "Ann", "age": 2**31}, "P002", "age"),
        ("named", {"name": "Ann", "age": 2.5}, "P002", "age"),
        ("named", {"name": "Ann", "Age": 2}, "P003", "Age"),
        ("several", {"ages": 3, "since": "2020-01-01"}, "P002", "ages"),
        ("several", {"ages": [3, "x"], "since": "2020-01-01"}, "P002", "ages"),
        ("several", {"ages": [3], "since": "2020-13-01"}, "P002", "since"),
    ],
)
def test_parameters_are_checked(
    graph: Graph, name: str, given: dict[str, Any], code: str, parameter: str
) -> None:
    with pytest.raises(ParameterInvalid) as error:
        graph.query(QUERIES, name, given)
    assert (error.value.reason, error.value.parameter) == (code, parameter)


def test_a_parameter_that_may_be_left_out_is_null_and_matches_nothing(graph: Graph) -> None:
    assert graph.query(QUERIES, "named", {"name": "Ann", "age": 1}).to_pylist() != []
    assert graph.query(QUERIES, "named", {"name": "Ann"}).to_pylist() == []
    assert graph.query(QUERIES, "named", {"name": "Ann", "age": None}).to_pylist() == []


def test_unknown_names_are_named(graph: Graph) -> None:
    asked = {"name": "Ann"}
    with pytest.raises(QueryMissing, match="name"):
        graph.query(QUERIES, "nemed", asked)
    with pytest.raises(QueryMissing):
        graph.query(QUERIES, None, asked)
    with pytest.raises(BranchMissing):
        graph.query(QUERIES, "named", asked, branch="work")
    with pytest.raises(CommitMissing):
        graph.query(QUERIES, "named", asked, snapshot="01ARZ3NDEKTSV4RRFFQ69G5FAV")


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (r"\$\w: Person", "  ".join(f"${v}: Person" for v in "abcdefgh")),
        (
            r"\$\w knows \$\w",
            "  ".join(f"${a} <knows> ${b}" for a, b in pairwise("abcdefghi")),
        ),
    ],
)
@pytest.mark.parametrize("optimised", [False, True])
def test_an_exploding_query_ends_within_its_budget(
    town: Town, step: str, match: str, optimised: bool
) -> None:
    limit = 64 * 1024
    returned = ", ".join(f"${v}.email" for v in "abcdefgh")
    asked = f"match {{ {match} }} return {{ {returned} }}"
    town.ask("match { $p: Person  $p <knows> $f } return { $p.email }")  # caches are not in it
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded, match=step) as error:
            town.ask(asked, optimised=optimised, budget=Budget(limit))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.value.code == "resource_limit"
    # Text, plan and parser take some of it too.
    assert peak < limit + 2_000_000
