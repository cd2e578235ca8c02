"""The change feed: every change once, from a cursor on, or a refusal that says what to do."""

import io
import json
import shutil
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ChangeCursorRejected,
    ChangeDiffRefused,
    ChangeFeedGap,
    CommitMissing,
    LimitExceeded,
    NameMissing,
    QueryCancelled,
)
from omnigraph.engine.cursor import packed
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from omnigraph.results import ChangePage
from tests.changes.people import add, age, another_schema, knows, made, person, remove


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return made(tmp_path / "g")


def causes(page: ChangePage) -> list[str]:
    return [block.cause.graph_commit_id for block in page.blocks]


def test_a_cursor_sees_what_is_published_after_it_exactly_once(graph: Graph) -> None:
    page = graph.changes()
    assert not page.blocks and page.caught_up
    first = age(graph, "ada", 37)
    graph.optimize()
    second = remove(graph, "alan")
    page = Graph.open(graph.uri).changes(page.cursor)
    assert causes(page) == [first, second] and page.caught_up
    assert [c["op"] for b in page.blocks for c in b.changes] == ["update", "delete", "delete"]
    assert graph.changes(page.cursor).blocks == ()
    graph.optimize()
    page = graph.changes(page.cursor)
    assert page.blocks == () and page.caught_up


def test_the_feed_begins_now_at_the_beginning_or_after_a_commit(graph: Graph) -> None:
    loaded = graph.commits()[0].graph_commit_id
    last = age(graph, "ada", 37)
    assert causes(graph.changes(start="now")) == []
    assert causes(graph.changes(start="beginning")) == [loaded, last]
    assert causes(graph.changes(start=f"after:{loaded}")) == [last]
    assert causes(graph.changes(start=f"after:{last}")) == []


def test_a_block_says_who_when_and_why(graph: Graph) -> None:
    graph.branch_create("x")
    age(graph, "ada", 37, "x")
    merged = graph.branch_merge("x", actor="bob", message="looks good").commit
    assert merged is not None
    cause = graph.changes(start="beginning").blocks[-1].cause
    assert cause.graph_commit_id == merged.graph_commit_id
    assert (cause.actor_id, cause.message) == ("bob", "looks good")
    assert cause.authored_branch == "main" and cause.authored_at == merged.created_at
    assert cause.parent_commit_id == merged.parent_commit_id
    assert cause.merged_parent_commit_id == merged.merged_parent_commit_id is not None


def test_the_feed_of_a_branch_has_what_it_was_made_from(graph: Graph) -> None:
    graph.branch_create("x")
    age(graph, "alan", 40)
    made = age(graph, "ada", 37, "x")
    page = graph.changes(start="beginning", branch="x")
    assert causes(page) == [graph.commits()[1].graph_commit_id, made]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_hold_the_whole_whatever_their_length(graph: Graph, limit: int) -> None:
    add(graph, (person(f"p{number}") for number in range(5)))
    whole = [c for b in graph.changes(start="beginning").blocks for c in b.changes]
    page = graph.changes(start="beginning", limit=limit)
    found = [c for b in page.blocks for c in b.changes]
    while not page.caught_up:
        assert len(page) == limit
        page = Graph.open(graph.uri, read_only=True).changes(page.cursor, limit=limit)
        found += [c for b in page.blocks for c in b.changes]
    assert found == whole


def test_a_page_ends_after_so_many_bytes(graph: Graph) -> None:
    """Blobs are read a few at a time, and a page that is full of them ends before its limit."""
    small = ReadLimits(max_blobs_at_once=2, max_page_bytes=1)
    graph = Graph.open(graph.uri, settings=Settings(read_limits=small))
    start = graph.changes().cursor
    add(graph, (person(f"p{number}", photo="base64:aGk=") for number in range(5)))
    lengths = []
    while not (page := graph.changes(start)).caught_up:
        lengths.append(len(page))
        start = page.cursor
    assert [*lengths, len(page)] == [2, 2, 1]


