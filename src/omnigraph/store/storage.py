"""What a graph is kept in: its objects, its datasets, and the fences around its writers.

All three parts look at the same root; taking one of them from elsewhere is for tests that make it
fail.
"""

import re
from contextlib import suppress

from omnigraph.base.clock import Clock
from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import AlreadyInitialized, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Disk, Durability
from omnigraph.store.fence import Fences, FileFences
from omnigraph.store.layout import (
    ADDRESS,
    AUDIT,
    EDGES,
    GRAPH,
    LOCKS,
    MANIFEST,
    NODES,
    SCHEMAS,
)
from omnigraph.store.lease import LEASE_S, PROBE, LeaseFences
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.location import BucketLocation, DiskLocation, Location
from omnigraph.store.objects import UNFINISHED, Objects

__all__ = ["Storage"]

# All that the making of a graph leaves, beside its mark.
MADE_FIRST = (MANIFEST, AUDIT, SCHEMAS, LOCKS, NODES, EDGES, ADDRESS)
# Where earlier versions kept the schema, which they wrote before anything else.
OLD_SCHEMA = ("_schema.pg", "_schema.ir.json", "__schema_state.json")
# The files of it. Folders called nodes and edges are also what people keep their own files in: only
# datasets as Lance makes them are ours, and a new one has no rows, which would lie in `data/`.
LEFT = re.compile(
    rf"{GRAPH}|{ADDRESS}|{'|'.join(OLD_SCHEMA)}|{SCHEMAS}/[^/]+\.json|{LOCKS}/[^/]+"
    rf"|({AUDIT}|({NODES}|{EDGES})/[0-9a-f]+)/(_versions|_transactions)/[^/]+"
    rf"|(.+/)?{re.escape(UNFINISHED)}[^/]*"
)


@frozen(slots=False)
class Storage:
    root: Location
    objects: Objects
    datasets: Datasets
    fences: Fences

    @classmethod
    def at(
        cls,
        root: Location,
        *,
        clock: Clock,
        durability: Durability = Durability.FSYNC,
        lease_s: float = LEASE_S,
        limits: StoreLimits = DEFAULT_LIMITS,
    ) -> "Storage":
        match root:
            case DiskLocation(path=path):
                objects = root.objects(durability)
                datasets = Datasets(root, durability, limits)
                return cls(root, objects, datasets, FileFences(path))
            case BucketLocation():
                leased = root.objects()
                fences = LeaseFences(leased, clock, address=str(root), lease_s=lease_s)
                return cls(root, leased, Datasets(root, durability, limits), fences)

    def make_room(self, *, force: bool = False) -> bool:
        """Raise if something is there already; True if a directory was made.

        With `force`, what a making left that did not come to its end is removed first.
        """
        if force and self.holds_leftovers():
            self._clear()
            for left in list(self.objects.survey("")):
                self.objects.delete(left.name)
        match self.root:
            case DiskLocation(path=path):
                with disk_failures("create", path):
                    try:
                        path.mkdir(parents=True)
                        return True
                    except FileExistsError:
                        if not path.is_dir() or any(path.iterdir()):
                            raise self._taken() from None
                        return False
            case BucketLocation():
                # The probe of a making that failed before it began: nothing is there.
                if any(name != PROBE for name in self.objects.walk("")):
                    raise self._taken()
                return False

    def _taken(self) -> AlreadyInitialized:
        return AlreadyInitialized(str(self.root), is_unfinished=self.holds_leftovers())

    def holds_leftovers(self) -> bool:
        """True if there is something, and all of it was left by a making that did not finish.

        The manifest of a graph is written last, and rows only after it. So where neither is there
        is no graph. A file that no making leaves is somebody's.
        """
        if any(self.objects.walk(MANIFEST)):
            return False
        found = False
        for left in self.objects.survey(""):
            if LEFT.fullmatch(left.name) is None:
                return False
            found = True
        return found

    def give_up(self, mark: bytes, *, is_new: bool) -> None:
        """Undo a failed creation of a graph: `make_room` and everything after it.

        The graph is ours only if it has this mark: another process may have made one here since.
        The mark goes last, so nobody makes one while we still remove things. Where even that can't
        be done, opening the graph says that its creation did not finish.
        """
        with suppress(StorageFailed, OSError):
            if self.objects.get(GRAPH) == mark:
                self._clear()
                self.objects.delete(GRAPH)
            match self.root:
                case DiskLocation(path=path) if is_new:
                    path.rmdir()
                case _:
                    pass

    def _clear(self) -> None:
        for folder in MADE_FIRST:
            for name in list(self.objects.walk(folder)):
                self.objects.delete(name)
            self.objects.forget_folder(folder)
            self.objects.delete(folder)

    def sync_name(self, durability: Durability) -> None:
        """Make the name of a new root survive a power cut."""
        match self.root:
            case DiskLocation(path=path):
                Disk(path.parent, durability).sync_name(path)
            case BucketLocation():
                pass
