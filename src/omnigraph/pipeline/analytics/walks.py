"""Walks from many nodes at once: a row for each origin and each node that its walk has reached.

A round joins the nodes that it goes on from with the edges, puts what it reaches beside what was
known, and groups both by origin and node. So no frame is looked up in another one as large.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.pipeline.analytics.network import SparkNetwork
from omnigraph.read.analytics.links import Numbers

__all__ = ["Block", "blocks"]

MAX_BLOCK_CELLS = 1 << 26
"""Origins times nodes of a block: a frame has so many rows at most, some gigabytes of the workers.
A graph with more nodes walks from one origin at a time."""


@frozen(slots=False)
class Block:
    """Origins that walk together."""

    network: SparkNetwork
    origins: Numbers
    done: int
    """How many origins were in the blocks before."""
    total: int

    def beat(self) -> None:
        self.network.beat(self.done, self.total)

    def starts(self) -> Any:
        """`origin` and `n`: every walk is where it begins."""
        begin = pa.array(self.origins, pa.int64())
        return self.network.given(pa.table({"origin": begin, "n": begin}))

    def along(self, links: Any, front: Any, on: str) -> Any:
        """The edges that meet nodes of walks, once for each of these walks."""
        return self.network.joined(links, front, [on], times=len(self.origins))


def blocks(network: SparkNetwork, origins: Numbers) -> Iterator[Block]:
    width = max(1, MAX_BLOCK_CELLS // max(network.node_count, 1))
    block = partial(Block, network, total=len(origins))
    for low in range(0, len(origins), width):
        yield block(origins=origins[low : low + width], done=low)
