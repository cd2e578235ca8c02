"""Errors: one tree, stable codes, the same facts as text, as JSON and across processes."""

import json
import pickle
import re
from collections import Counter
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.base import errors
from omnigraph.base.conflicts import Conflict
from omnigraph.base.errors import Diagnostic, FilesInvalid, LanguageError, OmnigraphError
from omnigraph.base.span import SourceText, Span
from omnigraph.base.violations import (
    MAX_EXAMPLES,
    MAX_EXAMPLES_PER_RULE,
    Violation,
    Violations,
)
from omnigraph.surfaces.wire import exit_code, http_status

BRANCHES = tuple(OmnigraphError.__subclasses__())
LEAVES = tuple(
    value
    for name in errors.__all__
    if isinstance(value := getattr(errors, name), type)
    and issubclass(value, OmnigraphError)
    and value not in (OmnigraphError, LanguageError, FilesInvalid, *BRANCHES)
)

SAMPLES: dict[str, Any] = {
    "source": SourceText("a\n\tb", "q.gq"),
    "diagnostics": (Diagnostic("T1", "no such type", Span(2, 2, 1), "did you mean c?"),),
    "violations": Violations.of([Violation("type", "not a number", file="a.jsonl", line=3)]),
    "conflicts": (Conflict("divergent_update", "node", "Person", "ada", "age", 1, 2, 3, "no"),),
    "tables": ("node:Person",),
    "known": ("main",),
    "rows": (Violation("embed", "too long", "Paper", "text", "a"),),
    "count": 2,
    "limit": 3,
    "max_errors": 3,
    "size": 3,
    "found": 4,
    "supported": 1,
    "waited_s": 2.5,
    "timeout_s": 2.5,
    "retry_after_s": 1,
    "allowed": ("GET",),
    "taken": ("application/json",),
    "status": 400,
    "expected": 3,
    "findings": (
        errors.FileFinding(
            SourceText("a: 1\n\tb", "team.yaml"), Diagnostic("P1", "no such group", Span(2, 2, 1))
        ),
    ),
    "refusals": ({"code": "OG-MF-106", "name": "A.b", "message": "no", "hint": "do"},),
}


def a(leaf: type[OmnigraphError]) -> OmnigraphError:
    required = [f.name for f in fields(leaf) if f.default is MISSING]
    types = get_type_hints(leaf)
    return leaf(**{name: _sample(name, types[name]) for name in required})


def _sample(name: str, type_: Any) -> Any:
    """A value of the type that the field has."""
    plain = getattr(type_, "__supertype__", type_)
    if plain is str:
        return name
    if get_origin(type_) is Literal:
        return get_args(type_)[0]
    if type(None) in get_args(type_):
        return _sample(name, get_args(type_)[0])
    if name not in SAMPLES and get_origin(type_) is tuple:
        return (_sample(name, get_args(type_)[0]),)
    return SAMPLES.get(name, 7)


@pytest.mark.parametrize("leaf", LEAVES)
def test_an_error_says_the_same_after_crossing_to_another_process(
    leaf: type[OmnigraphError],
) -> None:
    error = a(leaf)
    crossed = pickle.loads(pickle.dumps(error))
    assert type(crossed) is leaf
    assert crossed.render() == error.render()
    assert crossed.to_json() == error.to_json()


@pytest.mark.parametrize("leaf", LEAVES)
def test_an_error_is_a_json_document_with_a_code_and_an_exit_code(
    leaf: type[OmnigraphError],
) -> None:
    document = json.loads(json.dumps(a(leaf).to_json()))
    assert document.keys() == {"error", "code", "details", "hint"}
    assert document["error"] and document["code"] != "internal"
    assert exit_code(a(leaf)) in (1, 2, 3, 4)
    assert 400 <= http_status(a(leaf)) < 600


def test_every_leaf_hangs_on_one_branch() -> None:
    for leaf in LEAVES:
        assert sum(issubclass(leaf, branch) for branch in BRANCHES) == 1, leaf


def test_the_tree_in_the_docstring_names_every_code() -> None:
    assert errors.__doc__ is not None
    assert {leaf.code for leaf in LEAVES} == set(
        re.findall(r"\b[a-z]+_[a-z_]+\b|cancelled|unauthorized", errors.__doc__)
    )


@pytest.mark.parametrize(
    ("error", "code", "exits", "status"),
    [
        (errors.ReadOnly("g.omni"), "read_only", 1, 403),
        (errors.SparkFailed("starting", "no room"), "spark_error", 1, 500),
        (errors.DependencyMissing("Java 17", "install it"), "dependency_missing", 1, 501),
        (errors.PreconditionFailed, "precondition_failed", 4, 412),
        (errors.Unauthorized, "unauthorized", 1, 401),
        (errors.SparkNotAllowed, "spark_not_allowed", 1, 403),
        (errors.PageNotAllowed, "page_not_allowed", 1, 403),
        (errors.BlobChanged, "blob_changed", 4, 412),
        (errors.RequestsTooMany, "too_many_requests", 1, 429),
        (errors.BodySlow, "request_timeout", 1, 408),
        (errors.MethodUnknown, "method_not_allowed", 1, 405),
        (errors.MediaTypeUnsupported, "unsupported_media_type", 1, 415),
    ],
)
def test_an_error_that_callers_tell_apart_has_a_code_and_a_status_of_its_own(
    error: Any, code: str, exits: int, status: int
) -> None:
    error = a(error) if isinstance(error, type) else error
    assert (error.code, exit_code(error), http_status(error)) == (code, exits, status)


