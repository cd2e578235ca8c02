"""Every door of a graph asks the policy first, whoever comes and whatever for."""

import inspect
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.engine.handles.analytics import Analytics
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.branch import Branch
from omnigraph.errors import ArgumentInvalid, PolicyDenied, PolicyInvalid, ReadOnly
from omnigraph.lang.plan.conditions import NEVER, Condition
from omnigraph.lang.plan.ir import ROW, NullTest, PropertyOf
from tests.graph.people import SCHEMA
from tests.reference.table_policy import Role, Sees, TablePolicy

COUNT = "query n() { match { $p: Person } return { count($p) as n } }"
ADD = 'query a() { insert Person { email: "bo@x", name: "Bo" } }'
BOSS, NOBODY, READER = "boss", "nobody", "reader"
PERSON = TypeName("Person")


def but_old(name: str) -> Condition:
    """Rows without a value of this property."""
    return NullTest(PropertyOf(ROW, name, Scalar.STRING, is_nullable=True), is_negated=False)


@dataclass(frozen=True)
class Place:
    """A graph with a branch and some commits."""

    graph: Graph
    head: str
    folder: Path

    def opened(self, policy: TablePolicy, actor: str | None, **more: Any) -> Graph:
        return Graph.open(self.graph.uri, durability="relaxed", policy=policy, actor=actor, **more)

    def rows(self) -> list[dict[str, Any]]:
        return [{"type": "Person", "data": {"email": "cy@x", "name": "Cy"}}]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("doors")
    graph = Graph.init(folder / "g.omni", SCHEMA, durability="relaxed", actor="founder")
    graph.branch_create("side")
    commit = graph.mutate(ADD).commit
    assert commit is not None
    return Place(graph, commit.graph_commit_id, folder)


Call = Callable[[Any, Place], object]

ALGORITHMS: dict[str, dict[str, Any]] = {
    "pagerank": {},
    "connected_components": {},
    "strongly_connected_components": {},
    "label_propagation": {},
    "triangle_count": {},
    "degrees": {},
    "k_core": {},
    "betweenness": {},
    "shortest_paths": {"source": "bo@x"},
}


def algorithm(name: str, more: dict[str, Any]) -> Call:
    return lambda g, _: getattr(g.analytics, name)("Knows", **more)


