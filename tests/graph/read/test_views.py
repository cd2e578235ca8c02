"""A view that hides rows, in words: see `laws/test_view_laws.py` for all plans and conditions."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.errors import EntityMissing
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.engine.blob import find_blob
from omnigraph.engine.query import explain
from omnigraph.engine.requests import BlobRead, Explain
from omnigraph.lang.plan.conditions import AllOf, Condition
from omnigraph.lang.plan.ir import Compare, CompareOp, IdentityOf, Literal, Parameter, PropertyOf
from omnigraph.lang.query.check.typed import ROW
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.columns import StoredColumns
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.view import View
from omnigraph.read.where.where import Where
from tests.graph.read.test_states import CHANGES, GROW, SCHEMA, text
from tests.graph.read.town import Town
from tests.reference.engines import SOMEONE, an_engine, seeing

PERSON, KNOWS, LIVES = TypeName("Person"), TypeName("Knows"), TypeName("Lives")


def but(id_: str) -> Condition:
    """Every row but this one."""
    return Compare(CompareOp.NE, IdentityOf(ROW), Literal(id_, Scalar.STRING))


def seen_without(town: Town, **hidden: str) -> Town:
    visible = {TypeName(type_): but(id_) for type_, id_ in hidden.items()}
    return Town(town.snapshot, town.cache, visible)


@pytest.fixture
def no_cat(town: Town) -> Town:
    """The town for one who can't see cat: bob→cat→ann and cat→dan are gone with her."""
    return seen_without(town, Person="cat")


def test_a_hidden_node_is_not_met_by_scan_key_or_walk(town: Town, no_cat: Town) -> None:
    everyone = "match { $p: Person } return { $p.email } order { $p.email }"
    by_key = 'match { $p: Person { email: "cat" } } return { $p.age }'
    beyond = 'match { $p: Person { email: "bob" }  $p knows{1,3} $f } return { $f.email }'
    homes = "match { $p lives $c } return { $c.code } order { $c.code }"
    assert (town.ask(by_key), no_cat.ask(by_key)) == ([40], [])
    assert no_cat.ask(everyone) == ["ann", "bob", "dan", "eve"]
    assert (sorted(town.ask(beyond)), no_cat.ask(beyond)) == (["ann", "cat", "dan"], [])
    assert no_cat.ask(homes) == ["oslo", "oslo"]


def test_counts_and_negation_know_nothing_of_hidden_rows(no_cat: Town) -> None:
    assert no_cat.ask("match { $p: Person } return { count($p) as n }") == [4]
    assert no_cat.ask("match { $p $e:knows $f } return { count($e) as n }") == [3]
    lonely = "match { $p: Person  not { $p knows $_ } } return { $p.email } order { $p.email }"
    assert no_cat.ask(lonely) == ["bob", "eve"]


def test_one_of_two_parallel_edges_may_be_hidden(town: Town) -> None:
    from_ann = 'match { $p: Person { email: "ann" }  $p $e:knows $f } return { $e.since as s }'
    friends = 'match { $p: Person { email: "ann" }  $p knows $f } return { $f.email }'
    one = seen_without(town, Knows="k1")
    assert (one.ask(from_ann), one.ask(friends)) == ([None], ["bob"])
    visible: dict[TypeName, Condition] = {KNOWS: AllOf((but("k1"), but("k2")))}
    assert Town(town.snapshot, town.cache, visible).ask(friends) == []


def test_a_view_sees_the_next_commit_by_its_own_conditions(tmp_path: Path) -> None:
    graph, cache = Graph.init(str(tmp_path / "g"), SCHEMA), RuntimeCache()
    graph.mutate(GROW)
    visible = {PERSON: but("p1")}
    question = "match { $p knows $f } return { $p.email as p, $f.email as f } order { p, f }"

    def seen(visible: Mapping[TypeName, Condition]) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = Town(graph.snapshot().stored, cache, visible).ask(question)
        return found

    assert seen(visible) == [("p2", "p0"), ("p2", "p2"), ("p3", "p4")]
    graph.mutate(CHANGES, "know", {"a": "p1", "b": "p4", "d": None})
    graph.mutate(CHANGES, "know", {"a": "p4", "b": "p0", "d": None})
    graph.mutate(CHANGES, "leave", {"e": "p3"})
    assert seen(visible) == [("p2", "p0"), ("p2", "p2"), ("p4", "p0")]
    assert ("p1", "p4") in seen({})


def test_a_blob_of_a_hidden_entity_is_missing_as_if_it_never_was(
    town: Town, tmp_path: Path
) -> None:
    engine = an_engine(tmp_path / "g")
    request = BlobRead(
        kind="node",
        type_name="Person",
        entity_id="ann",
        property="photo",
        moment=town.snapshot,
        actor=SOMEONE,
    )
    assert find_blob(seeing(engine, {PERSON: but("bob")}), request).read() == b"jpg"
    with pytest.raises(EntityMissing) as hidden:
        find_blob(seeing(engine, {PERSON: but("ann")}), request)
    assert str(hidden.value) == str(EntityMissing(type_name=PERSON, entity_id="ann"))


def test_a_where_finds_visible_rows_only(town: Town) -> None:
    lives = town.snapshot.catalog.edge_by_name[LIVES]
    view = View.where(town.snapshot, {PERSON: but("ann")})
    source = PropertyOf(ROW, "src", Scalar.STRING, is_nullable=False)
    for predicate in (
        Compare(CompareOp.EQ, IdentityOf(ROW), Literal("l1", Scalar.STRING)),
        Compare(CompareOp.EQ, source, Literal("ann", Scalar.STRING)),
    ):
        where = Where(lives, (predicate,), {}, 0)
        columns = where.columns(["id"])
        assert where.candidates(View(town.snapshot), columns)["id"].to_pylist() == ["l1"]
        assert where.candidates(view, columns)["id"].to_pylist() == []


def test_a_plan_expects_as_many_rows_as_are_shown(town: Town, tmp_path: Path) -> None:
    question = text("match { $p: Person } return { $p.name }")
    engine, visible = an_engine(tmp_path / "g"), {PERSON: but("ann")}
    request = Explain.of(question, moment=town.snapshot, actor=SOMEONE)
    told = [str(explain(seeing(engine, seen), request)) for seen in (visible, {})]
    assert ["~4 rows" in told[0], "~5 rows" in told[1]] == [True, True]


def test_a_view_of_everything_reads_the_stored_tables_themselves(town: Town) -> None:
    assert isinstance(tables_of(View(town.snapshot), town.cache).columns, StoredColumns)


def test_a_condition_says_the_same_at_any_time(town: Town) -> None:
    age = PropertyOf(ROW, "age", Scalar.I32, is_nullable=True)
    asked = Compare(CompareOp.GT, age, Parameter("least", Scalar.I32, is_nullable=False))
    with pytest.raises(AssertionError):
        View.where(town.snapshot, {PERSON: asked})


def test_rows_of_a_node_type_are_judged_by_their_own_condition(town: Town) -> None:
    age = PropertyOf(ROW, "age", Scalar.I32, is_nullable=True)
    grown = Compare(CompareOp.GE, age, Literal(18, Scalar.I32))
    view = View.where(town.snapshot, {PERSON: grown})
    person = town.snapshot.catalog.node_by_name[PERSON]
    ids = pa.array(["ann", "bob", "eve"], pa.string())
    assert view.rows_of(person, ids, [])["id"].to_pylist() == ["ann"]
