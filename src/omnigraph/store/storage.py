"""What a graph is kept in: its objects, its datasets, and the fences around its writers.

All three parts look at the same root; taking one of them from elsewhere is for tests that make it
fail.
"""

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
from omnigraph.store.objects import Objects

__all__ = ["Storage"]

# All that the making of a graph leaves, beside its mark.
MADE_FIRST = (MANIFEST, AUDIT, SCHEMAS, LOCKS, NODES, EDGES, ADDRESS)


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
                return cls(root, leased, Datasets(root, limits=limits), fences)

    def make_room(self) -> bool:
        """Raise if something is there already; True if a directory was made."""
        match self.root:
            case DiskLocation(path=path):
                with disk_failures("create", path):
                    try:
                        path.mkdir(parents=True)
                        return True
                    except FileExistsError:
                        if not path.is_dir() or any(path.iterdir()):
                            raise AlreadyInitialized(str(self.root)) from None
                        return False
            case BucketLocation():
                # The probe of a making that failed before it began: nothing is there.
                if any(name != PROBE for name in self.objects.walk("")):
                    raise AlreadyInitialized(str(self.root))
                return False

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
