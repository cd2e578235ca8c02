"""Which files of a dataset go when only some of its versions stay, and removing them.

A version is removed by its file: from then on nobody can open it, and nobody can come to name files
that only it named. So only that is done behind fences. The other files can go at leisure.

A file that no version names may be of a write that is under way. It goes once it is old enough.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import PurePosixPath
from urllib.parse import quote

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import Datasets
from omnigraph.store.datasets.named_files import NamedFiles, files_named_by
from omnigraph.store.objects import Objects, StoredObject
from omnigraph.store.survey import DatasetFile, FileKind

__all__ = ["DatasetSweep", "Lines", "dead_dataset", "remove_objects", "sweep_of"]

Lines = Mapping[str | None, frozenset[int]]
"""The versions that stay of each line of a dataset: of the main line (None) and of each fork."""

PARALLEL_DELETES = 8


@frozen(slots=False)
class DatasetSweep:
    path: str
    forks: tuple[str, ...]
    """Forks that go whole, those made from others first."""
    versions: tuple[DatasetFile, ...]
    """The files of versions that go, forks that go whole included."""
    files: tuple[DatasetFile, ...]
    """All else that goes."""
    waiting: tuple[DatasetFile, ...]
    """Files that no version names, and that may be of a write that is under way."""
    kept: tuple[DatasetFile, ...]

    @property
    def is_whole(self) -> bool:
        """True if nothing of the dataset stays."""
        return not self.kept and not self.waiting

    def forget_versions(self, datasets: Datasets, objects: Objects) -> None:
        """Make every version that goes unreadable. Forks that go whole are removed whole."""
        gone = tuple(f"{self.path}/tree/{fork}/" for fork in self.forks)
        remove_objects(objects, [f.stored for f in self.versions if not f.name.startswith(gone)])
        for fork in self.forks:
            datasets.delete_fork(self.path, fork)

    def remove_files(self, objects: Objects) -> None:
        remove_objects(objects, [file.stored for file in self.files])
        if self.is_whole:
            objects.forget_folder(self.path)


def sweep_of(
    datasets: Datasets,
    objects: Objects,
    path: str,
    files: Sequence[DatasetFile],
    lines: Lines,
    *,
    may_go: Callable[[StoredObject], bool],
    protected: frozenset[str],
) -> DatasetSweep:
    """What goes of a dataset of which these lines stay, each with these versions.

    `may_go` tells if a file that nobody names is old enough. `protected` files stay in any case.
    """
    parents = datasets.forks(path)
    lines = _with_newest(_with_origins(lines, parents), files)
    forks = tuple(_children_first({f: p for f, p in parents.items() if f not in lines}))
    named, freed = _named(datasets, objects, path, files, lines, going=forks)

    def fate(file: DatasetFile) -> _Fate:
        if file.named_as in protected or file.kind is FileKind.FOREIGN:
            return _Fate.KEPT
        if file.kind is FileKind.VERSION:
            is_kept = file.version in lines.get(file.branch, ())
            return _Fate.KEPT if is_kept else _Fate.VERSION
        if file.branch in forks or (file.kind is FileKind.FORK and _is_of(file, forks)):
            return _Fate.GOING
        if file.kind is FileKind.FORK or _names(named, file):
            return _Fate.KEPT
        return _Fate.GOING if _names(freed, file) or may_go(file.stored) else _Fate.WAITING

    return _sorted_out(path, files, fate, forks)


def dead_dataset(
    path: str,
    files: Sequence[DatasetFile],
    *,
    may_go: Callable[[StoredObject], bool],
    protected: frozenset[str],
) -> DatasetSweep:
    """What goes of a dataset that no commit needs: all of it, young files later."""

    def fate(file: DatasetFile) -> _Fate:
        if file.named_as in protected or file.kind is FileKind.FOREIGN:
            return _Fate.KEPT
        if file.kind is FileKind.VERSION:
            return _Fate.VERSION
        return _Fate.GOING if may_go(file.stored) else _Fate.WAITING

    return _sorted_out(path, files, fate)


class _Fate(Enum):
    KEPT = "kept"
    VERSION = "a version that goes"
    GOING = "going"
    WAITING = "waiting"


def _sorted_out(
    path: str,
    files: Iterable[DatasetFile],
    fate: Callable[[DatasetFile], _Fate],
    forks: tuple[str, ...] = (),
) -> DatasetSweep:
    found: dict[_Fate, list[DatasetFile]] = {each: [] for each in _Fate}
    for file in files:
        found[fate(file)].append(file)
    return DatasetSweep(
        path,
        forks,
        versions=tuple(found[_Fate.VERSION]),
        files=tuple(found[_Fate.GOING]),
        waiting=tuple(found[_Fate.WAITING]),
        kept=tuple(found[_Fate.KEPT]),
    )


def remove_objects(objects: Objects, stored: Iterable[StoredObject]) -> None:
    """Delete the objects, and folders that are empty then."""
    names = [one.name for one in stored]
    with ThreadPoolExecutor(PARALLEL_DELETES, thread_name_prefix="omnigraph-sweep") as pool:
        for _ in pool.map(objects.delete, names):
            pass
    for folder in sorted({str(PurePosixPath(name).parent) for name in names}, reverse=True):
        if _belongs_to_one_file(folder):
            objects.forget_folder(folder)


def _belongs_to_one_file(folder: str) -> bool:
    """True for the folder of an index segment or of a file's blobs: nobody writes there later."""
    return PurePosixPath(folder).parent.name in ("_indices", "data")


def _named(
    datasets: Datasets,
    objects: Objects,
    path: str,
    files: Sequence[DatasetFile],
    lines: Lines,
    *,
    going: Sequence[str],
) -> tuple[NamedFiles, NamedFiles]:
    """The files that versions name which stay, and which go."""
    named, freed = NamedFiles(), NamedFiles()
    for branch in (*lines, *going):
        there = _versions_of(files, branch)
        try:
            ours, others = files_named_by(
                datasets, objects, path, branch, there, kept=lines.get(branch, frozenset())
            )
        except StorageFailed:
            if branch in lines:
                raise
            continue  # what is left of a fork: files that it shared go when they are old enough
        named, freed = named | ours, freed | others
    return named, freed


def _names(named: NamedFiles, file: DatasetFile) -> bool:
    if file.index_folder is not None:
        return file.index_folder in named.index_folders
    return file.named_as in named.files


def _is_of(file: DatasetFile, forks: Iterable[str]) -> bool:
    """True if a reference is one of these forks'."""
    return PurePosixPath(file.name).stem in {quote(fork, safe="") for fork in forks}


def _with_origins(lines: Lines, parents: Mapping[str, str | None]) -> Lines:
    """And the lines that these forks were made from: Lance does not let go of them before."""
    wanted = {None: frozenset[int](), **lines}
    for line in lines:
        origin = parents.get(line) if line is not None else None
        while origin is not None:
            wanted.setdefault(origin, frozenset())
            origin = parents.get(origin)
    return wanted


def _with_newest(lines: Lines, files: Sequence[DatasetFile]) -> Lines:
    """And the newest version of each line: Lance finds the others by it."""
    return {line: kept | {*_versions_of(files, line)[-1:]} for line, kept in lines.items()}


def _versions_of(files: Iterable[DatasetFile], branch: str | None) -> list[int]:
    return sorted(f.version for f in files if f.branch == branch and f.version is not None)


def _children_first(parents: Mapping[str, str | None]) -> list[str]:
    def depth(fork: str) -> int:
        parent = parents[fork]
        return 1 + depth(parent) if parent is not None and parent in parents else 0

    return sorted(parents, key=depth, reverse=True)
