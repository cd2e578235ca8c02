"""Directories that `EXPORT DATABASE` of Kuzu or Ladybug has written: CSV or Parquet.

`schema.cypher` has the tables, with types. The files of their rows are named in `copy.cypher`;
newer Ladybug writes none, and names files by tables (`nodes_Person.parquet`, `rels_Knows.parquet`).
Types are declared, so a survey reads no rows.
"""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.errors import FileMissing, SourceInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import clipped
from omnigraph.lang.schema.check.resolve import MAX_VECTOR_WIDTH
from omnigraph.pipeline.imports.blocks import (
    BLOCK_ROWS,
    Columns,
    EdgeBlock,
    End,
    NodeBlock,
    place,
)
from omnigraph.pipeline.imports.cypher_text import (
    CopyFrom,
    NodeTable,
    RelTable,
    TableColumn,
    read_copies,
    read_tables,
)
from omnigraph.pipeline.imports.delimited_text import TextFile, text_blocks
from omnigraph.pipeline.imports.files import Source, SourceFile
from omnigraph.pipeline.imports.kuzu_parquet import opened_parquet
from omnigraph.pipeline.imports.values import cell_of, cells_of, mapped_cells, text_array

__all__ = ["COPIES", "SCHEMA", "KuzuReader"]

SCHEMA, COPIES = "schema.cypher", "copy.cypher"

TYPES: dict[str, Scalar] = {
    **dict.fromkeys(("BOOL", "BOOLEAN"), Scalar.BOOL),
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT"), Scalar.I32),
    **dict.fromkeys(("INT64", "SERIAL"), Scalar.I64),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), Scalar.U32),
    "UINT64": Scalar.U64,
    "FLOAT": Scalar.F32,
    **dict.fromkeys(("DOUBLE", "DECIMAL"), Scalar.F64),
    "DATE": Scalar.DATE,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_TZ", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_SEC"),
        Scalar.DATETIME,
    ),
    "BLOB": Scalar.BLOB,
    "STRING": Scalar.STRING,
}
KEPT_AS_TEXT = frozenset(
    ("INT128", "UINT128", "INTERVAL", "UUID", "STRUCT", "MAP", "UNION", "JSON")
)
BASE = re.compile(r"([A-Z0-9_]+)(\(.*\))?((?:\[[0-9]*\])*)", re.DOTALL)
ESCAPED_BYTE = re.compile(rb"\\x([0-9A-Fa-f]{2})")


@frozen
class _File:
    """A file with rows of a table, and what its columns are, in order."""

    source: SourceFile
    columns: tuple[str, ...]
    pair: tuple[str, str] | None
    options: dict[str, str]

    @property
    def is_parquet(self) -> bool:
        return self.source.suffix == ".parquet"

    @property
    def name(self) -> str:
        return self.source.file


