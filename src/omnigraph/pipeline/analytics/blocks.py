"""Edges as arrays that workers keep, in blocks: one has all edges that end in some of the nodes.

A round sends a number for each node to the workers, and takes back those of each block's own nodes.
So it moves some bytes for each node and no edge, and the arithmetic is NumPy's: that of a run in
process, a block at a time. Nodes are dealt out in turn, so that blocks are about as large.
"""

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sql

from omnigraph.base.frozen import frozen
from omnigraph.pipeline.analytics.network import SparkNetwork, Way
from omnigraph.read.analytics.links import Floats, Links, Numbers

__all__ = ["Block", "Blocks", "fit_in_one", "itself"]

S = TypeVar("S")

MAX_BLOCK_LINKS = 1 << 23
"""A task has those of a block in memory, some sixteen bytes each, and copies on the way. An edge
that leads both ways is two. All that end in one node are in one block, however many they are."""
MIN_BLOCK_LINKS = 1 << 17
"""Fewer are not worth a task of their own."""
TASKS_PER_CORE = 2

NOWHERE = -1

PIECE_BYTES = 16 << 20
"""An array travels in pieces: batches, and rows of Spark's, hold two gigabytes at most."""
PIECES = pa.schema([("block", pa.int32()), ("piece", pa.binary())])


@frozen(slots=False)
class Block:
    """The edges that end in the nodes `number`, `number + step`, …"""

    number: int
    step: int
    size: int
    """How many nodes there are in all blocks."""
    links: Links
    """For each node of the block those that lead to it, of all blocks."""

    @property
    def nodes(self) -> Numbers:
        return np.arange(self.number, self.size, self.step, dtype=np.int64)


def itself(block: Block, _: None) -> Block:
    """What workers keep of a block, if that is all of it."""
    return block


@frozen(slots=False)
class Blocks:
    network: SparkNetwork
    count: int
    kept: Any
    """What was made of each block, in pieces; a partition for each."""

    @classmethod
    def of(
        cls,
        network: SparkNetwork,
        way: Way,
        keep: Callable[[Block, S], Any],
        shared: S,
        *,
        is_simple: bool = False,
    ) -> "Blocks":
        """Deal the edges out that lead that way, and have the workers keep what `keep` makes of a
        block.

        `shared` is what all blocks are given for that. Of a simple graph parallel edges are one and
        have no weight, and loops are not there.
        """
        count = _count(network, way)
        links = network.links(way)
        has_weights = network.is_weighed and not is_simple
        wanted = ["s", "d", *(["weight"] if has_weights else [])]
        number = sql.pmod("d", sql.lit(count)).cast("int")
        dealt = (links.where("s != d") if is_simple else links).select(*wanted)
        # Of no rows Spark makes no partitions: so each block has one, of no edge.
        nowhere = {"s": np.full(count, NOWHERE), "d": np.arange(count), "weight": np.zeros(count)}
        dealt = dealt.unionByName(network.given(pa.table({n: nowhere[n] for n in wanted})))
        given = network.until.enter_context(network.spark.sent(shared))
        pack = partial(_packed, count, network.node_count, keep, given, is_simple=is_simple)
        packed = network.spark.mapped(dealt.repartitionById(count, number), pack, PIECES)
        return cls(network, count, network.hold(packed))

    def each(self, work: Callable[[Any, S], NDArray[Any]], shared: S) -> NDArray[Any]:
        """A value for each node, or several as rows: `work` gives those of a block's nodes.

        It is given what the workers keep of the block, and `shared`.
        """
        found = self.ask(work, shared)
        first = found[0]
        whole = np.empty((*first.shape[:-1], self.network.node_count), first.dtype)
        for number, values in enumerate(found):
            whole[..., number :: self.count] = values
        return whole

    def ask(self, work: Callable[[Any, S], NDArray[Any]], shared: S) -> list[NDArray[Any]]:
        """What `work` gives of each block."""
        with self.network.spark.sent(shared) as given:
            frame = self.network.spark.mapped(self.kept, partial(_worked, work, given), PIECES)
            answered = self.network.table(frame)
        found: dict[int, NDArray[Any]] = dict(_unpacked(answered.to_batches()))
        assert len(found) == self.count, f"blocks {sorted(found)} of {self.count}"
        return [found[number] for number in range(self.count)]


def fit_in_one(links: int) -> bool:
    return links <= MAX_BLOCK_LINKS


def _count(network: SparkNetwork, way: Way) -> int:
    links = network.edge_count * (2 if way == "both" else 1)
    width = TASKS_PER_CORE * network.spark.parallelism
    some = min(width, math.ceil(links / MIN_BLOCK_LINKS))
    return max(1, some, math.ceil(links / MAX_BLOCK_LINKS))


# Inside a task ------------------------------------------------------------------------------------


def _packed(
    count: int,
    size: int,
    keep: Callable[[Block, S], Any],
    given: Callable[[], S],
    batches: Iterator[pa.RecordBatch],
    *,
    is_simple: bool,
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "runs inside a task"
    number = context.partitionId()
    rows = len(range(number, size, count))
    taken = [[column.to_numpy() for column in batch.columns] for batch in batches]
    columns = [np.concatenate(each) for each in zip(*taken, strict=True)]
    is_edge = columns[0] != NOWHERE
    columns = [column[is_edge] for column in columns]
    sources, targets, *weights = columns
    links = _links(targets // count, sources, *weights, rows=rows, size=size, is_simple=is_simple)
    yield from _pieces(number, keep(Block(number, count, size, links), given()))


def _links(
    targets: Numbers,
    sources: Numbers,
    weights: Floats | None = None,
    *,
    rows: int,
    size: int,
    is_simple: bool,
) -> Links:
    """In an order that does not depend on Spark's: so sums of floats come out the same again."""
    if weights is None:
        both = targets * size + sources
        both.sort()
        if is_simple and len(both):
            both = both[np.diff(both, prepend=-1) > 0]
        targets, sources = np.divmod(both, size)
    else:
        order = np.lexsort((weights, sources, targets))
        targets, sources, weights = targets[order], sources[order], weights[order]
    counts = np.bincount(targets, minlength=rows)
    kind = np.int32 if size <= np.iinfo(np.int32).max else np.int64
    return Links.of(counts, sources.astype(kind), weights)


def _worked(
    work: Callable[[Any, S], NDArray[Any]],
    given: Callable[[], S],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for number, kept in _unpacked(batches):
        yield from _pieces(number, work(kept, given()))


def _pieces(number: int, value: object) -> Iterator[pa.RecordBatch]:
    packed = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    for at in range(0, len(packed), PIECE_BYTES):
        columns = [pa.array([number], pa.int32()), pa.array([packed[at : at + PIECE_BYTES]])]
        yield pa.RecordBatch.from_arrays(columns, schema=PIECES)


def _unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    pieces: dict[int, list[pa.Buffer]] = {}
    for batch in batches:
        for number, piece in zip(batch["block"].to_pylist(), batch["piece"], strict=True):
            pieces.setdefault(number, []).append(piece.as_buffer())
    for number, each in pieces.items():
        yield number, pickle.loads(b"".join(each))
