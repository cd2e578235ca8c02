"""Merges of a source whose schema the target has had before, and of one that it never had."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.errors import MergeConflicts, SchemasApart
from tests.merge.world import WAYS

OLD = "node City { name: String @key  pop: I32? }\nedge Road: City -> City { length: I32? }\n"
NEW = """
node City { name: String @key  people: I32? @rename_from("pop")  country: String @default("?") }
node River { name: String @key }
edge Road: City -> City { length: I32? }
"""
RENAMED = """
node Town @rename_from("City") { name: String @key  country: String @default("?") }
edge Way: Town -> Town @rename_from("Road") { metres: I32? @rename_from("length") }
"""
STRICT = """
node City { name: String @key  pop: I32?  @range(pop, 0..100) }
edge Road: City -> City { length: I32? }
"""


@pytest.fixture(params=WAYS)
def graph(tmp_path: Path, request: pytest.FixtureRequest) -> Graph:
    source, settings = SourceText(OLD, "old.pg"), WAYS[request.param]
    place = str(tmp_path / "g")
    graph = Graph(Engine.init(place, source, durability="relaxed", settings=settings))
    change(graph, 'insert City { name: "A", pop: 1 } insert City { name: "B", pop: 2 }')
    return graph


def migrate(graph: Graph, schema: str) -> None:
    """Another schema for main, and a branch `feature` from before it."""
    before = head(graph)
    graph.schema_apply(schema)
    graph.branch_create("feature", from_=before)


def change(graph: Graph, text: str, branch: str = "main") -> None:
    graph.mutate(f"query q() {{ {text} }}", branch=branch)


def cities(graph: Graph, *columns: str) -> list[dict[str, object]]:
    shown = ", ".join(f"$c.{name} as {name}" for name in columns)
    query = f"query q() {{ match {{ $c: City }} return {{ {shown} }} order {{ name }} }}"
    return graph.query(query).to_pylist()


def test_rows_of_an_earlier_schema_arrive_as_ours_has_them(graph: Graph) -> None:
    migrate(graph, NEW)
    change(graph, 'update City set { pop: 5 } where name = "A"', "feature")
    change(graph, 'insert City { name: "C" }', "feature")
    change(graph, 'insert Road { from: "A", to: "B", length: 7 }', "feature")
    change(graph, 'update City set { country: "x" } where name = "B" insert River { name: "R" }')
    merged = graph.branch_merge("feature")
    assert merged.outcome == "merged"
    assert cities(graph, "name", "people", "country") == [
        {"name": "A", "people": 5, "country": "?"},
        {"name": "B", "people": 2, "country": "x"},
        {"name": "C", "people": None, "country": "?"},
    ]
    assert graph.branch_merge("feature").outcome == "already_up_to_date"


def test_conflicts_are_told_in_the_words_of_our_schema(graph: Graph) -> None:
    migrate(graph, NEW)
    change(graph, 'update City set { pop: 5 } where name = "A"', "feature")
    change(graph, 'update City set { people: 6 } where name = "A"')
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge("feature")
    (found,) = caught.value.conflicts
    assert (found.property, found.base, found.ours, found.theirs) == ("people", 1, 6, 5)
    graph.branch_merge("feature", resolve="theirs")
    assert cities(graph, "name", "people")[0] == {"name": "A", "people": 5}


def test_changes_are_told_in_the_words_of_our_schema(graph: Graph) -> None:
    migrate(graph, RENAMED)
    change(graph, 'insert City { name: "C", pop: 3 }', "feature")
    change(graph, 'insert Road { from: "A", to: "C", length: 7 }', "feature")
    change(graph, 'delete City where name = "B"', "feature")
    preview, before = graph.branch_merge("feature", preview=True), head(graph)
    merged = graph.branch_merge("feature")
    done = graph.diff(before, "main")
    assert preview.counts == merged.counts == done.counts
    assert set(done.counts) == {"Town", "Way"}
    if preview.changes is not None:
        assert preview.changes.to_pylist() == done.to_pylist()


def test_a_row_that_only_their_schema_allows_is_a_conflict(graph: Graph) -> None:
    migrate(graph, STRICT)
    change(graph, 'update City set { pop: 500 } where name = "A"', "feature")
    change(graph, 'insert City { name: "C", pop: 7 }', "feature")
    for resolve in (None, "theirs"):  # theirs can't be had
        with pytest.raises(MergeConflicts) as caught:
            graph.branch_merge("feature", resolve=resolve)
        (found,) = caught.value.conflicts
        assert (found.kind, found.entity_id) == ("value_constraint_violation", "A")
        assert (found.property, found.base, found.ours, found.theirs) == ("pop", 1, 1, 500)
    graph.branch_merge("feature", resolve="ours")
    assert cities(graph, "name", "pop") == [
        {"name": "A", "pop": 1},
        {"name": "B", "pop": 2},
        {"name": "C", "pop": 7},
    ]


def test_a_schema_that_the_target_never_had_is_refused(graph: Graph) -> None:
    migrate(graph, NEW)
    change(graph, 'insert River { name: "R" }')
    change(graph, 'insert City { name: "C" }', "feature")
    with pytest.raises(SchemasApart) as caught:
        graph.branch_merge("main", "feature")
    assert caught.value.code == "schema_error" and caught.value.commit == head(graph)
    assert caught.value.hint is not None
    assert "Merge feature into main" in caught.value.hint and "from main" in caught.value.hint
    assert graph.branch_merge("feature", "main").outcome == "merged"  # as the hint says
    assert cities(graph, "name") == [{"name": "A"}, {"name": "B"}, {"name": "C"}]


def test_changes_that_our_schema_has_no_place_for_are_told(graph: Graph) -> None:
    migrate(graph, "node City { name: String @key }\n")
    change(graph, 'update City set { pop: 5 } where name = "A"', "feature")
    change(graph, 'insert City { name: "C" } insert City { name: "D", pop: 1 }', "feature")
    change(graph, 'insert Road { from: "A", to: "B", length: 7 }', "feature")
    preview = graph.branch_merge("feature", preview=True)
    assert preview.left_out == {"City.pop": 2, "Road": 1}
    merged = graph.branch_merge("feature")
    assert merged.left_out == preview.left_out and merged.counts["City"].inserted == 2
    assert graph.branch_merge("feature").left_out == {}


def test_a_branch_without_the_schema_of_the_source_is_told_what_to_do(graph: Graph) -> None:
    migrate(graph, NEW)
    with pytest.raises(SchemasApart, match="never had"):
        graph.branch_merge("main", "feature")
    assert cities(graph, "name") == [{"name": "A"}, {"name": "B"}]


def test_a_commit_from_before_a_change_of_schema_can_be_reverted(graph: Graph) -> None:
    change(graph, 'update City set { pop: 5 } where name = "A"')
    commit = head(graph)
    graph.schema_apply(NEW)
    assert graph.revert(commit).outcome == "reverted"
    assert cities(graph, "name", "people")[0] == {"name": "A", "people": 1}


def head(graph: Graph) -> str:
    return graph.commits(limit=1)[0].graph_commit_id


ADDED = {
    "the first default counts": (["b: I32 @default(1)", "b: I32 @default(2)"], 1),
    "it came without one": (["b: I32?", "b: I32? @default(2)"], None),
    "its default is gone": (["b: I32? @default(1)", "b: I32?"], 1),
    "it was renamed": (["b: I32 @default(1)", 'c: I32 @default(2) @rename_from("b")'], 1),
    "an F32 got wider": (["b: F32 @default(0.1)", "b: F64 @default(0.1)"], 0.10000000149011612),
    "it was added again": (["b: I32? @default(1)", "", "b: I32? @default(2)"], 2),
}


@pytest.mark.parametrize("named", ADDED)
def test_rows_from_before_a_property_have_what_the_rows_of_main_were_filled_with(
    graph: Graph, named: str
) -> None:
    steps, fill = ADDED[named]
    before = head(graph)
    for step in steps:
        graph.schema_apply(OLD.replace("pop: I32?", f"pop: I32? {step}"))
    graph.branch_create("feature", from_=before)
    change(graph, 'update City set { pop: 5 } where name = "A"', "feature")
    change(graph, 'insert City { name: "C" }', "feature")
    change(graph, 'update City set { pop: 7 } where name = "B"')
    graph.branch_merge("feature")
    name = "c" if named == "it was renamed" else "b"
    assert [(row["pop"], row[name]) for row in cities(graph, "name", "pop", name)] == [
        (5, fill),
        (7, fill),
        (None, fill),
    ]
    again = Graph.open(graph.uri)
    assert again.branch_merge("feature").outcome == "already_up_to_date"


def test_a_row_from_before_a_property_that_must_have_a_value_has_todays_default(
    graph: Graph,
) -> None:
    before = head(graph)
    graph.schema_apply(OLD.replace("pop: I32?", "pop: I32? b: I32?"))
    change(graph, 'update City set { b: 4 } where name = "A"')
    change(graph, 'update City set { b: 4 } where name = "B"')
    graph.schema_apply(OLD.replace("pop: I32?", "pop: I32? b: I32 @default(2)"))
    graph.branch_create("feature", from_=before)
    change(graph, 'insert City { name: "C" }', "feature")
    graph.branch_merge("feature")
    assert [row["b"] for row in cities(graph, "name", "b")] == [4, 4, 2]
