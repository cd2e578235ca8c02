"""Set checks of a load whose rows are in files: tasks read keys, the runner's SQL answers.

Only keys travel, and only violations come to the driver: the first few of each rule, and counts.
Incoming rows are read from the files that the load has staged, kept rows from the versions that the
snapshot pins.
"""

import heapq
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.errors import Unsupported
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
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    RowSet,
    read_fragment_columns,
)
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "CHECKS_PER_CORE",
    "CommittedRows",
    "IncomingFiles",
    "KeySource",
    "RowsInFiles",
    "StagedRows",
    "committed_rows",
    "ids_at",
]

# Keys of this many rows are in a worker's memory at a time.
MAX_TASK_ROWS = 1_000_000

# A few tasks for each core even out those that take longer.
CHECKS_PER_CORE = 2

HASHES = pa.schema([("bucket", pa.int32()), ("hashes", pa.binary())])

# A known input, by which the hash functions of driver and worker are compared: versions of DuckDB
# may differ.
PROBE = "omnigraph"

DOING = "checking keys, endpoints and cardinality"


@dataclass(frozen=True, slots=True, eq=False)
class StagedRows:
    """Rows in a file that nothing names yet."""

    location: Location
    fragment: str
    row_count: int
    first_place: int
    """The place of its first row among all incoming rows of the type."""
    excluded: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """Places of rows that do not count."""

    def read(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """The rows that count, and their places."""
        rows = read_fragment_columns(self.location, [self.fragment], columns)
        places = np.arange(self.first_place, self.first_place + rows.num_rows)
        if not len(self.excluded):
            return rows, places
        counts = np.isin(places, self.excluded, invert=True)
        return rows.filter(pa.array(counts)), places[counts]


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Rows in some fragments of a version that the snapshot pins."""

    root: Location
    ref: DatasetRef
    fragment_ids: tuple[int, ...]
    row_count: int
    without: RowSet | None = field(default=None, repr=False)
    """Rows that the load replaces."""

    def open(self) -> Dataset:
        return Datasets(self.root).open(self.ref)


KeySource = StagedRows | CommittedRows


def committed_rows(
    root: Location, dataset: Dataset, *, without: RowSet | None = None
) -> list[CommittedRows]:
    """The rows of a dataset in parts that fit in a worker's memory."""
    fragments, rows = dataset.fragment_ids, dataset.row_count
    if not rows:
        return []
    parts = min(len(fragments), math.ceil(rows / MAX_TASK_ROWS))
    return [
        CommittedRows(root, dataset.ref, fragments[part::parts], math.ceil(rows / parts), without)
        for part in range(parts)
    ]


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
            repeated=_repeated_claims(runner, wanted[CLAIMS], self.limits),
            ids=_few_ids(wanted[IDS], max_ids=self.limits.max_worker_ids),
            one_by_one=one_by_one,
        )
        wanted[IDS] = [(r, source) for r, source in wanted[IDS] if r.entity.id not in clues.ids]
        # Views are the session's, which others may share: the names are ours alone.
        views = {name: f"{name}_{uuid.uuid4().hex}" for name in RELATIONS}
        for name, schema in RELATIONS.items():
            tasks = _balanced(wanted[name], max_tasks=CHECKS_PER_CORE * runner.parallelism)
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


Wanted = tuple[Reading, KeySource]


def _balanced(wanted: Sequence[Wanted], *, max_tasks: int) -> list[tuple[Wanted, ...]]:
    """The readings in at most so many tasks, each with about as many rows."""
    tasks: list[list[Wanted]] = [[] for _ in range(min(max_tasks, len(wanted)))]
    lightest = [(0, task) for task in range(len(tasks))]
    for each in sorted(wanted, key=lambda w: -w[1].row_count):
        rows, task = heapq.heappop(lightest)
        tasks[task].append(each)
        heapq.heappush(lightest, (rows + each[1].row_count, task))
    return [tuple(task) for task in tasks]


# Clues: most keys can't break a rule, and need not travel -----------------------------------------


@dataclass(frozen=True)
class Clues:
    """Facts for tasks that read keys, so that they send only keys that matter."""

    repeated: NDArray[np.uint64] | None
    """Hashes of claims of which there are at least two; None: send every claim."""
    ids: Mapping[int, tuple[KeySource, ...]]
    """Where the ids of a type of nodes lie, if a worker can hold them all."""
    one_by_one: bool
    """Whether every edge has a row of its own in a relation (see `relations.extract`)."""