def test_a_filter_chooses_among_changes_and_holds_for_the_cursor(graph: Graph) -> None:
    page = graph.changes(start="beginning", types=["Person"], ops=["insert"])
    assert {c["type"]["name"] for b in page.blocks for c in b.changes} == {"Person"}
    age(graph, "ada", 37)
    last = add(graph, [person("grace"), knows("grace", "ada")])
    page = graph.changes(page.cursor, types="Person", ops="insert")
    assert causes(page) == [last] and [c["id"] for c in page.blocks[0].changes] == ["grace"]
    with pytest.raises(ChangeCursorRejected) as rejected:
        graph.changes(page.cursor)
    assert rejected.value.reason == "filter"
    assert "types Person; ops insert" in str(rejected.value)
    with pytest.raises(NameMissing, match="no type named Persn"):
        graph.changes(types=["Persn"])


def test_a_baseline_and_its_cursor_make_the_graph(graph: Graph, tmp_path: Path) -> None:
    out = tmp_path / "start.jsonl"
    start = graph.changes_baseline(out)
    assert start.snapshot_commit_id == graph.commits()[0].graph_commit_id
    assert len(out.read_text().splitlines()) == 5 == start.export.total_entities
    made = age(graph, "ada", 37)
    assert causes(graph.changes(start.resume_cursor)) == [made]
    sink = io.BytesIO()
    people = graph.changes_baseline(sink, kinds="node", types=["Person", "Knows"])
    assert {json.loads(line)["type"] for line in sink.getvalue().splitlines()} == {"Person"}
    assert not graph.changes(people.resume_cursor, kinds="node", types=["Knows", "Person"]).blocks


def test_a_commit_is_compared_with_its_first_parent_in_pages(graph: Graph) -> None:
    loaded, first = graph.commits()
    page = graph.commit_changes(loaded.graph_commit_id, limit=2)
    assert page.cause.graph_commit_id == loaded.graph_commit_id
    found = page.changes.to_pylist()
    while page.next_page_token is not None:
        page = graph.commit_changes(loaded, limit=2, page_token=page.next_page_token)
        found += page.changes.to_pylist()
    assert found == graph.commit_changes(loaded).changes.to_pylist() and len(found) == 5
    assert len(graph.commit_changes(loaded, kinds="edge", types="Lives").changes) == 1
    graph.optimize()
    assert len(graph.commit_changes(graph.commits()[0]).changes) == 0
    with pytest.raises(ChangeDiffRefused) as refused:
        graph.commit_changes(first)
    assert refused.value.reason == "parentless_commit" and refused.value.hint
    with pytest.raises(CommitMissing):
        graph.commit_changes("01JZ0000000000000000000000")


# Refusals -----------------------------------------------------------------------------------------


def refused(graph: Graph, cursor: str, **more: str) -> ChangeCursorRejected:
    with pytest.raises(ChangeCursorRejected) as rejected:
        graph.changes(cursor, **more)  # type: ignore[arg-type]
    assert rejected.value.code == "change_cursor_rejected" and rejected.value.hint
    return rejected.value


def test_a_torn_cursor_is_rejected_wherever_it_is_torn(graph: Graph) -> None:
    cursor = graph.changes().cursor
    torn = [cursor[:length] for length in range(len(cursor))]
    torn += [cursor + "A", cursor.swapcase(), cursor[:-1] + "€", "", cursor.replace("ogc1", "ogp1")]
    torn += [
        cursor[:n] + ("A" if cursor[n] != "A" else "B") + cursor[n + 1 :]
        for n in range(len(cursor))
    ]
    for text in torn:
        assert refused(graph, text).reason == "torn"
    data = urlsafe_b64decode(cursor.removeprefix("ogc1_") + "==")
    forged = data.replace(b"main", b"mein")
    assert refused(graph, "ogc1_" + urlsafe_b64encode(forged).decode().rstrip("=")).reason == "torn"


