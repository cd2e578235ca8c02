"""What is known of a test before a row is read."""

import pytest

from tests.lang.plan.graph import plan_of

NEVER = [
    "1 = 2",
    '"a" starts_with "b"',
    "2 < 1.5",
    "$p.age in []",
    "$p.age = 3  $p.age = 4",
    "$p.age > 30  20 > $p.age",
    "$p.age >= 30  $p.age < 30",
    "$p.age = 3  $p.age != 3",
    "$p.age = 3.5  $p.age = 3",
    "$p.age in [1, 2]  $p.age > 2",
    "$p.age in [1, 2]  $p.age in [3, 4]",
    "$p.age is null  $p.age > 2",
    "$p.age is null  $p.age is not null",
    "$p.gender is null",
    '$p.gender = "a"  $p.gender starts_with "b"',
    "exists { $p follows $q  1 = 2 }",
    "count { $p follows $q  $q.age < 1  $q.age > 1 } >= 1",
    "not { 1 < 2  $p.number is not null }",
    "or { $p.age < 1  1 = 2 } { $p.age is null  $p.age < 2 }",
]
ALWAYS = [
    "1 < 2",
    "1 in [1.0, 3]",
    "$p.gender is not null",
    "now() is not null",
    "not { $p follows $q  1 = 2 }",
    "exists { $p.gender is not null }",
    "count { $p follows $q  1 = 2 } < 1",
]
OPEN = [
    "$p.age >= 30  $p.age <= 30",
    "$p.age is not null  $p.age > 2",
    "$p.age != 3  $p.age != 4",
    "$p.age in [1, 2]  $p.age > 1",
    "$p.age = $x",
    "$p.age = $x  $p.age = 3",
    "$p.age > 30  $q.age < 20",
    "count { $p follows $q  1 = 2 } < $x",
    "optional { $p follows $f }  $f is null",
    "optional { $p follows $f }  $f.gender is null",
]


def folded(tests: str) -> list[str]:
    return plan_of(f"$p: Person  $q: Person {{ number: 1 }}  {tests}", given="$x: I32?")


@pytest.mark.parametrize("tests", NEVER)
def test_what_can_never_hold_is_asked_of_no_row(tests: str) -> None:
    plan = folded(tests)
    assert plan[0].startswith("Nothing"), plan
    assert not any(line.startswith(("Filter", "SemiJoin", "AntiJoin")) for line in plan), plan


@pytest.mark.parametrize("tests", ALWAYS)
def test_what_always_holds_is_not_asked(tests: str) -> None:
    assert folded(tests) == folded("")


@pytest.mark.parametrize("tests", OPEN)
def test_what_depends_on_the_row_is_asked(tests: str) -> None:
    plan = folded(tests)
    assert not plan[0].startswith("Nothing"), plan
    assert plan != folded("")


def test_the_reason_is_shown() -> None:
    assert folded("$p.age > 30  20 > $p.age")[0] == "Nothing p.age > 30 and p.age < 20"
