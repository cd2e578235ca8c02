"""Set checks of rows that the graph has, for rules that are new.

Whole tables are read, a batch at a time, and DuckDB keeps their keys: what does not fit into the
memory that it may take goes to a file of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.check.sets.questions import first_violations
from omnigraph.check.sets.relations import RELATIONS, extract
from omnigraph.check.sets.rules import CLAIMS, DEGREES, Claim, Degree, Part, Reading
from omnigraph.check.sets.violations import SetViolation
from omnigraph.lang.schema.catalog import EntityType

if TYPE_CHECKING:
    import duckdb

__all__ = ["Batches", "NewRule", "violations_in_tables"]

MAX_MEMORY = "1GB"
"""For the keys of all tables; the rest lies on the disk meanwhile."""

NewRule = Claim | Degree

Batches = Callable[[EntityType, Sequence[str]], Iterator[pa.Table]]
"""The rows of a type, in the order of a scan, with these columns."""


def violations_in_tables(rules: Sequence[NewRule], batches: Batches) -> list[SetViolation]:
    """Of each rule that rows break the first few violations, and how many there are.

    `place` is the place of a row in a scan of its table.
    """
    readings = [reading for rule in rules for reading in _readings(rule)]
    if not readings:
        return []
    import duckdb  # readers never ask

    with TemporaryDirectory(prefix="omnigraph-") as directory:
        config: dict[str, Any] = {"memory_limit": MAX_MEMORY, "temp_directory": directory}
        with duckdb.connect(Path(directory, "keys.duckdb"), config=config) as connection:
            _fill(connection, readings, batches)
            return first_violations(
                readings, lambda sql: connection.sql(sql).to_arrow_table().to_pylist()
            )


def _readings(rule: NewRule) -> list[Reading]:
    match rule:
        case Claim(entity=entity):
            return [Reading(CLAIMS, rule, entity, Part.INCOMING)]
        case Degree(edge=edge, source=source, least=least):
            edges = Reading(DEGREES, rule, edge, Part.INCOMING)
            sources = Reading(DEGREES, rule, source, Part.INCOMING)
            return [edges, sources] if least else [edges]


def _fill(
    connection: "duckdb.DuckDBPyConnection", readings: Sequence[Reading], batches: Batches
) -> None:
    for name, schema in RELATIONS.items():
        connection.register("batch", schema.empty_table())
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM batch")
    for reading in readings:
        first = 0
        for rows in batches(reading.entity, reading.columns):
            places = np.arange(first, first + rows.num_rows)
            first += rows.num_rows
            connection.register("batch", extract(reading, rows, places))
            connection.execute(f"INSERT INTO {reading.relation} SELECT * FROM batch")
