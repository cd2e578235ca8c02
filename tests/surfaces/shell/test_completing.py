"""Tab offers what may be typed there: commands, their arguments, words of a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.surfaces.cli.shell.commands import COMMANDS
from omnigraph.surfaces.cli.shell.completing import Known, begun, completion
from tests.surfaces.server.world import QUERIES, SCHEMA

KNOWN = Known(compile_schema(SourceText(SCHEMA)), ("main", "review/1"), ("name",))


def offered(text: str) -> list[str]:
    return [candidate.text for candidate in completion(text, KNOWN).candidates]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".che", [".checkout"]),
        (".checkout re", ["review/1"]),
        (".checkout ", ["main", "review/1"]),
        (".mode js", ["json", "jsonl"]),
        (".timing o", ["on", "off"]),
        (".schema Wo", ["WorksAt"]),
        (".log ", []),
        (".explain", [".explain"]),
        (".explain ana", ["analyze"]),
        (".explain ma", ["match"]),
        (".explain analyze match { $p: Pe", ["Person"]),
        (".help\nmatch { $p: Pe", ["Person"]),
        ("match { $p: Person } return { $p };\n.che", [".checkout"]),
        ("match { $p: Person } return { $p }; mat", ["match"]),
        ("match { $p: Person { name: $na", ["$name"]),
        ("match { $p: Person\n.che", []),
    ],
)
def test_the_words_that_may_stand_there_are_offered(text: str, words: list[str]) -> None:
    assert offered(text) == words


def test_at_the_beginning_statements_and_commands_are_offered() -> None:
    assert {"match", "query", "insert", *(each.name for each in COMMANDS)} <= set(offered(""))
    assert offered("") == offered("match { $p: Person } return { $p }\n\n")


def test_without_a_schema_words_of_the_language_are_left() -> None:
    assert [each.text for each in completion("mat", Known()).candidates] == ["match"]
    assert completion("match { $p: ", Known()).candidates == ()


@given(st.integers(0, len(QUERIES)), st.sampled_from(["", ".explain ", ".", ".mode ", "}", '"']))
def test_no_beginning_makes_it_fail_and_what_it_replaces_was_typed(end: int, before: str) -> None:
    text = before + QUERIES[:end]
    found = completion(text, KNOWN)
    assert begun(text) <= found.start <= len(text)
    for candidate in found.candidates:
        assert candidate.text.casefold().startswith(text[found.start :].casefold())
