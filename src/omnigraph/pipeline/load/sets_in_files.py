"""Set checks of a load whose rows are in files: tasks read keys, the runner's SQL answers.

Only keys travel, and only violations come to the driver: the first few of each rule, and counts.
Incoming rows are read from the files that the load has staged, kept rows from the versions that the
snapshot pins.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.check.sets.in_memory import BrokenTerm
from omnigraph.check.sets.questions import (
    Query,
    all_violations,
    count_violations,
    first_violations,
    is_any_broken,
    rows_at_fault,
)
from omnigraph.check.sets.relations import RELATIONS, extract, terms_of
from omnigraph.check.sets.rules import (
    CLAIMS,
    ENDS,
    IDS,
    NO_TYPES,
    End,
    Part,
    Reading,
    SetRule,
    TableEffect,
    TypeNames,
    plan_readings,
    tables_read,
)
from omnigraph.check.sets.violations import SetViolation
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.clues import (
    DOING,
    Clues,
    Wanted,
    balanced,
    few_ids,
    hashed,
    repeated_claims,
)
from omnigraph.pipeline.load.row_sources import (
    CHECKS_PER_CORE,
    KeySource,
    StagedRows,
    committed_rows,
    ids_at,
    read_rows,
)
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import (
    RowSet,
)
from omnigraph.store.snapshot import Snapshot

__all__ = ["IncomingFiles", "RowsInFiles"]


@frozen(slots=False, eq=False)
class IncomingFiles:
    """The rows that a load brings to one table, and the rows of the graph that they replace."""

    rows: Sequence[StagedRows]
    must_be_new: bool = False
    """An id that is there already breaks a rule."""
    replaces_all: bool = False
    """No row of the table is kept."""
    replaced: RowSet | None = field(default=None, repr=False)
    """Rows of the table that are not kept, where others are."""
    removes: bool = False
    """Some of those go, and no row comes in their place."""


@frozen(slots=False, eq=False)
class RowsInFiles:
    """The set checks (`protocol.SetChecks`) of rows in files."""

    runner: Runner
    snapshot: Snapshot
    incoming: Mapping[TableKey, IncomingFiles]
    is_likely_clean: bool = True
    """Most loads break no rule, and to know that much takes less than to find the rows at fault:
    that is asked first, unless rows of the load have been at fault already."""
    limits: LoadLimits = field(default_factory=LoadLimits)

    @property
    def reads(self) -> frozenset[TableKey]:
        return tables_read(self.snapshot.catalog, self._effects)

    def violations(self, *, rejected: TypeNames = NO_TYPES) -> list[SetViolation]:
        readings = plan_readings(self.snapshot.catalog, self._effects, rejected=rejected)
        if not readings:
            return []
        with self._shown(readings, one_by_one=False) as query:
            return first_violations(readings, query)

    def at_fault(self, *, limit_rows: int) -> list[SetViolation]:
        readings = plan_readings(self.snapshot.catalog, self._effects)
        if not readings:
            return []
        if self.is_likely_clean:
            with self._shown(readings, one_by_one=False) as query:
                if not is_any_broken(readings, query):
                    return []
        with self._shown(readings, one_by_one=True) as query:
            return rows_at_fault(readings, query, limit_rows=limit_rows)

    def broken_terms(self, *, limit_terms: int) -> tuple[list[BrokenTerm], int]:
        """Terms that break a rule, with the rows on both sides, and how many more there are."""
        readings = plan_readings(self.snapshot.catalog, self._effects)
        if not readings:
            return [], 0
        with self._shown(readings, one_by_one=False) as query:
            found = all_violations(readings, query, limit_terms=limit_terms)
            more = count_violations(readings, query) - len(found) if found else 0
        if not found:
            return [], 0
        ids = self._ids_by_term(readings, found, limit_rows=limit_terms)
        return [
            BrokenTerm(
                rule,
                term,
                violation.violation.message,
                *(tuple(ids.get((rule.number, part, term), ())) for part in Part),
            )
            for rule, term, violation in found
        ], more

    def _ids_by_term(
        self,
        readings: Sequence[Reading],
        found: Sequence[tuple[SetRule, str, SetViolation]],
        *,
        limit_rows: int,
    ) -> dict[tuple[int, Part, str], list[str]]:
        """By rule, part and term: the ids of rows that have a broken term, in order."""
        terms: dict[int, list[str]] = {}
        for rule, term, _ in found:
            terms.setdefault(rule.number, []).append(term)
        wanted = [
            (reading, source)
            for reading in readings
            if reading.tells_terms and reading.rule.number in terms
            for source in self._sources(reading)
        ]
        read = partial(_rows_with_terms, terms, limit_rows)
        ids: dict[tuple[int, Part, str], list[str]] = {}
        for one in self.runner.run(wanted, read, doing=DOING):
            for key, more in one.result.items():
                ids[key] = sorted([*ids.get(key, ()), *more])[:limit_rows]
        return ids

    @property
    def _effects(self) -> dict[TableKey, TableEffect]:
        return {
            key: TableEffect(
                adds=len(table.rows) > 0,
                removes=table.replaces_all or table.removes,
                ids_may_clash=table.must_be_new,
            )
            for key, table in self.incoming.items()
        }

    def _sources(self, reading: Reading) -> Sequence[KeySource]:
        """Where the rows of a reading are."""
        incoming = self.incoming.get(reading.entity.table_key)
        match reading.part:
            case Part.INCOMING:
                return () if incoming is None else incoming.rows
            case Part.KEPT if incoming is not None and incoming.replaces_all:
                return ()
            case Part.KEPT:
                return committed_rows(
                    self.snapshot.root,
                    self.snapshot.dataset(reading.entity),
                    without=None if incoming is None else incoming.replaced,
                )

    @contextmanager
    def _shown(self, readings: Sequence[Reading], *, one_by_one: bool) -> Iterator[Query]:
        """The runner's SQL with the keys of the readings under the names of the relations."""
        runner = self.runner
        wanted = {
            name: [
                (r, source) for r in readings if r.relation == name for source in self._sources(r)
            ]
            for name in RELATIONS
        }
        clues = Clues(
            repeated=repeated_claims(runner, wanted[CLAIMS], self.limits),
            ids=few_ids(wanted[IDS], max_ids=self.limits.max_worker_ids),
            one_by_one=one_by_one,
        )
        wanted[IDS] = [(r, source) for r, source in wanted[IDS] if r.entity.id not in clues.ids]
        # Views are the session's, which others may share: the names are ours alone.
        views = {name: f"{name}_{uuid.uuid4().hex}" for name in RELATIONS}
        for name, schema in RELATIONS.items():
            tasks = balanced(wanted[name], max_tasks=CHECKS_PER_CORE * runner.parallelism)
            most = sum(source.row_count for _, source in wanted[name])
            runner.show_as(views[name], tasks, partial(_read_keys, clues), schema, most=most)
        names = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())

        def query(sql: str) -> list[dict[str, Any]]:
            return runner.query(f"WITH {names} {sql}", doing=DOING)

        try:
            yield query
        finally:
            for view in views.values():
                runner.forget(view)


