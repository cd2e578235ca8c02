"""Blocks look at many pairs of rows in little memory; only an answer can be too large."""

from pathlib import Path

import pytest

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.span import SourceText
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.chain import operators
from omnigraph.lang.plan.compile import compile_query
from omnigraph.read.context import Budget
from omnigraph.read.limits import ReadLimits
from omnigraph.read.profile import Profile
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.view import View
from tests.reference.naive import Entity
from tests.reference.random_clauses import CATALOG
from tests.reference.small_graph import plain_graph, stored

COUNT = 200
VALUES = 7
OTHERS = "$b: A  $b.n != $a.n"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    rows = [Entity("A", f"{i}", {"k": f"{i}", "n": i % VALUES}) for i in range(COUNT)]
    return View(stored(plain_graph(CATALOG, {"A": rows}), Path(tmp_path_factory.mktemp("g"))))


def ask(
    view: View,
    clauses: str,
    shown: str,
    profile: Profile | None = None,
    *,
    room: int = 50_000,
) -> tuple[ir.ReadQuery, int]:
    """The plan, and how many rows it gives with room for some thousand, or for `room` bytes."""
    text = f"query q() {{ match {{ {clauses} }} return {{ {shown} }} }}"
    plan = compile_query(SourceText(text), CATALOG)
    assert isinstance(plan, ir.ReadQuery)
    answer = run(
        plan,
        view,
        {},
        cache=RuntimeCache(ReadLimits(max_block_bytes=room)),
        now_ms=0,
        budget=Budget(memory_bytes=200_000),
        profile=profile,
    )
    return plan, answer.table.num_rows


@pytest.mark.parametrize(
    ("block", "rows"),
    [
        (f"count {{ {OTHERS} }} > 5", COUNT),
        (f"exists {{ {OTHERS} }}", COUNT),
        (f"not {{ {OTHERS} }}", 0),
        (f"or {{ {OTHERS}  $b.n = 0 }} {{ $a.n = 0 }}", COUNT),
        (f'optional {{ {OTHERS}  $b.k = "3" }}', COUNT),
    ],
)
def test_a_block_may_look_at_more_pairs_than_fit(view: View, block: str, rows: int) -> None:
    assert ask(view, f"$a: A  {block}", "$a.k")[1] == rows


@pytest.mark.parametrize("kind", ["or", "optional"])
def test_batches_bind_the_same_whether_or_not_they_find_anything(tmp_path: Path, kind: str) -> None:
    """Only the last rows have an edge, so that other batches of the block end early."""
    rows = [Entity("A", f"{i}", {"k": f"{i}"}) for i in range(COUNT)]
    last = rows[-1].id
    edges = [Entity("Aa", "e", {}, src=last, dst=last)]
    view = View(stored(plain_graph(CATALOG, {"A": rows, "Aa": edges}), tmp_path))
    block = "{ $a aa $b  $c: A  $c aa $d }"
    if kind == "or":
        assert ask(view, f'$a: A  or {block} {{ $a.k = "0" }}', "$a.k", room=100)[1] == 2
    else:
        assert ask(view, f"$a: A  optional {block}", "$a.k", room=100)[1] == COUNT


def test_an_answer_that_does_not_fit_is_refused(view: View) -> None:
    with pytest.raises(LimitExceeded) as error:
        ask(view, f"$a: A  {OTHERS}", "$a.k, $b.k as other")
    assert error.value.code == "resource_limit"
    with pytest.raises(LimitExceeded):
        ask(view, f"$a: A  optional {{ {OTHERS} }}", "$a.k, $b.k as other")


def test_the_rows_of_all_batches_are_told_together(view: View) -> None:
    profile = Profile()
    plan, _ = ask(view, f"$a: A  count {{ {OTHERS} }} > 5", "$a.k", profile)
    (scan, filtered) = (
        next(op for op in operators(plan.plan) if isinstance(op, kind) and _is_inside(op))
        for kind in (ir.NodeScan, ir.Filter)
    )
    assert profile.steps[id(scan)].rows == COUNT * COUNT
    sizes = [len(range(value, COUNT, VALUES)) for value in range(VALUES)]
    pairs = COUNT * COUNT - sum(size * size for size in sizes)
    assert profile.steps[id(filtered)].stands_for == pairs


def _is_inside(op: ir.Op) -> bool:
    while not isinstance(op, ir.Unit | ir.Outer):
        op = op.source
    return isinstance(op, ir.Outer)
