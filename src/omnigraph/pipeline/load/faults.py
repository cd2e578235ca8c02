"""What is wrong with a load's rows together, and which of them are at fault.

Rules over many rows are asked for everyone at fault (`write.blame`), whom they name no longer
counts, and the next question is asked, until nothing is wrong. A rejected row is as if it had never
been in the input: in a merge an earlier row with its id counts again, and a type of which no row is
left stays as it is in the graph. Nothing is written here: see `takeout`.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import ConstraintViolated, InputUnreadable, RejectedTooMany
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import UNREADABLE, Violations
from omnigraph.check.sets.fault_queries import certain
from omnigraph.check.sets.in_memory import Arriving, Asking, judge, rows_at_fault
from omnigraph.check.sets.rules import Breach, Reading, Touch, plan_readings, report
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.load.id_join import NO_PLACES, show_incoming, show_present, staged_rows
from omnigraph.pipeline.load.load import LoadedTable, LoadMode, StagedLoad
from omnigraph.pipeline.load.resolve import Image, last_of_each
from omnigraph.pipeline.load.row_origin import Locator
from omnigraph.pipeline.load.sets_in_files import (
    Sources,
    check_sets,
    committed_rows,
    find_at_fault,
    is_broken,
)
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import RowSet, row_set
from omnigraph.store.snapshot import Snapshot

__all__ = ["Faults", "Out", "find_faults", "places_of", "refusal"]

Out = Mapping[TableKey, np.ndarray]
"""The places of rows that no longer count."""

Faults = dict[tuple[TableKey, int], list[Breach]]
"""By table and place: the rows at fault, and what is held against each."""


def find_faults(runner: Runner, load: StagedLoad, snapshot: Snapshot, *, max_errors: int) -> Faults:
    """The rows without which nothing is wrong; raise if more would go than may be rejected."""
    judge_ = _judge(runner, load, snapshot)
    faults: Faults = {}
    while True:
        room = max_errors - load.rejected - len(faults)
        if room < 0:
            raise refusal(runner, load, snapshot, max_errors=max_errors)
        found = judge_.at_fault(places_of(faults), limit_rows=room + 1)
        if kept := [breach.violation for breach in found if breach.place is None]:
            # Nothing that could be taken out of the load would put this right.
            raise ConstraintViolated(Violations.of(kept))
        if not found:
            return faults
        for breach in found:
            assert breach.place is not None
            faults.setdefault((breach.entity.table_key, breach.place), []).append(breach)


def places_of(faults: Faults) -> Out:
    out: dict[TableKey, list[int]] = {}
    for key, place in faults:
        out.setdefault(key, []).append(place)
    return {key: np.sort(np.array(places, dtype=np.int64)) for key, places in out.items()}


def refusal(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, *, max_errors: int | None = None
) -> ConstraintViolated:
    """Why nothing of the load is published: every kind of violation, of rows alone and together.

    Of rules over many rows only those are asked that the rejected rows could not have satisfied: an
    edge to a node whose line was broken is not reported as if the node had never been there.
    """
    violations = Violations()
    violations.merge(load.violations)
    found = _judge(runner, load, snapshot).breaches()
    violations.merge(report(found, Locator(load).place))
    if max_errors is not None:
        return RejectedTooMany(violations, max_errors=max_errors)
    is_unreadable = any(kind in UNREADABLE for kind, _, _ in violations.counts)
    return InputUnreadable(violations) if is_unreadable else ConstraintViolated(violations)


# Judges -------------------------------------------------------------------------------------------


class _Judge(Protocol):
    def at_fault(self, out: Out, *, limit_rows: int) -> Sequence[Breach]:
        """Rows at fault for what is wrong first, of those that still count; at most so many."""

    def breaches(self) -> Sequence[Breach]:
        """All that is surely wrong: counts, and the first few of each rule."""


def _judge(runner: Runner, load: StagedLoad, snapshot: Snapshot) -> _Judge:
    return _OfHeldRows(load, snapshot) if load.is_held else _OfFiles(runner, load, snapshot)


@dataclass(frozen=True)
class _OfHeldRows:
    """Rows in memory: only what they are about is looked up."""

    load: StagedLoad
    snapshot: Snapshot
    asking: Asking = field(default_factory=Asking)

    def at_fault(self, out: Out, *, limit_rows: int) -> Sequence[Breach]:
        chosen = {key: self._chosen(table, out) for key, table in self.load.tables.items()}
        arriving = self._arriving(chosen)
        found = rows_at_fault(arriving, self.snapshot, self.asking, limit_rows=limit_rows)
        return _placed(found, chosen)

    def breaches(self) -> Sequence[Breach]:
        chosen = {key: self._chosen(table, {}) for key, table in self.load.tables.items()}
        rejected = _rejected_types(self.load)
        found = judge(self._arriving(chosen), self.snapshot, rejected=rejected).breaches
        return _placed(found, chosen)

    def _chosen(self, table: LoadedTable, out: Out) -> np.ndarray:
        places = np.setdiff1d(np.arange(table.rows), out.get(table.entity.table_key, NO_PLACES))
        if self.load.mode is not LoadMode.MERGE:
            return places
        ids = table.held[ID].combine_chunks().take(pa.array(places))
        newest: np.ndarray = places[last_of_each(ids)]
        return newest

    def _arriving(self, chosen: Out) -> dict[TableKey, Arriving]:
        is_merge = self.load.mode is LoadMode.MERGE
        return {
            key: Arriving(
                table.held.take(pa.array(chosen[key])),
                must_be_new=table.ids_may_clash and not is_merge,
            )
            for key, table in self.load.tables.items()
            if len(chosen[key])
        }


def _rejected_types(load: StagedLoad) -> frozenset[str | None]:
    return frozenset(type_name for _, type_name, _ in load.violations.counts)


def _placed(found: Sequence[Breach], chosen: Out) -> list[Breach]:
    """Breaches by the places of all rows, found among those that were chosen."""
    return [
        breach
        if breach.place is None
        else replace(breach, place=int(chosen[breach.entity.table_key][breach.place]))
        for breach in found
    ]


class _OfFiles:
    """Rows in files, whose keys tasks read."""

    def __init__(self, runner: Runner, load: StagedLoad, snapshot: Snapshot) -> None:
        self._runner = runner
        self._load = load
        self._snapshot = snapshot
        self._matches: dict[TableKey, _Matches] = {}

    def at_fault(self, out: Out, *, limit_rows: int) -> Sequence[Breach]:
        readings, sources = self._to_read(out)
        # Most loads break nothing, and to know that much takes less.
        if not out and not is_broken(self._runner, readings, sources):
            return ()
        return find_at_fault(self._runner, readings, sources, limit_rows=limit_rows)

    def breaches(self) -> Sequence[Breach]:
        readings, sources = self._to_read({})
        sure = certain(readings, rejected=_rejected_types(self._load))
        return check_sets(self._runner, sure, sources)

    def _to_read(self, out: Out) -> tuple[list[Reading], Sources]:
        load, mode = self._load, self._load.mode
        ignored = {key: out.get(key, NO_PLACES) for key in load.tables}
        replaced: dict[TableKey, RowSet | None] = {}
        if mode is LoadMode.MERGE:
            for key, places in ignored.items():
                matches = self._match(load.tables[key], places)
                ignored[key] = np.union1d(places, matches.superseded)
                replaced[key] = matches.replaced
        left = {key: t for key, t in load.tables.items() if t.rows > len(ignored[key])}
        touch = {
            key: Touch(
                adds=True,
                removes=mode is LoadMode.OVERWRITE,
                ids_may_clash=table.ids_may_clash and mode is not LoadMode.MERGE,
            )
            for key, table in left.items()
        }

        image = Image(
            load,
            self._snapshot,
            incoming={key: [*staged_rows(t, out=ignored[key])] for key, t in left.items()},
            emptied=frozenset(left) if mode is LoadMode.OVERWRITE else frozenset(),
            replaced=replaced,
        )
        return plan_readings(load.catalog, touch), image.sources

    def _match(self, table: LoadedTable, out: np.ndarray) -> "_Matches":
        """Found anew only where rows of the table have gone."""
        key = table.entity.table_key
        known = self._matches.get(key)
        if known is None or known.without != len(out):
            self._matches[key] = _find_matches(self._runner, self._load, self._snapshot, table, out)
        return self._matches[key]


# Merges -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Matches:
    """What a merge of a table's rows is about, without so many of them."""

    without: int
    superseded: np.ndarray
    """Places of rows that have a later one with their id."""
    replaced: RowSet | None


