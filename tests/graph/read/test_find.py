"""Nodes by what a person types."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import ArgumentInvalid, LimitExceeded, NameMissing

SCHEMA = """
node Paper { doi: String @key  title: String  abstract: String? @index }
node Person { first: String  last: String  @key(first, last) }
node Note { text: String }
"""


def paper(doi: str, title: str, abstract: str | None) -> dict[str, Any]:
    return {"type": "Paper", "data": {"doi": doi, "title": title, "abstract": abstract}}


ROWS = [
    paper("10.1/a", "On graphs", "Trees and tides"),
    paper("10.1/ab", "On tides", "Moon, sea, tides"),
    paper("10.2/%_*", "Grün (draft) [1]", None),
    {"type": "Person", "data": {"first": "Ada", "last": "Lovelace"}},
    {"type": "Note", "data": {"text": "ask Ada about the 10.1 papers and " + "x" * 400 + " tides"}},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(tmp_path_factory.mktemp("find") / "g.omni", SCHEMA, durability="relaxed")
    graph.load(ROWS, mode="append", engine="local")
    return graph


def found(graph: Graph, text: str, **more: object) -> list[tuple[str, str, str]]:
    hits = graph.find(text, **more).hits  # type: ignore[arg-type]
    return [(hit.label, hit.how, hit.property) for hit in hits]


def test_the_node_with_this_key_comes_first_and_mentions_of_it_are_left_out(graph: Graph) -> None:
    assert found(graph, "10.1/a") == [
        ("On graphs", "key", "doi"),
        ("On tides", "prefix", "doi"),
    ]


def test_names_go_before_words_and_words_before_other_texts(graph: Graph) -> None:
    told = found(graph, "tides")
    assert told[:2] == [("On tides", "substring", "title"), ("On graphs", "words", "abstract")]
    assert told[2][1:] == ("text", "text") and len(told) == 3, "each node once"
    assert found(graph, "sea moon") == [("On tides", "words", "abstract")]
    (hit, *_) = graph.find("sea moon").hits
    assert hit.score is not None and hit.score > 0


def test_a_key_of_several_properties_is_found_by_its_parts(graph: Graph) -> None:
    (hit,) = graph.find("lovelace", types="Person").hits
    assert (hit.how, hit.property) == ("substring", "id") and "Lovelace" in hit.excerpt
    assert graph.entity("node", "Person", hit.id).properties["last"] == "Lovelace"


def test_a_property_that_is_called_id_is_a_text_like_others(tmp_path: Path) -> None:
    schema = "node Part { code: String @key  id: String }"
    with Graph.init(tmp_path / "g.omni", schema, durability="relaxed") as graph:
        rows = [{"type": "Part", "data": {"code": code, "id": "a big wheel"}} for code in "pq"]
        graph.load(rows, mode="append", engine="local")
        hits = graph.find("wheel").hits
        assert [(hit.id, hit.property, hit.excerpt) for hit in hits] == [
            ("p", "id", "a big wheel"),
            ("q", "id", "a big wheel"),
        ]


def test_a_long_text_is_told_in_part(graph: Graph) -> None:
    (hit,) = graph.find("tides", types=["Note"]).hits
    assert len(hit.excerpt) <= 122 and hit.excerpt.endswith(" tides")


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("%_*", True),
        ("GRÜN", True),
        ("(draft) [1]", True),
        ("(draft", True),
        (".*", False),
        ("\\", False),
        ("\x00", False),
        ("\ud800", False),
        ("x" * 100_000, False),
    ],
    ids=["like", "case", "brackets", "open", "pattern", "escape", "nul", "half", "long"],
)
def test_any_text_means_itself(graph: Graph, text: str, is_there: bool) -> None:
    labels = [hit.label for hit in graph.find(text, types="Paper").hits]
    assert labels == (["Grün (draft) [1]"] if is_there else [])


def test_what_is_asked_wrongly_is_told(graph: Graph) -> None:
    with pytest.raises(NameMissing, match="Papr"):
        graph.find("a", types=["Papr"])
    with pytest.raises(ArgumentInvalid, match="from 1 to 200"):
        graph.find("a", limit=0)
    with pytest.raises(ArgumentInvalid, match="it must be text"):
        graph.find(7)  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded, match="find"):
        graph.find("a", timeout_s=0)


def test_the_past_is_searched_as_it_was(graph: Graph, tmp_path: Path) -> None:
    mine = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    mine.load(ROWS[:1], mode="append", engine="local")
    before = mine.commits()[0]
    mine.mutate('query q() { delete Paper where doi = "10.1/a" }')
    assert found(mine, "10.1/a") == []
    assert found(mine, "10.1/a", snapshot=before) == [("On graphs", "key", "doi")]
