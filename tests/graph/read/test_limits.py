"""A query that takes too much, too long, or that nobody waits for any more, ends and says where."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import LimitExceeded, QueryCancelled
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.read import run as run_module
from omnigraph.read.context import Budget
from omnigraph.read.tables.cold_lookups import TraversalMode
from tests.graph.read.town import Town

WALK = "match { $a: Person  $a knows{1,3} $b } return { $b.email }"


def test_a_query_past_its_deadline_names_the_step_it_was_at(town: Town) -> None:
    with pytest.raises(LimitExceeded, match=r"milliseconds at `\w+ "):
        town.ask(WALK, budget=Budget(timeout_s=-1))


def test_a_cancelled_query_ends_with_an_error_of_its_own(town: Town) -> None:
    taken_back = threading.Event()
    budget = Budget(cancel=taken_back)
    assert len(town.ask(WALK, budget=budget)) == 10
    taken_back.set()
    with pytest.raises(QueryCancelled) as error:
        town.ask(WALK, budget=budget)
    assert error.value.code == "cancelled"


def test_a_search_is_stopped_between_two_depths(town: Town) -> None:
    """The walk begins in time; what stops it is asked again while it runs."""
    town.ask(WALK)  # so that the adjacency is there, which is made between looks of its own

    class Soon(threading.Event):
        """Set once the scan is done."""

        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 6

    with pytest.raises(QueryCancelled, match="knows"):
        town.ask(WALK, budget=Budget(cancel=Soon()))


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("aggregate", "match { $a: Person } return { $a.name, count(distinct $a.email) as n }"),
        ("distinct_rows", "match { $a: Person } return distinct { $a.name }"),
    ],
)
def test_an_answer_that_comes_too_late_is_refused(
    town: Town, monkeypatch: pytest.MonkeyPatch, operator: str, text: str
) -> None:
    """The last operator begins in time and ends when nobody waits any more."""
    taken_back, work = threading.Event(), getattr(run_module, operator)

    def late(*arguments: object) -> object:
        made = work(*arguments)
        taken_back.set()
        return made

    monkeypatch.setattr(run_module, operator, late)
    with pytest.raises(QueryCancelled):
        town.ask(text, budget=Budget(cancel=taken_back))


def test_rows_that_stand_beside_count_against_the_budget(town: Town) -> None:
    pairs = "match { $a: Person  $b: Person } return { $a.email, $b.email }"
    assert len(town.ask(pairs, budget=Budget(25 * 8 * 5))) == 25
    with pytest.raises(LimitExceeded, match=r"\$\w: Person"):
        town.ask(pairs, budget=Budget(25 * 8 * 4))


def test_a_join_by_value_that_explodes_is_named(town: Town) -> None:
    twins = "match { $a: Person  $b: Person  $a.name = $b.name } return { $a.email, $b.email }"
    assert len(town.ask(twins, optimised=True, budget=Budget(6 * 8 * 6))) == 6
    with pytest.raises(LimitExceeded, match=r"ValueJoin \w\.name = \w\.name") as error:
        town.ask(twins, optimised=True, budget=Budget(6 * 8 * 4))
    assert error.value.code == "resource_limit"


@pytest.mark.parametrize("mode", TraversalMode)
def test_a_walk_of_any_documented_length_is_planned_and_run(
    tmp_path: Path, mode: TraversalMode
) -> None:
    """Where each node has several others, the number of ways passes all bounds soon."""
    graph = Graph.init(str(tmp_path / "g"), "node C { k: I64 @key }\nedge E: C -> C\n")
    nodes = [{"type": "C", "data": {"k": k}} for k in range(20)]
    ways = [{"edge": "E", "from": k, "to": (k * j + 1) % 20} for k in range(20) for j in range(6)]
    lines = "\n".join(json.dumps(row) for row in [*nodes, *ways])
    graph.load(lines.encode(), mode="append", engine="local")
    settings = replace(Settings(), traversal_mode=mode)
    for start in ("$a: C", "$a: C { k: 1 }"):
        # One that knows nothing of the graph yet.
        reader = Graph(Engine.over(graph.engine.store, settings))
        walk = f"match {{ {start}  $a e{{1,%d}} $b }} return {{ count($b) as n }}"
        far, near = (f"query q() {{ {walk % hops} }}" for hops in (1_000, 20))
        assert reader.query(far).to_pylist() == reader.query(near).to_pylist()
        assert "rows" in str(reader.explain(far))