class KuzuReader:
    def __init__(self, source: Source) -> None:
        self._source = source

    def survey_nodes(self) -> Iterator[NodeBlock]:
        for each in self._tables:
            for file in self._files_of(each):
                if file.is_parquet:
                    _check_parquet(file)
        for table in self._nodes.values():
            empty = _columns(table.columns, {}, but=table.key)
            yield self._node_block(table, self._source.name, np.empty(0), text_array([]), empty)

    def survey_edges(self) -> Iterator[EdgeBlock]:
        for table in self._rels.values():
            for pair in table.pairs:
                nobody, empty = text_array([]), _columns(table.columns, {})
                file = self._source.name
                yield self._edge_block(table, pair, file, np.empty(0), (nobody, nobody), empty)

    def nodes(self) -> Iterator[NodeBlock]:
        for table in self._nodes.values():
            for file in self._files_of(table):
                for lines, cells in self._rows(file, table.columns):
                    ids = cells.pop(table.key)
                    columns = _columns(table.columns, cells, but=table.key)
                    yield self._node_block(table, file.name, lines, ids, columns)

    def edges(self) -> Iterator[EdgeBlock]:
        for table in self._rels.values():
            for file in self._files_of(table):
                assert file.pair is not None, "files of edges have ends"
                keys = [self._key_column(name) for name in file.pair]
                typed = tuple(
                    TableColumn(name, key.type)
                    for name, key in zip(file.columns[:2], keys, strict=True)
                )
                for lines, cells in self._rows(file, (*typed, *table.columns)):
                    ends = cells.pop(file.columns[0]), cells.pop(file.columns[1])
                    columns = _columns(table.columns, cells)
                    yield self._edge_block(table, file.pair, file.name, lines, ends, columns)

    def notes(self) -> list[str]:
        is_csv = any(
            not file.is_parquet for table in self._tables for file in self._files_of(table)
        )
        told = []
        for table in self._tables:
            for column in table.columns:
                where = f"{clipped(table.name)}.{clipped(column.name)}"
                base, _ = _parts(column.type)
                if _our_type(column.type) is Scalar.STRING and base != "STRING":
                    told.append(f"{where} is {clipped(column.type)} and is kept as text")
                if base == "DECIMAL":
                    told.append(f"{where} is {column.type} and becomes a floating-point number")
                if is_csv and _our_type(column.type) == ListOf(Scalar.STRING):
                    told.append(
                        f"{where} has lists of text, which CSV of an export has without quotes: a "
                        "text with a comma is read as several. Export to Parquet to keep them"
                    )
        return told

    # Tables ---------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> list[NodeTable | RelTable]:
        tables = read_tables(self._text(SCHEMA), self._source.path(SCHEMA))
        for table in tables:
            for column in table.columns:
                _check_type(column, table)
        nodes = {table.name for table in tables if isinstance(table, NodeTable)}
        for table in tables:
            for name in _ends(table) - nodes:
                reason = f"{clipped(table.name)} joins {clipped(name)}, which is no node table"
                raise SourceInvalid(file=table.position, reason=reason)
        return tables

    @property
    def _nodes(self) -> dict[str, NodeTable]:
        return {table.name: table for table in self._tables if isinstance(table, NodeTable)}

    @property
    def _rels(self) -> dict[str, RelTable]:
        return {table.name: table for table in self._tables if isinstance(table, RelTable)}

    @cached_property
    def _copies(self) -> list[CopyFrom] | None:
        """None: the names of the files follow from those of the tables."""
        if self._source.get(COPIES) is None:
            return None
        copies = read_copies(self._text(COPIES), self._source.path(COPIES))
        for copy in copies:
            self._file(copy)
            if copy.table not in {table.name for table in self._tables}:
                reason = f"{SCHEMA} has no table {clipped(copy.table)}"
                raise SourceInvalid(file=copy.position, reason=reason)
        return copies

    def _text(self, name: str) -> str:
        path = self._source.path(name)
        if (file := self._source.get(name)) is None:
            raise FileMissing(path=path)
        data = b"".join(file.chunks())
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise SourceInvalid(file=place(path, line), reason="it is not UTF-8") from error

    def _file(self, copy: CopyFrom) -> SourceFile:
        """The file that a statement names. Others than those of the export are never read."""
        name = copy.file
        if PurePosixPath(name).is_absolute():  # where the export was written to
            name = PurePosixPath(name).name
        if (found := self._source.get(name)) is None:
            raise FileMissing(path=f"{self._source.path(copy.file)}, named in {copy.position}")
        return found

    # Files ----------------------------------------------------------------------------------------

    def _files_of(self, table: NodeTable | RelTable) -> Iterator[_File]:
        if self._copies is None:
            yield self._file_named_like(table)
            return
        for copy in self._copies:
            if copy.table != table.name:
                continue
            columns = copy.columns
            if columns is None:
                columns = tuple(column.name for column in table.columns)
            pair = None
            if isinstance(table, RelTable):
                pair = _pair_of(copy, table)
                columns = (":from", ":to", *columns)
            elif table.key not in columns:
                reason = f"it leaves out {clipped(table.key)}, the key of {clipped(table.name)}"
                raise SourceInvalid(file=copy.position, reason=reason)
            yield _File(self._file(copy), columns, pair, copy.options)

    def _file_named_like(self, table: NodeTable | RelTable) -> _File:
        kind, ends = ("nodes", ()) if isinstance(table, NodeTable) else ("rels", (":from", ":to"))
        name = f"{kind}_{table.name}.parquet"
        if (found := self._source.get(name)) is None:
            path = self._source.path(name)
            raise FileMissing(path=f"{path}, for the table of {table.position}")
        columns = (*ends, *(column.name for column in table.columns))
        pair = table.pairs[0] if isinstance(table, RelTable) else None
        return _File(found, columns, pair, {})

    def _rows(
        self, file: _File, columns: tuple[TableColumn, ...]
    ) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
        """Blocks of rows: where each stands, and the cells of each column."""
        types = {column.name: column.type for column in columns}
        is_parquet = file.is_parquet
        blocks = _parquet_blocks(file) if is_parquet else _csv_blocks(file)
        for lines, arrays in blocks:
            cells = {}
            for name, array in arrays.items():
                if name not in types:
                    raise SourceInvalid(file=file.name, column=name, reason=f"{SCHEMA} lacks it")
                read = cells_of if is_parquet else _text_cells
                cells[name] = _as_ours(read(array), types[name], is_text=not is_parquet)
            yield lines, cells

    # Blocks ---------------------------------------------------------------------------------------

    def _key_column(self, table: str) -> TableColumn:
        node = self._nodes[table]
        return next(column for column in node.columns if column.name == node.key)

    def _node_block(
        self, table: NodeTable, file: str, lines: np.ndarray, ids: pa.Array, columns: Columns
    ) -> NodeBlock:
        type_ = _our_type(self._key_column(table.name).type)
        return NodeBlock(
            file=file,
            lines=lines,
            space=table.name,
            labels=(table.name,),
            ids=ids,
            columns=columns,
            id_name=table.key,
            # A Blob is no key: it is kept as text.
            id_type=Scalar.STRING if type_ is Scalar.BLOB else type_,
        )

    def _edge_block(
        self,
        table: RelTable,
        pair: tuple[str, str],
        file: str,
        lines: np.ndarray,
        ends: tuple[pa.Array, pa.Array],
        columns: Columns,
    ) -> EdgeBlock:
        source, target = (End(ids, name) for ids, name in zip(ends, pair, strict=True))
        return EdgeBlock(
            file=file,
            lines=lines,
            label=table.name,
            source=source,
            target=target,
            columns=columns,
            is_to_one=table.is_to_one,
        )


