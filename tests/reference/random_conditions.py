"""Random conditions on the rows of random graphs: trees of every kind of test."""

from hypothesis import strategies as st

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.types import ListOf, Scalar
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.conditions import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Condition,
    HoldsAll,
    HoldsAny,
    IsEmpty,
    Like,
    Not,
)
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from tests.reference.random_plans import CATALOG, Constants, Variable, random_predicate, words

ROW_VARIABLE = VariableName("row")


@st.composite
def conditions(draw: st.DrawFn) -> dict[TypeName, Condition]:
    """What rows of some types must meet to be seen."""
    found = {}
    for entity in CATALOG.entities:
        if draw(st.integers(0, 3)):
            found[entity.name] = draw(trees(entity))
    return found


def trees(entity: EntityType) -> st.SearchStrategy[Condition]:
    """Conditions on rows of one type; most of them are small."""
    parts = st.recursive(
        tests(entity),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: AllOf(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
            inner.map(Not),
        ),
        max_leaves=4,
    )
    return st.one_of(tests(entity), parts, parts, st.sampled_from([ALWAYS, NEVER]))


@st.composite
def tests(draw: st.DrawFn, entity: EntityType) -> Condition:
    own = draw(st.integers(0, 4))
    if own == 0 and "tags" in entity.by_name:
        return draw(_list_tests())
    if own == 1:
        texts = [ir.PropertyOf(ROW_VARIABLE, "name", Scalar.STRING, is_nullable=True)]
        texts = texts if "name" in entity.by_name else _ends(entity)
        parts = draw(st.lists(st.sampled_from(["", "a", "b", "é", "0"]), min_size=1, max_size=3))
        return Like(draw(st.sampled_from(texts)), tuple(parts))
    row = Variable(ROW_VARIABLE, (entity.name,), is_edge=isinstance(entity, EdgeType))
    predicate = random_predicate(Constants(draw), row, [row])
    assert not isinstance(predicate, ir.TextMatch)
    if isinstance(predicate, ir.NullTest) and isinstance(predicate.operand, ir.EntityOf):
        return NEVER if predicate.is_negated else ALWAYS
    return predicate


def _ends(entity: EntityType) -> list[ir.PropertyOf]:
    assert isinstance(entity, EdgeType)
    return [
        ir.PropertyOf(ROW_VARIABLE, end, Scalar.STRING, is_nullable=False) for end in ("src", "dst")
    ]


@st.composite
def _list_tests(draw: st.DrawFn) -> Condition:
    tags = ir.PropertyOf(ROW_VARIABLE, "tags", ListOf(Scalar.STRING), is_nullable=True)
    options = ir.Literal(tuple(draw(st.lists(words, max_size=2))), ListOf(Scalar.STRING))
    kinds: list[Condition] = [HoldsAll(tags, options), HoldsAny(tags, options), IsEmpty(tags)]
    return draw(st.sampled_from(kinds))
