"""Directories of CSV files as `neo4j-admin database import` takes them.

A file begins with its header, or has it in a file of its own: `movies-header.csv` beside
`movies.csv` or `movies-part1.csv`. Labels and types stand in columns; where a file has no such
column its name is the label.
"""

import datetime
import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import FileMissing, SourceInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar
from omnigraph.pipeline.imports.blocks import Columns, EdgeBlock, End, Labels, NodeBlock, place
from omnigraph.pipeline.imports.delimited_text import TextFile, first_line, text_blocks
from omnigraph.pipeline.imports.neo4j_header import (
    END,
    ID,
    LABEL,
    START,
    TYPE,
    Field,
    Header,
    has_role,
    read_header,
)
from omnigraph.pipeline.imports.values import mapped_cells

__all__ = ["Neo4jReader", "csv_files"]

SUFFIXES = (".csv", ".tsv", ".txt")
HEADER_WORD = re.compile(r"[-_. ]*headers?[-_. ]*", re.IGNORECASE)
OFFSET = re.compile(r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)$")
ZONE = re.compile(r"\[([^\]]+)\]$")


@frozen
class _File:
    path: Path
    header: Header
    label: str
    """Of its rows, where no column says it."""
    has_header: bool = True
    """True if the header is its own first line."""


def csv_files(source: Path) -> list[Path]:
    """The files of separated values at a path, by name."""
    if not source.is_dir():
        return [source]
    with reading_file(source):
        found = sorted(source.iterdir())
    return [path for path in found if path.suffix.lower() in SUFFIXES and path.is_file()]


class Neo4jReader:
    def __init__(self, source: Path) -> None:
        self._source = source

    def survey_nodes(self) -> Iterator[NodeBlock]:
        return self.nodes()

    def survey_edges(self) -> Iterator[EdgeBlock]:
        return self.edges()

    def nodes(self) -> Iterator[NodeBlock]:
        for file in self._files:
            if file.header.is_of_nodes:
                if file.header.with_role(LABEL) is None:
                    # Its name is the label, also where it has no rows.
                    yield _node_block(file, np.empty(0, np.int64), {}, (file.label,))
                for lines, cells in _rows(file):
                    yield from _node_blocks(file, lines, cells)

    def edges(self) -> Iterator[EdgeBlock]:
        for file in self._files:
            if not file.header.is_of_nodes:
                for lines, cells in _rows(file):
                    yield from _edge_blocks(file, lines, cells)

    def notes(self) -> list[str]:
        return [
            f"{file.path.name}: {field.name} is a time of day, a duration or a point, kept as text"
            for file in self._files
            for field in file.header.properties
            if field.is_kept_as_text
        ]

    @cached_property
    def _files(self) -> list[_File]:
        paths = csv_files(self._source)
        if not paths:
            raise FileMissing(path=str(self._source / "*.csv"))
        self._refuse_packed()
        headers: dict[str, Header] = {}
        found: list[_File] = []
        bare: list[Path] = []
        for path in paths:
            line, size = first_line(path)
            if not has_role(line):
                bare.append(path)
                continue
            header = read_header(line, place(path, 1))
            is_alone = path.stat().st_size == size and HEADER_WORD.search(path.stem) is not None
            if is_alone:
                headers[HEADER_WORD.sub("", path.stem)] = header
            else:
                found.append(_File(path, header, path.stem))
        found += [_with_header(path, headers) for path in bare if path.stat().st_size]
        return sorted(found, key=lambda file: file.path)

    def _refuse_packed(self) -> None:
        if not self._source.is_dir():
            return
        for path in sorted(self._source.iterdir()):
            if path.suffix.lower() in (".gz", ".zip"):
                instead = "unpack the file first"
                raise Unsupported(what=f"importing {path}", instead=instead)


def _with_header(path: Path, headers: dict[str, Header]) -> _File:
    """The file with the header of the longest name that its own begins with."""
    stem = max((name for name in headers if path.stem.startswith(name)), key=len, default=None)
    if stem is None:
        read_header(first_line(path)[0], place(path, 1))  # says what is missing
        raise AssertionError("a header without a role is refused")
    return _File(path, headers[stem], stem, has_header=False)


# Rows ---------------------------------------------------------------------------------------------


