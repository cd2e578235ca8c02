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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import FileMissing, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar
from omnigraph.pipeline.imports.blocks import Columns, EdgeBlock, End, Labels, NodeBlock, place
from omnigraph.pipeline.imports.delimited_text import TextFile, first_line, text_blocks
from omnigraph.pipeline.imports.files import Source, SourceFile
from omnigraph.pipeline.imports.neo4j_header import (
    END,
    ID,
    LABEL,
    OFFSET,
    START,
    TYPE,
    Field,
    Header,
    is_header,
    read_header,
    zone_of,
)
from omnigraph.pipeline.imports.values import mapped_cells

__all__ = ["SUFFIXES", "Neo4jReader"]

SUFFIXES = (".csv", ".tsv", ".txt")
HEADER_WORD = re.compile(r"[-_. ]*headers?[-_. ]*", re.IGNORECASE)
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
FRACTION = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", re.ASCII)
ZONE = re.compile(r"\[([^\]]+)\]$")


@frozen
class _File:
    source: SourceFile
    header: Header
    label: str
    """Of its rows, where no column says it."""
    has_header: bool = True
    """True if the header is its own first line."""

    @property
    def path(self) -> str:
        """What messages call it."""
        return self.source.file


class Neo4jReader:
    def __init__(self, source: Source) -> None:
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
                for lines, cells in _rows(file, self._number_spaces):
                    yield from _node_blocks(file, lines, cells)

    def edges(self) -> Iterator[EdgeBlock]:
        for file in self._files:
            if not file.header.is_of_nodes:
                for lines, cells in _rows(file, self._number_spaces):
                    yield from _edge_blocks(file, lines, cells)

    def notes(self) -> list[str]:
        return [
            f"{file.source.location.name}: {field.name} is a time of day, a duration or a point, "
            "kept as text"
            for file in self._files
            for field in file.header.properties
            if field.is_kept_as_text
        ]

    @cached_property
    def _number_spaces(self) -> frozenset[str]:
        """Spaces of ids that are whole numbers: `007` is 7 there, wherever it stands."""
        ids = (file.header.with_role(ID) for file in self._files)
        return frozenset(id_.space for id_ in ids if id_ is not None and id_.type is Scalar.I64)

    @cached_property
    def _files(self) -> list[_File]:
        sources = self._source.with_suffixes(SUFFIXES)
        if not sources:
            raise FileMissing(path=self._source.path("*.csv"))
        headers: dict[str, Header] = {}
        found: list[_File] = []
        bare: list[SourceFile] = []
        for source in sources:
            line = first_line(source)
            if not is_header(line.text):
                bare.append(source)
                continue
            header = read_header(line.text, place(source.file, 1))
            if line.is_all and HEADER_WORD.search(source.stem) is not None:
                headers[HEADER_WORD.sub("", source.stem)] = header
            else:
                found.append(_File(source, header, source.stem))
        found += [_with_header(source, headers) for source in bare if source.head(1)]
        return sorted(found, key=lambda file: file.path)


def _with_header(source: SourceFile, headers: dict[str, Header]) -> _File:
    """The file with the header of the longest name that its own begins with."""
    stem = max((name for name in headers if source.stem.startswith(name)), key=len, default=None)
    if stem is None:
        read_header(first_line(source).text, place(source.file, 1))  # says what is missing
        raise AssertionError("a header without a role is refused")
    return _File(source, headers[stem], stem, has_header=False)


# Rows ---------------------------------------------------------------------------------------------


