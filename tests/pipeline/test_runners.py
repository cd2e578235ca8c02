"""SQL over the rows of tasks, whoever runs them."""

import itertools
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import FileMissing
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner, runs
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.conftest import ON_SPARK

NUMBERS = pa.schema([("n", pa.int64())])
EITHER = pytest.mark.parametrize(
    "runner", ["local", pytest.param("spark", marks=ON_SPARK)], indirect=True
)


def show(
    runner: Runner, name: str, *tasks: list[int], most: int = 100, on: str | None = None
) -> None:
    # A worker can't import this module: what it is to run must be no part of it.
    schema = NUMBERS

    def read(numbers: list[int]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": numbers}, schema)

    runner.show_as(name, tasks, read, schema, most=most, on=on)


@EITHER
def test_sql_sees_the_rows_of_all_tasks_until_they_are_forgotten(runner: Runner) -> None:
    show(runner, "numbers", [1, 10], [2, 20])
    show(runner, "none")
    assert runner.query("SELECT sum(n) AS n FROM numbers", doing="adding") == [{"n": 33}]
    assert runner.query("SELECT * FROM none", doing="looking") == []
    runner.forget("numbers")
    show(runner, "numbers", [3])
    assert runner.query("SELECT max(n) AS n FROM numbers", doing="looking") == [{"n": 3}]
    runner.forget("numbers")
    runner.forget("none")


@pytest.mark.parametrize("runner", [pytest.param("spark", marks=ON_SPARK)], indirect=True)
def test_spark_does_not_take_many_rows_to_be_few(runner: Runner) -> None:
    assert isinstance(runner, Spark)
    show(runner, "some", [1, 2], most=10**9)
    show(runner, "others", [2, 3], most=10**9)
    matched = "SELECT some.n FROM some JOIN (SELECT n FROM others GROUP BY n) AS o ON o.n = some.n"
    loose = "SELECT n FROM some WHERE NOT EXISTS (SELECT 1 FROM others WHERE others.n = some.n)"
    bounded = "SELECT /*+ BROADCAST(b) */ n FROM some JOIN (VALUES (2)) AS b(n) USING (n)"
    plans = {sql: plan_of(runner, sql) for sql in (matched, loose, bounded)}
    answers = {sql: runner.query(sql, doing="matching") for sql in plans}
    runner.forget("some")
    runner.forget("others")
    assert all("Broadcast" not in plans[sql] for sql in (matched, loose)), plans
    assert "BroadcastHashJoin" in plans[bounded]
    assert answers == {matched: [{"n": 2}], loose: [{"n": 1}], bounded: [{"n": 2}]}


def plan_of(spark: Spark, sql: str) -> str:
    [row] = spark.query(f"EXPLAIN {sql}", doing="looking")
    plan: str = row["plan"]
    return plan


@EITHER
def test_an_answer_is_dealt_out_by_value_and_each_value_in_one_split(runner: Runner) -> None:
    show(runner, "numbers", [*range(50)], [*range(50, 100)])
    dealt = runner.run_over(
        "SELECT n % 7 AS seventh, 100 - n AS rest FROM numbers",
        lambda value, rows: (value, rows["rest"].to_pylist()),
        by="seventh",
        then="rest",
        tasks=3,
        doing="dealing",
    )
    runner.forget("numbers")
    expected = [(value, sorted(100 - n for n in range(value, 100, 7))) for value in range(7)]
    assert sorted(dealt) == expected


@pytest.mark.parametrize("max_rows", [1, 7, 1_000])
def test_rows_that_are_matched_in_parts_are_dealt_out_as_those_that_are_not(max_rows: int) -> None:
    runner = InProcess(LoadLimits(max_matched_rows=max_rows))
    show(runner, "rows_here", [*range(20)], [*range(20, 60)], on="n")
    show(runner, "rows_there", [*range(0, 90, 3)], on="n")
    matched = """
    SELECT rows_here.n % 7 AS seventh, rows_here.n AS n, rows_there.n AS other
    FROM rows_here LEFT JOIN rows_there ON rows_there.n = rows_here.n
    """
    dealt = runner.run_over(
        matched,
        lambda value, rows: (value, rows["n"].to_pylist(), rows["other"].to_pylist()),
        by="seventh",
        then="n",
        tasks=3,
        doing="matching",
    )
    for name in ("rows_here", "rows_there"):
        runner.forget(name)
    expected = [[*range(value, 60, 7)] for value in range(7)]
    others = [[n if n % 3 == 0 else None for n in some] for some in expected]
    assert sorted(dealt) == [*zip(range(7), expected, others, strict=True)]


@EITHER
def test_an_error_of_ours_comes_back_from_dealt_out_work(runner: Runner) -> None:
    def fail(value: int, rows: pa.Table) -> None:
        raise FileMissing(path=str(value))

    show(runner, "numbers", [4])
    with pytest.raises(FileMissing) as caught:
        runner.run_over("SELECT n FROM numbers", fail, by="n", then="n", tasks=1, doing="dealing")
    runner.forget("numbers")
    assert caught.value.path == "4"


@given(st.lists(st.lists(st.integers(0, 3))))
def test_runs_hold_what_follows_each_other_and_lose_nothing(batches: list[list[int]]) -> None:
    made = [pa.RecordBatch.from_pydict({"n": batch}, NUMBERS) for batch in batches]
    found = [(value, rows["n"].to_pylist()) for value, rows in runs(made, "n")]
    assert [n for _, run in found for n in run] == [n for batch in batches for n in batch]
    assert all({*run} == {value} for value, run in found)
    values = [value for value, _ in found]
    assert all(one != other for one, other in itertools.pairwise(values))
