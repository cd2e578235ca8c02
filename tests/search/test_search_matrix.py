"""Every way to search agrees with plain rows: filter × kind × place × state × handle.

A state is a graph with a history; its plain rows have the same one. Without `--deep` every pair of
values of two of the columns is tried, with it every combination.
"""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.read.tables.cold_lookups import TraversalMode
from tests.search.library import Library, fill, text, vector

FILTERS = {
    "all": "",
    "a property": "$d.year >= 2004",
    "few": '$d.slug in ["d03", "d04", "d06", "d97", "d98", "d99"]',
    "a range": "$d.year < 2001  $d.year >= 1995",
    "a beginning": '$d.title starts_with "title of d1"',
    "a piece": '$d.motto contains " of d"',
    "a member": '$d.tags contains "blue"',
    "a text": 'search($d.title, "title")  not { search($d.body, "dog") }',
    "a block": "or { exists { $d cites $x  $x.year > 1995 } } { $d.year < 1995 }",
}

RANKINGS = {
    "nearest": "nearest($d.v, $v)",
    "bm25": "bm25($d.body, $q)",
    "rrf": "rrf(nearest($d.v, $v, exact), bm25($d.body, $q))",
}
MATCHES = {
    "search": "search($d.body, $q)",
    "fuzzy": "fuzzy($d.body, $q, 1)",
    "phrase": "match_text($d.body, $q)",
}
KINDS = RANKINGS | MATCHES

PLACES = {
    "scan": "$d: Doc",
    "source": "$d: Doc  $d cites $e",
    "destination": "$p: Person  $p wrote $d",
    "top": "$d: Doc",
}


def question(filter_: str, kind: str, place: str) -> str:
    tests = f"{PLACES[place]}  {FILTERS[filter_]}  {MATCHES.get(kind, '')}"
    ranking = RANKINGS.get(kind, RANKINGS["bm25"])
    head = "($q: String, $v: Vector(3)) match"
    if place == "top":
        after = f"top 4 $d by {ranking}  optional {{ $d cites $e }}"
        shown = "$d.slug, $e.slug as e, score($d) as s"
        return f"{head} {{ {tests}  {after} }} return {{ {shown} }} order {{ s, $d.slug, e }}"
    if kind in MATCHES:
        return f"{head} {{ {tests} }} return {{ $d.slug }} order {{ $d.slug }}"
    shown = f"return {{ $d.slug, {ranking} as s }}"
    return f"{head} {{ {tests} }} {shown} order {{ {ranking} }} limit 6 offset 1"


# States -------------------------------------------------------------------------------------------


def appended(library: Library) -> Library:
    chance = random.Random(1)
    library.doc("e1", "the quick brown fox", [1.0, 2.0, 2.875], year=2010)
    library.doc("e2", text(chance), vector(chance), year=2011)
    library.wrote("p0", "e1")
    library.cites("e1", "d03")
    return library


def updated(library: Library) -> Library:
    library.rewrite("d03", "quick cats running", [3.0, 2.0, 1.0])
    library.rewrite("d06", None, None)
    library.rewrite("d12", "a brown fox", [0.125, 0.25, 5.0])
    return library


def deleted(library: Library) -> Library:
    for slug in ("d98", "d09", "d20"):
        library.drop(slug)
    return library


def changed(library: Library) -> Library:
    return deleted(updated(appended(library)))


def compacted(library: Library) -> Library:
    changed(library).graph.optimize()
    return library


def compacted_then_changed(library: Library) -> Library:
    """Indexes cover what there was before."""
    library.graph.optimize()
    return changed(library)


def covered_again(library: Library) -> Library:
    """Indexes were there before the changes, and cover these too."""
    compacted_then_changed(library).graph.optimize()
    return library


def covered_fork(library: Library) -> Library:
    """The indexes of a fork: some of their segments are its source's."""
    library.graph.optimize()
    work = forked(library)
    library.graph.optimize("work")
    work.rewrite("d15", "quick cats running", [3.0, 2.0, 1.0])
    return work


def forked(library: Library) -> Library:
    library.graph.branch_create("work")
    work = library.asked(branch="work")
    deleted(library)
    return updated(appended(work))


def in_the_past(library: Library) -> Library:
    commit = appended(library).graph.commits()[0].graph_commit_id
    past = library.asked(snapshot=commit)
    deleted(updated(library)).graph.optimize()
    return past


def emptied(library: Library) -> Library:
    for slug in list(library.rows["Doc"]):
        library.drop(slug)
    return library


STATES: dict[str, Callable[[Library], Library]] = {
    state.__name__: state
    for state in (
        appended, updated, deleted, changed, compacted, compacted_then_changed, covered_again,
        forked, covered_fork, in_the_past,
    )
} | {"fresh": lambda library: library}  # fmt: skip