@pytest.mark.parametrize(
    "members",
    [
        [],
        {},
        3,
        [1, 1, 1, 1, 1, 1],
        ["g", "main", "main", None, "c", None],
        ["g", "main", "main", [None, None, None], "c", ["node:Person"]],
        ["g", "main", "main", [None, None, None], None, None],
    ],
)
def test_a_cursor_that_somebody_else_made_is_rejected(graph: Graph, members: Any) -> None:
    """Its digest fits: there is no secret in it."""
    assert refused(graph, packed("ogc1_", members)).reason == "torn"
    (commit,) = graph.commits(limit=1)
    with pytest.raises(ChangeCursorRejected, match="torn"):
        graph.commit_changes(commit.graph_commit_id, page_token=packed("ogp1_", members))
    with pytest.raises(ChangeCursorRejected, match="torn"):
        graph.neighborhood("Person", "ada", page_token=packed("ogn1_", members))


@pytest.mark.parametrize("offset", [-1, "0", None, 1.5])
def test_a_page_that_somebody_else_made_up_is_rejected(graph: Graph, offset: Any) -> None:
    (commit,) = graph.commits(limit=1)
    token = packed("ogn1_", [commit.graph_commit_id, "Person", "ada", 1, None, None, offset])
    with pytest.raises(ChangeCursorRejected, match="torn"):
        graph.neighborhood("Person", "ada", page_token=token)


def test_a_cursor_of_another_graph_is_rejected(graph: Graph, tmp_path: Path) -> None:
    cursor = made(tmp_path / "other").changes().cursor
    assert refused(graph, cursor).reason == "graph"


def test_a_cursor_of_another_branch_or_incarnation_is_rejected(graph: Graph) -> None:
    graph.branch_create("x")
    cursor = graph.changes(branch="x").cursor
    assert graph.changes(cursor, branch="x").caught_up
    assert refused(graph, cursor).reason == "branch"
    graph.branch_delete("x")
    graph.branch_create("x")
    assert refused(graph, cursor, branch="x").reason == "incarnation"


def test_a_cursor_of_a_newer_state_than_the_graph_has_is_rejected(
    graph: Graph, tmp_path: Path
) -> None:
    shutil.copytree(graph.uri, tmp_path / "backup")
    age(graph, "ada", 37)
    cursor = graph.changes().cursor
    assert refused(Graph.open(tmp_path / "backup"), cursor).reason == "position"


def test_a_page_token_holds_for_its_commit_and_filter(graph: Graph) -> None:
    loaded = graph.commits()[0]
    token = graph.commit_changes(loaded, limit=1).next_page_token
    other = age(graph, "ada", 37)
    with pytest.raises(ChangeCursorRejected) as rejected:
        graph.commit_changes(other, page_token=token)
    assert rejected.value.reason == "position"
    with pytest.raises(ChangeCursorRejected) as rejected:
        graph.commit_changes(loaded, page_token=token, kinds=["node"])
    assert rejected.value.reason == "filter"
    with pytest.raises(ChangeCursorRejected) as rejected:
        graph.commit_changes(loaded, page_token="ogp1_")
    assert rejected.value.reason == "torn"


