"""What a diff shows: every row that differs, as it was and as it is, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, BranchMissing, ChangeDiffRefused, NameMissing
from omnigraph.engine.settings import Settings
from omnigraph.read.changes.diff import changes_between
from omnigraph.read.limits import ReadLimits
from tests.buckets import bucket_variables
from tests.changes.people import SCHEMA, add, age, another_schema, knows, made, person, remove


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return made(tmp_path / "g")


def described(changes: Any) -> list[tuple[str, str, str]]:
    return [(change["type"]["name"], change["id"], change["op"]) for change in changes]


def test_an_update_has_both_images_and_shows_only_what_is_different(graph: Graph) -> None:
    graph.branch_create("x")
    age(graph, "ada", 37, "x")
    found = graph.diff("main", "x")
    (change,) = found
    assert change["kind"] == "node" and change["op"] == "update" and change["id"] == "ada"
    assert change["type"]["name"] == "Person" and isinstance(change["type"]["id"], str)
    before, after = (change[side]["properties"] for side in ("before", "after"))
    assert before == {**after, "age": 36} and after["age"] == 37
    assert after["photo"] == b"hi" and after["face"] == [0.5, 1.5] and after["height"] == 1.1
    assert "endpoints" not in change["after"]
    assert list(found.property_changes()) == [
        {
            "type": "Person",
            "id": "ada",
            "op": "update",
            "property": "age",
            "before": 36,
            "after": 37,
        }
    ]
    assert [line.split() for line in str(found).splitlines()[1:]] == [
        ["Person", "ada", "update", "age", "36", "37"],
        ["1", "change", "(Person", "~1)"],
    ]
    assert "<td>36</td><td>37</td>" in found._repr_html_()
    assert repr(found) == "<Diff: 1 change (Person ~1)>"


def test_nodes_come_before_edges_then_types_then_ids(graph: Graph) -> None:
    first, last = graph.commits()[-1], graph.commits()[0]
    found = graph.diff(first, last)
    assert [
        (kind, type_)
        for kind, (type_, _, _) in zip((c["kind"] for c in found), described(found), strict=True)
    ] == [
        ("node", "City"),
        ("node", "Person"),
        ("node", "Person"),
        ("edge", "Knows"),
        ("edge", "Lives"),
    ]
    lives = found.to_pylist()[-1]
    assert lives["before"] is None
    assert lives["after"] == {"properties": {}, "endpoints": {"from": "ada", "to": "london"}}
    assert {name: counts.inserted for name, counts in found.counts.items()} == {
        "City": 1,
        "Person": 2,
        "Knows": 1,
        "Lives": 1,
    }
    assert found.from_commit_id == first.graph_commit_id and len(found) == 5


def test_a_moment_is_a_branch_a_commit_a_time_or_a_handle(graph: Graph) -> None:
    then = graph.snapshot()
    made_at = graph.commits()[0].created_at
    commit = age(graph, "ada", 37)
    graph.branch_create("x")
    for one in (then, then.graph_commit_id, then.commit, made_at, made_at.isoformat()):
        for other in ("main", "x", commit, graph.commit(commit), graph.snapshot()):
            assert described(graph.diff(one, other)) == [("Person", "ada", "update")]
    with Graph.open(graph.uri) as another:
        assert len(another.diff(then, "main")) == 1


def test_filters_leave_a_part_of_the_whole(graph: Graph) -> None:
    first = graph.commits()[-1]
    assert {c["type"]["name"] for c in graph.diff(first, "main", types="Person")} == {"Person"}
    assert len(graph.diff(first, "main", kinds=["edge"])) == 2
    assert len(graph.diff(first, "main", ops=["update", "delete"])) == 0
    assert len(graph.diff("main", first, ops="delete", kinds="node", types=["City", "Knows"])) == 1
    with pytest.raises(NameMissing, match="no type named Persn"):
        graph.diff(first, "main", types=["Persn"])
    with pytest.raises(ArgumentInvalid, match="insert, update or delete"):
        graph.diff(first, "main", ops=["upsert"])  # type: ignore[list-item]
    with pytest.raises(ArgumentInvalid, match="node or edge"):
        graph.diff(first, "main", kinds=["vertex"])  # type: ignore[list-item]


def test_rows_that_are_written_again_as_they_were_are_no_changes(graph: Graph) -> None:
    before = graph.snapshot()
    age(graph, "ada", 40)
    age(graph, "ada", 36)
    graph.optimize()
    remove(graph, "alan")
    add(graph, [person("alan", born="1912-06-23")])
    found = graph.diff(before, "main")
    assert described(found) == [("Knows", found.to_pylist()[0]["id"], "delete")]


def test_a_blob_that_stays_is_no_change_and_one_that_changes_is(graph: Graph) -> None:
    before = graph.snapshot()
    same = {"age": 36, "height": 1.1, "face": [0.5, 1.5], "tags": ["a", "b"]}
    add(graph, [person("ada", photo="base64:aG8=", **same)])
    (row,) = graph.diff(before, "main").property_changes()
    assert (row["property"], row["before"], row["after"]) == ("photo", b"hi", b"ho")
    assert "<2 bytes>" in str(graph.diff(before, "main"))


def test_a_diff_comes_as_arrow_and_as_a_frame(graph: Graph) -> None:
    before = graph.snapshot()
    age(graph, "ada", 37)
    add(graph, [knows("alan", "ada")])
    found = graph.diff(before, "main")
    table = found.to_arrow()
    assert table.column_names == ["kind", "type", "id", "op", "before", "after"]
    assert table["type"].to_pylist() == ["Person", "Knows"]
    assert '"photo": "base64:aGk="' in table["after"][0].as_py()
    people = found.to_arrow("Person").to_pylist()
    assert people[0]["before"]["age"] == 36 and people[0]["after"]["photo"] == b"hi"
    edges = found.to_arrow("Knows").to_pylist()
    assert edges[0]["before"] is None
    assert edges[0]["after"] == {"from": "alan", "to": "ada", "since": None}
    with pytest.raises(NameMissing, match="no changed type named City"):
        found.to_arrow("City")
    assert found.to_pandas()["after"][0]["properties"]["age"] == 37
    assert list(found.to_pandas("Person")["op"]) == ["update"]


def test_a_large_diff_is_counted_and_shown_without_reading_it(graph: Graph) -> None:
    graph = Graph.open(graph.uri, settings=Settings(read_limits=ReadLimits(max_blobs_at_once=4)))
    before = graph.snapshot()
    add(graph, (person(f"p{number:03}", age=1) for number in range(100)))
    middle = graph.snapshot()
    # Half of them are written again as they were.
    add(graph, (person(f"p{number:03}", age=number % 2 + 1) for number in range(100)))
    found = graph.diff(before, middle)
    assert len(found) == 100
    assert len(str(found).splitlines()) == 1 + 3 * 20 + 1
    assert len(found._repr_html_()) < 10_000
    again = graph.diff(middle, "main")
    assert len(again) == 50 == len(again.to_pylist())
    assert all(change["after"]["properties"]["age"] == 2 for change in again)
    assert len(graph.diff(middle, "main", ops="insert")) == 0


def test_a_diff_over_a_schema_change_is_refused_by_the_commit_that_brought_it(graph: Graph) -> None:
    before = graph.snapshot()
    brought = another_schema(graph)
    age(graph, "ada", 37)
    for one, other in ((before, "main"), ("main", before), (before, brought)):
        with pytest.raises(ChangeDiffRefused) as refused:
            graph.diff(one, other)
        assert refused.value.code == "change_diff_refused" and refused.value.hint
        assert refused.value.reason == "schema_boundary"
        assert refused.value.graph_commit_id == brought
    with pytest.raises(ChangeDiffRefused):
        changes_between(before.stored, graph.snapshot().stored)
    assert len(graph.diff(brought, "main")) == 1


def test_columns_that_a_schema_filled_or_widened_are_no_changes_of_rows(graph: Graph) -> None:
    old = graph.commits()[0]
    wider = SCHEMA.replace("age: I32?", 'age: I64?  joined: Date @default("2024-01-01")')
    brought = graph.schema_apply(wider).commit
    assert brought is not None
    with pytest.raises(ChangeDiffRefused):
        graph.commit_changes(brought)
    graph.optimize()
    assert len(graph.diff(brought, "main")) == 0
    graph.branch_create("older", from_=old)
    age(graph, "ada", 37, "older")
    age(graph, "alan", 41)
    graph.branch_merge("older")
    feed = graph.changes(start=f"after:{brought.graph_commit_id}")
    seen = [change for block in feed.blocks for change in block.changes.to_pylist()]
    assert described(seen) == [("Person", "alan", "update"), ("Person", "ada", "update")]
    for change, years in zip(seen, ((None, 41), (36, 37)), strict=True):
        before, after = (change[side]["properties"] for side in ("before", "after"))
        assert (before["age"], after["age"]) == years
        assert after == {**before, "age": after["age"]} and after["joined"] is not None


def test_a_side_that_is_not_there_is_missing(graph: Graph) -> None:
    with pytest.raises(BranchMissing, match="no branch named nope"):
        graph.diff("main", "nope")
    for nothing in (None, 1.5):
        with pytest.raises(ArgumentInvalid, match="it must be a commit"):
            graph.diff("main", nothing)  # type: ignore[arg-type]
    for words in (5, [5]):
        with pytest.raises(ArgumentInvalid, match="a list of words"):
            graph.diff("main", "main", types=words)  # type: ignore[arg-type]


def test_a_diff_reads_a_bucket(s3: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket_variables(s3).items():
        monkeypatch.setenv(name, value)
    graph = made(bucket)
    graph.branch_create("x")
    age(graph, "ada", 37, "x")
    remove(graph, "alan", "x")
    assert [op for _, _, op in described(graph.diff("main", "x"))] == ["update", "delete", "delete"]
    page = graph.changes(start="beginning", branch="x")
    assert [len(block.changes) for block in page.blocks] == [5, 1, 2] and page.caught_up


def test_since_the_base_it_is_what_one_side_has_done(graph: Graph) -> None:
    graph.branch_create("x")
    age(graph, "ada", 37, "x")
    age(graph, "alan", 50, "main")
    assert described(graph.diff("main", "x", since_base=True)) == [("Person", "ada", "update")]
    assert described(graph.diff("x", "main", since_base=True)) == [("Person", "alan", "update")]
    assert len(graph.diff("main", "x")) == 2
    graph.branch_merge("x")
    assert len(graph.diff("main", "x", since_base=True)) == 0
    assert described(graph.diff("x", "main", since_base=True)) == [("Person", "alan", "update")]
