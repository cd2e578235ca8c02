"""A query that takes too much, too long, or that nobody waits for any more, ends and says where."""

import threading

import pytest

from omnigraph.base.errors import LimitExceeded, QueryCancelled
from omnigraph.read.context import Budget
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

    class Soon(threading.Event):
        """Set from the third time anybody looks."""

        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 5

    with pytest.raises(QueryCancelled, match="knows"):
        town.ask(WALK, budget=Budget(cancel=Soon()))


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
