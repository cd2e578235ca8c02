"""Copies of cache entries on disk, for other processes: used while their tables are the same."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from omnigraph.read.tables.cache import size_of
from omnigraph.read.tables.disk import DiskCache, Kept
from omnigraph.read.tables.versions import UNREADABLE, Versions
from omnigraph.store.datasets import DatasetRef

__all__ = ["DiskCopies", "DiskCopy"]


class DiskCopy(NamedTuple):
    refs: tuple[DatasetRef, ...]
    """The versions that the entry was made from."""
    arrays: Mapping[str, NDArray[Any]]


class Storable(Protocol):
    @property
    def nbytes(self) -> int: ...

    def to_arrays(self) -> dict[str, NDArray[Any]]: ...


class DiskCopies:
    def __init__(self, versions: Versions, disk: DiskCache | None) -> None:
        self._versions = versions
        self._disk = disk

    def has(self, family: str) -> bool:
        return self._disk is not None and self._disk.has(family)

    def last(self, family: str) -> DiskCopy | None:
        """The entry that was written last, if the tables it was made from are what they were."""
        kept = None if self._disk is None else self._disk.last(family)
        if kept is None:
            return None
        try:
            refs = tuple(DatasetRef(*ref) for ref in kept.origin["refs"])
            is_same = kept.origin["contents"] == [self._versions.contents(ref) for ref in refs]
        except (KeyError, TypeError, *UNREADABLE):
            return None
        return DiskCopy(refs, kept.arrays) if is_same else None

    def keep(self, family: str, refs: Sequence[DatasetRef], entry: Storable) -> None:
        if self._disk is not None and self._disk.is_worth_keeping(size_of(entry)):
            names = [[ref.path, ref.branch, ref.version] for ref in refs]
            contents = [self._versions.contents(ref) for ref in refs]
            self._disk.keep(family, Kept({"refs": names, "contents": contents}, entry.to_arrays()))