READS: dict[str, Call] = {
    "query": lambda g, _: g.query(COUNT),
    "explain": lambda g, _: g.explain(COUNT, analyze=True),
    "blob": lambda g, _: g.blob("node", "Person", "bo@x", "name"),
    "export": lambda g, _: g.export(io.BytesIO()),
    "schema": lambda g, _: g.schema(),
    "stats": lambda g, _: g.stats(),
    "tables": lambda g, _: g.tables(),
    "neighborhood": lambda g, _: g.neighborhood("Person", "bo@x"),
    "find": lambda g, _: g.find("bo"),
    "entity": lambda g, _: g.entity("node", "Person", "bo@x"),
    "entity_history": lambda g, _: g.entity_history("node", "Person", "bo@x"),
    "lint": lambda g, _: g.lint(COUNT),
    "indexes": lambda g, _: g.indexes(),
    **{f"analytics.{name}": algorithm(name, more) for name, more in ALGORITHMS.items()},
    "spark": lambda g, _: g.spark(ADD),
}
OF_A_BRANCH: dict[str, Call] = {
    **READS,
    "mutate": lambda g, _: g.mutate(ADD),
    "load": lambda g, place: g.load(place.rows(), mode="append"),
    "import_": lambda g, _: g.import_("nowhere"),
    "stream": lambda g, place: g.stream(None, mode="append", checkpoint=place.folder / "c"),
    "embed": lambda g, _: g.embed(),
    "optimize": lambda g, _: g.optimize(),
    "commits": lambda g, _: g.commits(),
    "snapshot": lambda g, _: g.snapshot(),
    "at": lambda g, place: g.at(place.head),
}
OF_A_GRAPH: dict[str, Call] = {
    **OF_A_BRANCH,
    "branch": lambda g, _: g.branch("side"),
    "branches": lambda g, _: g.branches(),
    "branch_create": lambda g, _: g.branch_create("other"),
    "branch_delete": lambda g, _: g.branch_delete("side"),
    "branch_merge": lambda g, _: g.branch_merge("side"),
    "review": lambda g, _: g.review("side"),
    "revert": lambda g, place: g.revert(place.head),
    "log": lambda g, _: g.log(),
    "commit": lambda g, place: g.commit(place.head),
    "diff": lambda g, place: g.diff("side", "main"),
    "commit_changes": lambda g, place: g.commit_changes(place.head),
    "changes": lambda g, _: g.changes(),
    "changes_baseline": lambda g, _: g.changes_baseline(io.BytesIO()),
    "schema_plan": lambda g, _: g.schema_plan(SCHEMA),
    "schema_apply": lambda g, _: g.schema_apply(SCHEMA),
    "cleanup": lambda g, _: g.cleanup(dry_run=True),
    "repair": lambda g, _: g.repair(),
}
MORE: dict[str, Call] = {
    "a merge's preview": lambda g, _: g.branch_merge("side", preview=True),
    "a revert's preview": lambda g, place: g.revert(place.head, preview=True),
    "a load into a new branch": lambda g, place: g.load(
        place.rows(), mode="append", branch="new", from_="main"
    ),
    "a query of a commit": lambda g, place: g.query(COUNT, snapshot=place.head),
    "a commit that is missing": lambda g, _: g.query(COUNT, snapshot="0" * 26),
    "a branch that is missing": lambda g, _: g.query(COUNT, branch="nowhere"),
    "a diff of a commit that is missing": lambda g, _: g.diff("0" * 26, "main"),
    "a branch from the past": lambda g, place: g.branch_create("old", place.head),
    "an algorithm that is written": lambda g, _: g.analytics.degrees("Knows", write_to="age"),
    "an algorithm over a commit": lambda g, place: g.at(place.head).analytics.degrees("Knows"),
    "a log of one branch": lambda g, _: g.log("side"),
}
NO_DOORS = {"init", "open", "connect", "close", "as_actor", "under_policy"}
"""They make and end handles; a handle shows nothing by itself."""
OF_ITSELF = {"analytics", "uri", "name", "commit", "branch", "graph_commit_id", "engine", "stored"}
"""What a handle says of itself: it was given when the door was passed. `analytics` has doors."""


def doors(handle: type) -> set[str]:
    methods = inspect.getmembers(handle, callable)
    return {name for name, _ in methods if not name.startswith("_")} - NO_DOORS


def test_every_public_method_is_listed_here() -> None:
    """A new method is a new door: it stays shut until it stands in these tables."""
    of_analytics = {f"analytics.{name}" for name in doors(Analytics)}
    assert doors(Graph) | of_analytics == {*OF_A_GRAPH}
    assert doors(Branch) | of_analytics == {*OF_A_BRANCH}
    assert doors(At) | of_analytics == {*READS}
    for handle in (Graph, Branch, At):
        shown = inspect.getmembers(handle, lambda member: isinstance(member, property))
        assert {name for name, _ in shown} <= OF_ITSELF


@pytest.mark.parametrize("actor", [NOBODY, None])
@pytest.mark.parametrize("door", [*OF_A_GRAPH, *MORE])
def test_a_policy_that_allows_nothing_shuts_every_door(
    place: Place, door: str, actor: str | None
) -> None:
    graph = place.opened(TablePolicy({BOSS: Role()}), actor)
    with pytest.raises(PolicyDenied) as denied:
        {**OF_A_GRAPH, **MORE}[door](graph, place)
    assert denied.value.actor == actor
    assert len(place.graph.commits()) == 2 and place.graph.branches() == ["main", "side"]


@pytest.mark.parametrize("door", [*OF_A_BRANCH])
def test_a_branch_of_another_actor_asks_again(place: Place, door: str) -> None:
    policy = TablePolicy({BOSS: Role()})
    branch = Branch(place.opened(policy, NOBODY).engine, "side")
    with pytest.raises(PolicyDenied):
        OF_A_BRANCH[door](branch, place)


@pytest.mark.parametrize("door", [*READS])
def test_a_moment_that_was_held_before_asks_again(place: Place, door: str) -> None:
    boss = place.opened(TablePolicy({BOSS: Role()}), BOSS)
    held = boss.snapshot().held
    with pytest.raises(PolicyDenied):
        READS[door](At(boss.as_actor(NOBODY).engine, held), place)