# Types --------------------------------------------------------------------------------------------


def _our_type(type_: str) -> ValueType:
    base, dimensions = _parts(type_)
    scalar = TYPES.get(base, Scalar.STRING)
    if not dimensions:
        return scalar
    if len(dimensions) > 1 or scalar is Scalar.BLOB or base in KEPT_AS_TEXT:
        return Scalar.STRING
    if scalar is Scalar.F32 and dimensions[0] and 1 <= int(dimensions[0]) <= MAX_VECTOR_WIDTH:
        return VectorOf(int(dimensions[0]))
    return ListOf(scalar)


def _parts(type_: str) -> tuple[str, list[str]]:
    """The name of a type, and what stands in the square brackets behind it."""
    match = BASE.fullmatch(type_)
    if match is None:
        return type_, []
    return match[1], re.findall(r"\[([0-9]*)\]", match[3])


def _check_type(column: TableColumn, table: NodeTable | RelTable) -> None:
    base, _ = _parts(column.type)
    if base not in TYPES and base not in KEPT_AS_TEXT:
        raise SourceInvalid(
            file=table.position,
            column=f"{clipped(table.name)}.{clipped(column.name)}",
            reason=f"the type {clipped(column.type)} is not known",
        )


def _columns(
    columns: tuple[TableColumn, ...], cells: dict[str, pa.Array], but: str | None = None
) -> Columns:
    others = [column for column in columns if column.name != but]
    defaults = {
        column.name: cell_of(column.default_value, Scalar.STRING) or ""
        for column in others
        if column.default_value is not None
    }
    types = {column.name: _our_type(column.type) for column in others}
    return Columns(cells, types, is_optional=True, defaults=defaults)