def _few_ids(ids: Sequence[Wanted], *, max_ids: int) -> dict[int, tuple[KeySource, ...]]:
    """Types of nodes whose ids fit into a worker, which then finds loose ends by itself."""
    found: dict[int, tuple[KeySource, ...]] = {}
    for kind in {r.entity.id for r, _ in ids}:
        # Every rule about ends at this type asks for the same ids: one of them is enough.
        rule = next(r.rule for r, _ in ids if r.entity.id == kind)
        places = tuple(source for r, source in ids if r.rule == rule)
        if sum(source.row_count for source in places) <= max_ids:
            found[kind] = places
    return found


def _repeated_claims(
    runner: Runner, claims: Sequence[Wanted], limits: LoadLimits
) -> NDArray[np.uint64] | None:
    """Hashes that come more than once: only claims with such a hash can clash."""
    rows = sum(source.row_count for _, source in claims)
    if rows <= limits.max_plain_claims:
        return None
    buckets = max(runner.parallelism, math.ceil(rows / MAX_TASK_ROWS))
    tasks = _balanced(claims, max_tasks=CHECKS_PER_CORE * runner.parallelism)
    view = f"hashes_{uuid.uuid4().hex}"
    probe = hashed(pa.array([PROBE]), rule=0)[0]
    hashes = partial(_hash_claims, buckets, int(probe))
    runner.show_as(view, tasks, hashes, HASHES, most=buckets * len(claims))
    try:
        found = runner.run_over(
            f"SELECT bucket, hashes FROM {view}",
            partial(_repeated, limits.max_repeated_claims),
            by="bucket",
            then="bucket",
            tasks=min(buckets, CHECKS_PER_CORE * runner.parallelism),
            doing=DOING,
        )
    finally:
        runner.forget(view)
    repeated = np.concatenate([np.empty(0, np.uint64), *found])
    return repeated if len(repeated) <= limits.max_repeated_claims else None


def hashed(terms: pa.Array | pa.ChunkedArray, *, rule: int) -> NDArray[np.uint64]:
    """A number for each term of a rule; equal terms have equal numbers."""
    claims = pa.table({"term": terms})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("claims", claims)
        answer = connection.sql(f"SELECT hash(term, {rule}) AS hash FROM claims").fetchnumpy()
    return np.asarray(answer["hash"], np.uint64)


# Inside a task ------------------------------------------------------------------------------------


def _read_keys(clues: Clues, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """The keys of the task's rows, as far as they matter."""
    ids: dict[int, pa.Array] = {}
    for reading, source in wanted:
        rows, places = _read(reading.columns, source)
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
    rows, _ = _read([*dict.fromkeys((ID, *reading.columns))], source)
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


def ids_at(sources: Sequence[KeySource]) -> pa.Array:
    """The ids of all these rows."""
    parts = [_read((ID,), source)[0][ID] for source in sources]
    chunks = [chunk for part in parts for chunk in part.chunks]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()


def _read(columns: Sequence[str], source: KeySource) -> tuple[pa.Table, np.ndarray]:
    """Some columns of rows, and the places of those."""
    match source:
        case StagedRows():
            return source.read(columns)
        case CommittedRows(fragment_ids=fragment_ids, without=without):
            rows = source.open().scan(columns, fragment_ids=fragment_ids, without=without)
            return rows, np.arange(rows.num_rows)


def _hash_claims(buckets: int, probe: int, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """Hashes by bucket, many in a row: a row for each would cost Spark more than the rest."""
    if int(hashed(pa.array([PROBE]), rule=0)[0]) != probe:
        raise Unsupported(
            what="a load whose workers have another version of DuckDB than its driver",
            instead="install the same versions everywhere",
        )
    for reading, source in wanted:
        terms = extract(reading, *_read(reading.columns, source))["term"]
        hashes = np.sort(hashed(terms, rule=reading.rule.number))
        # The upper bits choose the bucket, so that each is one run of the sorted hashes.
        steps = [bucket * (2**64 // buckets) for bucket in range(1, buckets)]
        runs = np.split(hashes, np.searchsorted(hashes, np.array(steps, np.uint64)))
        yield pa.RecordBatch.from_arrays(
            [pa.array(range(buckets), pa.int32()), pa.array([run.tobytes() for run in runs])],
            schema=HASHES,
        )


def _repeated(max_claims: int, bucket: int, rows: pa.Table) -> NDArray[np.uint64]:
    runs = [np.frombuffer(run.as_buffer(), np.uint64) for run in rows["hashes"]]
    hashes = np.sort(np.concatenate(runs))
    # One more than anyone will look at tells that there are too many.
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])[: max_claims + 1]
