"""Components: nodes that reach each other, in either direction or in both."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from omnigraph.read.analytics.links import Found, Links, Numbers

__all__ = ["components", "numbered_by_first"]


def components(links: Links, *, is_strong: bool) -> Found:
    """A number for each node, equal for nodes of one component."""
    if not links.size:
        return Found(np.empty(0, np.int64))
    connection = "strong" if is_strong else "weak"
    _, found = connected_components(links.matrix(), directed=True, connection=connection)
    return Found(found.astype(np.int64))


def numbered_by_first(labels: Numbers) -> Numbers:
    """Labels of nodes in the order of an answer as 0, 1, … in the order in which they come first.

    The numbers then depend on the groups alone, and not on how they were found.
    """
    if not len(labels):
        return labels
    order = np.argsort(labels, kind="stable")
    ascending = labels[order]
    is_new = np.ones(len(labels), dtype=np.bool_)
    is_new[1:] = ascending[1:] != ascending[:-1]
    group = np.cumsum(is_new) - 1
    # The sort is stable: the first of a group is where its label comes first.
    rank = np.empty(int(group[-1]) + 1, dtype=np.int64)
    rank[np.argsort(order[is_new], kind="stable")] = np.arange(len(rank))
    numbers = np.empty(len(labels), dtype=np.int64)
    numbers[order] = rank[group]
    return numbers
