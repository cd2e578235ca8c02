"""Texts that would steer a terminal, or hide: shown one way in messages, conflicts and diffs."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.words import clipped, quoted, visible
from omnigraph.errors import MergeConflicts
from tests.surfaces.cli import CommandLine

SHOWN = {
    "a\nb": r"a\nb",
    "a\tb": r"a\tb",
    "a\rb": r"a\rb",
    "\x1b[31mred": r"\x1b[31mred",
    "\x9b2J": r"\x9b2J",
    "abc\u202edef": r"abc\u202edef",
    "\u0301a": r"\u0301a",
    "a \u0301": r"a \u0301",
    "\n\u0301": r"\n\u0301",
    "e\u0301": "e\u0301",
    "a\x00b": r"a\x00b",
    "\u2028": r"\u2028",
    "\ufeffx": r"\ufeffx",
    "👩\u200d👧": "👩\u200d👧",
    "plain": "plain",
}
"""What each is shown as. A mark on a letter, and an emoji of two, are what they are."""


@pytest.fixture
def omnigraph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Rows with each text; both branches have changed each, and the branch to the text itself."""
    place: Path = tmp_path_factory.mktemp("nasty") / "g"
    graph = Graph.init(str(place), "node Note { number: I32 @key  text: String? }")
    write = "query q($n: I32, $t: String) { insert Note { number: $n, text: $t } }"
    update = "query q($n: I32, $t: String) { update Note set { text: $t } where number = $n }"
    for number in range(len(SHOWN)):
        graph.mutate(write, params={"n": number, "t": "before"})
    graph.branch_create("x")
    for number, text in enumerate(SHOWN):
        graph.mutate(update, params={"n": number, "t": text}, branch="x")
        graph.mutate(update, params={"n": number, "t": f"ours {number}"})
    return graph


@pytest.mark.parametrize("text", SHOWN)
def test_a_text_is_seen_and_not_obeyed(text: str) -> None:
    assert visible(text) == clipped(text) == SHOWN[text]
    assert quoted(text) == f"'{SHOWN[text]}'"


@pytest.mark.parametrize("size", [1, 2, 4, 7, 60])
def test_an_escape_is_shown_whole_or_not_at_all(size: int) -> None:
    for text, shown in SHOWN.items():
        found = clipped(text * 9, size)
        assert len(found) <= size
        if found.endswith("…"):
            assert found[:-1] in ("", *(visible((text * 9)[:n]) for n in range(1, len(text) * 9)))
        else:
            assert found == visible(text * 9), (text, shown)


def test_messages_conflicts_and_diffs_show_them_alike(graph: Graph, omnigraph: CommandLine) -> None:
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge("x")
    told = {int(c.entity_id): c for c in caught.value.conflicts}
    store = ("--store", graph.uri)
    table = omnigraph("branch", "merge", "x", "--preview", *store).out
    changes = omnigraph("branch", "diff", "x", *store).out
    for number, (text, shown) in enumerate(SHOWN.items()):
        assert told[number].theirs == text  # a value is what it is
        assert f"and '{shown}' on x" in told[number].message
        for printed in (table, changes):
            (line,) = (each for each in printed.splitlines() if f" {number} " in f" {each} "[:40])
            assert line.endswith(shown), (line, shown)


def test_json_holds_the_text_itself(graph: Graph, omnigraph: CommandLine) -> None:
    found = omnigraph("branch", "merge", "x", "--preview", "--json", "--store", graph.uri).out
    assert "\x1b" not in found and "\u202e" not in found
    theirs = [choice["theirs"] for choice in json.loads(found)["choices"]]
    assert sorted(theirs) == sorted(SHOWN)