def _read_keys(clues: Clues, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """The keys of the task's rows, as far as they matter."""
    ids: dict[int, pa.Array] = {}
    for reading, source in wanted:
        rows, places = read_rows(reading.columns, source)
        if reading.relation == ENDS and isinstance(reading.rule, End):
            kind = reading.rule.node.id
            if kind in clues.ids:
                if kind not in ids:
                    ids[kind] = ids_at(clues.ids[kind])
                loose = pc.invert(pc.is_in(rows[reading.columns[0]], value_set=ids[kind]))
                rows, places = rows.filter(loose), places[np.asarray(loose)]
        keys = extract(reading, rows, places, one_by_one=clues.one_by_one)
        if reading.relation == CLAIMS and clues.repeated is not None:
            hashes = hashed(keys["term"], rule=reading.rule.number)
            keys = keys.filter(pa.array(np.isin(hashes, clues.repeated)))
        yield from keys.combine_chunks().to_batches()


def _rows_with_terms(
    terms: Mapping[int, Sequence[str]], limit_rows: int, wanted: Wanted
) -> dict[tuple[int, Part, str], list[str]]:
    """The ids of rows that have one of the terms of the reading's rule: of each term so many."""
    reading, source = wanted
    number = reading.rule.number
    rows, _ = read_rows([*dict.fromkeys((ID, *reading.columns))], source)
    found = pa.table({"term": terms_of(reading, rows), ID: rows[ID]})
    found = found.filter(
        pc.is_in(found["term"], value_set=pa.array(list(terms[number]), pa.string()))
    )
    ids: dict[tuple[int, Part, str], list[str]] = {}
    for row in found.sort_by(ID).to_pylist():
        mine = ids.setdefault((number, reading.part, row["term"]), [])
        if len(mine) < limit_rows:
            mine.append(row[ID])
    return ids
