"""Thresholds of reading, as values that the settings pass down.

No answer depends on them, but for `max_exact_floats`: `nearest` among more than so many numbers is
nearly always right, not always.
"""

from dataclasses import field

from omnigraph.base.frozen import frozen

__all__ = ["ReadLimits", "WalkLimits"]


@frozen
class WalkLimits:
    """How the nodes within several hops of many origins are found."""

    max_batch_marks: int = 64_000_000
    """Visited marks of one batch: a byte per origin and node."""
    max_step_pairs: int = 32_000_000
    """Pairs looked at in one step of one batch. More, and the batch is halved: the same work."""
    max_block_walks: int = 4_000_000
    """Steps of walks in one block of origins. A block takes a fraction of a second."""
    max_nodes_per_origin: int = 64
    """From one origin in this many nodes, a look at all edges to see how far walks go is worth
    it."""
    min_nodes_per_reached: int = 8
    """Where more than one node in this many is reached, a mark for each is less work than a
    product."""


@frozen
class ReadLimits:
    max_cache_bytes: int = 4 * 1024**3
    """Enough for the columns and adjacency of some tens of millions of edges."""
    max_disk_bytes: int = 4 * 1024**3
    """Adjacency and ids that other processes find on disk."""
    min_disk_entry_bytes: int = 1 << 20
    """Below this an entry is built as quickly as it is found."""
    min_edges_per_change: int = 8
    """From one changed edge in this many, building an adjacency anew is as quick."""
    max_rows_per_kept_row: int = 2
    """Where fewer than one row in this many is left of a version, reading anew is as quick."""
    max_rows_per_row_taken: int = 8
    """From one row in this many, laying a column's parts end to end is worth it."""
    min_rows_per_value: int = 8
    """A text that repeats this often is asked about by value and not by row."""
    max_block_bytes: int = 64 << 20
    """Rows that a block (`exists`, `optional`, …) makes at once. A block that makes more is worked
    out for a part of the outer rows at a time, so that memory stays bounded."""
    max_chunk_rows: int = 1 << 19
    """Rows that long work takes between two looks at the clock: some hundredths of a second."""
    max_text_block_bytes: int = 8 << 20
    """Text that is taken apart at once: some tenths of a second, and meanwhile some ten times as
    much memory."""
    max_exact_floats: int = 40_000_000
    """Numbers of vectors that `nearest` looks at one by one: some milliseconds. Of more vectors it
    looks at those in the nearest lists only."""
    max_export_batch_bytes: int = 8 << 20
    """Rows that an export takes at once; their text takes a few times as much."""
    max_page_bytes: int = 32 << 20
    """A page of changes with so many bytes of values ends there, however few rows it has."""
    max_history_rows: int = 200
    """A page of the history of an entity reads its row at so many commits; each takes some
    milliseconds."""
    max_history_commits: int = 1_000
    """Under a policy such a page ends after so many commits, whether or not they wrote to the type
    of the entity: which did would tell of hidden rows."""
    max_blobs_at_once: int = 16
    """Rows with blobs that a comparison reads at a time: one value may be a large file."""
    walks: WalkLimits = field(default_factory=WalkLimits)