class Shelf:
    """One library in each state, asked everything before it came there and all the time after."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.open: dict[str, Library] = {}

    def library(self, state: str) -> Library:
        if state not in self.open:
            library = Library.at(self.place / state)
            with library.one_commit():
                fill(library, random.Random(15))
            # What is derived from a version is there when the next one comes.
            for kind in KINDS:
                library.ask(question("all", kind, "scan"), q="quick cats", v=[1, 2, 3])
            self.open[state] = STATES[state](library)
        return self.open[state]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


MODES = {"new": TraversalMode.AUTO, "indexed": TraversalMode.INDEXED}
QUERIES = ["quick brown", "the cats of Москва", "naive"]
VECTOR = [1.0, 2.0, 3.0]
# One that has been open all the time, one that has read nothing yet, and one that looks up all that
# it can through the indexes of the files.
HANDLES = ["open", "new", "indexed"]
COLUMNS = [list(FILTERS), list(KINDS), list(PLACES), list(STATES), HANDLES]


@pytest.mark.pairs
@pytest.mark.parametrize(("filter_", "kind", "where", "state", "handle"), [*product(*COLUMNS)])
def test_an_answer_is_the_one_of_plain_rows(
    shelf: Shelf, filter_: str, kind: str, where: str, state: str, handle: str
) -> None:
    library = shelf.library(state)
    if handle != "open":
        library = library.reopened(mode=MODES[handle])
    asked = question(filter_, kind, where)
    for query in QUERIES:
        library.check(asked, q=query, v=VECTOR)


def test_the_questions_find_something(shelf: Shelf) -> None:
    """An empty answer would agree with anything."""
    library = shelf.library("fresh")
    for filter_, kind, place in product(FILTERS, KINDS, PLACES):
        asked = question(filter_, kind, place)
        found = [library.ask(asked, q=query, v=VECTOR) for query in QUERIES]
        assert any(found), asked


@pytest.mark.parametrize(
    ("filter_", "index"),
    [
        ("a property", "year_btree"),
        ("a range", "year_btree"),
        ("a beginning", "title_btree"),
        ("a piece", "motto_ngram"),
        ("a member", "tags_label_list"),
        ("words", "body_inverted"),
        ("a phrase", "body_inverted"),
    ],
)
def test_the_indexes_are_asked(shelf: Shelf, filter_: str, index: str) -> None:
    """Else the matrix would compare one path with itself."""
    library = shelf.library("covered_again").reopened(mode=TraversalMode.INDEXED)
    text = {"words": 'search($d.body, "cats")', "a phrase": 'match_text($d.body, "of the")'}
    tested = {**FILTERS, **text}[filter_]
    asked = f"query q() {{ match {{ $d: Doc  {tested} }} return {{ $d.slug }} }}"
    steps = library.graph.explain(asked, analyze=True).steps
    notes = [note for step in steps for note in step.notes]
    assert f"Doc: by the index {index}" in notes


def test_texts_that_are_not_in_normal_form_are_found_all_the_same(tmp_path: Path) -> None:
    """Lance would take them apart otherwise: its index of them is asked by nobody."""
    library = Library.at(tmp_path / "graph")
    with library.one_commit():
        for number in range(4):
            library.doc(f"d{number}", f"plain text {number}", None, year=2001 + number)
    library.graph.optimize()
    words = "match { $d: Doc  search($d.body, $q) } return { $d.slug }"

    def check(query: str, *, by_index: bool) -> None:
        indexed = library.reopened(mode=TraversalMode.INDEXED)
        assert indexed.check(f"($q: String) {words}", q=query)
        asked = f"query q($q: String) {{ {words} }}"
        steps = indexed.graph.explain(asked, params={"q": query}, analyze=True).steps
        assert any("body_inverted" in note for s in steps for note in s.notes) is by_index

    check("texts", by_index=True)
    library.doc("odd", "les cafe\u0301s noirs", None)
    check("texts", by_index=False)  # one row is not covered
    library.graph.optimize()
    for query in ("café", "cafe\u0301s", "texts"):
        check(query, by_index=False)
    library.drop("odd")
    library.rewrite("d1", "plain text again", None)
    library.graph.optimize()
    check("texts", by_index=True)


@pytest.mark.parametrize("mode", [TraversalMode.INDEXED, TraversalMode.CSR])
def test_words_of_rows_that_a_compaction_left_behind_hide_no_others(
    tmp_path: Path, mode: TraversalMode
) -> None:
    """The index of words still has them, and Lance counts them among the first rows it finds."""
    schema = "node Doc { slug: String @key  body: String? @index }"
    graph = Graph.init(str(tmp_path / "graph"), schema, durability="relaxed")
    # More rows with the word than are asked for at first, in whatever order they come.
    rows = [{"slug": f"d{number:04}", "body": "a rare whale"} for number in range(1_500)]
    lines = [{"type": "Doc", "data": row} for row in rows]
    graph.load(lines, mode="append", engine="local")
    graph.optimize()
    graph.mutate('query q() { delete Doc where slug < "d1000" }')
    graph.optimize()
    library = Library(graph).reopened(mode=mode)
    for test in ('search($d.body, "whales")', 'match_text($d.body, "rare whales")'):
        found = library.ask(f"match {{ $d: Doc  {test} }} return {{ $d.slug }}")
        assert len(found) == 500


def test_an_empty_table_ranks_nothing(tmp_path: Path) -> None:
    library = emptied(Library.at(tmp_path / "empty"))
    for kind, place in product(KINDS, PLACES):
        assert library.check(question("all", kind, place), q="quick", v=VECTOR) == []