def test_one_who_may_do_all_does_all_but_what_is_wrong_with_it(place: Place) -> None:
    """The refusals above are the policy's."""
    graph = place.opened(TablePolicy({BOSS: Role()}), BOSS)
    for call in {**READS, "log": OF_A_GRAPH["log"], "diff": OF_A_GRAPH["diff"]}.values():
        with suppress(ArgumentInvalid):  # a name is no blob
            call(graph, place)
    assert graph.branches() == ["main", "side"]


# Who acts ----------------------------------------------------------------------------------------


def test_a_call_may_name_its_actor(place: Place) -> None:
    policy = TablePolicy({BOSS: Role(denied=frozenset({"change"})), READER: Role()})
    graph = place.opened(policy, READER)
    with pytest.raises(PolicyDenied) as denied:
        graph.mutate(ADD, actor=BOSS)
    assert str(denied.value) == "the policy denies change on branch main to boss"
    assert graph.mutate(ADD).commit is None  # it is there already


def test_handles_of_many_actors_share_one_engine(place: Place) -> None:
    policy = TablePolicy({BOSS: Role(), READER: Role(Sees({PERSON: NEVER}))})
    boss = place.opened(policy, BOSS)
    reader = boss.as_actor(READER)
    assert boss.query(COUNT).to_pylist() == [{"n": 1}]
    assert reader.query(COUNT).to_pylist() == [{"n": 0}]
    assert reader.engine.cache is boss.engine.cache
    assert boss.as_actor(READER).engine.gate is boss.engine.gate
    with pytest.raises(PolicyDenied):
        boss.as_actor(NOBODY).query(COUNT)


def test_a_handle_opened_to_read_refuses_writes_as_before(place: Place) -> None:
    graph = place.opened(TablePolicy({BOSS: Role()}), BOSS, read_only=True)
    with pytest.raises(ReadOnly):
        graph.mutate(ADD)


# Branches and commits ----------------------------------------------------------------------------


def test_branches_that_may_not_be_read_are_not_told(place: Place) -> None:
    roles = {READER: Role(denied_on=frozenset({("read", "main")}))}
    graph = place.opened(TablePolicy(roles), READER)
    assert graph.branches() == ["side"] == [*graph.log().heads]
    with pytest.raises(PolicyDenied):
        graph.query(COUNT)
    with pytest.raises(PolicyDenied):
        graph.query(COUNT, snapshot=place.head)  # it was made on main
    with pytest.raises(PolicyDenied):
        graph.diff("side", "main")
    assert graph.query(COUNT, branch="side").to_pylist() == [{"n": 0}]


def test_a_merge_is_decided_by_where_it_goes(place: Place) -> None:
    roles = {READER: Role(denied_on=frozenset({("branch_merge", "main")}))}
    graph = place.opened(TablePolicy(roles), READER)
    with pytest.raises(PolicyDenied) as denied:
        graph.branch_merge("side")
    assert str(denied.value) == (
        "the policy denies branch_merge on branch side into main to reader"
    )
    assert graph.branch_merge("side", into="main", preview=True).outcome == "already_up_to_date"


# Policies that don't fit --------------------------------------------------------------------------


def test_a_policy_that_does_not_fit_main_opens_nothing(place: Place) -> None:
    policy = TablePolicy({BOSS: Role(Sees({TypeName("Ghost"): but_old("age")}))})
    with pytest.raises(PolicyInvalid):
        place.opened(policy, BOSS)


def test_a_commit_whose_schema_the_policy_does_not_fit_is_denied(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    before = graph.snapshot().graph_commit_id
    graph.schema_apply(SCHEMA.replace("age: I32?", "age: I32?  nick: String?"))
    policy = TablePolicy({BOSS: Role(Sees({PERSON: but_old("nick")}))})
    opened = Graph.open(tmp_path / "g.omni", durability="relaxed", policy=policy, actor=BOSS)
    assert opened.query(COUNT).to_pylist() == [{"n": 0}]
    with pytest.raises(PolicyDenied) as denied:
        opened.query(COUNT, snapshot=before)
    assert str(denied.value) == (
        "the policy denies read on branch main to boss: it does not fit the schema of that commit"
    )
