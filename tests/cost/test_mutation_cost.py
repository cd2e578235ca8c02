"""What a mutation costs: as much as its statements, however many were made before."""

import threading
from functools import partial
from pathlib import Path

import pytest

from omnigraph import Graph, OmnigraphError
from tests.work import calls_of, copied_bytes

SCHEMA = "node Team { name: String @key  size: I32? }"
FEW, MANY = 2_000, 6_000

STATEMENTS = {
    "inserts": 'insert Team {{ name: "m{0}" }}',
    "inserts that say different things": 'insert Team {{ name: "m{0}" {1} }}',
    "inserts and updates by key": (
        'insert Team {{ name: "m{0}" }} update Team set {{ size: {0} }} where name = "m{0}"'
    ),
}


def text(statement: str, count: int) -> str:
    saying = ("", "size: 1", "size: null")
    each = (statement.format(number, saying[number % 3]) for number in range(count))
    return "query q() { " + "\n".join(each) + " }"


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_mutation_of_three_times_the_statements_takes_three_times_the_work(
    tmp_path: Path, kind: str
) -> None:
    calls, copied = [], []
    divisor = 20 if "updates" in kind else 1
    for count in (FEW // divisor, MANY // divisor):
        with Graph.init(tmp_path / f"g{count}", SCHEMA, durability="relaxed") as graph:
            mutate = partial(graph.mutate, text(STATEMENTS[kind], count))
            copied.append(copied_bytes(mutate))
        with Graph.init(tmp_path / f"h{count}", SCHEMA, durability="relaxed") as graph:
            mutate = partial(graph.mutate, text(STATEMENTS[kind], count))
            calls.append(calls_of(mutate))
    assert copied[1] < 4 * copied[0]
    assert calls[1] < 4 * calls[0]


class AfterSoManyLooks(threading.Event):
    """A cancellation that comes when it was looked for so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("looks", [0, 1, 50, 499])
def test_a_mutation_that_is_cancelled_leaves_nothing(tmp_path: Path, looks: int) -> None:
    """The cancellation is looked for before every statement."""
    with Graph.init(tmp_path / "g", SCHEMA, durability="relaxed") as graph:
        source = text(STATEMENTS["inserts"], 500)
        with pytest.raises(OmnigraphError) as ended:
            graph.mutate(source, cancel=AfterSoManyLooks(looks))
        assert ended.value.code == "cancelled"
        assert [commit.kind for commit in graph.commits()] == ["init"]
        assert graph.mutate(source).affected_nodes == 500


def test_a_mutation_past_its_time_leaves_nothing(tmp_path: Path) -> None:
    with Graph.init(tmp_path / "g", SCHEMA, durability="relaxed") as graph:
        with pytest.raises(OmnigraphError) as ended:
            graph.mutate(text(STATEMENTS["inserts"], 500), timeout_s=1e-9)
        assert ended.value.code == "resource_limit"
        assert [commit.kind for commit in graph.commits()] == ["init"]
