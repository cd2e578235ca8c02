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


def test_a_row_that_needs_edges_of_a_new_type_stays_out_where_ours_is_taken(graph: Graph) -> None:
    before = head(graph)
    change(graph, 'delete City where name = "A"')
    change(graph, 'delete City where name = "B"')
    graph.schema_apply(
        f"{OLD}node Mayor {{ name: String @key }}\nedge Seat: City -> Mayor @card(1..)"
    )
    graph.branch_create("feature", from_=before)
    change(graph, 'insert City { name: "C" }', "feature")
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge("feature", resolve="theirs")
    (found,) = caught.value.conflicts
    assert (found.kind, found.entity_id) == ("cardinality_violation", "C")
    assert graph.branch_merge("feature", resolve="ours").outcome == "merged"
    assert cities(graph, "name") == []


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


def test_an_earlier_schema_that_went_into_both_sides_is_a_base(graph: Graph) -> None:
    """There are two: where the branch was made, and the last commit with the earlier schema."""
    migrate(graph, NEW)
    graph.branch_create("newer")
    change(graph, 'insert City { name: "C" }', "feature")
    change(graph, 'delete City where name = "B"', "feature")
    change(graph, 'update City set { country: "x" } where name = "A"', "newer")
    change(graph, 'insert River { name: "R" }')
    for target in ("main", "newer"):
        assert graph.branch_merge("feature", target).outcome == "merged"
    change(graph, 'delete City where name = "C"', "newer")
    change(graph, 'update City set { pop: 5 } where name = "A"', "feature")
    preview = graph.branch_merge("newer", preview=True)
    assert (preview.conflicts, preview.left_out) == ((), {})
    assert graph.branch_merge("newer").counts == preview.counts
    assert cities(graph, "name", "country") == [{"name": "A", "country": "x"}]
    assert graph.branch_merge("feature").outcome == "merged"
    assert cities(graph, "name", "people", "country") == [
        {"name": "A", "people": 5, "country": "x"}
    ]


# Of a row: what main has written since the property `country` came, what the branch from before it
# has done, the conflicts, and what the row has with the choice of ours and of theirs.
Found = tuple[object, object] | None
OF_A_PROPERTY_THAT_THEIRS_NEVER_HAD: dict[
    str, tuple[str, str, list[tuple[str, str | None]], tuple[Found, Found]]
] = {
    "ours wrote it alone": (
        'update City set { country: "x" } where name = "A"',
        'update City set { pop: 5 } where name = "A"',
        [],
        ((5, "x"), (5, "x")),
    ),
    "ours wrote it and another": (
        'update City set { country: "x", people: 6 } where name = "A"',
        'update City set { pop: 5 } where name = "A"',
        [("divergent_update", "people")],
        ((6, "x"), (5, "x")),
    ),
    "ours wrote it, and both another alike": (
        'update City set { country: "x", people: 5 } where name = "A"',
        'update City set { pop: 5 } where name = "A"',
        [],
        ((5, "x"), (5, "x")),
    ),
    "ours wrote it and theirs deleted the row": (
        'update City set { country: "x" } where name = "A"',
        'delete City where name = "A"',
        [("delete_vs_update", None)],
        ((1, "x"), None),
    ),
    "ours deleted the row": (
        'delete City where name = "A"',
        'update City set { pop: 5 } where name = "A"',
        [("delete_vs_update", None)],
        (None, (5, "?")),
    ),
    "both inserted the row": (
        'insert City { name: "C", people: 6, country: "x" }',
        'insert City { name: "C", pop: 5 }',
        [("divergent_insert", "people")],
        ((6, "x"), (5, "x")),
    ),
    "both inserted the row alike": (
        'insert City { name: "C", people: 5, country: "x" }',
        'insert City { name: "C", pop: 5 }',
        [],
        ((5, "x"), (5, "x")),
    ),
    "theirs inserted the row": (
        'insert River { name: "R" }',
        'insert City { name: "C", pop: 5 }',
        [],
        ((5, "?"), (5, "?")),
    ),
}


@pytest.mark.parametrize("named", OF_A_PROPERTY_THAT_THEIRS_NEVER_HAD)
def test_a_property_that_theirs_never_had_stays_as_ours_has_it(graph: Graph, named: str) -> None:
    ours, theirs, conflicts, rows = OF_A_PROPERTY_THAT_THEIRS_NEVER_HAD[named]
    migrate(graph, NEW)
    change(graph, ours)
    change(graph, theirs, "feature")
    name = "C" if "insert City" in theirs else "A"
    told = graph.branch_merge("feature", preview=True).conflicts
    assert [(found.kind, found.property) for found in told] == conflicts
    choices = [{"type": c.type_name, "id": c.entity_id, "take": "theirs"} for c in told]
    for number, (resolve, row) in enumerate(zip(("ours", "theirs"), rows, strict=True)):
        graph.branch_create(f"target{number}")
        graph.branch_merge("feature", f"target{number}", resolve=resolve)
        assert city(graph, name, f"target{number}") == row
    graph.branch_merge("feature", resolve=choices)
    assert city(graph, name, "main") == rows[1]


def city(graph: Graph, name: str, branch: str) -> Found:
    query = """query q($name: String) {
        match { $c: City { name: $name } } return { $c.people as people, $c.country as country }
    }"""
    found = graph.query(query, params={"name": name}, branch=branch).to_pylist()
    return (found[0]["people"], found[0]["country"]) if found else None


def test_a_row_that_gives_way_to_theirs_keeps_what_theirs_never_had(graph: Graph) -> None:
    old = "node City { name: String @key  pop: I32? @unique }\n"
    graph.schema_apply(old)
    migrate(graph, f"{old.replace('}', '')} country: String? }}\n")
    change(graph, 'insert City { name: "C", pop: 7 }', "feature")
    change(graph, 'update City set { pop: 7, country: "x" } where name = "A"')
    (found,) = graph.branch_merge("feature", preview=True).conflicts
    assert found.kind == "unique_violation"
    graph.branch_merge("feature", resolve="theirs")
    assert cities(graph, "name", "pop", "country") == [
        {"name": "A", "pop": 1, "country": "x"},
        {"name": "B", "pop": 2, "country": None},
        {"name": "C", "pop": 7, "country": None},
    ]


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
