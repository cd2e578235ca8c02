"""What a graph is kept in: its objects, its datasets, and the fences around its writers.

The only module that tells a disk from a bucket for the rest of the store. All three parts look at
the same root; taking one of them from elsewhere is for tests that make it fail.
"""

import shutil
from dataclasses import dataclass

from omnigraph.base.clock import Clock
from omnigraph.base.errors import AlreadyInitialized, StorageFailed
from omnigraph.store.datasets import Datasets
from omnigraph.store.durability import Disk, Durability
from omnigraph.store.fence import Fences, FileFences
from omnigraph.store.lease import LEASE_S, LeaseFences
from omnigraph.store.objects import DiskObjects, Objects
from omnigraph.store.root import BucketAccess, BucketRoot, DiskRoot, Root

__all__ = ["Storage"]


@dataclass(frozen=True)
class Storage:
    root: Root
    objects: Objects
    datasets: Datasets
    fences: Fences

    @classmethod
    def at(
        cls,
        root: Root,
        *,
        clock: Clock,
        durability: Durability = Durability.FSYNC,
        access: BucketAccess | None = None,
        lease_s: float = LEASE_S,
    ) -> "Storage":
        match root:
            case DiskRoot(path=path):
                return cls(
                    root,
                    objects=DiskObjects(path, durability),
                    datasets=Datasets(str(root), durability),
                    fences=FileFences(path),
                )
            case BucketRoot(bucket=bucket):
                from omnigraph.store.bucket import BucketObjects  # a disk needs no client of S3

                options = (access or BucketAccess()).options(bucket)
                objects = BucketObjects.at(root, options)
                return cls(
                    root,
                    objects=objects,
                    datasets=Datasets(str(root), options=options),
                    fences=LeaseFences(objects, clock, place=str(root), lease_s=lease_s),
                )

    def make_room(self) -> bool:
        """Make sure that nothing is there; True if a directory had to be made."""
        match self.root:
            case DiskRoot(path=path):
                try:
                    path.mkdir(parents=True)
                    return True
                except FileExistsError:
                    if not path.is_dir() or any(path.iterdir()):
                        raise AlreadyInitialized(str(self.root)) from None
                    return False
                except OSError as error:
                    reason = error.strerror or str(error)
                    raise StorageFailed(doing="create", path=str(path), reason=reason) from error
            case BucketRoot():
                if any(self.objects.walk("")):
                    raise AlreadyInitialized(str(self.root))
                return False

    def clear(self, *, is_ours: bool) -> None:
        """Undo `make_room` and all that followed it."""
        match self.root:
            case DiskRoot(path=path):
                for entry in path.iterdir():
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
                if is_ours:
                    path.rmdir()
            case BucketRoot():
                for name in list(self.objects.walk("")):
                    self.objects.delete(name)

    def settle(self, durability: Durability) -> None:
        """Make the name of a new root survive a power cut."""
        match self.root:
            case DiskRoot(path=path):
                Disk(path.parent, durability).sync_name(path)
            case BucketRoot():
                pass
