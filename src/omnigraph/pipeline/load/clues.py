"""Clues for tasks that read keys: most keys can't break a rule, and need not travel."""

import heapq
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.errors import Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.check.sets.relations import extract
from omnigraph.check.sets.rules import Reading
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.row_sources import (
    CHECKS_PER_CORE,
    MAX_TASK_ROWS,
    KeySource,
    read_rows,
)
from omnigraph.pipeline.runner import Runner

__all__ = ["DOING", "Clues", "Wanted", "balanced", "few_ids", "hashed", "repeated_claims"]

HASHES = pa.schema([("bucket", pa.int32()), ("hashes", pa.binary())])

# A known input, by which the hash functions of driver and worker are compared: versions of DuckDB
# may differ.
PROBE = "omnigraph"

DOING = "checking keys, endpoints and cardinality"

Wanted = tuple[Reading, KeySource]
"""What one reading wants of one source."""


@frozen(slots=False)
class Clues:
    """Facts for tasks that read keys, so that they send only keys that matter."""

    repeated: NDArray[np.uint64] | None
    """Hashes of claims of which there are at least two; None: send every claim."""
    ids: Mapping[int, tuple[KeySource, ...]]
    """Where the ids of a type of nodes lie, if a worker can hold them all."""
    one_by_one: bool
    """Whether every edge has a row of its own in a relation (see `relations.extract`)."""


def balanced(wanted: Sequence[Wanted], *, max_tasks: int) -> list[tuple[Wanted, ...]]:
    """The readings in at most so many tasks, each with about as many rows."""
    tasks: list[list[Wanted]] = [[] for _ in range(min(max_tasks, len(wanted)))]
    lightest = [(0, task) for task in range(len(tasks))]
    for each in sorted(wanted, key=lambda w: -w[1].row_count):
        rows, task = heapq.heappop(lightest)
        tasks[task].append(each)
        heapq.heappush(lightest, (rows + each[1].row_count, task))
    return [tuple(task) for task in tasks]


def few_ids(ids: Sequence[Wanted], *, max_ids: int) -> dict[int, tuple[KeySource, ...]]:
    """Types of nodes whose ids fit into a worker, which then finds loose ends by itself."""
    found: dict[int, tuple[KeySource, ...]] = {}
    for kind in {r.entity.id for r, _ in ids}:
        # Every rule about ends at this type asks for the same ids: one of them is enough.
        rule = next(r.rule for r, _ in ids if r.entity.id == kind)
        places = tuple(source for r, source in ids if r.rule == rule)
        if sum(source.row_count for source in places) <= max_ids:
            found[kind] = places
    return found


def repeated_claims(
    runner: Runner, claims: Sequence[Wanted], limits: LoadLimits
) -> NDArray[np.uint64] | None:
    """Hashes that come more than once: only claims with such a hash can clash."""
    rows = sum(source.row_count for _, source in claims)
    if rows <= limits.max_plain_claims:
        return None
    buckets = max(runner.parallelism, math.ceil(rows / MAX_TASK_ROWS))
    tasks = balanced(claims, max_tasks=CHECKS_PER_CORE * runner.parallelism)
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


def _hash_claims(buckets: int, probe: int, wanted: Sequence[Wanted]) -> Iterator[pa.RecordBatch]:
    """Hashes by bucket, many in a row: a row for each would cost Spark more than the rest."""
    if int(hashed(pa.array([PROBE]), rule=0)[0]) != probe:
        raise Unsupported(
            what="a load whose workers have another version of DuckDB than its driver",
            instead="install the same versions everywhere",
        )
    for reading, source in wanted:
        terms = extract(reading, *read_rows(reading.columns, source))["term"]
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
