"""The reader agrees with a plain evaluator that shares nothing with it."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded
from omnigraph.lang.plan import ir
from omnigraph.lang.plan.ir import MIRRORED, CompareOp
from omnigraph.read.frame import Frame
from omnigraph.read.operators.aggregate import Grouped
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.values.compare import compare, is_member
from omnigraph.read.values.ordering import Codes, sort_values
from omnigraph.read.values.sums import exact_sums, fitting
from omnigraph.read.view import View
from tests.reference.naive import Naive, PlainGraph, compared, order_of
from tests.reference.random_plans import FIRST, RandomQuery, graphs, queries
from tests.reference.random_schemas import RandomCase, cases
from tests.reference.small_graph import stored

NOW_MS = 1_700_000_000_123


def canonical(value: Any) -> Any:
    """Equal for equal values; floats to twelve digits, since sums may be added in any order."""
    if isinstance(value, dict):
        return tuple((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(item) for item in value)
    return f"{value:.12g}" if isinstance(value, float) else value


def agree(query: RandomQuery, graph: PlainGraph, root: Path) -> None:
    read = ir.ReadQuery("random", (), query.plan, (), ())
    table = run(
        read, View(stored(graph, root)), query.parameters, cache=RuntimeCache(), now_ms=NOW_MS
    ).table
    ours = [canonical(row) for row in table.to_pylist()]
    theirs = [canonical(row) for row in Naive(graph, query.parameters, NOW_MS).answer(query.plan)]
    if query.is_ordered:
        assert ours == theirs
    else:
        assert sorted(ours, key=repr) == sorted(theirs, key=repr)


@given(graphs(), queries())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_a_plan_gives_the_rows_that_its_plain_meaning_gives(
    graph: PlainGraph, query: RandomQuery
) -> None:
    with tempfile.TemporaryDirectory() as root:
        agree(query, graph, Path(root))


@given(cases())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_a_plan_means_the_same_whatever_the_schema(case: RandomCase) -> None:
    with tempfile.TemporaryDirectory() as root:
        agree(case.query, case.graph, Path(root))


@given(graphs(), queries())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_counting_paths_gives_as_many_as_listing_them(
    graph: PlainGraph, query: RandomQuery
) -> None:
    """A count carries weights where a list makes rows: the same pattern, two ways."""
    first = ir.EntityOf(FIRST)
    count = ir.Column("n", ir.AggregateOf(ir.AggregateFunction.COUNT, first))
    counted = ir.Project(
        ir.Aggregate(query.pattern, (), (count,)), (ir.Column("n", ir.ColumnOf("n")),)
    )
    listed = ir.Project(query.pattern, (ir.Column("id", ir.IdentityOf(FIRST)),))
    with tempfile.TemporaryDirectory() as root:
        snapshot, cache = stored(graph, Path(root)), RuntimeCache()
        answers = [
            run(
                ir.ReadQuery("random", (), plan, (), ()),
                View(snapshot),
                query.parameters,
                cache=cache,
                now_ms=NOW_MS,
            ).table
            for plan in (counted, listed)
        ]
    assert answers[0].to_pylist() == [{"n": answers[1].num_rows}]


INTEGERS = {"int32": 31, "int64": 63, "uint32": 32, "uint64": 64}
edges_of_floats = st.sampled_from(
    [
        s * (2.0**k + d)
        for k in (0, 24, 31, 32, 53, 63, 64)
        for d in (-1, 0, 0.5, 1)
        for s in (1, -1)
    ]
)


@st.composite
def numbers(draw: st.DrawFn) -> pa.Array:
    kind = draw(st.sampled_from([*INTEGERS, "float32", "float64"]))
    if kind == "float64":
        values = st.floats(allow_nan=False) | edges_of_floats
    elif kind == "float32":
        values = st.floats(allow_nan=False, width=32)
    else:
        high = 2 ** INTEGERS[kind]
        low = 0 if kind.startswith("u") else -high
        near = edges_of_floats.map(int).filter(lambda number: low <= number < high)
        values = near | st.integers(low, high - 1)
    return pa.array([draw(st.none() | values) for _ in range(4)], getattr(pa, kind)())


@given(numbers(), numbers(), st.sampled_from([op for op in CompareOp if op in MIRRORED]))
def test_numbers_compare_by_value_whatever_their_types(
    left: pa.Array, right: pa.Array, op: CompareOp
) -> None:
    pairs = list(zip(left.to_pylist(), right.to_pylist(), strict=True))
    assert compare(op, left, right, 4).tolist() == [compared(op, a, b) for a, b in pairs]
    for scalar in right:
        expected = [compared(op, a, scalar.as_py()) for a in left.to_pylist()]
        assert compare(op, left, scalar, 4).tolist() == expected
        assert compare(MIRRORED[op], scalar, left, 4).tolist() == expected


@given(numbers(), numbers())
def test_membership_is_equality_with_one_of_the_options(left: pa.Array, options: pa.Array) -> None:
    given_ = options.to_pylist()
    expected = [value is not None and value in given_ for value in left.to_pylist()]
    assert is_member(left, given_, options.type).tolist() == expected


@given(numbers(), st.booleans())
def test_numbers_sort_as_their_values_do_and_null_is_the_smallest(
    values: pa.Array, is_descending: bool
) -> None:
    keys = sort_values(values, is_descending=is_descending)
    plain = [order_of(value) for value in values.to_pylist()]
    for one, key in zip(plain, keys, strict=True):
        for other, other_key in zip(plain, keys, strict=True):
            assert (key < other_key) == (one > other if is_descending else one < other)


@given(st.permutations([1e308, 1e308, 1e308, -1e308, -1e308, 1.0]), st.sampled_from([1, 2]))
def test_a_sum_of_floats_that_fits_is_given_whatever_the_order(
    values: list[float], groups: int
) -> None:
    codes = None if groups == 1 else Codes(np.zeros(len(values), dtype=np.int64), groups)
    rows = Grouped(Frame(len(values)), codes)
    assert rows.sum(pa.array(values), "it").to_pylist()[0] == pytest.approx(1e308)
    with pytest.raises(LimitExceeded):
        rows.sum(pa.array([abs(value) for value in values]), "it")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**63), 2**63 - 1), st.integers(1, 9))))
def test_sums_are_exact_or_refused(rows: list[tuple[int, int, int]]) -> None:
    groups, values, weights = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    expected = [sum(v * w for g, v, w in rows if g == group) for group in range(3)]
    sums = exact_sums(values, weights, Codes(groups, 3))
    assert sums.tolist() == expected
    assert exact_sums(values, weights, None).tolist() == [sum(expected)]
    if all(-(2**63) <= total < 2**63 for total in expected):
        assert fitting(sums, np.dtype(np.int64), what="it").tolist() == expected
    else:
        with pytest.raises(LimitExceeded):
            fitting(sums, np.dtype(np.int64), what="it")
    for numbers in (values, values.astype(np.uint64)):  # each row once, and no sign
        each = [
            sum(v for g, v in zip(groups, numbers.tolist(), strict=True) if g == of)
            for of in range(3)
        ]
        assert exact_sums(numbers, None, Codes(groups, 3)).tolist() == each
        assert exact_sums(numbers, None, None).tolist() == [sum(each)]
