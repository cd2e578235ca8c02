"""What a policy hides is in no answer, and changes none."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.errors import EntityMissing, NameMissing, PolicyDenied
from omnigraph.lang.plan.ir import ROW, Compare, CompareOp, Literal, PropertyOf
from tests.analytics.worlds import ENDS, QUESTIONS, World, values, worlds
from tests.reference.table_policy import Role, Sees, TablePolicy

PERSON, KNOWS = TypeName("Person"), TypeName("Knows")
SHOWN = Compare(
    CompareOp.EQ,
    PropertyOf(ROW, "shown", Scalar.BOOL, is_nullable=True),
    Literal(True, Scalar.BOOL),
)
WORLD = World(
    ("a", "b", "c", "x"),
    (),
    {"Knows": (("a", "x", 1.0), ("x", "b", 1.0), ("b", "c", 1.0)), "Likes": (), "WorksAt": ()},
    frozenset("x"),
)
ROLES = {
    "some": Role(Sees({PERSON: SHOWN})),
    "light": Role(Sees(hidden_properties={KNOWS: frozenset({"weight"})})),
    "blind": Role(Sees(hidden_types=frozenset({KNOWS}))),
    "reader": Role(denied=frozenset({"change"})),
    "keeper": Role(changes=Sees({PERSON: SHOWN})),
    "boss": Role(),
}


def opened(graph: Graph, actor: str) -> Graph:
    return Graph.open(graph.uri, durability="relaxed", policy=TablePolicy(ROLES), actor=actor)


@given(world=worlds())
@settings(max_examples=max(5, settings().max_examples // 3))
def test_an_answer_is_that_of_a_graph_without_the_hidden_rows(world: World) -> None:
    seen = world.seen()
    if not seen.people:
        return
    source = ("Person", min(seen.people))
    with TemporaryDirectory() as folder:
        some = opened(world.made(Path(folder) / "all.omni"), "some").analytics
        whole = seen.made(Path(folder) / "seen.omni").analytics
        for name, question in QUESTIONS.items():
            here = question.asks(some, list(ENDS), source)
            there = question.asks(whole, list(ENDS), source)
            assert values(here) == pytest.approx(values(there), abs=1e-12), name
            assert (here.node_count, here.edge_count) == (there.node_count, there.edge_count)


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return opened(WORLD.made(tmp_path_factory.mktemp("hidden") / "g.omni"), "boss")


def test_a_hidden_node_is_as_unknown_as_one_that_is_not_there(boss: Graph) -> None:
    some = boss.as_actor("some").analytics
    for id_ in ("x", "nobody"):
        with pytest.raises(EntityMissing) as refused:
            some.shortest_paths("Knows", source=id_)
        assert str(refused.value) == f"no Person has the id {id_}"
    (path,) = some.shortest_paths("Knows", pairs=[("a", "c")])
    assert path["distance"] is None
    (path,) = boss.analytics.shortest_paths("Knows", pairs=[("a", "c")])
    assert path["path"] == ["a", "x", "b", "c"]


def test_a_hidden_type_and_a_hidden_weight_have_no_name(boss: Graph) -> None:
    with pytest.raises(NameMissing) as refused:
        boss.as_actor("blind").analytics.degrees("Knows")
    assert "Knows" not in (refused.value.hint or "")
    assert boss.as_actor("blind").analytics.degrees().edges == ("Likes", "WorksAt")
    with pytest.raises(NameMissing, match="no property of Knows named weight"):
        boss.as_actor("light").analytics.degrees("Knows", weight="weight")


def test_an_answer_is_written_by_those_who_may_change_its_nodes(boss: Graph) -> None:
    for actor in ("reader", "keeper"):
        with pytest.raises(PolicyDenied):
            boss.as_actor(actor).analytics.degrees("Knows", write_to="group")
    assert len(boss.commits()) == 2
    written = boss.as_actor("some").analytics.degrees("Knows", write_to="group")
    assert written.written == {"Person": 3}
    rows = boss.query("query q() { match { $p: Person } return { $p.name, $p.group } }")
    assert {row["p.name"]: row["p.group"] for row in rows} == {"a": 0, "b": 1, "c": 1, "x": None}
