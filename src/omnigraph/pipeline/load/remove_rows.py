"""Rows leave a staged load: their files are written again without them, and nothing else is.

The rows that stay keep their order. Where a row came from is still known: `LoadedTable.gone` holds
the places that are empty now. A table of which no row is left is no longer part of the load.
"""

from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violations
from omnigraph.check.sets.violations import SetViolation
from omnigraph.lang.schema.catalog import Catalog, EntityType, NodeType
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.load.checks import Excluded
from omnigraph.pipeline.load.id_join import NO_PLACES
from omnigraph.pipeline.load.load import LoadedTable, LoadMode, StagedLoad
from omnigraph.pipeline.load.row_origin import row_numbers, whereabouts
from omnigraph.pipeline.rows.conform import RejectedRow
from omnigraph.pipeline.rows.row_text import rows_as_text
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.sources import Split, position_in
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.pipeline.staging.quarantine import Quarantine, rejected_rows
from omnigraph.pipeline.staging.stage import StagedFile, write_rows
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import TableHome, read_fragment_columns

__all__ = ["Faults", "places_of", "quarantine_faults", "take_out"]

Faults = dict[tuple[TableKey, int], list[SetViolation]]
"""By table and place: the rows at fault, and the violations of each."""


def places_of(faults: Faults) -> Excluded:
    excluded: dict[TableKey, list[int]] = defaultdict(list)
    for key, place in faults:
        excluded[key].append(place)
    return {key: np.sort(np.array(places, dtype=np.int64)) for key, places in excluded.items()}


def quarantine_faults(
    runner: Runner, load: StagedLoad, faults: Faults, quarantine: Quarantine, area: StagingArea
) -> StagedLoad:
    """The load without the rows at fault, which are in the quarantine."""
    written = runner.run(
        _by_split(load, faults),
        partial(_write_faults, load.catalog, quarantine, load.limits.input),
        doing="writing rejected rows",
    )
    violations = Violations()
    violations.merge(load.violations)
    for one in written:
        violations.merge(one.result.violations)
    parts = tuple(part for one in written for part in one.result.parts)
    tables = take_out(runner, load, places_of(faults), area)
    return replace(
        load,
        tables=tables,
        rejected=load.rejected + len(faults),
        violations=violations,
        parts=(*load.parts, *parts),
    )


def take_out(
    runner: Runner, load: StagedLoad, excluded: Excluded, area: StagingArea
) -> dict[TableKey, LoadedTable]:
    """The tables of the load without the rows at these places, as they are to be resolved."""
    tables: dict[TableKey, LoadedTable] = {}
    for key, table in load.tables.items():
        places = excluded.get(key, NO_PLACES)
        if len(places) == table.rows:
            continue
        files = _files_without(runner, load, table, places)
        area.add(table.location, [file.fragment for file in files if file not in table.files])
        tables[key] = replace(
            table,
            files=files,
            held=_held_without(table.held, places),
            gone=np.union1d(table.gone, table.staged_places(places)),
        )
    return tables


def _held_without(held: pa.Table, excluded: np.ndarray) -> pa.Table:
    if not len(excluded) or not held.num_rows:
        return held
    return held.take(pa.array(np.setdiff1d(np.arange(held.num_rows), excluded)))


# Files --------------------------------------------------------------------------------------------


@frozen(slots=False, eq=False)
class _Rewrite:
    """A file to be written again."""

    file: StagedFile
    excluded: np.ndarray
    """Rows that leave it, counted from its first."""


@frozen(slots=False)
class _RewriteJob:
    entity: EntityType
    home: TableHome
    is_scratch: bool


def _files_without(
    runner: Runner, load: StagedLoad, table: LoadedTable, excluded: np.ndarray
) -> tuple[StagedFile, ...]:
    """The table's files, those that a row leaves or that can't be published written again."""
    is_merge = load.mode is LoadMode.MERGE
    job = _RewriteJob(table.entity, table.home, is_scratch=is_merge)
    if len(excluded) and table.files and table.held.num_rows:
        held = _held_without(table.held, excluded)
        return write_rows(job.entity, job.home, iter(held.to_batches()))
    first = 0
    rewrites: dict[int, _Rewrite] = {}
    for number, file in enumerate(table.files):
        start, end = np.searchsorted(excluded, [first, first + file.rows])
        if end > start or (file.is_scratch and not is_merge):
            rewrites[number] = _Rewrite(file, excluded[start:end] - first)
        first += file.rows
    ran = runner.run(
        list(rewrites.values()), partial(_rewrite, job), doing="removing rejected rows"
    )
    written = dict(zip(rewrites, (one.result for one in ran), strict=True))
    each = (written.get(number, (file,)) for number, file in enumerate(table.files))
    return tuple(file for files in each for file in files)


def _rewrite(job: _RewriteJob, rewrite: _Rewrite) -> tuple[StagedFile, ...]:
    schema = table_schema(job.entity)
    fragments = [rewrite.file.fragment]
    rows = read_fragment_columns(job.home.location, fragments, schema.names)
    left = _held_without(rows, rewrite.excluded).cast(schema)
    if not left.num_rows:
        return ()
    batches = iter(left.to_batches())
    return write_rows(job.entity, job.home, batches, is_scratch=job.is_scratch)


# The rows at fault --------------------------------------------------------------------------------


@frozen(slots=False)
class _RowAtFault:
    """A row at fault, by its place among the good rows of its type in a split."""

    row: int
    violations: tuple[SetViolation, ...]

    @property
    def entity_id(self) -> str | None:
        """Its id, where a violation names it."""
        for each in self.violations:
            is_own = each.violation.kind == "key" or (
                each.violation.kind == "cardinality" and isinstance(each.entity, NodeType)
            )
            if is_own:
                return each.violation.entity_id
        return None


@frozen(slots=False)
class _Written:
    violations: Violations
    parts: tuple[str, ...]


_SplitFaults = tuple[Split, tuple[_RowAtFault, ...]]


def _by_split(load: StagedLoad, faults: Faults) -> list[_SplitFaults]:
    """Whatever is at fault in a split is found again by one task."""
    splits: dict[int, list[_RowAtFault]] = defaultdict(list)
    for key, places in places_of(faults).items():
        found = whereabouts(load.tables[key], places)
        for place, (number, row) in zip(places.tolist(), found, strict=True):
            # SQL tells them in no order; the report of a load is the same every time.
            violations = sorted(faults[key, place], key=lambda each: each.rule)
            splits[number].append(_RowAtFault(row, tuple(violations)))
    return [(load.splits[number], tuple(group)) for number, group in sorted(splits.items())]


def _write_faults(
    catalog: Catalog, quarantine: Quarantine, limits: InputLimits, faults: _SplitFaults
) -> _Written:
    """Inside a task: the rows as they came, each with what is held against it."""
    split, group = faults
    rows_of = row_numbers(split, catalog, limits)
    numbers = [int(rows_of[f.violations[0].entity.table_key][f.row]) for f in group]
    order = np.argsort(numbers)
    position, texts = position_in(split, limits), rows_as_text(split, numbers, limits)
    violations = Violations()
    with rejected_rows(quarantine) as part:
        assert part is not None
        for index in order.tolist():
            file, line = position(numbers[index])
            fault = group[index]
            reasons = tuple(replace(v.violation, file=file, line=line) for v in fault.violations)
            for reason in reasons:
                violations.add(reason)
            rejected = RejectedRow(
                number=numbers[index],
                text=texts[index],
                reasons=reasons,
                type_name=fault.violations[0].entity.name,
                entity_id=fault.entity_id,
            )
            part.add([rejected])
    return _Written(violations, part.parts)
