"""One query of a file is no reason for another not to run: each is read by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import ParseFailed, QueryMissing
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.format import format_tree
from omnigraph.lang.query.text.parser import read
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER
from tests.lang.query.trees import files

CATALOG = compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))

SOUND = """\
query sound($n: String) {
    match { $p: Person { name: $n } }
    return { $p.name }
}
"""

BROKEN = {
    "a brace is missing": "query bad() {\n    match { $p: Person \n    return { $p.name }\n}\n",
    "two braces are missing": "query bad() {\n    match {\n        $p: Person { name: 3\n",
    "a brace too many": "query bad() { match { $p: Person } } return { $p.name }\n}\n}\n",
    "only braces": "query bad() }}}{{{\n",
    "a text is not closed": 'query bad() { match { $p: Person { name: "x } } return { $p } }\n',
    "foreign quotes": "query bad() { match { $p: Person { name: 'x' } } return { $p } }\n",
    "no body": "query bad()\n",
    "no parameters": "query bad(\n",
    "a parameter without a type": "query bad($x) { match { $p: Person } return { $p } }\n",
    "nested too deeply": f"query bad() {{ match {{ $p: Person {'not { ' * 50}{'}' * 52}\n",
    "a bad date": 'query bad() { match { $p: Person { born: date("x") } } return { $p } }\n',
    "two of one name": SOUND.replace("sound", "bad") + SOUND.replace("sound", "bad"),
}


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("what", BROKEN)
def test_a_sound_query_runs_beside_a_broken_one(what: str, is_first: bool) -> None:
    bad = BROKEN[what]
    text = f"{bad}\n{SOUND}" if is_first else f"{SOUND}\n{bad}"
    source = SourceText(text)
    assert compile_query(source, CATALOG, "sound").name == "sound"
    with pytest.raises(ParseFailed) as told:
        compile_query(source, CATALOG, "bad")
    alone = SourceText(bad)
    with pytest.raises(ParseFailed) as told_alone:
        compile_query(alone, CATALOG, "bad")
    moved = text.index(bad)
    lines = text.count("\n", 0, moved)
    assert [d.span.line - lines for d in told.value.diagnostics] == [
        d.span.line for d in told_alone.value.diagnostics
    ]
    with pytest.raises(QueryMissing) as missing:
        compile_query(source, CATALOG, "other")
    assert set(missing.value.known) == {"sound", "bad"}
    with pytest.raises(ParseFailed):
        compile_query(source, CATALOG)


def test_lint_tells_of_the_sound_queries_and_of_the_broken_ones() -> None:
    unused = SOUND.replace("{ name: $n }", "")
    report = lint_source(SourceText(f"{BROKEN['a brace is missing']}{unused}"), CATALOG)
    assert [f.code for f in report.findings] == ["Q000"]
    (query,) = report.queries
    assert query.name == "sound"
    assert [(f.code, f.span.line) for f in query.findings] == [("L207", 5)]


def test_a_query_whose_name_can_t_be_read_may_be_the_one_that_is_asked_for() -> None:
    source = SourceText(f"query top-10() {{ match {{ $p: Person }} return {{ $p }} }}\n{SOUND}")
    assert compile_query(source, CATALOG, "sound").name == "sound"
    for name in ("top-10", "top10"):
        with pytest.raises((ParseFailed, QueryMissing)) as told:
            compile_query(source, CATALOG, name)
        assert "top-10" in told.value.render()


@pytest.mark.parametrize(
    "text",
    [
        "/* " + SOUND,
        "/*\n" + SOUND + "\n",
        f"query bad() {{ '''\n{SOUND}'''\n",
        f"<!--\n{SOUND}-->\n",
        f"# {SOUND.replace(chr(10), ' ')}\n",
        f"-- {SOUND.replace(chr(10), ' ')}\n",
        f"query bad() {{ match {{ $p: Person {{ name: '{SOUND.replace(chr(10), ' ')}' }} }}\n",
        SOUND + "}\n",
        SOUND + "limit 3\n",
        SOUND.replace("\n    return", "\nquery more()\n    return"),
    ],
)
def test_what_is_cut_in_the_wrong_place_never_runs(text: str) -> None:
    with pytest.raises((ParseFailed, QueryMissing)):
        compile_query(SourceText(f"query bad() {{\n{text}"), CATALOG, "sound")


HIDDEN = SOUND.replace("sound", "hidden")

# Before a comment in its line, and in the comment: whatever leaves something open.
BEFORE_A_COMMENT = ["", "}", ")", '"', '"x', '"x" "', 'a "b" c "d ', r"\"", '"\\', r'"\"', "'"]
IN_A_COMMENT = ["", "/", "/*", "\n/*", "\n//", '\n"', '\n"x" "']

comments = st.builds(
    lambda before, inside, after: f"{before}/*{inside}\n{HIDDEN}{HIDDEN}{after}*/",
    st.sampled_from(BEFORE_A_COMMENT),
    st.sampled_from(IN_A_COMMENT),
    st.sampled_from(["", '"', "/*", "// ", "}\n"]),
)
texts = st.builds(
    lambda text, after: f'"{text}"{after}',
    st.sampled_from([HIDDEN.replace("\n", " "), "/* " + HIDDEN.replace("\n", " ")]),
    st.sampled_from(["", "}", ' "']),
)


@given(st.lists(st.one_of(comments, texts, st.sampled_from([SOUND, *BROKEN.values()])), max_size=5))
def test_nothing_inside_a_comment_or_a_text_is_a_query(parts: list[str]) -> None:
    names = {query.header.name.text for query in read(SourceText("\n".join(parts))).file.queries}
    assert "hidden" not in names


@pytest.mark.parametrize("quoted", ['"x } } /* was:', '"x } } /* was "y" or:'])
def test_a_query_that_may_be_inside_a_comment_is_not_read(quoted: str) -> None:
    doubtful = f"query bad() {{ match {{ $p: Person {{ name: {quoted}\n"
    source = SourceText(f"{doubtful}{SOUND}{HIDDEN}*/\n")
    with pytest.raises((ParseFailed, QueryMissing)):
        compile_query(source, CATALOG, "sound")
    kept = SourceText(f"{doubtful.replace('/*', '//')}{SOUND}")
    assert compile_query(kept, CATALOG, "sound").name == "sound"


@given(files(), st.lists(st.sampled_from(sorted(BROKEN.values())), min_size=3, max_size=3))
def test_a_query_reads_the_same_whatever_stands_beside_it(
    tree: ast.File, broken: list[str]
) -> None:
    """Queries of a file with broken ones among them: each as it is, and where it is."""
    queries = [format_tree(ast.File((query,))) for query in tree.queries]
    source = SourceText("\n".join(t for pair in zip(broken, queries, strict=False) for t in pair))
    reading = read(source)
    assert {q for q in tree.queries if q.header.name.text not in ("bad", "sound")} <= {
        *reading.file.queries
    }
    lines = source.text.split("\n")
    for query in reading.file.queries:
        name, span = query.header.name.text, query.header.name.span
        assert lines[span.line - 1][span.column - 1 :].startswith(name)
