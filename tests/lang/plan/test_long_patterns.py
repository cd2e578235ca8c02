"""A query of 200 clauses, the most that there may be, is compiled and planned in few steps."""

import pytest

from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.optimise import optimise
from tests.lang.plan.graph import CATALOG, LARGE
from tests.work import calls_of

SHAPES = {
    "star": (190, "$p follows $q{0}"),
    "chain": (190, "$q{0} follows $q{1}"),
    "chain with types": (95, "$q{0} follows $q{1} $q{0}: Person"),
    "far star": (190, "$p follows{{1,1000}} $q{0}"),
    "products": (190, "$q{0}: Person"),
    "products with tests": (190, "$q{0}: Person {{ age: {0} }}"),
    "tests": (190, "$p.age > {0}"),
    "equalities": (95, "$q{0}: Person $q{0}.age = $p.age"),
    "blocks": (60, "exists {{ $p follows $q{0} $q{0} follows $r }}"),
    "choices": (60, "or {{ $p follows $q{0} }} {{ $q{0} follows $p }}"),
}
ANSWERS = ("count($p) as n", "count(distinct $p) as n", "$p.age as age")


def planned(shape: str, share: float, answer: str) -> int:
    most, clause = SHAPES[shape]
    clauses = " ".join(clause.format(n, n + 1) for n in range(int(most * share)))
    first = "$p follows $q0" if "chain" in shape else "$p: Person"
    text = f"query q() {{ match {{ {first} {clauses} }} return {{ {answer} }} }}"
    return calls_of(lambda: optimise(compile_query(SourceText(text), CATALOG), CATALOG, LARGE))


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_query_of_two_hundred_clauses_is_planned_in_few_steps(shape: str, answer: str) -> None:
    """The calls grow with the square of the clauses; ten million take about a second."""
    assert planned(shape, 1.0, answer) < 5_000_000
