"""Whatever text comes in, an OmnigraphError is the worst that comes out, and it comes out soon."""

import concurrent.futures
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.explain import explain
from omnigraph.lang.query.findings import MAX_MESSAGE_CHARACTERS
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.query.text.format import format_source
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER
from tests.lang.schema.cases import read_case

CATALOG = compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))
TEXTS = [read_case(p).sections["query"] for p in sorted(FOLDER.glob("*.case"))]
SHORT = [t for t in TEXTS if len(t) < 2000]
WORDS = sorted({w for t in SHORT for w in t.split()})

HEAD = "query q() { match { $p: Person"
TAIL = " } return { $p.name } }"

LONG = {
    "a text of a megabyte": f'{HEAD} {{ name: "{"x" * 1_000_000}" }}{TAIL}',
    "NUL": f'{HEAD} \0 {{ name: "\0" }}{TAIL} \0',
    "a text that never ends": f'{HEAD} {{ name: "{"x" * 1_000_000}',
    "escapes that never end": f'{HEAD} {{ name: "' + '\\"' * 300_000,
    "quotes": '"' * 300_000,
    "backslashes": "\\" * 300_000,
    "comments that begin": "/*" * 300_000,
    "spaces": " " * 1_000_000 + HEAD + TAIL,
    "lines": "\n" * 300_000 + HEAD + TAIL,
    "opening braces": "{" * 300_000,
    "closing braces": "}" * 300_000,
    "nested blocks": f"{HEAD} " + "not { $p knows $p " * 50_000,
    "blocks nested as deep as allowed": f"{HEAD} {'not { $p knows $p ' * 38}{'}' * 38}{TAIL}",
    "clauses": HEAD + " $p: Person" * 5_000 + TAIL,
    "as many clauses as allowed": HEAD + " $p knows $_" * 199 + TAIL,
    "as many blocks as allowed": HEAD + " not { $p knows $_ }" * 99 + TAIL,
    "alternatives": HEAD + " or" + " { $p.age > 1 }" * 99 + TAIL,
    "elements": f"{HEAD} $p.age in [{'1,' * 5_000}]{TAIL}",
    "columns": HEAD + " } return {" + ",".join(f"$p.age as c{i}" for i in range(1_000)) + "} }",
    "numbers behind comments": HEAD + " } return { $p.age" + ", /* x */ -1" * 3_000 + " } }",
    "statements": "query q() { " + 'insert Note { text: "x" } ' * 1_000 + "}",
    "queries": "".join(f"query q{i}() {{ insert Note {{ text: null }} }}\n" for i in range(1_000)),
    "broken queries": "query q( " * 20_000,
    "nested calls": f"{HEAD} " + "f(" * 20_000,
    "a number": f"{HEAD} $p.age = {'9' * 300_000}{TAIL}",
    "a number that is none": f"{HEAD} $p.age = {'9' * 300_000}a{TAIL}",
    "a fraction that is none": f"{HEAD} $p.age = 1.{'9' * 300_000}a{TAIL}",
    "a name": f"{HEAD} ${'x' * 300_000}.age = 1{TAIL}",
    "a name that is not used": f"{HEAD} $p knows ${'x' * 300_000}{TAIL}",
    "an unknown type": f"query q() {{ match {{ $p: {'X' * 300_000} }} return {{ $p }} }}",
    "more than is read": " " * 5_000_000,
    "hops": HEAD + "".join(f" $a{i} knows|likes{{1,1000}} $b{i}" for i in range(90)) + TAIL,
}


def survives(text: str) -> None:
    source = SourceText(text)
    try:
        explain(compile_query(source, CATALOG, None))
    except OmnigraphError as error:
        assert 0 < len(error.render()) < 100_000
    for finding in lint_source(source, CATALOG).all_findings:
        assert 0 < len(finding.message) <= MAX_MESSAGE_CHARACTERS
        assert finding.span.line >= 1
        assert finding.span.column >= 1
    with contextlib.suppress(OmnigraphError):
        format_source(source)


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_answered(name: str) -> None:
    survives(LONG[name])


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    survives(text)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_of_the_language_are_answered(words: list[str]) -> None:
    survives(" ".join(words))


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_clauses_are_answered(words: list[str]) -> None:
    survives(f"{HEAD} {' '.join(words)}{TAIL}")


@given(st.sampled_from(SHORT), st.data())
def test_a_query_with_a_slip_is_answered(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        other = data.draw(st.one_of(st.sampled_from([*WORDS, ""]), st.text(max_size=3)))
        text = text[:start] + other + text[end:]
    survives(text)


def test_queries_compile_in_many_threads_at_once() -> None:
    source = SourceText(f"{HEAD} {{ name: $n }}{TAIL}".replace("q()", "q($n: String)"))
    alone = compile_query(source, CATALOG)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: compile_query(source, CATALOG), range(64)))
    assert all(plan == alone for plan in together)


def test_the_compiler_is_light_to_import_and_builds_no_grammar_before_it_is_asked() -> None:
    program = """
import sys
import omnigraph.lang.plan.compile, omnigraph.lang.plan.parameters, omnigraph.lang.query.lint.lint
from omnigraph.lang.query.text.parser import grammar
heavy = {"lance", "pyspark", "pyarrow", "duckdb", "numpy", "fastapi"} & set(sys.modules)
assert not heavy, heavy
assert grammar.cache_info().currsize == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)
