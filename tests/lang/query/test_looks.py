"""Reading, checking and completing a long text looks at the clock every few thousand calls."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from omnigraph.base.errors import LanguageError, LimitExceeded
from omnigraph.base.looks import Look
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.editing.complete import complete
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.schema.check.check import compile_schema

CATALOG = compile_schema(
    SourceText("node Person { key: String @key name: String? } edge Knows: Person -> Person")
)
BAD = "query q{0}() {{ match {{ $p: Persn }} return {{ $p.nme }} }}\n"
VALUE = '"{0}"'
INSERT = 'insert Person {{ key: "{0}" }}'
SAME = "query q() {{ match {{ $p: Person }} return {{ $p }} }}\n"


def query(clauses: str, answer: str = "$p", parameters: str = "") -> str:
    return f"query q({parameters}) {{ match {{ {clauses} }} return {{ {answer} }} }}"


def many(text: str, count: int) -> str:
    return " ".join(text.format(number) for number in range(count))


def lint(text: str, look: Look) -> None:
    lint_source(SourceText(text), CATALOG, look=look)


def compile_(text: str, look: Look) -> None:
    compile_query(SourceText(text), CATALOG, look=look)


def offer(text: str, look: Look) -> None:
    complete(text, CATALOG, look=look)


Work = Callable[[str, Look], None]
TEXTS: dict[str, tuple[Work, Callable[[int], str]]] = {
    "bad queries": (lint, lambda n: many(BAD, n)),
    "equal names": (lint, lambda n: many(SAME, n)),
    "parameters": (lint, lambda n: query("$p: Person", parameters=many("$a{0}: I32,", n)[:-1])),
    "columns": (compile_, lambda n: query("$p: Person", many("$p.key as a{0}", n))),
    "clauses": (compile_, lambda n: query(many("$p: Person", n))),
    "values": (compile_, lambda n: query(f"$p: Person $p.key in [{many(VALUE, n)}]")),
    "inserts": (compile_, lambda n: f"query q() {{ {many(INSERT, n)} }}"),
    "completion": (offer, lambda n: "query q() { match { " + many("$p: Person", n)),
}
MANY = 600
MOST_CALLS_BETWEEN = 40_000
"""They take some milliseconds."""


class Looks:
    """Counts looks, and the calls of functions between two of them; raises after so many looks."""

    def __init__(self, until: int | None = None) -> None:
        self.until = until
        self.count = 0
        self.calls = 0
        self.since = 0
        self.most_between = 0

    def __call__(self) -> None:
        self.count += 1
        self.most_between = max(self.most_between, self.since)
        self.since = 0
        if self.count == self.until:
            raise LimitExceeded(what="the time", limit=1, found=2)

    def seen(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")
        self.since += event in ("call", "c_call")


def looks_of(work: Work, text: str, until: int | None = None) -> Looks:
    looks = Looks(until)
    sys.setprofile(looks.seen)
    try:
        work(text, looks)
    except LanguageError:
        pass
    finally:
        sys.setprofile(None)
    return looks


@pytest.mark.parametrize("kind", TEXTS)
def test_work_grows_with_the_text_and_looks_at_the_clock(kind: str) -> None:
    work, text = TEXTS[kind]
    looks_of(work, text(10))  # the grammar is made once
    half, whole = (looks_of(work, text(count)) for count in (MANY, 2 * MANY))
    assert whole.calls < 2.5 * half.calls
    assert max(half.most_between, whole.most_between) < MOST_CALLS_BETWEEN


@pytest.mark.parametrize("kind", TEXTS)
def test_work_ends_at_the_look_that_says_so(kind: str) -> None:
    work, text = TEXTS[kind]
    for until in (1, 3):
        with pytest.raises(LimitExceeded):
            looks_of(work, text(MANY), until)