def test_a_caret_stands_under_the_place() -> None:
    source = SourceText("query q() {\n\t$p: Persn\n}", "q.gq")
    assert source.point_at(Span(2, 6, 5)) == "q.gq:2:6\n2 | \t$p: Persn\n  | \t    ^^^^^"


def test_a_caret_under_wide_letters_stands_where_the_terminal_shows_the_place() -> None:
    assert SourceText("名 x").point_at(Span(1, 3)).splitlines()[-1] == "  |    ^"


def test_a_very_long_line_is_shown_around_the_place_only() -> None:
    shown = SourceText("a" * 500_000 + "!" + "b" * 500_000).point_at(Span(1, 500_001))
    line, caret = shown.splitlines()[1:]
    assert len(line) < 200
    assert line[caret.index("^")] == "!"


def test_a_report_counts_all_and_shows_the_first_of_each_rule() -> None:
    parts = [
        Violations.of(
            Violation("type", "not a number", file="a.jsonl", line=n) for n in range(start, 90, 3)
        )
        for start in range(3)
    ]
    report = Violations()
    for part in reversed(parts):
        report.merge(part)
    assert report.total == 90
    assert [v.line for v in report.examples] == list(range(MAX_EXAMPLES_PER_RULE))


@given(
    found=st.lists(st.tuples(st.sampled_from(["type", "range"]), st.integers(0, 30)), max_size=900),
    parts=st.integers(1, 4),
)
@example([("type", 0)] * 400 + [("type", n) for n in range(31)], 3)
@example([("type", n % 31) for n in range(900)], 2)
def test_every_rule_that_is_broken_has_an_example_and_all_together_are_bounded(
    found: list[tuple[str, int]], parts: int
) -> None:
    rows = [
        Violation(kind, "is wrong", "Person", f"p{column}", file="a.csv", line=line)
        for line, (kind, column) in enumerate(found)
    ]
    report = Violations()
    for part in range(parts):
        report.merge(Violations.of(rows[part::parts]))
    assert report.total == len(rows)
    assert len(report.examples) <= MAX_EXAMPLES
    assert {v.rule for v in report.examples} == {v.rule for v in rows}
    by_rule = Counter(v.rule for v in report.examples)
    assert max(by_rule.values(), default=0) <= MAX_EXAMPLES_PER_RULE
    # Of each rule the first rows are shown, in the order of the input.
    for rule, count in by_rule.items():
        lines = [v.line for v in report.examples if v.rule == rule]
        assert lines[0] == min(v.line or 0 for v in rows if v.rule == rule)
        assert lines == sorted(lines, key=lambda line: line or 0)
        if len(rows) <= MAX_EXAMPLES:
            assert count == min(MAX_EXAMPLES_PER_RULE, sum(v.rule == rule for v in rows))


def test_a_terminal_shows_equal_messages_once_with_their_places() -> None:
    same = [
        Violation("type", "b is no number", "P", "b", file="p.csv", line=n) for n in range(2, 99)
    ]
    report = Violations.of(
        [
            *same,
            *(Violation("type", f"a is {n}", "P", "a", file="p.csv", line=n) for n in range(7)),
            Violation("required", "c is required", "P", "c", file="p.csv", line=3),
            Violation("required", "c is required", "P", "c", file="p.csv", line=5),
            Violation("range", "d is 5", "P", "d", "x"),
            Violation("range", "d is 5", "P", "d", "y"),
            Violation("json", "broken", file="p.jsonl", line=1),
            Violation("json", "broken", file="q.jsonl", line=2),
        ]
    )
    assert report.report.splitlines() == [
        "110 violations of the rules",
        "  json: 2",
        "    p.jsonl:1: broken (also in q.jsonl:2)",
        "  range P.d: 2",
        "    row x: d is 5 (also in y)",
        "  required P.c: 2",
        "    p.csv:3: c is required (also in line 5)",
        "  type P.a: 7",
        "    p.csv:0: a is 0",
        "    p.csv:1: a is 1",
        "    p.csv:2: a is 2",
        "    p.csv:3: a is 3",
        "    p.csv:4: a is 4",
        "    … and 2 more like these",
        "  type P.b: 97",
        "    p.csv:2: b is no number (also in lines 3, 4, 5, 6, 7, …)",
    ]


def test_who_holds_the_names_of_branches_is_told_in_plain_words() -> None:
    busy = errors.BranchBusy(branch="__branches", holder="process 7", waited_s=3)
    assert "__" not in str(busy) and "a schema is applied" in str(busy)
    assert "__" not in str(errors.FenceLost(branch="__branches", holder="process 7"))


@pytest.mark.parametrize(
    ("violation", "said"),
    [
        (Violation("range", "Person.age is 5", "Person", "age", "a"), "row a: Person.age is 5"),
        (Violation("range", "Person.age is 5", "Person", "age", "5"), "row 5: Person.age is 5"),
        (Violation("cardinality", "Person 'a' has 2", "Knows", None, "a"), "Person 'a' has 2"),
        (Violation("range", "age is 5", None, None, "a", "p.jsonl", 3), "p.jsonl:3: age is 5"),
    ],
)
def test_a_stored_row_is_named_once_however_short_its_id_is(
    violation: Violation, said: str
) -> None:
    assert str(violation) == said
