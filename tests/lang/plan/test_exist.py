"""Which variables become tests."""

import pytest

from tests.lang.plan.graph import plan_of

BRANCHES = "$p follows $a  $a likes $i  $p follows $b  $b lives $c  $p follows $d  $d likes $j"


def kinds(match: str, answer: str) -> list[str]:
    return [line.split()[0] for line in plan_of(match, answer) if not line.startswith(" ")]


@pytest.mark.parametrize(
    "answer",
    ["distinct { $p.number }", "{ $p.gender, max($p.age) as m }", "{ count(distinct $p) as n }"],
)
def test_branches_that_nobody_looks_at_do_not_multiply_each_other(answer: str) -> None:
    found = kinds(BRANCHES, answer)
    assert "SemiJoin" in found, found
    assert found.count("Expand") <= 4, found


@pytest.mark.parametrize("answer", ["{ $p.number }", "{ count($p) as n }", "{ avg($p.age) as n }"])
def test_where_rows_count_a_variable_counts_unseen(answer: str) -> None:
    assert "SemiJoin" not in kinds(BRANCHES, answer)


def test_a_branch_that_is_the_best_place_to_begin_is_begun_at() -> None:
    plan = plan_of('$p likes $i  $i.name = "tennis"', "distinct { $p.number }")
    assert plan[0].startswith("NodeScan i")


def test_an_optional_that_nobody_looks_at_is_not_asked_for() -> None:
    match = "$p: Person  optional { $p follows $q }"
    assert "LeftJoin" not in kinds(match, "distinct { $p.gender }")
    assert "LeftJoin" in kinds(match, "{ $p.gender }")
    assert "LeftJoin" in kinds(match, "distinct { $q.gender }")
    assert "LeftJoin" in kinds(f"{match}  $q.age > 3", "distinct { $p.gender }")


def test_a_pattern_on_its_own_is_worked_out_once() -> None:
    plan = plan_of("$p: Person  $a follows $b  $b likes $i", "distinct { $p.gender }")
    assert "    Outer" in plan, plan
