"""Blocks become tables: CSV beside the graph, in parts, with the line of the source for each line.

A part has rows of one file and one type, in the order that they have in the file, and is written
when it is large enough. What is waiting to be written is bounded, however many types there are.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.progress import Progress, silent
from omnigraph.pipeline.imports.blocks import Columns, EdgeBlock, NodeBlock, Reader, place
from omnigraph.pipeline.imports.propose import Proposal, ProposedType
from omnigraph.pipeline.imports.survey import (
    END_COLUMN,
    START_COLUMN,
    Survey,
    changed,
    resolving,
)
from omnigraph.pipeline.imports.values import recoded
from omnigraph.pipeline.sources.converted import ConvertedTables, TablePart
from omnigraph.pipeline.sources.splits import Origin
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore

__all__ = ["write_tables"]

# A part is a task's worth at most, and so is all that waits.
PART_BYTES = 32 << 20
WAITING_BYTES = 64 << 20


def write_tables(
    reader: Reader,
    found: Survey,
    proposal: Proposal,
    *,
    store: GraphStore,
    folder: str,
    name: str,
    tell: Progress = silent,
) -> ConvertedTables:
    """All rows of the source as tables, in a folder of the graph's storage."""
    written = _Tables(store, folder)
    rows = 0
    for block, type_, columns in _typed_blocks(reader, found, proposal):
        tell("convert", rows := rows + len(block.lines), 0)
        if len(block.lines):
            written.add(type_, block, columns)
    tables = tuple(type_.table for type_ in proposal.types)
    return ConvertedTables(name, tables, tuple(written.finish()))


def _typed_blocks(
    reader: Reader, found: Survey, proposal: Proposal
) -> Iterator[tuple[NodeBlock | EdgeBlock, ProposedType, dict[str, pa.Array]]]:
    """Each block with its type and the columns of the type's table, as far as it has them."""
    for block in reader.nodes():
        type_ = proposal.nodes[found.node_type(block)]
        key = {type_.properties[0].column: block.ids}
        yield block, type_, {**_cells(block.file, found.with_labels(block), type_), **key}
    with resolving(reader, found) as resolver:
        for whole in reader.edges():
            for join, part in resolver.parts(whole):
                edge = proposal.edges[found.edge_key(join, part.file)]
                ends = {START_COLUMN: part.source.ids, END_COLUMN: part.target.ids}
                yield part, edge, {**ends, **_cells(part.file, part.columns, edge)}


def _cells(file: str, columns: Columns, type_: ProposedType) -> dict[str, pa.Array]:
    want = {column.column: column.type for column in type_.properties}
    if not columns.cells.keys() <= want.keys():
        raise changed(file)
    return {
        name: recoded(cells, columns.types[name], want[name])
        for name, cells in columns.cells.items()
    }


@dataclass
class _Waiting:
    """Rows of a part that is not written yet."""

    type: ProposedType
    file: str
    tables: list[pa.Table] = field(default_factory=list)
    lines: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, table: pa.Table, lines: np.ndarray) -> None:
        self.tables.append(table)
        self.lines.append(lines)
        self.size += table.nbytes

    def in_order(self) -> tuple[pa.Table, np.ndarray]:
        """All rows as the file has them: a reader gives those of each set of labels together."""
        table, lines = pa.concat_tables(self.tables), np.concatenate(self.lines)
        if np.all(lines[:-1] <= lines[1:]):
            return table, lines
        order = np.argsort(lines, kind="stable")
        return table.take(pa.array(order)), lines[order]


class _Tables:
    def __init__(self, store: GraphStore, folder: str) -> None:
        self._root = store.root / folder
        # The tables are of no use once this process is gone: they need not survive a power cut.
        self._objects = self._root.objects(Durability.RELAXED)
        self._waiting: dict[tuple[str, str], _Waiting] = {}
        self._parts: list[TablePart] = []
        self._reading: tuple[str, type] | None = None
        self._last_line = 0

    def add(
        self, type_: ProposedType, block: NodeBlock | EdgeBlock, cells: dict[str, pa.Array]
    ) -> None:
        count = len(block.lines)
        if len(type_.columns) == 1:
            _refuse_blank(block, cells[type_.columns[0]])
        nulls = pa.nulls(count, pa.string())
        table = pa.table([cells.get(name, nulls) for name in type_.columns], list(type_.columns))
        if self._is_further(block):
            self._write_large()
        waiting = self._waiting.setdefault((block.file, type_.name), _Waiting(type_, block.file))
        waiting.add(table, block.lines.astype(np.int64))

    def _is_further(self, block: NodeBlock | EdgeBlock) -> bool:
        """True if the block comes after all that waits. A reader gives the rows of a stretch of its
        file in several blocks, and these may belong between each other."""
        reading = (block.file, type(block))
        if reading != self._reading:
            self._reading, self._last_line = reading, 0
        is_further = int(block.lines.min()) >= self._last_line
        self._last_line = max(self._last_line, int(block.lines.max()))
        return is_further

    def _write_large(self) -> None:
        for key, waiting in list(self._waiting.items()):
            if waiting.size >= PART_BYTES:
                self._write(self._waiting.pop(key))
        if sum(one.size for one in self._waiting.values()) >= WAITING_BYTES:
            self._write_all()

    def finish(self) -> list[TablePart]:
        self._write_all()
        return self._parts

    def _write_all(self) -> None:
        for waiting in self._waiting.values():
            self._write(waiting)
        self._waiting.clear()

    def _write(self, waiting: _Waiting) -> None:
        type_, number = waiting.type, len(self._parts)
        header = (",".join(_quoted(name) for name in type_.columns) + "\n").encode()
        before = header.count(b"\n")
        name, lines = f"{number}.csv", f"{number}.lines"
        table, of_row = waiting.in_order()
        records = io.BytesIO()
        pa_csv.write_csv(table, records, pa_csv.WriteOptions(include_header=False))
        data = header + records.getbuffer()
        numbers = np.concatenate([np.zeros(before, np.int64), _line_numbers(table, of_row)])
        self._objects.put(name, data)
        self._objects.put(lines, numbers.tobytes())
        self._parts.append(
            TablePart(
                table=type_.table,
                location=self._root / name,
                size=len(data),
                columns=type_.columns,
                header_bytes=len(header),
                header_lines=before,
                origin=Origin(waiting.file, self._root / lines),
            )
        )


def _line_numbers(table: pa.Table, of_row: np.ndarray) -> np.ndarray:
    """For each line of the records the line of the source; a record may take several."""
    newlines = np.zeros(len(of_row), np.int64)
    for column in table.columns:
        within = pc.fill_null(pc.count_substring(column, "\n"), 0)
        newlines += within.to_numpy().astype(np.int64)
    return np.repeat(of_row, newlines + 1)


def _refuse_blank(block: NodeBlock | EdgeBlock, cells: pa.Array) -> None:
    """A row of one empty cell would be a blank line, which is no row to a load."""
    if cells.null_count:
        line = int(block.lines[cells.is_null().to_numpy(zero_copy_only=False)][0])
        raise SourceInvalid(file=place(block.file, line), reason="the node has no id")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
