"""Thresholds of storage, as values that the settings pass down. No answer depends on them."""

from omnigraph.base.frozen import frozen

__all__ = ["DEFAULT_LIMITS", "StoreLimits"]


@frozen
class StoreLimits:
    commits_per_cold_fragment: int = 64
    """Every publish writes the newest commits of a branch again: at most so many."""
    max_cold_fragments: int = 16
    """Every version of the manifest lists its cold fragments: `optimize` makes one of more."""
    keep_versions_s: float = 60
    """A reader that has opened a version of the manifest reads its hot fragment at once; a minute
    is ages for that."""
    max_small_fragments: int = 64
    """Each write adds a fragment, and every version of a table lists them all: with more small ones
    than this, a commit and a look-up cost several times what they did."""
    max_fragment_rows: int = 1_048_576
    """Beyond this a fragment gains nothing by being larger."""
    max_kept_commits: int = 16_384
    """Parsed commits, for the next look at a history."""
    max_kept_snapshots: int = 64
    """Snapshots with their open tables, for the next question."""
    max_kept_branches: int = 256
    """Branches whose newest state is kept: for the others it is read again."""
    max_landed_handles: int = 128
    """Lines that are written in turn; one that was let go is opened again."""
    max_file_notes_bytes: int = 64 * 2**20
    """What Lance keeps of versions and files it has read. Each commit adds some 60 KiB that nobody
    asks for again; Lance itself would stop at a gibibyte."""
    max_index_pages_bytes: int = 512 * 2**20
    """Pages of indexes that Lance keeps: they are for a cold process and for what memory can't
    hold, so they must not fill it. Lance itself would stop at six gibibytes."""

    @property
    def trusted_ns(self) -> int:
        """How long after we looked a newer version is sure to be still there: half its life."""
        return int(self.keep_versions_s * 10**9) // 2


DEFAULT_LIMITS = StoreLimits()