def _rows(
    file: _File, number_spaces: frozenset[str]
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Blocks of records as cells of ours."""
    header, text = file.header, TextFile(file.source, file.header.delimiter)
    named = [*zip(header.columns, header.fields, strict=True)]
    for lines, cells in text_blocks(text, header.columns, skip_header=file.has_header):
        ours = {}
        for column, field in named:
            if field.role is None:
                change = _change(field, _part(header))
            else:
                is_number = field.role in (ID, START, END) and field.space in number_spaces
                change = _whole_number if is_number else None
            ours[column] = cells[column] if change is None else mapped_cells(cells[column], change)
        yield lines, ours


def _node_blocks(file: _File, lines: np.ndarray, cells: dict[str, pa.Array]) -> Iterator[NodeBlock]:
    columns, part = file.header.columns_of(LABEL), _part(file.header)
    if not columns:
        yield _node_block(file, lines, cells, (file.label,))
        return
    texts = [pc.fill_null(cells[column], "") for column in columns]
    for text, rows in _groups(pc.binary_join_element_wise(*texts, part)):
        labels = tuple(sorted({one.strip() for one in (text or "").split(part)} - {""}))
        yield _node_block(file, lines[rows], _taken(cells, rows), labels)


def _node_block(
    file: _File, lines: np.ndarray, cells: dict[str, pa.Array], labels: Labels
) -> NodeBlock:
    id_, column = file.header.with_role(ID), file.header.column_of(ID)
    assert id_ is not None and column is not None, "it is a file of nodes"
    return NodeBlock(
        file=file.path,
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
    return EdgeBlock(file.path, lines, label, source, target, columns)


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


def _part(header: Header) -> str:
    """What stands between the items of a list."""
    return "," if header.delimiter == ";" else ";"


def _change(field: Field, part: str) -> Callable[[str], str | None] | None:
    """How a cell becomes one of ours; None: it is one already."""
    match field.type:
        case ListOf(item=item):
            return lambda cell: _list(cell, item, field, part)
        case Scalar.STRING:
            return None
        case Scalar.DATETIME:
            return lambda cell: _moment(cell.strip(), field) or None
        case Scalar.DATE:
            return lambda cell: _day(cell.strip()) or None
        case _:
            # What is not text may have blanks around it.
            return lambda cell: cell.strip() or None


def _list(cell: str, item: Scalar, field: Field, part: str) -> str:
    items = cell.split(part) if cell else []
    match item:
        case Scalar.STRING:
            return json.dumps(items, ensure_ascii=False)
        case Scalar.DATE:
            return json.dumps([_day(one.strip()) for one in items])
        case Scalar.DATETIME:
            return json.dumps([_moment(one.strip(), field) for one in items])
        case _:
            # As JSON has numbers and truth values; a load says of the others what is wrong.
            return f"[{', '.join(_plain(one.strip(), item) for one in items)}]"


def _plain(text: str, item: Scalar) -> str:
    if item is Scalar.I64:
        return _whole_number(text) or ""
    if item is Scalar.F64 and FRACTION.fullmatch(text):
        return repr(float(text))
    return text.lower()


def _whole_number(cell: str) -> str | None:
    """`007` is 7: so a node is found whichever way its id is written."""
    text = cell.strip()
    return str(int(text)) if WHOLE_NUMBER.fullmatch(text) else text or None


def _day(text: str) -> str:
    """`20240531` and `2024-W22-5` too, as Neo4j takes them."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        return text


def _moment(cell: str, field: Field) -> str:
    """A time with the offset of its zone, or in UTC: `2024-05-31T12:00[Europe/Paris]`."""
    named = ZONE.search(cell)
    text = ZONE.sub("", cell)
    zone = named[1] if named else field.options.get("timezone")
    if zone is None or OFFSET.search(text[10:]):
        return text
    if OFFSET.fullmatch(zone):
        return f"{text}{zone}"
    try:
        moment = datetime.datetime.fromisoformat(text).replace(tzinfo=zone_of(zone))
        if moment.tzinfo is not None:
            # An offset of long ago may have seconds, which a load does not take.
            return moment.astimezone(datetime.UTC).isoformat()
    except (ValueError, OverflowError):
        pass
    # A load says what is wrong, and does not take it for a time of UTC.
    return f"{text}[{zone}]"
