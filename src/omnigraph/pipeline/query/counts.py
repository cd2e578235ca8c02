"""Numbers of rows on Spark that are right or refused, whatever the session does about overflows.

Rows that nobody tells apart are one row with a weight. A weight may be the number of paths of many
hops, which 64 bits don't hold; a session may be told to wrap such a number around.
"""

from typing import Any

from pyspark.sql import functions as sql

from omnigraph.base.errors import LimitExceeded
from omnigraph.pipeline.spark.tasks import marked

__all__ = ["LARGEST_COUNT", "added", "multiplied", "refused"]

LARGEST_COUNT = 2**63 - 1
ROWS = "the number of rows"


def added(counts: Any) -> Any:
    """The sum of counts in a group, of which none is null."""
    return sql.coalesce(sql.try_sum(counts), refused(ROWS, LARGEST_COUNT, "bigint"))


def multiplied(one: Any, other: Any) -> Any:
    """The product of two counts, neither of them null."""
    return sql.coalesce(sql.try_multiply(one, other), refused(ROWS, LARGEST_COUNT, "bigint"))


def refused(what: str, limit: float, type_: Any) -> Any:
    """A column that no row may look at: one that does ends the query with this error."""
    refusal = LimitExceeded(what=what, limit=limit)
    told = f"{refusal} {marked(refusal)}"
    return sql.raise_error(sql.lit(told)).cast(type_)
