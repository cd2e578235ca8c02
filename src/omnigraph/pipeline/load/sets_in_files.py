"""Set checks of a load: tasks read keys, and the runner's SQL asks the questions of `rules`.

Only keys travel, and only what breaks a rule comes to the driver: the first few breaches of each
rule, and counts. Incoming rows are read from the files that the load has staged, kept rows from the
versions that the snapshot pins.
"""

import heapq
import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from omnigraph.check.sets import fault_queries as blame
from omnigraph.check.sets.fault_queries import Query
from omnigraph.check.sets.rules import (
    CLAIMS,
    ENDS,
    IDS,
    RELATIONS,
    Breach,
    End,
    Reading,
    breaches,
    extract_at,
)
from omnigraph.lang.schema.catalog import ID
from omnigraph.pipeline.runner import Runner
from omnigraph.store.datasets import (
    Dataset,
    DatasetRef,
    Datasets,
    RowSet,
    read_fragment_columns,
)
from omnigraph.store.location import location_at

__all__ = [
    "CommittedRows",
    "KeySource",
    "Sources",
    "StagedRows",
    "check_sets",
    "committed_rows",
    "find_at_fault",
    "ids_at",
    "is_broken",
]

# Keys of this many rows are in a worker's memory at a time.
ROWS_AT_A_TIME = 1_000_000

# A few tasks for each core even out those that take longer.
CHECKS_PER_CORE = 2

# A set of so many ids takes a few hundred megabytes in each worker.
IDS_IN_A_WORKER = 4_000_000

# So few claims are asked about at once; from here on it pays to look at their hashes first.
FEW_CLAIMS = 200_000

# Where more claims than these come twice, the load is wrong as a whole: every claim is sent.
MOST_REPEATED = 1_000_000

HASHES = pa.schema([("bucket", pa.int32()), ("hashes", pa.binary())])

# Whoever hashes it otherwise hashes everything otherwise.
PROBE = "omnigraph"

DOING = "checking keys, endpoints and cardinality"


