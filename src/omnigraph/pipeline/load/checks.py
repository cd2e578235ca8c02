"""The set checks of a load: in memory if the load holds its rows, else over their files.

Checks see the load without the rows that were found at fault. A rejected row is as if it had never
been in the input: in a merge an earlier row with its id counts again, and a type of which no row is
left stays as it is in the graph.
"""

import uuid
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.check.sets.in_memory import IncomingRows, LookUp, RowsInMemory, SqlSession
from omnigraph.check.sets.protocol import SetChecks
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.load.id_join import NO_PLACES, show_incoming, show_present, staged_rows
from omnigraph.pipeline.load.load import LoadedTable, LoadMode, StagedLoad
from omnigraph.pipeline.load.row_sources import committed_rows
from omnigraph.pipeline.load.sets_in_files import IncomingFiles, RowsInFiles
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import RowSet, row_set
from omnigraph.store.snapshot import Snapshot

__all__ = ["NO_ROWS", "Excluded", "LoadChecks", "last_of_each"]

Excluded = Mapping[TableKey, np.ndarray]
"""By table, the places of rows that no longer count, ascending."""

NO_ROWS: Excluded = {}


class LoadChecks:
    """The checks of one load at one snapshot; matches of a merge are kept from round to round."""

    def __init__(
        self,
        runner: Runner,
        load: StagedLoad,
        snapshot: Snapshot,
        lookup: LookUp | None = None,
    ) -> None:
        """With `lookup`, of a load in memory, the rows that it finds are all that there are."""
        assert lookup is None or load.is_held, "files are checked beside all rows"
        self._runner = runner
        self._lookup = lookup
        self._load = load
        self._snapshot = snapshot
        self._sql = SqlSession()
        self._matches: dict[TableKey, _Matches] = {}

    def without(self, excluded: Excluded) -> SetChecks:
        """The checks of the load as if the rows in `excluded` had never been in the input."""
        return self._in_memory(excluded) if self._load.is_held else self._in_files(excluded)

    def _in_memory(self, excluded: Excluded) -> RowsInMemory:
        is_merge = self._load.mode is LoadMode.MERGE
        incoming: dict[TableKey, IncomingRows] = {}
        for key, table in self._load.tables.items():
            places = np.setdiff1d(np.arange(table.rows), excluded.get(key, NO_PLACES))
            if is_merge:
                ids = table.held[ID].combine_chunks().take(pa.array(places))
                places = places[last_of_each(ids)]
            if len(places):
                rows = table.held.take(pa.array(places))
                must_be_new = table.ids_may_clash and not is_merge
                incoming[key] = IncomingRows(rows, must_be_new=must_be_new, places=places)
        return RowsInMemory(incoming, self._snapshot, self._sql, self._lookup)

    def _in_files(self, excluded: Excluded) -> RowsInFiles:
        mode = self._load.mode
        incoming: dict[TableKey, IncomingFiles] = {}
        for key, table in self._load.tables.items():
            ignored, replaced = excluded.get(key, NO_PLACES), None
            if mode is LoadMode.MERGE:
                matches = self._match(table, ignored)
                ignored, replaced = np.union1d(ignored, matches.superseded), matches.replaced
            if table.rows > len(ignored):
                incoming[key] = IncomingFiles(
                    [*staged_rows(table, excluded=ignored)],
                    must_be_new=table.ids_may_clash and mode is not LoadMode.MERGE,
                    replaces_all=mode is LoadMode.OVERWRITE,
                    replaced=replaced,
                )
        return RowsInFiles(
            self._runner,
            self._snapshot,
            incoming,
            is_likely_clean=not excluded,
            limits=self._load.limits,
        )

    def _match(self, table: LoadedTable, excluded: np.ndarray) -> "_Matches":
        """Found anew only where rows of the table have gone."""
        key = table.entity.table_key
        known = self._matches.get(key)
        if known is None or known.without != len(excluded):
            self._matches[key] = _find_matches(
                self._runner, self._load, self._snapshot, table, excluded
            )
        return self._matches[key]


# Merges -------------------------------------------------------------------------------------------


def last_of_each(ids: pa.Array) -> np.ndarray:
    """The places of the rows that no later row with their id supersedes, in order."""
    distinct = ids.dictionary_encode()
    last = np.empty(len(distinct.dictionary), dtype=np.int64)
    # Of several assignments to one place NumPy keeps the last.
    last[distinct.indices.to_numpy()] = np.arange(len(ids))
    return np.sort(last)


@frozen(slots=False, eq=False)
class _Matches:
    """The rows that a merge of a table supersedes or replaces, without so many of its rows."""

    without: int
    superseded: np.ndarray
    """Places of rows that have a later one with their id."""
    replaced: RowSet | None


SUPERSEDED = """
SELECT older.place AS number, older.place % {buckets} AS bucket
FROM {incoming} AS older
JOIN (SELECT term, max(place) AS place FROM {incoming} GROUP BY term HAVING count(*) > 1) AS newest
ON newest.term = older.term
WHERE older.place < newest.place
"""

REPLACED = """
SELECT row_id AS number, row_id % {buckets} AS bucket
FROM {present} AS present
WHERE EXISTS (SELECT 1 FROM {incoming} AS incoming WHERE incoming.term = present.term)
"""


def _find_matches(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, table: LoadedTable, excluded: np.ndarray
) -> _Matches:
    # Views are the session's, which others may share: the names are ours alone.
    unique = uuid.uuid4().hex
    names = {"incoming": f"checked_{unique}", "present": f"present_{unique}"}
    buckets = runner.parallelism
    incoming = [*staged_rows(table, excluded=excluded)]
    show_incoming(runner, names["incoming"], incoming)
    present = committed_rows(snapshot.root, snapshot.dataset(table.entity))
    show_present(runner, names["present"], present, incoming=incoming, limits=load.limits)
    try:
        superseded, replaced = (
            runner.run_over(
                statement.format(buckets=buckets, **names),
                _numbers,
                by="bucket",
                then="number",
                tasks=buckets,
                doing="finding rows that are there already",
            )
            for statement in (SUPERSEDED, REPLACED)
        )
    finally:
        for name in names.values():
            runner.forget(name)
    row_ids = np.concatenate([NO_PLACES, *replaced]).astype(np.uint64)
    return _Matches(
        without=len(excluded),
        superseded=np.sort(np.concatenate([NO_PLACES, *superseded])),
        replaced=row_set(row_ids) if len(row_ids) else None,
    )


def _numbers(bucket: int, rows: pa.Table) -> np.ndarray:
    numbers: np.ndarray = rows["number"].to_numpy()
    return numbers