SUPERSEDED = """
SELECT older.place AS number, older.place % {hands} AS hand
FROM {incoming} AS older
JOIN (SELECT term, max(place) AS place FROM {incoming} GROUP BY term HAVING count(*) > 1) AS newest
ON newest.term = older.term
WHERE older.place < newest.place
"""

REPLACED = """
SELECT row_id AS number, row_id % {hands} AS hand
FROM {present} AS present
WHERE EXISTS (SELECT 1 FROM {incoming} AS incoming WHERE incoming.term = present.term)
"""


def _find_matches(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, table: LoadedTable, out: np.ndarray
) -> _Matches:
    # Views are the session's, which others may share: the names are ours alone.
    unique = uuid.uuid4().hex
    names = {"incoming": f"sifted_{unique}", "present": f"held_{unique}"}
    hands = runner.parallelism
    incoming = [*staged_rows(table, out=out)]
    show_incoming(runner, names["incoming"], incoming)
    present = committed_rows(load.root, snapshot.options, snapshot.dataset(table.entity))
    show_present(runner, names["present"], present, incoming=incoming)
    try:
        superseded, replaced = (
            runner.run_over(
                statement.format(hands=hands, **names),
                _numbers,
                by="hand",
                then="number",
                tasks=hands,
                doing="finding rows that are there already",
            )
            for statement in (SUPERSEDED, REPLACED)
        )
    finally:
        for name in names.values():
            runner.forget(name)
    row_ids = np.concatenate([NO_PLACES, *replaced]).astype(np.uint64)
    return _Matches(
        without=len(out),
        superseded=np.sort(np.concatenate([NO_PLACES, *superseded])),
        replaced=row_set(row_ids) if len(row_ids) else None,
    )


def _numbers(hand: int, rows: pa.Table) -> np.ndarray:
    numbers: np.ndarray = rows["number"].to_numpy()
    return numbers
