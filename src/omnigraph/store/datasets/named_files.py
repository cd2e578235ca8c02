"""Which files the versions of a dataset name. All others are nobody's.

Lance lists the files of all versions of a line at once, without indexes that a fork has from its
origin. Indexes are therefore read from the version files, and their folders count wherever they
lie: no two have one name.
"""

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import GraphMoved, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.collection import Datasets
from omnigraph.store.datasets.files import version_file
from omnigraph.store.datasets.lance_values import failures
from omnigraph.store.datasets.version_file import MalformedVersionFile, index_folders
from omnigraph.store.objects import Objects

__all__ = ["NamedFiles", "files_named_by"]

# They wait for the disk or for the store, not for the processor.
PARALLEL_FILES = 8


@frozen
class NamedFiles:
    """Names of files relative to the graph's root, and folders of index segments."""

    files: frozenset[str] = frozenset()
    index_folders: frozenset[str] = frozenset()

    def __or__(self, other: "NamedFiles") -> "NamedFiles":
        return NamedFiles(self.files | other.files, self.index_folders | other.index_folders)


def files_named_by(
    datasets: Datasets,
    objects: Objects,
    path: str,
    branch: str | None,
    versions: Iterable[int],
    *,
    kept: Collection[int],
) -> tuple[NamedFiles, NamedFiles]:
    """The files that the kept versions of a line name, and those that the others name."""
    handle = datasets.open_newest(path, branch)._handle
    wanted = pa.array(sorted(kept), pa.int64())
    names: tuple[set[str], set[str]] = (set(), set())
    with failures("list files of", path):
        for batch in handle.tracked_files():
            is_kept = pc.is_in(batch["version"], value_set=wanted)
            for of_kept, mask in ((True, is_kept), (False, pc.invert(is_kept))):
                names[not of_kept].update(_names(batch.filter(mask), str(datasets.root)))
    unlisted = {v for v in kept if version_file(path, branch, v) not in names[0]}
    if unlisted:
        reason = f"Lance does not list the files of its versions {sorted(unlisted)}"
        raise StorageFailed(doing="list files of", path=path, reason=reason)
    indexes = _indexes(objects, path, branch, versions)
    folders = [
        frozenset().union(*(f for v, f in indexes.items() if (v in kept) is of_kept))
        for of_kept in (True, False)
    ]
    return NamedFiles(frozenset(names[0]), folders[0]), NamedFiles(frozenset(names[1]), folders[1])


def _names(batch: pa.RecordBatch, root: str) -> set[str]:
    found = set[str]()
    bases = batch["base_uri"].dictionary_decode()
    for base in bases.unique().to_pylist():
        home = base.removeprefix(f"{root}/")
        if home == base:
            # To go on would be to take files for nobody's that a fork leads to.
            raise GraphMoved(here=root, there=base)
        paths = batch["path"].filter(pc.equal(bases, base)).unique()
        found.update(f"{home}/{path}" for path in paths.to_pylist())
    return found


def _indexes(
    objects: Objects, path: str, branch: str | None, versions: Iterable[int]
) -> dict[int, frozenset[str]]:
    def folders(version: int) -> tuple[int, frozenset[str]]:
        try:
            return version, index_folders(objects.get(version_file(path, branch, version)) or b"")
        except MalformedVersionFile:
            return version, frozenset()  # torn by a power cut: nothing opens it

    with ThreadPoolExecutor(PARALLEL_FILES, thread_name_prefix="omnigraph-indexes") as pool:
        return dict(pool.map(folders, versions))
