"""Label propagation: each node takes the label that weighs most around it, until none changes.

All nodes look at once. A node has a vote for its own label, as heavy as its heaviest edge: two
nodes that would take each other's label for ever agree on one instead. Of labels that weigh the
same the smallest is taken, so the same graph has the same answer.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from omnigraph.read.analytics.algorithms import Labels
from omnigraph.read.analytics.links import Beat, Floats, Found, Links, Numbers

__all__ = ["agreed", "heaviest", "label_propagation", "votes"]

SAME = 1e-9
"""Labels whose weights differ by less, of the heavier one, weigh the same: sums of floats depend on
the order in which they were added."""


def label_propagation(around: Links, asked: Labels, first: Numbers, beat: Beat) -> Found:
    """A label for each node, `first` of which they begin with. `around` has edges both ways."""
    matrix = votes(around, np.arange(around.size), around.size)
    return agreed(first, asked, partial(heaviest, matrix), beat)


def agreed(
    first: Numbers, asked: Labels, follow: Callable[[Numbers], Numbers], beat: Beat
) -> Found:
    """The same from what each node takes when all have looked around once."""
    labels = first.copy()
    if not len(labels):
        return Found(labels, 0)
    for done in range(1, asked.max_iterations + 1):
        beat(done - 1, asked.max_iterations)
        following = follow(labels)
        if np.array_equal(following, labels):
            return Found(labels, done)
        labels = following
    return Found(labels, asked.max_iterations, converged=False)


def votes(around: Links, nodes: Numbers, size: int) -> csr_array:
    """How heavy the vote of each node is for those of `around`, which are `nodes` of so many."""
    places = np.arange(len(nodes) + 1)
    own = csr_array((_own_votes(around), nodes, places), shape=(len(nodes), size))
    return csr_array(around.matrix(size) + own)


def _own_votes(around: Links) -> Floats:
    """As heavy as the heaviest edge; without any, a vote of any weight decides."""
    own = np.ones(around.size)
    if around.weights is not None:
        has_edges = np.flatnonzero(around.counts)
        own[has_edges] = np.maximum.reduceat(around.weights, around.starts[has_edges])
        own[own <= 0] = 1.0
    return own


def heaviest(votes: csr_array, labels: Numbers) -> Numbers:
    """The label that weighs most for each row of votes."""
    size = len(labels)
    # A row for each node with a 1 at its label: the product adds up what each label weighs.
    has_label = csr_array((np.ones(size), labels, np.arange(size + 1)), shape=(size, size))
    weighed = votes @ has_label
    starts = weighed.indptr[:-1]  # no row is empty: every node has its own vote
    most = np.maximum.reduceat(weighed.data, starts)
    is_most = weighed.data >= np.repeat(most * (1 - SAME), np.diff(weighed.indptr))
    candidates = np.where(is_most, weighed.indices, size)
    found: Numbers = np.minimum.reduceat(candidates, starts).astype(np.int64)
    return found
