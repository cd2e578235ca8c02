"""What a notebook shows of each result, whatever the data is."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.results import CommitInfo, CommitList, Explanation, Log, PlanStep, QueryResult
from tests.notebook.pages import page_of

HOSTILE = (
    "</title></text></td><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\"'onload='&\x1b\u202e"
)
SCHEMA = """
node Person @description("</title><script>alert(3)</script>") {
    email: String @key
    name: String @description("</title><script>alert(4)</script>")
    age: I32?
}
edge Knows: Person -> Person { note: String? }
"""
EVERYONE = """
query everyone() {
    match { $p: Person  $p $k:knows $f  $p.name != "<script>alert(5)</script>" }
    return { $p, $f, $k.note, $p.name as name }
}
"""
OLDER = "query older($age: I32) { update Person set { age: $age } where age < 1000 }"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """All that a person can choose is hostile: keys, values, messages, actors."""
    place = tmp_path_factory.mktemp("shown") / "graph"
    with Graph.init(place, SCHEMA, durability="relaxed") as graph:
        rows: list[dict[str, Any]] = [
            {"type": "Person", "data": {"email": HOSTILE, "name": HOSTILE, "age": 1}},
            {"type": "Person", "data": {"email": "b", "name": "B", "age": 2}},
            {"edge": "Knows", "from": HOSTILE, "to": "b", "data": {"note": HOSTILE}},
        ]
        graph.load(rows, mode="append", engine="local", actor=HOSTILE, message=HOSTILE)
        graph.branch_create("side")
        graph.mutate(OLDER, {"age": 3}, branch="side", actor=HOSTILE, message=HOSTILE)
        graph.mutate(OLDER, {"age": 4}, message=HOSTILE)
        yield graph


def shown(graph: Graph) -> dict[str, Any]:
    """One of everything that shows itself."""
    answer = graph.query(EVERYONE)
    preview = graph.branch_merge("side", preview=True)
    assert preview.conflicts
    return {
        "answer": answer,
        "drawing": answer.graph(),
        "drawing of a file": answer.graph().to_svg(),
        "schema": graph.schema(),
        "commits": graph.commits(),
        "commit": next(c for c in graph.commits() if c.message == HOSTILE),
        "log": graph.log(),
        "log of a file": graph.log().to_svg(),
        "diff": graph.diff("main", "side"),
        "conflicts": preview,
        "preview": graph.branch_merge("side", preview=True, resolve="theirs"),
        "revert": graph.revert(graph.commits()[0], preview=True),
        "explanation": graph.explain(EVERYONE),
        "measured": graph.explain(EVERYONE, analyze=True),
        "schema plan": graph.schema_plan(SCHEMA + "node Place { name: String @key }"),
        "changes": graph.changes(start="beginning"),
        "changes of a commit": graph.commit_changes(graph.commits()[0]),
    }


def test_text_of_the_data_is_text_on_every_page(graph: Graph) -> None:
    told = {name: page_of(result).text for name, result in shown(graph).items()}
    # The pages of these are made of what was hostile: there it is, to be read.
    for name in ("answer", "drawing", "commits", "commit", "log", "diff", "explanation", "schema"):
        assert "<script>" in told[name], name
    # Characters that turn text around, or have no place in XML, are written out.
    assert not any("\u202e" in text or "\x1b" in text for text in told.values())


def test_a_page_is_as_readable_on_black_as_on_white(graph: Graph) -> None:
    for name, result in shown(graph).items():
        page = page_of(result)
        fills = {attributes.get("fill") for tag, attributes in page.elements if tag == "text"}
        assert fills <= {None, "currentColor"}, name
        style = "".join(text for text in page.texts if ".og-schema" in text)
        assert "background" not in str(page.elements) + style
        # A rule that names a class of ours reaches no other picture of the page.
        rules = [line for line in style.splitlines() if "{" in line]
        assert all(rule.strip().startswith(".og-schema ") for rule in rules)


def test_a_million_rows_show_the_first_and_how_many_there_are() -> None:
    empty = {f"c{n}": pa.nulls(1_000_000) for n in range(50)}
    table = pa.table({"number": pa.array(np.arange(1_000_000)), **empty})
    page = QueryResult("q", CommitId("1"), table)._repr_html_()
    assert page_of(page).count("tr") == 21
    assert "1,000,000 rows, 51 columns" in page
    assert len(page) < 50_000


def test_long_values_are_cut_on_a_page() -> None:
    values = ["x" * 10**6, ["y" * 100] * 10**4, {"z": "z" * 10**6}]
    columns = {name: [value] for name, value in zip("abc", values, strict=True)}
    assert len(QueryResult("q", CommitId("1"), pa.table(columns))._repr_html_()) < 2_000


def commit(number: int, *, merged: str | None = None, branch: str = "main") -> CommitInfo:
    return CommitInfo(
        graph_commit_id=CommitId(f"C{number}"),
        graph_branch=BranchName(branch),
        graph_manifest_version=number,
        parent_commit_id=CommitId(f"C{number - 1}") if number else None,
        merged_parent_commit_id=CommitId(merged) if merged else None,
        actor_id=None,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
        kind="mutation",
        message=None,
        load_id=None,
    )


def dashes(commits: Any) -> list[str | None]:
    """Of each line between commits; None of one that is drawn through."""
    elements = page_of(commits).elements
    return [found.get("stroke-dasharray") for tag, found in elements if tag == "path"]


def test_commits_are_drawn_one_below_the_other() -> None:
    page = page_of(CommitList(commit(n) for n in (2, 1, 0)))
    assert page.count("circle") == 3
    assert dashes(CommitList(commit(n) for n in (2, 1, 0))) == [None, None]
    assert "3 commits" in page.text
    assert "0 commits" in page_of(CommitList()).text


def test_commits_that_are_left_out_leave_a_dotted_line() -> None:
    # That of another actor in between, and all before the oldest.
    assert dashes(CommitList([commit(5), commit(3), commit(2)])) == ["2 4", None, "2 4"]


def test_the_newest_of_many_commits_are_drawn_and_all_are_counted() -> None:
    page = page_of(CommitList(commit(n) for n in reversed(range(1234))))
    assert page.count("circle") == 50
    assert "the newest 50 of 1,234 commits" in page.text
    assert dashes(CommitList(commit(n) for n in reversed(range(99))))[-2:] == [None, "2 4"]


def test_a_merge_has_a_ring_and_a_line_from_each_of_its_parents() -> None:
    side = replace(commit(2, branch="side"), graph_commit_id=CommitId("S"))
    merge = replace(commit(3, merged="S"), parent_commit_id=CommitId("C2"))
    heads = {MAIN: CommitId("C3"), BranchName("side"): CommitId("S")}
    page = page_of(Log((merge, commit(2), side, commit(1), commit(0)), heads))
    assert page.count("circle") == 6
    assert "a merge" in page.text
    assert len({attributes["cx"] for tag, attributes in page.elements if tag == "circle"}) == 2
    assert page.count("path") == 5
    assert {"main", "side"} <= set(page.texts)


def test_a_schema_too_large_for_a_picture_is_listed(tmp_path: Path) -> None:
    properties = " ".join(f"p{n}: I32?" for n in range(300))
    types = "\n".join(f"node T{n} {{ name: String @key {properties} }}" for n in range(3))
    with Graph.init(tmp_path / "g", types, durability="relaxed") as graph:
        page = page_of(graph.schema())
    assert page.count("svg") == 0
    assert page.count("tr") == 4
    assert "3 types; print the schema" in page.text


def test_a_plan_shows_its_depth_and_where_the_time_went() -> None:
    steps = (
        PlanStep(0, "A", "A x", 10.0, 3, 3, 24, 1.0),
        PlanStep(2, "B", "B y", 10.0, 3, 9, 0, 3.0),
    )
    page = page_of(Explanation("q", None, is_analyzed=True, steps=steps))
    assert {"25%", "75%", "3 for 9", "24B"} <= set(page.texts)
    styles = [found.get("style") or "" for tag, found in page.elements if tag == "td"]
    assert [style[-5:] for style in styles if "padding" in style] == ["0.5em", "3.5em"]
    guessed = page_of(Explanation("q", None, is_analyzed=False, steps=steps[:1]))
    assert guessed.count("svg") == 0
    assert "~10" in guessed.texts


def test_a_merge_that_is_done_tells_how_many_rows_it_brought(graph: Graph) -> None:
    graph.branch_create("brought")
    graph.mutate('query add() { insert Person { email: "new", name: "N" } }', branch="brought")
    text = page_of(graph.branch_merge("brought", delete=True)).texts
    assert text[0].startswith("merged brought into main")
    assert text[-4:] == ["Person", "1", "0", "0"]