def _ends(table: NodeTable | RelTable) -> set[str]:
    return {name for pair in table.pairs for name in pair} if isinstance(table, RelTable) else set()


def _pair_of(copy: CopyFrom, table: RelTable) -> tuple[str, str]:
    pair = (copy.options.get("from"), copy.options.get("to"))
    if pair == (None, None) and len(table.pairs) == 1:
        return table.pairs[0]
    found = next((known for known in table.pairs if known == pair), None)
    if found is None:
        reason = f"{clipped(table.name)} does not join the tables that from and to name"
        raise SourceInvalid(file=copy.position, reason=reason)
    return found


# Cells --------------------------------------------------------------------------------------------


def _check_parquet(file: _File) -> None:
    with opened_parquet(file.source) as parquet:
        names = parquet.schema_arrow.names
    if len(names) != len(file.columns):
        reason = f"it has {len(names)} columns, and its table {len(file.columns)}"
        raise SourceInvalid(file=file.name, reason=reason)


def _parquet_blocks(file: _File) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    first = 1
    with opened_parquet(file.source) as parquet:
        for batch in parquet.iter_batches(BLOCK_ROWS):
            lines = np.arange(first, first + batch.num_rows)
            yield lines, dict(zip(file.columns, batch.columns, strict=True))
            first += batch.num_rows


def _csv_blocks(file: _File) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    options = file.options
    for option, known in (("quote", '"'), ("escape", '"')):
        if options.get(option, known) != known:
            what = f"{option}={options[option]} in {file.name}"
            raise Unsupported(what=what, instead="export without this option, or to Parquet")
    has_header = options.get("header", "false").lower() == "true"
    delimiter = options.get("delim", options.get("delimiter", ","))
    if not (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n'):
        what = f"delim={clipped(delimiter)} in {file.name}"
        raise Unsupported(what=what, instead="export with another delimiter, or to Parquet")
    text = TextFile(file.source, delimiter)
    yield from text_blocks(text, file.columns, skip_header=has_header)


def _text_cells(array: pa.Array) -> pa.Array:
    return array


def _as_ours(cells: pa.Array, type_: str, *, is_text: bool) -> pa.Array:
    """Cells of Kuzu's as cells of ours: CSV writes some values in a way of its own."""
    if not is_text:
        return cells
    ours = _our_type(type_)
    match ours:
        case Scalar.DATETIME:
            return mapped_cells(cells, _moment)
        case Scalar.BLOB:
            return mapped_cells(cells, _blob)
        case ListOf(item=item):
            return mapped_cells(cells, lambda cell: _list(cell, item))
        case _:
            return cells


def _moment(cell: str) -> str:
    """`2024-05-31 12:00:00.25` and `2024-05-31 10:00:00+00`."""
    text = cell.replace(" ", "T", 1)
    return re.sub(r"([-+][0-9]{2})$", r"\1:00", text) if len(text) > 10 else text


def _blob(cell: str) -> str:
    data = ESCAPED_BYTE.sub(lambda match: bytes([int(match[1], 16)]), cell.encode())
    return text_from_blob(data)


def _list(cell: str, item: Scalar) -> str:
    """`[a,b]`: items stand there without quotes. What is no list is left to the load."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return cell
    items = cell[1:-1].split(",") if len(cell) > 2 else []
    if item is Scalar.DATETIME:
        items = [_moment(one) for one in items]
    if item in (Scalar.STRING, Scalar.DATE, Scalar.DATETIME):
        return json.dumps(items, ensure_ascii=False)
    return cell.lower() if item is Scalar.BOOL else cell
