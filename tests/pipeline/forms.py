"""The same rows in every form that a load reads."""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType
from omnigraph.pipeline.rows.conform import Conformed, RejectedRow, conform_split
from omnigraph.pipeline.rows.row_text import rows_as_text
from omnigraph.pipeline.sources import plan_splits
from omnigraph.store.arrow import arrow_type
from tests.pipeline.world import CATALOG, NOW_MS, node, rows

Data = dict[str, list[dict[str, Any]]]
"""Rows by type, as JSON values; edges have `from` and `to` beside their properties."""


def entity_of(name: str, catalog: Catalog = CATALOG) -> EntityType:
    return catalog.node_by_name.get(name) or catalog.edge_by_name[name]


def envelopes(data: Data) -> Iterable[dict[str, Any]]:
    for name, values in data.items():
        for row in values:
            if isinstance(entity_of(name), EdgeType):
                rest = {key: value for key, value in row.items() if key not in ("from", "to")}
                yield {"edge": name, "from": row["from"], "to": row["to"], "data": rest}
            else:
                yield node(name, **row)


def ndjson(data: Data) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in envelopes(data)).encode()


def csv_text(values: list[dict[str, Any]], *, delimiter: str = ",", end: str = "\n") -> str:
    """Text is quoted, so that "" is not null; lists are JSON; null is nothing."""

    def cell(value: Any) -> str:
        match value:
            case None:
                return ""
            case bool():
                return str(value)
            case int() | float():
                return repr(value)
            case str():
                return '"' + value.replace('"', '""') + '"'
            case _:
                return '"' + json.dumps(value).replace('"', '""') + '"'

    columns = list(values[0])
    records = [columns, *([cell(row[column]) for column in columns] for row in values)]
    return "".join(delimiter.join(record) + end for record in records)


def arrow_table(name: str, values: list[dict[str, Any]]) -> pa.Table:
    """Typed as a careful producer would type it: dates as dates, blobs as bytes."""
    entity = entity_of(name)
    columns = {}
    for column in values[0]:
        cells = [row[column] for row in values]
        if column in ("from", "to"):
            columns[column] = pa.array(cells)
        else:
            type_ = entity.by_name[column].type
            target = arrow_type(type_)
            if pa.types.is_date(target) or pa.types.is_timestamp(target):
                columns[column] = pa.array(cells, pa.string()).cast(target)
            else:
                columns[column] = pa.array(cells, target)
    return pa.table(columns)


def write_lines(place: Path, data: Data) -> Any:
    (place / "in.jsonl").write_bytes(ndjson(data))
    return str(place / "in.jsonl")


def write_gzip(place: Path, data: Data) -> Any:
    (place / "in.jsonl.gz").write_bytes(gzip.compress(ndjson(data)))
    return place / "in.jsonl.gz"


def write_zstd(place: Path, data: Data) -> Any:
    packed = pa.compress(ndjson(data), codec="zstd", asbytes=True)
    (place / "in.ndjson.zst").write_bytes(packed)
    return [place / "in.ndjson.zst"]


def write_csv(place: Path, data: Data) -> Any:
    for name, values in data.items():
        (place / f"{name}.csv").write_bytes(csv_text(values).encode())
    return [str(place / f"{name}.csv") for name in data]


def write_tsv_gzip(place: Path, data: Data) -> Any:
    for name, values in data.items():
        text = csv_text(values, delimiter="\t", end="\r\n")
        (place / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return [str(place / f"{name}.tsv.gz") for name in data]


def write_parquet(place: Path, data: Data) -> Any:
    for name, values in data.items():
        pq.write_table(arrow_table(name, values), place / f"{name}.parquet", row_group_size=2)
    return [str(place / f"{name}.parquet") for name in data]


FORMS: dict[str, Callable[[Path, Data], Any]] = {
    "lines": write_lines,
    "gzip": write_gzip,
    "zstd": write_zstd,
    "csv": write_csv,
    "tsv.gz": write_tsv_gzip,
    "parquet": write_parquet,
    "dicts": lambda _, data: envelopes(data),
    "bytes": lambda _, data: ndjson(data),
    "tables": lambda _, data: {name: arrow_table(name, v) for name, v in data.items()},
    "pandas": lambda _, data: {n: arrow_table(n, v).to_pandas() for n, v in data.items()},
}


def conform_all(source: Any, **options: Any) -> list[Conformed]:
    """Every block of the source; the text of each bad row can be found again."""
    planned = plan_splits(source, catalog=CATALOG, parallelism=1, **options)
    limits = planned.limits.input
    blocks = []
    for split in (split for task in planned.tasks for split in task):
        found = list(conform_split(split, catalog=CATALOG, now_ms=NOW_MS, limits=limits))
        bad = [row for block in found for row in block.rejected_rows]
        numbers = [row.number for row in bad]
        assert rows_as_text(split, numbers, limits) == [row.text for row in bad]
        blocks += found
    return blocks


def rows_by_type(blocks: list[Conformed]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for block in blocks:
        for _, row in sorted(rows(block).items()):
            found.setdefault(row.pop("type"), []).append(row)
    return found


def bad_rows(blocks: list[Conformed]) -> list[RejectedRow]:
    return [row for block in blocks for row in block.rejected_rows]
