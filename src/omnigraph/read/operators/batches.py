"""Work out a block for a part of the outer rows at a time: it never makes too many rows together.

All outer rows are tried together first. If that would make more rows than `max_block_bytes` allows,
they are taken in as many batches as should do, and those of a batch that is still too large again.
A single outer row may take all the memory of the query.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

import numpy as np

from omnigraph.read.context import Context, TooMuchAtOnce
from omnigraph.read.frame import Frame

__all__ = ["in_batches"]

T = TypeVar("T")


def in_batches(
    begun: Frame, context: Context, work: Callable[[Frame, Context], T]
) -> Iterator[tuple[int, T]]:
    """The results of the work in the order of the rows, each with the first row of its batch."""
    budget = replace(context.budget, at_once_bytes=context.limits.max_block_bytes)
    careful = replace(context, budget=budget)
    waiting = [(0, begun.count)]
    while waiting:
        start, stop = waiting.pop()
        batch = begun if stop - start == begun.count else _part(begun, start, stop)
        is_single = stop - start <= 1
        try:
            with nullcontext() if context.profile is None else context.profile.batch():
                made = work(batch, context if is_single else careful)
        except TooMuchAtOnce as refused:
            if is_single:
                raise
            size = -(-(stop - start) // min(stop - start, max(2, refused.parts)))
            starts = range(start, stop, size)
            waiting += [(first, min(first + size, stop)) for first in reversed(starts)]
        else:
            yield start, made


def _part(begun: Frame, start: int, stop: int) -> Frame:
    part = begun.take(np.arange(start, stop))
    return Frame(part.count, part.bindings, part.weights, np.arange(part.count), part.made)
