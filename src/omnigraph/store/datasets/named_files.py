"""Which files the versions of a dataset name. All others are nobody's.

Lance lists the files of all versions of a line at once, without indexes that a fork has from its
origin. Indexes are therefore read from the version files, and their folders count wherever they
lie: no two have one name.
"""

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import GraphMoved, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.collection import Datasets
from omnigraph.store.datasets.files import home_of, version_file
from omnigraph.store.datasets.lance_values import failures
from omnigraph.store.datasets.version_file import MalformedVersionFile, index_folders, is_torn
from omnigraph.store.datasets.whole_files import Flaw, RecordedFile, flaws_of
from omnigraph.store.objects import Objects
from omnigraph.store.transactions import DatasetRef

__all__ = ["NamedFiles", "files_named_by", "flaws_of_version"]

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


def flaws_of_version(datasets: Datasets, objects: Objects, ref: DatasetRef) -> Iterator[Flaw]:
    """What is wrong with the files that a version of a dataset needs; nothing in a bucket."""
    if not datasets.root.is_on_disk:
        return
    name = version_file(ref.path, ref.branch, ref.version)
    data = objects.get(name)
    if data is None:
        yield Flaw(name, "is missing", is_missing=True)
    elif is_torn(data, version=ref.version):
        yield Flaw(name, "is incomplete")
    else:
        yield from flaws_of(datasets.root, _recorded_files(datasets, objects, ref, data))


def _recorded_files(
    datasets: Datasets, objects: Objects, ref: DatasetRef, version: bytes
) -> Iterator[RecordedFile]:
    """The files that a version needs, as it has recorded them."""
    handle = datasets.open(ref)._handle
    homes: dict[int | None, str] = {None: home_of(ref.path, ref.branch)}
    with failures("list files of", ref.path):
        for number, base in handle.base_paths().items():
            homes[number] = home_of(ref.path, base.name)
        fragments = [fragment.metadata for fragment in handle.get_fragments()]
    for fragment in fragments:
        for file in fragment.files:
            size = file.file_size_bytes or None
            yield RecordedFile(f"{homes[file.base_id]}/data/{file.path}", size)
        if (deletions := fragment.deletion_file) is not None:
            yield RecordedFile(
                f"{homes[deletions.base_id]}/{deletions.path(fragment.id)}",
                deleted_rows=deletions.num_deleted_rows,
            )
    for folder in sorted(index_folders(version)):
        for home in homes.values():
            yield from map(RecordedFile, objects.list(f"{home}/_indices/{folder}"))


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
