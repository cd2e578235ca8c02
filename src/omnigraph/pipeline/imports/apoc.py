"""Lines of JSON as `apoc.export.json` of Neo4j writes them: a node or a relationship a line.

    {"type":"node","id":"0","labels":["Person"],"properties":{"name":"Ada"}}
    {"id":"0","type":"relationship","label":"KNOWS","properties":{"since":1833},
     "start":{"id":"0","labels":["Person"]},"end":{"id":"1","labels":["Person"]}}

The database's own numbers are the only ids there are, so they become the keys.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from omnigraph.base.errors import FileMissing, SourceInvalid
from omnigraph.base.types import Scalar
from omnigraph.base.words import is_whole
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
from omnigraph.pipeline.imports.files import Source, SourceFile
from omnigraph.pipeline.imports.values import text_array
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.sources.lines import BYTE_ORDER_MARK

__all__ = ["SUFFIXES", "ApocReader"]

SUFFIXES = (".json", ".jsonl", ".ndjson")
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
TIMES = frozenset((Scalar.DATE, Scalar.DATETIME))
MAX_LINE_BYTES = InputLimits().max_line_bytes
EXPORT_LINES = "export with jsonFormat: 'JSON_LINES', the default of apoc.export.json"


class ApocReader:
    def __init__(self, source: Source) -> None:
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
                columns = self._columns(properties)
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
                columns = self._columns(properties)
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

    def _columns(self, rows: list[dict[str, object]]) -> Columns:
        columns = columns_of_rows(rows)
        self._has_times |= not TIMES.isdisjoint(columns.types.values())
        return columns

    def _gathered(
        self, type_: str, key: Any
    ) -> Iterator[tuple[str, dict[Any, list[tuple[int, dict[str, Any]]]]]]:
        """Rows of one type in groups, so many at a time."""
        files = self._source.with_suffixes(SUFFIXES)
        if not files:
            raise FileMissing(path=self._source.path("*.json"))
        for source in files:
            path = source.file
            groups: dict[Any, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
            count = 0
            for line, row in _rows(source):
                if row["type"] != type_:
                    continue
                try:
                    groups[key(row)].append((line, row))
                except (KeyError, TypeError) as error:
                    raise _no_row(path, line) from error
                if (count := count + 1) == BLOCK_ROWS:
                    yield path, groups
                    groups, count = defaultdict(list), 0
            if groups:
                yield path, groups


def _rows(source: SourceFile) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, data in enumerate(source.lines(MAX_LINE_BYTES), 1):
        if not data.strip():
            continue
        row = _read(data.rstrip(b"\r"), source.file, number)
        if row.get("type") not in ("node", "relationship") or not _has_id(row):
            raise _no_row(source.file, number)
        yield number, row


def _read(data: bytes, path: str, line: int) -> dict[str, Any]:
    if line == 1 and data.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"["):
        reason = "the file is one array of JSON, and not a line for each node and relationship"
        raise SourceInvalid(file=place(path, line), reason=reason, advice=EXPORT_LINES)
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
    if SURROGATE.search(data) and not is_whole(json.dumps(row, ensure_ascii=False)):
        reason = "a text contains half of a surrogate pair, which is not text"
        raise SourceInvalid(file=place(path, line), reason=reason)
    return row


def _has_id(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    properties = row.get("properties")
    id_ = row.get("id")
    return (
        isinstance(id_, str | int)
        and not isinstance(id_, bool)
        and (properties is None or isinstance(properties, dict))
    )


def _labels(row: dict[str, Any], member: str) -> Labels:
    labels = row.get(member) or []
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise TypeError(member)
    return tuple(sorted(set(labels)))


def _end_labels(end: dict[str, Any]) -> Labels | None:
    """None: the edge does not say, so the node is looked for."""
    return _labels(end, "labels") if end.get("labels") else None


def _edge_key(row: dict[str, Any]) -> tuple[str, Labels | None, Labels | None]:
    label, start, end = row["label"], row["start"], row["end"]
    if not (isinstance(label, str) and label) or not (_has_id(start) and _has_id(end)):
        raise TypeError("label")
    return label, _end_labels(start), _end_labels(end)


def _no_row(path: str, line: int) -> SourceInvalid:
    return SourceInvalid(
        file=place(path, line),
        reason="the line is neither a node nor a relationship of an APOC export",
        advice='a node is {"type": "node", "id": "0", "labels": [], "properties": {}}; '
        f"{EXPORT_LINES}. omnigraph load reads lines of other kinds",
    )