def _rows(file: _File) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Blocks of records as cells of ours."""
    header, text = file.header, TextFile(file.path, file.header.delimiter)
    part = "," if header.delimiter == ";" else ";"
    named = [*zip(header.columns, header.fields, strict=True)]
    for lines, cells in text_blocks(text, header.columns, skip_header=file.has_header):
        ours = {}
        for column, field in named:
            change = _change(field, part) if field.role is None else None
            ours[column] = cells[column] if change is None else mapped_cells(cells[column], change)
        yield lines, ours


def _node_blocks(file: _File, lines: np.ndarray, cells: dict[str, pa.Array]) -> Iterator[NodeBlock]:
    column = file.header.column_of(LABEL)
    if column is None:
        yield _node_block(file, lines, cells, (file.label,))
        return
    for text, rows in _groups(cells[column]):
        part = "," if file.header.delimiter == ";" else ";"
        labels = tuple(sorted({one.strip() for one in (text or "").split(part)} - {""}))
        yield _node_block(file, lines[rows], _taken(cells, rows), labels)


def _node_block(
    file: _File, lines: np.ndarray, cells: dict[str, pa.Array], labels: Labels
) -> NodeBlock:
    id_, column = file.header.with_role(ID), file.header.column_of(ID)
    assert id_ is not None and column is not None, "it is a file of nodes"
    return NodeBlock(
        file=str(file.path),
        lines=lines,
        space=id_.space,
        labels=labels,
        ids=cells.get(column, pa.array([], pa.string())),
        columns=_columns(file.header, cells),
        id_name=id_.name or None,
        id_type=id_.type,
    )


def _edge_blocks(file: _File, lines: np.ndarray, cells: dict[str, pa.Array]) -> Iterator[EdgeBlock]:
    column = file.header.column_of(TYPE)
    if column is None:
        yield _edge_block(file, lines, cells, file.label)
        return
    for text, rows in _groups(cells[column]):
        if not (label := (text or "").strip()):
            where = place(file.path, int(lines[rows[0]]))
            raise SourceInvalid(file=where, reason="the relationship has no type (:TYPE is empty)")
        yield _edge_block(file, lines[rows], _taken(cells, rows), label)


def _edge_block(
    file: _File, lines: np.ndarray, cells: dict[str, pa.Array], label: str
) -> EdgeBlock:
    source, target = (_end(file.header, role, cells) for role in (START, END))
    columns = _columns(file.header, cells)
    return EdgeBlock(str(file.path), lines, label, source, target, columns)


def _end(header: Header, role: str, cells: dict[str, pa.Array]) -> End:
    field, column = header.with_role(role), header.column_of(role)
    assert field is not None and column is not None, "it is a file of edges"
    return End(cells[column], field.space)


def _columns(header: Header, cells: dict[str, pa.Array]) -> Columns:
    fields = header.properties
    return Columns(
        {one.name: cells[one.name] for one in fields if one.name in cells},
        {one.name: one.type for one in fields},
    )


def _groups(labels: pa.Array) -> Iterator[tuple[str | None, np.ndarray]]:
    """The rows of each text, in the order in which the texts first come."""
    coded = labels.dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy()
    for code, text in enumerate(coded.dictionary.to_pylist()):
        yield text, np.flatnonzero(codes == code)


def _taken(cells: dict[str, pa.Array], rows: np.ndarray) -> dict[str, pa.Array]:
    return {name: pc.take(array, pa.array(rows)) for name, array in cells.items()}


# Cells --------------------------------------------------------------------------------------------


def _change(field: Field, part: str) -> Callable[[str], str | None] | None:
    """How a cell becomes one of ours; None: it is one already."""
    match field.type:
        case ListOf(item=item):
            return lambda cell: _list(cell, item, field, part)
        case Scalar.STRING:
            return None
        case Scalar.DATETIME:
            return lambda cell: _moment(cell.strip(), field)
        case _:
            # What is not text may have blanks around it.
            return lambda cell: cell.strip() or None


def _list(cell: str, item: Scalar, field: Field, part: str) -> str:
    items = cell.split(part) if cell else []
    match item:
        case Scalar.STRING:
            return json.dumps(items, ensure_ascii=False)
        case Scalar.DATE:
            return json.dumps([one.strip() for one in items])
        case Scalar.DATETIME:
            return json.dumps([_moment(one.strip(), field) for one in items])
        case _:
            # As JSON has numbers and truth values; a load says of the others what is wrong.
            return f"[{', '.join(one.strip().lower() for one in items)}]"


def _moment(cell: str, field: Field) -> str:
    """A time with the offset of its zone, as in `2024-05-31T12:00[Europe/Paris]`."""
    named = ZONE.search(cell)
    text = ZONE.sub("", cell)
    zone = named[1] if named else field.options.get("timezone")
    if zone is None or OFFSET.search(text[10:]):
        return text
    try:
        moment = datetime.datetime.fromisoformat(text)
        if OFFSET.fullmatch(zone):
            return f"{text}{zone}"
        return moment.replace(tzinfo=ZoneInfo(zone)).isoformat()
    except (ValueError, ZoneInfoNotFoundError):
        return cell
