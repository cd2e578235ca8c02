"""Where a value is missing, a rule of YAML takes the side that lets less through.

The rule is read by a few lines of Python with three answers, yes, no and none. An `allow` applies
where its conditions say yes, and a `deny` unless they say no.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from omnigraph.lang.plan.conditions import ALWAYS
from omnigraph.read.scope import Scope
from omnigraph.read.values.conditions import meets
from tests.policy.bundles import catalog, fitted, one_rule
from tests.policy.test_differential import table

Answer = bool | None
ADA: dict[str, Any] = {"team": "red", "level": 3, "boss": True}
BO: dict[str, Any] = {}


@dataclass
class Tree:
    text: str
    answer: Callable[[Mapping[str, Any], Mapping[str, Any]], Answer]


def _compared(left: Any, right: Any, answer: Callable[[Any, Any], bool]) -> Answer:
    return None if left is None or right is None else answer(left, right)


LEAVES = [
    Tree('resource.team == "red"', lambda r, _: _compared(r["team"], "red", lambda a, b: a == b)),
    Tree('resource.team != "red"', lambda r, _: _compared(r["team"], "red", lambda a, b: a != b)),
    Tree("resource.age < 3", lambda r, _: _compared(r["age"], 3, lambda a, b: a < b)),
    Tree("resource.age >= 3", lambda r, _: _compared(r["age"], 3, lambda a, b: a >= b)),
    Tree("resource.ok", lambda r, _: r["ok"]),
    Tree("resource has team", lambda r, _: r["team"] is not None),
    Tree(
        "resource.team == principal.team",
        lambda r, p: _compared(r["team"], p.get("team"), lambda a, b: a == b),
    ),
    Tree(
        "resource.age > principal.level",
        lambda r, p: _compared(r["age"], p.get("level"), lambda a, b: a > b),
    ),
    Tree("principal.boss", lambda _, p: p.get("boss")),
    Tree('resource.name == "x"', lambda r, _: r["name"] == "x"),
    Tree("true", lambda *_: True),
]


def _and(a: Answer, b: Answer) -> Answer:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: Answer) -> Answer:
    return None if a is None else not a


def _if(a: Answer, b: Answer, c: Answer) -> Answer:
    if a is None:
        return None if b != c else b
    return b if a else c


def tree(random: Random, depth: int) -> Tree:
    if depth == 0:
        return random.choice(LEAVES)
    a, b, c = (tree(random, depth - 1) for _ in range(3))
    return random.choice(
        [
            Tree(f"({a.text} && {b.text})", lambda r, p: _and(a.answer(r, p), b.answer(r, p))),
            Tree(
                f"({a.text} || {b.text})",
                lambda r, p: _not(_and(_not(a.answer(r, p)), _not(b.answer(r, p)))),
            ),
            Tree(f"!({a.text})", lambda r, p: _not(a.answer(r, p))),
            Tree(
                f"(if {a.text} then {b.text} else {c.text})",
                lambda r, p: _if(a.answer(r, p), b.answer(r, p), c.answer(r, p)),
            ),
            a,
        ]
    )


def rows() -> list[dict[str, Any]]:
    return [
        {"id": f"{n}", "email": f"{n}", "name": name, "team": team, "age": age, "ok": ok}
        for n, (name, team, age, ok) in enumerate(
            (name, team, age, ok)
            for name in ("x", "y")
            for team in ("red", "blue", None)
            for age in (2, 4, None)
            for ok in (True, False, None)
        )
    ]


@pytest.mark.parametrize("effect", ["allow", "deny"])
@pytest.mark.parametrize("clause", ["when", "unless"])
def test_an_allow_needs_a_yes_and_a_deny_needs_a_no(
    effect: str, clause: str, request: pytest.FixtureRequest
) -> None:
    random = Random(f"{effect} {clause}")
    person = next(node for node in catalog().nodes if node.name == "Person")
    given = rows()
    columns = table(person, given)
    met = 0
    for _ in range(500 if request.config.getoption("--deep") else 40):
        condition = tree(random, random.randint(0, 3))
        parts = {clause: f"'{condition.text}'", "types": "[Person]"}
        text = one_rule(effect, **parts)
        text += "  - {id: all, allow: {actors: everyone, actions: [read]}}\n" * (effect == "deny")
        asked = fitted(yaml=text)
        for actor, attributes in (("ada", ADA), ("bo", BO)):
            sight = asked.sight(actor=actor, action="read", branch="main")
            scope = Scope.of(catalog(), sight.rows)
            hidden = sight.rows.get(person.name, ALWAYS)
            seen = meets(scope.conditions.get(person.name, hidden), columns)
            for row, is_seen in zip(given, seen, strict=True):
                answer = condition.answer(row, attributes)
                if clause == "unless":
                    answer = _not(answer)
                expected = answer is True if effect == "allow" else answer is False
                assert is_seen == expected, (condition.text, actor, row)
            met += int(seen.sum())
    assert met > 100
