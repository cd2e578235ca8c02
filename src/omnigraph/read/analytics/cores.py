"""K-core: the largest k for which a node stays when all nodes with fewer than k neighbours go."""

import numpy as np

from omnigraph.read.analytics.links import Beat, Found, Links
from omnigraph.read.topology.csr import Ranges

__all__ = ["core_numbers"]

BEATS_EVERY = 64
"""Rounds between two looks at the clock: a round may be a few nodes."""


def core_numbers(around: Links, beat: Beat) -> Found:
    """`around` has both ways of each edge once, and no loops.

    All nodes that must go at one level go together, and then those that they leave with too few.
    """
    left, cores = around.counts, np.zeros(around.size, dtype=np.int64)
    starts, lengths = around.starts[:-1].astype(np.int64), around.counts
    is_there = np.ones(around.size, dtype=np.bool_)
    level, gone, rounds = 0, 0, 0
    while gone < around.size:
        there = np.flatnonzero(is_there)
        level = max(level, int(left[there].min()))
        going = there[left[there] <= level]
        while len(going):
            if rounds % BEATS_EVERY == 0:
                beat(gone, around.size)
            rounds += 1
            cores[going], is_there[going] = level, False
            gone += len(going)
            touched = around.ends[Ranges(starts[going], lengths[going]).positions()]
            touched = np.sort(touched[is_there[touched]])
            first = np.ones(len(touched), dtype=np.bool_)
            first[1:] = touched[1:] != touched[:-1]
            bounds = np.flatnonzero(first)
            nodes = touched[bounds]
            left[nodes] -= np.diff(np.append(bounds, len(touched)))
            going = nodes[left[nodes] <= level]
    return Found(cores)
