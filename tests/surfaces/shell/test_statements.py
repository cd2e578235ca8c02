"""What is typed ends where a person expects it, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.surfaces.cli.shell.statements import cut

BODY = "match { $p: Person } return { $p.name }"
WHOLE = f"query n() {{ {BODY} }}"


@pytest.mark.parametrize(
    ("text", "ended", "rest"),
    [
        ("", [], None),
        (" \n\n // a comment\n ; /* another */", [], None),
        (".help\n", [".help"], None),
        ("  .help", [".help"], None),
        ('.params {"a": ";"}\n.mode kv', ['.params {"a": ";"}', ".mode kv"], None),
        (WHOLE, [WHOLE], None),
        (f"{WHOLE} {WHOLE}\n", [WHOLE, WHOLE], None),
        (f"query n()\n\n{WHOLE[9:]}", [f"query n()\n\n{WHOLE[9:]}"], None),
        ("query n();", ["query n()"], None),
        (BODY, [], BODY),
        (f"{BODY}\n", [], BODY),
        (f"{BODY}\n\n", [BODY], None),
        (f"{BODY}\n  \t\n", [BODY], None),
        (f"{BODY};", [BODY], None),
        (f"{BODY}\nlimit 5\n", [], f"{BODY}\nlimit 5"),
        (f"{BODY}\n// more\n", [], f"{BODY}\n// more"),
        (f"{BODY}; {BODY}", [BODY], BODY),
        ("match {\n\n$p: Person\n\n", [], "match {\n\n$p: Person"),
        ("match { $p: Person; $p knows $f", [], "match { $p: Person; $p knows $f"),
        ('insert A { a: ";}\\";" };', ['insert A { a: ";}\\";" }'], None),
        ("insert A { a: 1 } // ;\n", [], "insert A { a: 1 } // ;"),
        ("insert A { /* } ; */", [], "insert A { /* } ; */"),
        ("/* open\n\n", [], "/* open"),
        ("}\n\n", ["}"], None),
        (".explain\n", [".explain"], None),
        (".explain analyze\n", [".explain analyze"], None),
        (f".explain {BODY}\n", [], f".explain {BODY}"),
        (f".explain analyze {BODY};", [f".explain analyze {BODY}"], None),
        (f".explain {WHOLE}", [f".explain {WHOLE}"], None),
    ],
)
def test_a_text_is_cut_where_its_statements_end(
    text: str, ended: list[str], rest: str | None
) -> None:
    parts = cut(text)
    assert [each.text for each in parts.statements] == ended
    assert (parts.rest.text if parts.rest else None) == rest


@given(st.text(alphabet='{}()[];."/*\\\n qmx$'))
def test_statements_are_pieces_of_the_text_in_order(text: str) -> None:
    end = 0
    for each in cut(text).all:
        assert end <= each.start
        end = each.start + len(each.text)
        assert text[each.start : end] == each.text
        assert text.split("\n")[each.line - 1][each.column - 1 :].startswith(
            each.text.partition("\n")[0]
        )


@given(st.text(alphabet='{}()[]"/*\\\n qmx$'), st.integers(0, 60))
def test_what_has_ended_stays_so_whatever_is_typed_behind_it(text: str, at: int) -> None:
    assert cut(text).statements[: len(cut(text[:at]).statements)] == cut(text[:at]).statements
