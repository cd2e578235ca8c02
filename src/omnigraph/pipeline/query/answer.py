"""The rows of a frame that a query became, as an answer has them."""

from collections.abc import Callable

import pyarrow as pa

from omnigraph.pipeline.frames.carried import as_answered
from omnigraph.pipeline.query.lower import QueryFrame
from omnigraph.pipeline.spark.session import Spark

__all__ = ["rows_of"]


def rows_of(spark: Spark, answer: QueryFrame, *, doing: str, check: Callable[[], None]) -> pa.Table:
    """All rows, here. `check` is asked while Spark works, and ends that if it raises."""
    check()
    table = spark.table_of(answer.frame, doing=doing, on_progress=lambda _: check())
    check()
    columns = [as_answered(table[at], field.type) for at, field in enumerate(answer.schema)]
    return pa.Table.from_arrays(columns, schema=answer.schema)
