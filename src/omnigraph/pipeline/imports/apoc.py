"""Lines of JSON as `apoc.export.json` of Neo4j writes them: a node or a relationship a line.

    {"type":"node","id":"0","labels":["Person"],"properties":{"name":"Ada"}}
    {"id":"0","type":"relationship","label":"KNOWS","properties":{"since":1833},
     "start":{"id":"0","labels":["Person"]},"end":{"id":"1","labels":["Person"]}}

The database's own numbers are the only ids there are, so they become the keys.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import FileMissing, LimitExceeded, SourceInvalid
from omnigraph.base.types import Scalar
from omnigraph.base.words import clipped
from omnigraph.pipeline.imports.blocks import (
    BLOCK_ROWS,
    Columns,
    EdgeBlock,
    End,
    Labels,
    NodeBlock,
    columns_of_rows,
    place,
)
from omnigraph.pipeline.imports.values import text_array
from omnigraph.pipeline.limits import InputLimits

__all__ = ["ApocReader", "json_files"]

SUFFIXES = (".json", ".jsonl", ".ndjson")
TIMES = frozenset((Scalar.DATE, Scalar.DATETIME))
MAX_LINE_BYTES = InputLimits().max_line_bytes


def json_files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    with reading_file(source):
        found = sorted(source.iterdir())
    return [path for path in found if path.suffix.lower() in SUFFIXES and path.is_file()]


class ApocReader:
    def __init__(self, source: Path) -> None:
        self._source = source
        self._has_times = False

    def survey_nodes(self) -> Iterator[NodeBlock]:
        return self.nodes()

    def survey_edges(self) -> Iterator[EdgeBlock]:
        return self.edges()

    def nodes(self) -> Iterator[NodeBlock]:
        for file, rows in self._gathered("node", lambda row: _labels(row, "labels")):
            for labels, of_labels in rows.items():
                lines = [line for line, _ in of_labels]
                properties = [row.get("properties") or {} for _, row in of_labels]
                columns = self._columns(properties, file, lines)
                yield NodeBlock(
                    file=file,
                    lines=np.array(lines),
                    space="",
                    labels=labels,
                    ids=text_array(str(row["id"]) for _, row in of_labels),
                    columns=columns,
                )

    def edges(self) -> Iterator[EdgeBlock]:
        for file, rows in self._gathered("relationship", _edge_key):
            for (label, source, target), of_key in rows.items():
                lines = [line for line, _ in of_key]
                properties = [row.get("properties") or {} for _, row in of_key]
                columns = self._columns(properties, file, lines)
                yield EdgeBlock(
                    file=file,
                    lines=np.array(lines),
                    label=label,
                    source=End(
                        text_array(str(row["start"]["id"]) for _, row in of_key), "", source
                    ),
                    target=End(text_array(str(row["end"]["id"]) for _, row in of_key), "", target),
                    columns=columns,
                )

    def notes(self) -> list[str]:
        told = (
            "texts that are all days or times (2024-05-31, 2024-05-31T12:00:00Z) become Date or "
            "DateTime: write String in the schema to keep them as they are"
        )
        return [told] if self._has_times else []

    def _columns(self, rows: list[dict[str, object]], file: str, lines: list[int]) -> Columns:
        columns = columns_of_rows(rows, file, lines)
        self._has_times |= not TIMES.isdisjoint(columns.types.values())
        return columns

    def _gathered(
        self, type_: str, key: Any
    ) -> Iterator[tuple[str, dict[Any, list[tuple[int, dict[str, Any]]]]]]:
        """Rows of one type in groups, so many at a time."""
        files = json_files(self._source)
        if not files:
            raise FileMissing(path=str(self._source / "*.json"))
        for path in files:
            groups: dict[Any, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
            count = 0
            for line, row in _rows(path):
                if row["type"] != type_:
                    continue
                try:
                    groups[key(row)].append((line, row))
                except (KeyError, TypeError) as error:
                    raise _no_row(path, line) from error
                if (count := count + 1) == BLOCK_ROWS:
                    yield str(path), groups
                    groups, count = defaultdict(list), 0
            if groups:
                yield str(path), groups


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with reading_file(path), path.open("rb") as file:
        number = 0
        while data := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(data) > MAX_LINE_BYTES:
                raise LimitExceeded(what=f"a line of {path}, in bytes,", limit=MAX_LINE_BYTES)
            if not data.strip():
                continue
            row = _read(data.rstrip(b"\r\n"), path, number)
            if row.get("type") not in ("node", "relationship") or not _has_id(row):
                raise _no_row(path, number)
            yield number, row


def _read(data: bytes, path: Path, line: int) -> dict[str, Any]:
    try:
        row = json.loads(data.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise SourceInvalid(file=place(path, line), reason="the line is not UTF-8") from error
    except json.JSONDecodeError as error:
        where = place(path, line, error.colno)
        raise SourceInvalid(file=where, reason=f"broken JSON: {error.msg}") from error
    except ValueError as error:  # a number of thousands of digits
        raise SourceInvalid(file=place(path, line), reason=f"broken JSON: {error}") from error
    except RecursionError as error:
        raise SourceInvalid(file=place(path, line), reason="the JSON is nested too deep") from error
    if not isinstance(row, dict):
        raise _no_row(path, line)
    return row


def _has_id(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    properties = row.get("properties")
    return isinstance(row.get("id"), str | int) and (
        properties is None or isinstance(properties, dict)
    )


def _labels(row: dict[str, Any], member: str) -> Labels:
    labels = row.get(member) or []
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise TypeError(member)
    return tuple(sorted(set(labels)))


def _edge_key(row: dict[str, Any]) -> tuple[str, Labels, Labels]:
    label, start, end = row["label"], row["start"], row["end"]
    if not (isinstance(label, str) and label) or not (_has_id(start) and _has_id(end)):
        raise TypeError("label")
    return label, _labels(start, "labels"), _labels(end, "labels")


def _no_row(path: Path, line: int) -> SourceInvalid:
    return SourceInvalid(
        file=place(path, line),
        reason="the line is neither a node nor a relationship of an APOC export",
        advice='a node is {"type": "node", "id": "0", "labels": [], "properties": {}}; '
        f"omnigraph load reads lines of other kinds ({clipped(path.name)})",
    )
