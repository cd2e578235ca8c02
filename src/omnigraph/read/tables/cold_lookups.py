"""Looking up a few rows of a table that nobody has read yet, instead of reading all of it.

A graph just opened answers a question about one node in a few look-ups, through the indexes of the
tables where there are some. The answers are those of the arrays: ids become the same row numbers,
and a traversal gets an adjacency that holds the neighbourhood it asks for and nothing else.
Look-ups are counted. Past the point where reading the table would have been cheaper, it is read.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.ir import Direction, EdgeStep
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType
from omnigraph.read.space import Part, Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.topology.csr import Adjacency, Ordinals
from omnigraph.store.datasets import ROW_ADDRESS, Dataset, fragments_of, offsets_of
from omnigraph.store.indexes import IndexKind, WantedIndex
from omnigraph.store.row_filters import HasWords, RowFilter
from omnigraph.store.snapshot import Snapshot

__all__ = ["ColdLookups", "TraversalMode", "positions_in_scan", "ways_of"]

# A look-up costs as much as reading so many rows and making arrays of them, and taking rows whose
# position is known as much as reading a third of that.
ROWS_PER_LOOKUP = 75_000
ROWS_PER_TAKE = 25_000
# To take texts apart costs more than to read them.
ROWS_PER_WORDS_LOOKED_UP = 15_000
# A table of fewer rows is read before anybody would notice.
MIN_ROWS = 50_000
# Without an index it costs a pass over the column, and that is less than half of the work.
LOOKUPS_WITHOUT_INDEX = 3
# A list of more ids than this is no look-up any more.
MAX_IDS = 1_000
# An index that gives more than one row in so many has not saved much: the column is read.
ROWS_PER_ROW_SERVED = 100
MIN_ROWS_SERVED = 1_000


class TraversalMode(StrEnum):
    """How a traversal finds edges: whatever is cheaper, or always one way. Answers are the same."""

    AUTO = "auto"
    INDEXED = "indexed"
    CSR = "csr"


class ColdLookups:
    def __init__(self, snapshot: Snapshot, cache: RuntimeCache, mode: TraversalMode) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._mode = mode

    def is_worth_it(self, entity: EntityType, ids: float, *, column: str | None = None) -> bool:
        """Whether to look up about so many ids in a table that would have to be read otherwise.

        They are looked for in `column`, or are rows whose position is known.
        """
        if self._mode is not TraversalMode.AUTO:
            return self._mode is TraversalMode.INDEXED
        entry = self._snapshot.tables[entity.table_key]
        if ids > MAX_IDS or entry.row_count < MIN_ROWS:
            return False
        rows = (ROWS_PER_TAKE if column is None else ROWS_PER_LOOKUP) * (1 + ids / 100)
        if column is not None and not self._has_index(entity, column):
            rows = entry.row_count / LOOKUPS_WITHOUT_INDEX
        # Counted over all versions: a table that is written to all the time is read in the end too.
        table = (entry.ref.path, column)
        if self._cache.asked(table) + rows > entry.row_count:
            return False
        self._cache.note_asked(table, rows)
        return True

    def _has_index(self, entity: EntityType, column: str) -> bool:
        ref = self._snapshot.tables[entity.table_key].ref
        return self._cache.get(
            ("index", ref, column),
            lambda: _Flag(self._snapshot.dataset(entity).indexed_rows.get(column, 0) > 0),
            family=("index", ref.path, column),
        ).value

    def is_served(self, entity: EntityType, index: WantedIndex) -> bool:
        """Whether to ask an index for rows of a table that would have to be read otherwise."""
        if self._mode is TraversalMode.CSR:
            return False
        entry = self._snapshot.tables[entity.table_key]
        known = self._known_index(entity, index)
        if not known.rows or (index.kind is IndexKind.INVERTED and known.rows < entry.row_count):
            return False  # of texts without an index Lance knows other words than we do
        if self._mode is TraversalMode.INDEXED:
            return True
        is_of_words = index.kind is IndexKind.INVERTED
        rows = ROWS_PER_WORDS_LOOKED_UP if is_of_words else ROWS_PER_LOOKUP
        rows += entry.row_count - known.rows  # which are scanned each time
        if entry.row_count < MIN_ROWS or rows > entry.row_count:
            return False
        if index.kind is IndexKind.NGRAM or known.is_beyond_cache:
            return True
        asked = (entry.ref.path, index.name)
        if self._cache.asked(asked) + rows > entry.row_count:
            return False
        self._cache.note_asked(asked, rows)
        return True

    def _known_index(self, entity: EntityType, index: WantedIndex) -> "_KnownIndex":
        ref = self._snapshot.tables[entity.table_key].ref

        def look() -> _KnownIndex:
            dataset = self._snapshot.dataset(entity)
            stored = dataset.indexes.get(index.name)
            size = dataset.row_bytes * dataset.row_count
            is_beyond = size > self._cache.limits.max_cache_bytes
            return _KnownIndex(0 if stored is None else stored.rows, is_beyond)

        family = ("index", ref.path, index.name)
        return self._cache.get(("index", ref, index.name), look, family=family)

    def matching(
        self,
        entity: EntityType,
        tested: RowFilter,
        columns: Sequence[str],
        holds: Callable[[pa.Table], pa.Table],
    ) -> Ordinals | None:
        """The rows that the filter lets through and that `holds` leaves; None: too many come."""
        dataset = self._snapshot.dataset(entity)
        most = max(MIN_ROWS_SERVED, dataset.row_count // ROWS_PER_ROW_SERVED)
        found = dataset.scan(columns, predicate=tested, with_row_address=True, rows=range(most + 1))
        if found.num_rows > most and self._mode is TraversalMode.AUTO:
            return None
        # An index of words keeps those of rows that a compaction has left behind, and Lance counts
        # these rows among the first. So if few rows come there may be more.
        if found.num_rows > most or isinstance(tested, HasWords):
            found = dataset.scan(columns, predicate=tested, with_row_address=True)
        if found.num_rows > most and self._mode is TraversalMode.AUTO:
            return None
        rows = positions_in_scan(dataset, holds(found)[ROW_ADDRESS].to_numpy())
        return np.sort(rows)

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        """The row of each id, or -1."""
        dataset = self._snapshot.dataset(entity)
        found = dataset.rows_of(ids.unique())
        rows = positions_in_scan(dataset, found[ROW_ADDRESS].to_numpy())
        at = pc.index_in(ids, value_set=found[ID].combine_chunks()).fill_null(-1).to_numpy()
        numbers: Ordinals = np.append(rows, -1)[at]
        return numbers

    def values(self, entity: EntityType, column: str, rows: Ordinals) -> pa.Array:
        """A column of a few rows, which may repeat."""
        wanted, which = np.unique(rows, return_inverse=True)
        found = self._snapshot.dataset(entity).take(wanted, [column])[column].combine_chunks()
        return found.take(pa.array(which))

    def near(
        self,
        steps: Sequence[EdgeStep],
        nodes: Ordinals,
        *,
        origin: Space,
        target: Space,
        hops: int,
        edges: Space | None,
        numbers: Callable[[EntityType, pa.Array], Ordinals],
        ids: Callable[[EntityType, Ordinals], pa.Array],
    ) -> Adjacency:
        """An adjacency that is right for these nodes and all fewer than `hops` steps from them."""
        lookup = _Lookup(self._snapshot, origin, target, edges, numbers, ids)
        seen, frontier = np.empty(0, dtype=np.int64), np.unique(nodes[nodes >= 0])
        found = []
        for _ in range(hops):
            if not len(frontier):
                break
            found += [e for step in steps for e in lookup.edges_of(step, frontier)]
            seen = np.union1d(seen, frontier)
            if hops > 1:
                reached = [_within(e.targets, target, origin) for e in found]
                frontier = np.setdiff1d(np.concatenate([seen[:0], *reached]), seen)
        nothing = np.empty(0, dtype=np.int64)
        return Adjacency.of_pairs(
            np.concatenate([nothing, *(e.origins for e in found)]),
            np.concatenate([nothing, *(e.targets for e in found)]),
            height=origin.size,
            width=target.size,
            edges=np.concatenate([nothing, *(e.edges for e in found)]) if edges else None,
        )


def ways_of(direction: Direction) -> tuple[Direction, ...]:
    both = (Direction.OUT, Direction.IN)
    return both if direction is Direction.BOTH else (direction,)


def positions_in_scan(dataset: Dataset, addresses: NDArray[np.uint64]) -> Ordinals:
    """The position of each row in a scan, by its address."""
    found = np.empty(len(addresses), dtype=np.int64)
    fragments, start = fragments_of(addresses), 0
    for fragment in dataset.fragments:
        (own,) = np.nonzero(fragments == fragment.id)
        if len(own) and fragment.has_deletions:
            found[own] = start + np.searchsorted(dataset.addresses(fragment.id), addresses[own])
        elif len(own):
            found[own] = start + offsets_of(addresses[own])
        start += fragment.rows
    return found


@frozen
class _KnownIndex:
    rows: int
    """How many it answers for."""
    is_beyond_cache: bool
    """Whether its table is so large that a column of it, once read, may not stay."""

    @property
    def nbytes(self) -> int:
        return 16


@frozen
class _Flag:
    value: bool

    @property
    def nbytes(self) -> int:
        return 1


class _Edges(NamedTuple):
    origins: Ordinals
    targets: Ordinals
    edges: Ordinals


class _Lookup(NamedTuple):
    snapshot: Snapshot
    origin: Space
    target: Space
    edges: Space | None
    numbers: Callable[[EntityType, pa.Array], Ordinals]
    ids: Callable[[EntityType, Ordinals], pa.Array]

    def edges_of(self, step: EdgeStep, frontier: Ordinals) -> Iterator[_Edges]:
        """The edges of a step that leave the frontier, each way it goes."""
        catalog: Catalog = self.snapshot.catalog
        edge = catalog.edge_by_name[step.edge]
        by_part = {p.entity.table_key: rows for p, _, rows in self.origin.split(frontier)}
        for way in ways_of(step.direction):
            is_out = way is Direction.OUT
            here, there = (edge.source, edge.target) if is_out else (edge.target, edge.source)
            start = self.origin.part_of(catalog.node_by_name[here].table_key)
            stop = self.target.part_of(catalog.node_by_name[there].table_key)
            if start is None or stop is None or not len(by_part[start.entity.table_key]):
                continue
            skips_loops = step.direction is Direction.BOTH and not is_out
            rows = by_part[start.entity.table_key]
            yield self._leaving(edge, start, stop, rows, is_out=is_out, skips_loops=skips_loops)

    def _leaving(
        self,
        edge: EdgeType,
        start: Part,
        stop: Part,
        rows: Ordinals,
        *,
        is_out: bool,
        skips_loops: bool,
    ) -> _Edges:
        dataset = self.snapshot.dataset(edge)
        near, far = (SRC, DST) if is_out else (DST, SRC)
        ids = self.ids(start.entity, rows)
        among = pc.is_in(pc.field(near), value_set=ids.cast(pa.string()))
        found = dataset.scan([near, far], predicate=among, with_row_address=True)
        at = pc.index_in(found[near], value_set=ids.cast(pa.string())).to_numpy()
        origins = rows[at.astype(np.int64)]
        targets = self.numbers(stop.entity, found[far].combine_chunks())
        assert (targets >= 0).all(), "an edge ends in a node that is not there"
        part = None if self.edges is None else self.edges.part_of(edge.table_key)
        numbers = np.zeros(len(origins), dtype=np.int64)
        if part is not None:
            numbers = positions_in_scan(dataset, found[ROW_ADDRESS].to_numpy()) + part.start
        made = _Edges(origins + start.start, targets + stop.start, numbers)
        if not skips_loops:
            return made
        kept = np.flatnonzero(origins != targets)
        return _Edges(*(column[kept] for column in made))


def _within(targets: Ordinals, target: Space, origin: Space) -> Ordinals:
    """The targets from which a walk can go on."""
    moved = target.translate(targets, origin)
    return moved[moved >= 0]