def test_a_start_that_is_not_on_the_line_is_refused(graph: Graph) -> None:
    graph.branch_create("x")
    elsewhere = age(graph, "ada", 37, "x")
    with pytest.raises(ArgumentInvalid, match="not on the line of branch main"):
        graph.changes(start=f"after:{elsewhere}")
    with pytest.raises(CommitMissing):
        graph.changes(start="after:01JZ0000000000000000000000")
    for start in ("yesterday", "after"):
        with pytest.raises(ArgumentInvalid, match="now, beginning, or after"):
            graph.changes(start=start)
    with pytest.raises(ArgumentInvalid, match="pass one of them"):
        graph.changes(graph.changes().cursor, start="beginning")
    for limit in (0, -1, 1_000_000, 1.5, True):
        with pytest.raises(ArgumentInvalid, match="1 to 100,000"):
            graph.changes(limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize(("type_", "changes"), [("Human", 1), ("City", 0), ("Person", 0)])
def test_a_type_has_the_names_of_the_newest_schema_in_earlier_commits_too(
    tmp_path: Path, type_: str, changes: int
) -> None:
    graph = Graph.init(tmp_path / "renamed", "node Person { name: String @key }")
    graph.mutate('query q() { insert Person { name: "Ada" } }')
    graph.schema_apply('node Human @rename_from("Person") { name: String @key }')
    graph.schema_apply("node Human { name: String @key }  node City { }  node Person { }")
    boundary = graph.commits()[1].graph_commit_id
    told = 0
    with pytest.raises(ChangeDiffRefused) as refused:
        page = graph.changes(start="beginning", types=[type_])
        told = len(page)
        graph.changes(page.cursor, types=[type_])
    assert refused.value.graph_commit_id == boundary
    assert told == changes


def test_the_feed_ends_before_another_schema_and_goes_on_after_it(graph: Graph) -> None:
    start = graph.changes().cursor
    first, brought = age(graph, "ada", 37), another_schema(graph)
    last = age(graph, "ada", 38)
    page = graph.changes(start)
    assert causes(page) == [first] and not page.caught_up
    for ask in (lambda: graph.changes(page.cursor), lambda: graph.commit_changes(brought)):
        with pytest.raises(ChangeDiffRefused) as refused:
            ask()
        assert refused.value.reason == "schema_boundary"
        assert refused.value.graph_commit_id == brought
        assert f"after:{brought}" in str(refused.value.hint)
    assert causes(graph.changes(start=f"after:{brought}")) == [last]


def test_rows_that_were_cleaned_up_are_a_gap(graph: Graph) -> None:
    """What comes before the gap is delivered first, and the error has the cursor before it."""
    start = graph.changes().cursor
    first, lost = age(graph, "ada", 37), age(graph, "ada", 38)
    snapshot = graph.at(lost).stored
    person = snapshot.catalog.node_by_name["Person"]
    ref = snapshot.tables[person.table_key].ref
    versions = Path(graph.uri) / ref.path / "_versions"
    (versions / f"{2**64 - 1 - ref.version:020}.manifest").unlink()
    age(graph, "alan", 40)
    reader = Graph.open(graph.uri, read_only=True)
    page = reader.changes(start)
    assert causes(page) == [first] and not page.caught_up
    with pytest.raises(ChangeFeedGap) as gap:
        reader.changes(page.cursor)
    assert gap.value.code == "change_feed_gap"
    assert gap.value.first_unreadable_commit_id == lost
    assert gap.value.cursor == page.cursor and gap.value.hint
    with pytest.raises(ChangeFeedGap):
        reader.commit_changes(lost)
    with pytest.raises(ChangeFeedGap):
        reader.diff(lost, "main")


# Time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ended", [{"timeout_s": 0}, {"cancel": threading.Event()}], ids=["time", "client"]
)
def test_a_comparison_ends_when_its_time_is_over_or_nobody_waits(
    graph: Graph, ended: dict[str, Any]
) -> None:
    if "cancel" in ended:
        ended["cancel"].set()
    last = age(graph, "ada", 37)
    asked = Graph.open(graph.uri)
    for ask in (
        lambda: asked.diff(asked.commit(last).parent_commit_id or "", last, **ended),
        lambda: asked.commit_changes(last, **ended),
        lambda: asked.changes(start="beginning", **ended),
    ):
        with pytest.raises((LimitExceeded, QueryCancelled)):
            ask()


class OverAfter(threading.Event):
    """Set when it was asked so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_a_page_that_ran_out_of_time_leads_to_the_rest(graph: Graph) -> None:
    for years in range(37, 41):
        age(graph, "ada", years)
    whole = causes(graph.changes(start="beginning"))
    lengths = set()
    for times in range(60):
        reader = Graph.open(graph.uri)
        try:
            page = reader.changes(start="beginning", cancel=OverAfter(times))
        except QueryCancelled:
            continue
        lengths.add(len(page.blocks))
        assert causes(page) + causes(reader.changes(page.cursor)) == whole
    assert len(lengths) > 2
