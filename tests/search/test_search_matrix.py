"""Every way to search agrees with plain rows: filter × kind × place × state × handle.

A state is a graph with a history; its plain rows have the same one. Without `--deep` every pair of
values of two of the columns is tried, with it every combination.
"""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.search.library import Library, fill, text, vector

FILTERS = {
    "all": "",
    "a property": "$d.year >= 2004",
    "few": '$d.slug in ["d03", "d04", "d06", "d97", "d98", "d99"]',
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
    updated(library).graph.optimize()
    return deleted(appended(library))


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
        appended, updated, deleted, changed, compacted, compacted_then_changed, forked,
        in_the_past,
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


QUERIES = ["quick brown", "the cats of Москва", "naive"]
VECTOR = [1.0, 2.0, 3.0]
COLUMNS = [list(FILTERS), list(KINDS), list(PLACES), list(STATES), ["open", "new"]]


@pytest.mark.pairs
@pytest.mark.parametrize(("filter_", "kind", "where", "state", "handle"), [*product(*COLUMNS)])
def test_an_answer_is_the_one_of_plain_rows(
    shelf: Shelf, filter_: str, kind: str, where: str, state: str, handle: str
) -> None:
    library = shelf.library(state)
    if handle == "new":
        library = library.reopened()
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


def test_an_empty_table_ranks_nothing(tmp_path: Path) -> None:
    library = emptied(Library.at(tmp_path / "empty"))
    for kind, place in product(KINDS, PLACES):
        assert library.check(question("all", kind, place), q="quick", v=VECTOR) == []
