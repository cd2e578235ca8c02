"""Patterns as wholes: any clauses can stand together, and their order means nothing."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.base.errors import LanguageError, TypeCheckFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.explain import explain
from omnigraph.lang.query.check.check import check
from omnigraph.lang.query.check.typed import TypedRead
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER, case_catalog
from tests.lang.schema.cases import read_case

SHUFFLES = 3

FLAT = [
    *["$p: Person", '$p: Person { email: "a" }', "$q: Person { age: 3 }", "$c: Company"],
    *["$x: Named", "$_: City", "$d: Document"],
    *["$p knows $q", "$q knows{1,3} $p", "$p <likes> $q", "$p $e:knows $q", "$p knows $p"],
    *["$p worksAt $c", "$c worksAt $x", "$x knows|likes $q", "$p livesIn $t", "$c basedIn $t"],
    *["$p wrote|mentions $d", "$d mentions $_", "$a worksAt $b", "$p $f:worksAt|livesIn $y"],
    *["$p.age > 3", "$p.name = $q.name", "$e.since is null", "$n > 3", "$p.age in [1]"],
    *["$p != $q", "$x.name contains $c.name", 'search($d.body, "x")', "$f.id is not null"],
    *['top 3 $d by bm25($d.body, "x")', 'top 2 $p by bm25($p.bio, "x")'],
]


def reads_of_free_order() -> dict[str, tuple[ast.Read, Catalog]]:
    """Reads of the cases, less those where order counts: `top` and `optional` say what comes
    first, and each `$_` is numbered as it comes."""
    found = {}
    for path in sorted(FOLDER.glob("*.case")):
        case = read_case(path)
        text = case.sections["query"]
        if any(word in text for word in ("top ", "optional ", "$_")):
            continue
        try:
            queries = parse(SourceText(text)).queries
        except LanguageError:
            continue
        if len(queries) == 1 and isinstance(queries[0], ast.Read):
            found[path.stem] = (queries[0], case_catalog(case))
    return found


READS = reads_of_free_order()
CATALOG = compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))


@st.composite
def blocks(draw: DrawFn, depth: int = 3) -> str:
    clauses = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["not", "exists", "optional", "count", "or", *["flat"] * 9]))
        if kind == "flat" or not depth:
            clauses.append(draw(st.sampled_from(FLAT)))
        elif kind == "or":
            clauses.append(f"or {draw(blocks(depth - 1))} {draw(blocks(depth - 1))}")
        else:
            tail = " >= 2" if kind == "count" else ""
            clauses.append(f"{kind} {draw(blocks(depth - 1))}{tail}")
    return f"{{ {' '.join(clauses)} }}"


@given(blocks())
def test_any_sound_clauses_are_planned_together_or_refused(block: str) -> None:
    source = SourceText(f"query q($n: I32) {{ match {block} return {{ 1 }} }}")
    try:
        plan = compile_query(source, CATALOG)
    except TypeCheckFailed:
        return
    assert explain(plan).endswith("Project 1")


@pytest.mark.parametrize("name", READS)
def test_clauses_in_another_order_mean_the_same(name: str) -> None:
    query, catalog = READS[name]
    expected = meaning(query, catalog)
    for seed in range(SHUFFLES):
        clauses = random.Random(seed).sample(query.match.clauses, len(query.match.clauses))
        block = dataclasses.replace(query.match, clauses=tuple(clauses))
        assert meaning(dataclasses.replace(query, match=block), catalog) == expected


def meaning(query: ast.Read, catalog: Catalog) -> object:
    """All that a checked query says, less the order of its clauses; or the codes of its errors."""
    try:
        typed = check(query, catalog, SourceText(""))
    except TypeCheckFailed as error:
        return {d.code for d in error.diagnostics}
    assert isinstance(typed, TypedRead)
    pattern = typed.pattern
    rest = dataclasses.replace(
        typed, pattern=dataclasses.replace(pattern, clauses=(), variables=())
    )
    return frozenset(pattern.clauses), frozenset(pattern.variables), rest
