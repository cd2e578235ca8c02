"""When a state that was read may still be taken for the newest, without reading it again.

Listing versions takes longer the more there are, and opening the newest takes a read. The folder in
which they lie tells with one look whether anything came or went.
"""

import time

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import Datasets, FolderState
from omnigraph.store.layout import MANIFEST

__all__ = ["FreshnessStamp"]

# The file system's clock ticks coarsely: two changes within one tick look like one. A time stamp
# is believed only once it is this old.
CLOCK_TICK_NS = 20_000_000


@frozen
class FreshnessStamp:
    """How the folder of versions looked, if it can be seen, and when we looked."""

    folder: FolderState | None
    at_ns: int
    """Compared with the file system's clock, so it can't be one that a test holds still."""
    at_monotonic_ns: int

    @classmethod
    def of(cls, datasets: Datasets, branch: str | None) -> "FreshnessStamp":
        return cls.now(datasets.look_at_versions(MANIFEST, branch))

    @classmethod
    def now(cls, folder: FolderState | None) -> "FreshnessStamp":
        return cls(folder, time.time_ns(), time.monotonic_ns())

    def rules_out_change_until(self, later: "FreshnessStamp") -> bool:
        """True if no version can have come or gone between this look and a later one."""
        if self.folder is None or self.folder != later.folder:
            return False
        return self.at_ns - self.folder.changed_ns > CLOCK_TICK_NS

    def is_recent(self, now: "FreshnessStamp", *, limit_ns: int) -> bool:
        """True if less time than the limit has passed since, by two clocks that err differently.

        The machine's time can be set back. The other clock stands still while a machine sleeps.
        """
        passed = (now.at_ns - self.at_ns, now.at_monotonic_ns - self.at_monotonic_ns)
        return all(0 <= passed_ns < limit_ns for passed_ns in passed)