@dataclass(frozen=True, slots=True, eq=False)
class StagedRows:
    """Rows in a file that nothing names yet."""

    uri: str
    options: dict[str, str] | None = field(repr=False)
    fragment: str
    row_count: int
    first_place: int
    """The place of its first row among all incoming rows of the type."""
    out: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """Places of rows that do not count."""

    def read(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """The rows that count, and their places."""
        location = location_at(self.uri, self.options)
        rows = read_fragment_columns(location, [self.fragment], columns)
        places = np.arange(self.first_place, self.first_place + rows.num_rows)
        if not len(self.out):
            return rows, places
        counts = np.isin(places, self.out, invert=True)
        return rows.filter(pa.array(counts)), places[counts]


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Rows in some fragments of a version that the snapshot pins."""

    root: str
    options: dict[str, str] | None = field(repr=False)
    ref: DatasetRef
    fragment_ids: tuple[int, ...]
    row_count: int
    without: RowSet | None = field(default=None, repr=False)
    """Rows that the load replaces."""

    def open(self) -> Dataset:
        return Datasets(location_at(self.root, self.options)).open(self.ref)


KeySource = StagedRows | CommittedRows
Sources = Callable[[Reading], Sequence[KeySource]]


def committed_rows(
    root: str, options: dict[str, str] | None, dataset: Dataset, *, without: RowSet | None = None
) -> list[CommittedRows]:
    """The rows of a dataset in pieces that fit in a worker's memory."""
    fragments, rows = dataset.fragment_ids, dataset.row_count
    if not rows:
        return []
    pieces = min(len(fragments), math.ceil(rows / ROWS_AT_A_TIME))
    return [
        CommittedRows(
            root, options, dataset.ref, fragments[piece::pieces], math.ceil(rows / pieces), without
        )
        for piece in range(pieces)
    ]


def check_sets(runner: Runner, readings: Sequence[Reading], sources: Sources) -> list[Breach]:
    """Every rule that the incoming rows break together with those that stay."""
    if not readings:
        return []
    with _shown(runner, readings, sources, each=False) as query:
        return breaches(readings, query)


def is_broken(runner: Runner, readings: Sequence[Reading], sources: Sources) -> bool:
    """Whether the incoming rows break any rule together with those that stay."""
    if not readings:
        return False
    with _shown(runner, readings, sources, each=False) as query:
        return blame.is_broken(blame.questions(readings), query)


def find_at_fault(
    runner: Runner, readings: Sequence[Reading], sources: Sources, *, limit_rows: int
) -> list[Breach]:
    """All incoming rows at fault for what is wrong first, or at least so many; see `blame`."""
    if not readings:
        return []
    with _shown(runner, readings, sources, each=True) as query:
        return blame.blamed(blame.questions(readings), query, limit_rows=limit_rows)


@contextmanager
def _shown(
    runner: Runner, readings: Sequence[Reading], sources: Sources, *, each: bool
) -> Iterator[Query]:
    """The runner's SQL with what the readings say under the names of the relations."""
    wanted = {
        name: [(r, source) for r in readings if r.relation == name for source in sources(r)]
        for name in RELATIONS
    }
    clues = Clues(
        repeated=_repeated_claims(runner, wanted[CLAIMS]), ids=_few_ids(wanted[IDS]), each=each
    )
    wanted[IDS] = [(r, source) for r, source in wanted[IDS] if r.entity.id not in clues.ids]
    # Views are the session's, which others may share: the names are ours alone.
    views = {name: f"{name}_{uuid.uuid4().hex}" for name in RELATIONS}
    for name, schema in RELATIONS.items():
        tasks = _deal(wanted[name], hands=CHECKS_PER_CORE * runner.parallelism)
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


def _deal(wanted: Sequence[Wanted], *, hands: int) -> list[tuple[Wanted, ...]]:
    """Readings dealt to at most so many tasks, each with about as many rows."""
    dealt: list[list[Wanted]] = [[] for _ in range(min(hands, len(wanted)))]
    lightest = [(0, hand) for hand in range(len(dealt))]
    for one in sorted(wanted, key=lambda w: -w[1].row_count):
        rows, hand = heapq.heappop(lightest)
        dealt[hand].append(one)
        heapq.heappush(lightest, (rows + one[1].row_count, hand))
    return [tuple(hand) for hand in dealt]


# Clues: most keys can't break a rule, and need not travel -----------------------------------------


@dataclass(frozen=True)
class Clues:
    """What tasks may know before they send keys around, so as to send only those that matter."""

    repeated: NDArray[np.uint64] | None
    """Hashes of claims of which there are at least two; None: send every claim."""
    ids: Mapping[int, tuple[KeySource, ...]]
    """Where the ids of a type of nodes lie, if a worker can hold them all."""
    each: bool
    """Whether every row speaks for itself (see `blame`)."""


def _few_ids(ids: Sequence[Wanted]) -> dict[int, tuple[KeySource, ...]]:
    """Types of nodes whose ids fit into a worker, which then finds loose ends by itself."""
    found: dict[int, tuple[KeySource, ...]] = {}
    for kind in {r.entity.id for r, _ in ids}:
        # Every rule about ends at this type asks for the same ids: one of them is enough.
        rule = next(r.rule for r, _ in ids if r.entity.id == kind)
        places = tuple(source for r, source in ids if r.rule == rule)
        if sum(source.row_count for source in places) <= IDS_IN_A_WORKER:
            found[kind] = places
    return found


def _repeated_claims(runner: Runner, claims: Sequence[Wanted]) -> NDArray[np.uint64] | None:
    """Hashes that come more than once: only claims with such a hash can clash."""
    rows = sum(source.row_count for _, source in claims)
    if rows <= FEW_CLAIMS:
        return None
    buckets = max(runner.parallelism, math.ceil(rows / ROWS_AT_A_TIME))
    tasks = _deal(claims, hands=CHECKS_PER_CORE * runner.parallelism)
    view = f"hashes_{uuid.uuid4().hex}"
    probe = hashed(pa.array([PROBE]), rule=0)[0]
    hashes = partial(_hash_claims, buckets, int(probe))
    runner.show_as(view, tasks, hashes, HASHES, most=buckets * len(claims))
    try:
        found = runner.run_over(
            f"SELECT bucket, hashes FROM {view}",
            _repeated,
            by="bucket",
            then="bucket",
            tasks=min(buckets, CHECKS_PER_CORE * runner.parallelism),
            doing=DOING,
        )
    finally:
        runner.forget(view)
    repeated = np.concatenate([np.empty(0, np.uint64), *found])
    return repeated if len(repeated) <= MOST_REPEATED else None


def hashed(terms: pa.Array | pa.ChunkedArray, *, rule: int) -> NDArray[np.uint64]:
    """A number for each term of a rule; equal terms have equal numbers."""
    claims = pa.table({"term": terms})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("claims", claims)
        answer = connection.sql(f"SELECT hash(term, {rule}) AS hash FROM claims").fetchnumpy()
    return np.asarray(answer["hash"], np.uint64)


# Inside a task ------------------------------------------------------------------------------------


def _read_keys(clues: Clues, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """What the rows of its share say in the relation, as far as it matters."""
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
        said = extract_at(reading, rows, places, each=clues.each)
        if reading.relation == CLAIMS and clues.repeated is not None:
            hashes = hashed(said["term"], rule=reading.rule.number)
            said = said.filter(pa.array(np.isin(hashes, clues.repeated)))
        yield from said.combine_chunks().to_batches()


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
        terms = extract_at(reading, *_read(reading.columns, source))["term"]
        hashes = np.sort(hashed(terms, rule=reading.rule.number))
        # The upper bits choose the bucket, so that each is one run of the sorted hashes.
        steps = [bucket * (2**64 // buckets) for bucket in range(1, buckets)]
        runs = np.split(hashes, np.searchsorted(hashes, np.array(steps, np.uint64)))
        yield pa.RecordBatch.from_arrays(
            [pa.array(range(buckets), pa.int32()), pa.array([run.tobytes() for run in runs])],
            schema=HASHES,
        )


def _repeated(bucket: int, rows: pa.Table) -> NDArray[np.uint64]:
    runs = [np.frombuffer(run.as_buffer(), np.uint64) for run in rows["hashes"]]
    hashes = np.sort(np.concatenate(runs))
    # One more than anyone will look at tells that there are too many.
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])[: MOST_REPEATED + 1]
