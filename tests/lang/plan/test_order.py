"""Where a plan begins and how it goes on, for graphs of a given size."""

import pytest

from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.stats import PlannerStatistics
from tests.lang.plan.graph import LARGE, plan_of


def steps(
    match: str, answer: str = "{ count($p) as n }", known: PlannerStatistics = LARGE
) -> list[str]:
    """The plan's operators up to the answer, without their types."""
    lines = plan_of(match, answer, known=known)
    return [line.split(":")[0] for line in lines if not line.startswith(("Aggregate", "Project"))]


@pytest.mark.parametrize(
    ("rule", "match", "plan"),
    [
        (
            "the few rows of a key beat the many of a common value",
            '$p: Person { gender: "male" }  $p likes $i  $i.name = "tennis"',
            ["NodeScan i", 'Filter i.name = "tennis"', "Expand i <-Likes- p", "Filter p.gender"],
        ),
        (
            "the small table beats the large one",
            '$p lives $c  $p.age > 30  $c.name = "Oslo"',
            ["NodeScan c", 'Filter c.name = "Oslo"', "Expand c <-Lives- p", "Filter p.age > 30"],
        ),
        (
            "two keys are looked up before anything is walked",
            "$p: Person { number: 1 }  $q: Person { number: 2 }  $p follows{1,3} $q",
            ["NodeScan p", "Filter p.number = 1", "Product with q", "    NodeScan q"],
        ),
    ],
)
def test_a_plan_begins_where_there_is_least_to_read(rule: str, match: str, plan: list[str]) -> None:
    found = steps(match)
    assert [line.startswith(part) for line, part in zip(found, plan, strict=False)] == [True] * 4


def test_what_was_counted_beats_a_guess() -> None:
    match = '$p: Person { gender: "x" }  $p follows $q  $q.age = 3'
    counted = {(TypeName("Person"), "gender"): 50_000, (TypeName("Person"), "age"): 80}
    assert steps(match, known=PlannerStatistics(LARGE.rows, counted))[0] == "NodeScan p"
    turned = {(TypeName("Person"), "gender"): 2, (TypeName("Person"), "age"): 50_000}
    assert steps(match, known=PlannerStatistics(LARGE.rows, turned))[0] == "NodeScan q"


def test_graphs_of_about_one_size_share_a_plan() -> None:
    grown = PlannerStatistics({name: count + 1 for name, count in LARGE.rows.items()})
    doubled = PlannerStatistics({name: 2 * count for name, count in LARGE.rows.items()})
    assert LARGE.magnitudes() == grown.magnitudes()
    assert LARGE.magnitudes() != doubled.magnitudes()


def test_an_equality_ties_what_no_edge_does() -> None:
    found = steps('$p: Person  $c: City  $p.gender = $c.name  $p.age > 3  $c.name != "x"')
    assert found == [
        "NodeScan c",
        'Filter c.name != "x"',
        "ValueJoin c.name = p.gender",
        "    NodeScan p",
        "    Filter p.age > 3",
    ]


def test_what_is_tested_alone_is_tested_before_a_product() -> None:
    assert steps("$p: Person { age: 3 }  $q: Person { age: 5 }") == [
        "NodeScan p",
        "Filter p.age = 3",
        "Product with q",
        "    NodeScan q",
        "    Filter q.age = 5",
    ]


def test_what_differs_is_found_by_a_product() -> None:
    found = steps("$p: Person  $c: City  $p.gender != $c.name")
    assert [line.split()[0] for line in found] == ["NodeScan", "NodeScan", "Filter"]


def test_all_equalities_and_one_range_are_one_join() -> None:
    text = "$p: Person  $q: Person  $p.age = $q.age  $p.number > $q.number  $q.gender = $p.gender"
    (scan, join, *pattern) = steps(text)
    assert scan.split()[0] == "NodeScan"
    assert join.startswith("ValueJoin ")
    compared = join.removeprefix("ValueJoin ").split(", ")
    assert [test.split()[1] for test in compared] in (["=", "=", "<"], ["=", "=", ">"])
    assert not any("Filter" in line for line in pattern)


def test_a_range_is_joined_by_value() -> None:
    found = steps("$p: Person  $c: City  $p.gender < $c.name")
    assert [line.split()[0] for line in found[:2]] == ["NodeScan", "ValueJoin"]


def test_after_top_few_rows_go_on() -> None:
    """Beside three rows one more look-up by key is cheap; beside a million it is not."""
    rest = '$p follows $q  $q likes $i  $i.name = "x"'
    few, many, some = (
        plan_of(f'$p: Person  top {k} $p by bm25($p.gender, "x")  {rest}', given="$k: I32")[2]
        for k in ("3", "1000000", "$k")
    )
    assert few == some == "Product with i"
    assert many.startswith("Expand p")
