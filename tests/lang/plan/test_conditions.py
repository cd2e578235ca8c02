"""Conditions on rows: what they mean, in fewer words and in words for people."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.types import ListOf, Scalar
from omnigraph.lang.plan.conditions import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Condition,
    HoldsAny,
    IsEmpty,
    Like,
    Not,
    check_condition,
    fields_in,
    show_condition,
    simplify,
)
from omnigraph.lang.plan.ir import (
    ROW,
    Compare,
    CompareOp,
    IdentityOf,
    Literal,
    NullTest,
    PropertyOf,
)
from tests.reference.naive import Naive, PlainGraph
from tests.reference.naive_conditions import meets
from tests.reference.random_conditions import trees
from tests.reference.random_plans import CATALOG, graphs

TEAM = PropertyOf(ROW, "team", Scalar.STRING, is_nullable=False)
TAGS = PropertyOf(ROW, "tags", ListOf(Scalar.STRING), is_nullable=True)
RED: Condition = Compare(CompareOp.EQ, TEAM, Literal("red", Scalar.STRING))
BLUE: Condition = Compare(CompareOp.EQ, TEAM, Literal("blue", Scalar.STRING))


@given(st.data(), graphs())
def test_a_simplified_condition_means_the_same(data: st.DataObject, graph: PlainGraph) -> None:
    entity = data.draw(st.sampled_from(CATALOG.entities))
    condition = data.draw(trees(entity))
    check_condition(condition)
    short = simplify(condition)
    assert simplify(short) == short
    assert {*fields_in(short)} <= {*fields_in(condition)}
    for row in {**graph.nodes, **graph.edges}[entity.name]:
        assert meets(Naive(graph), short, row) == meets(Naive(graph), condition, row)


def test_order_and_nesting_make_no_other_condition() -> None:
    nested = AllOf((AllOf((BLUE,)), Not(Not(RED)), ALWAYS))
    assert simplify(nested) == simplify(AllOf((RED, BLUE, RED)))
    assert hash(simplify(nested)) == hash(simplify(AllOf((RED, BLUE))))


def test_constants_are_folded() -> None:
    assert simplify(AllOf((RED, NEVER))) == simplify(AllOf((RED, Not(RED)))) == NEVER
    assert simplify(AnyOf((RED, Not(RED)))) == simplify(AnyOf((BLUE, ALWAYS))) == ALWAYS
    assert simplify(Not(AnyOf(()))) == ALWAYS
    assert simplify(HoldsAny(TAGS, Literal((), ListOf(Scalar.STRING)))) == NEVER
    assert simplify(Not(NullTest(TEAM, is_negated=False))) == NullTest(TEAM, is_negated=True)


def test_a_condition_can_be_read_by_people() -> None:
    star = Like(IdentityOf(ROW), ("a*", "", "z"))
    condition = AllOf((RED, AnyOf((star, Not(IsEmpty(TAGS))))))
    expected = r'team = "red" and (id like "a\***z" or not (tags is empty))'
    assert show_condition(condition) == expected
    assert (show_condition(ALWAYS), show_condition(NEVER)) == ("always", "never")
