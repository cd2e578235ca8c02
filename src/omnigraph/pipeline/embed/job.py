"""The driver of an embedding: which rows, which texts, and the work of its commit."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.choices import EmbedOnly
from omnigraph.base.errors import EmbedTextRefused
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.progress import Progress
from omnigraph.base.violations import Violation
from omnigraph.embed.digests import DIGEST
from omnigraph.embed.kept import KeptVectors, Whereabouts
from omnigraph.embed.origins import FACTS
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.targets import TableTarget, VectorTarget
from omnigraph.embed.texts import Refused
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.embed.fill import Fill, Filled, FillTask, fill_rows
from omnigraph.pipeline.embed.find import FindTask, Found, find_rows, united
from omnigraph.pipeline.embed.make import MakeTask, make_vectors
from omnigraph.pipeline.load.row_sources import committed_rows
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.store.datasets import ROW_ID, Dataset, row_set
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Replacement

__all__ = ["EmbedJob", "EmbeddedTables"]

# Texts of one task: what is lost if it dies. A core makes so many vectors in a quarter of a minute.
TASK_TEXTS = 1_024

# Arrow bytes of the rows that a task writes.
TASK_BYTES = 128 << 20
MIN_TASK_ROWS = 1_024


# Of more rows whose text is refused, an error names so many and counts all.
MAX_NAMED_ROWS = 1_000


@frozen(slots=False)
class EmbeddedTables:
    """What an embedding does to each table, at one snapshot."""

    tables: dict[TableKey, Replacement]
    facts: pa.Table
    made: dict[str, dict[str, int]]
    """Rows that get another vector, by type and property."""
    emptied: int


@frozen(slots=False, eq=False)
class _Wanted:
    """Rows of a table that get vectors in one column, or lose them."""

    table: TableTarget
    dataset: Dataset
    target: VectorTarget
    found: Found


@frozen(slots=False)
class EmbedJob:
    runner: Runner
    area: StagingArea
    kept: KeptVectors
    config: EmbedConfig
    model: str
    tell: Progress

    def embed(
        self, snapshot: Snapshot, targets: Sequence[TableTarget], only: EmbedOnly
    ) -> EmbeddedTables:
        wanted = [w for table in targets for w in self._find(snapshot, table, only)]
        where = self._make(snapshot, wanted)
        tables: dict[TableKey, Replacement] = {}
        made: dict[str, dict[str, int]] = {}
        facts, emptied = [FACTS.empty_table()], 0
        for table in targets:
            mine = [w for w in wanted if w.table is table]
            parts = self._fill(snapshot, table, mine, where)
            made[table.entity.name] = {
                vector.name: sum(part.made[vector.name] for part in parts)
                for vector in table.vectors
            }
            emptied += sum(part.emptied for part in parts)
            facts += [part.facts for part in parts]
            if any(part.fragments for part in parts):
                tables[table.entity.table_key] = _replacement(snapshot, table, parts)
        return EmbeddedTables(tables, pa.concat_tables(facts), made, emptied)

    def _find(self, snapshot: Snapshot, table: TableTarget, only: EmbedOnly) -> Iterator[_Wanted]:
        dataset = snapshot.dataset(table.entity)
        for target in table.vectors:
            tasks = [
                FindTask(rows, target, only, self.model)
                for rows in committed_rows(snapshot.root, dataset)
            ]
            ran = self.runner.run(tasks, find_rows, doing="finding rows to embed")
            yield _Wanted(table, dataset, target, united([one.result for one in ran]))

    def _make(self, snapshot: Snapshot, wanted: Sequence[_Wanted]) -> dict[int, Whereabouts]:
        """Have the vectors of all texts made that are not kept already; where each lies, by width.

        A text is embedded once, however many rows have it.
        """
        where = {w.target.width: self.kept.whereabouts(w.target.width) for w in wanted}
        tasks: list[MakeTask] = []
        for each in wanted:
            width, known = each.target.width, where[each.target.width]
            texts, first = _once(each.found.texts)
            lacking = known.lacks(texts).to_numpy(zero_copy_only=False)
            texts, rows = texts.filter(pa.array(lacking)), each.found.row_ids[first[lacking]]
            starts = range(0, len(rows), TASK_TEXTS)
            objects = [self.kept.new_object(width) for _ in starts]
            tasks += [
                MakeTask(
                    root=snapshot.root,
                    ref=each.dataset.ref,
                    source=each.target.source,
                    row_ids=rows[start : start + TASK_TEXTS],
                    width=width,
                    config=self.config,
                    kept_in=name,
                )
                for start, name in zip(starts, objects, strict=True)
            ]
            where[width] = known.with_more(texts, np.arange(len(rows)) // TASK_TEXTS, objects)
        if refused := self._run(tasks):
            raise _refusal(wanted, refused)
        return where

    def _run(self, tasks: Sequence[MakeTask]) -> dict[bytes, Refused]:
        """The texts that the provider refuses, by their digests. All others are kept."""
        done = np.cumsum([0, *(len(task.row_ids) for task in tasks)]).tolist()
        self.tell("embed", 0, done[-1])
        ran = self.runner.run(
            tasks,
            make_vectors,
            doing="embedding texts",
            on_progress=lambda count: self.tell("embed", done[count], done[-1]),
        )
        return {text: refused for one in ran for text, refused in one.result.items()}

    def _fill(
        self,
        snapshot: Snapshot,
        table: TableTarget,
        wanted: Sequence[_Wanted],
        where: dict[int, Whereabouts],
    ) -> list[Filled]:
        row_ids = np.unique(
            np.concatenate([r for w in wanted for r in (w.found.row_ids, w.found.emptied)])
        )
        dataset, home = wanted[0].dataset, snapshot.home(table.entity)
        size = max(MIN_TASK_ROWS, TASK_BYTES // dataset.row_bytes) if len(row_ids) else 1
        tasks = []
        for start in range(0, len(row_ids), size):
            part = row_ids[start : start + size]
            fills = tuple(_fill_of(w, part, where[w.target.width]) for w in wanted)
            tasks.append(FillTask(snapshot.root, dataset.ref, home, table.entity, fills))
        ran = self.runner.run(tasks, fill_rows, doing="writing rows with their vectors")
        for one in ran:
            self.area.add(home.location, one.result.fragments)
        return [one.result for one in ran]


def _refusal(wanted: Sequence[_Wanted], refused: Mapping[bytes, Refused]) -> EmbedTextRefused:
    """The error that names the rows with these texts."""
    texts = pa.array(list(refused), DIGEST)
    count = 0
    rows: list[Violation] = []
    for each in wanted:
        is_refused = pc.is_in(each.found.texts, value_set=texts)
        row_ids = each.found.row_ids[is_refused.to_numpy(zero_copy_only=False)]
        count += len(row_ids)
        named = row_ids[: MAX_NAMED_ROWS - len(rows)]
        ids = each.dataset.rows_at(row_set(named), [ID])
        by_row_id = dict(zip(ids[ROW_ID].to_pylist(), ids[ID].to_pylist(), strict=True))
        whys = (refused[text] for text in each.found.texts.filter(is_refused).to_pylist())
        rows += [
            why.violation(each.table.entity.name, by_row_id[row_id], each.target.source_name)
            for row_id, why in zip(named.tolist(), whys, strict=False)
        ]
    return EmbedTextRefused(count=count, rows=tuple(rows))


def _once(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Each text once, and the place where it stands first."""
    encoded = texts.dictionary_encode()
    _, first = np.unique(encoded.indices.to_numpy(), return_index=True)
    return encoded.dictionary, first


def _fill_of(wanted: _Wanted, row_ids: NDArray[np.uint64], where: Whereabouts) -> Fill:
    """What one column gets in these rows, which follow each other."""
    found = wanted.found
    mine, emptied = (_within(ids, row_ids) for ids in (found.row_ids, found.emptied))
    part = Found(
        found.row_ids[mine],
        pc.take(found.texts, pa.array(np.arange(mine.start, mine.stop))),
        found.emptied[emptied],
    )
    return Fill(wanted.target, part, where.find(part.texts))


def _within(ids: NDArray[np.uint64], row_ids: NDArray[np.uint64]) -> slice:
    start = int(np.searchsorted(ids, row_ids[0]))
    return slice(start, int(np.searchsorted(ids, row_ids[-1], side="right")))


def _replacement(snapshot: Snapshot, table: TableTarget, parts: Sequence[Filled]) -> Replacement:
    return Replacement(
        base=snapshot.tables[table.entity.table_key].ref,
        fragments=tuple(fragment for part in parts for fragment in part.fragments),
        addresses=np.concatenate([part.addresses for part in parts]),
        inserted=0,
        written_at=snapshot.location(table.entity),
    )
