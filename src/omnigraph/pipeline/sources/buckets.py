"""Which files of a bucket a load reads: `s3://bucket/key`, all below a prefix, or a pattern.

A bucket has no directories, only keys with slashes; here they count as if it had. So what holds for
names in a directory (`files`) holds below a prefix, and `*` in a pattern stays between two slashes.
"""

import glob
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from omnigraph.base.errors import FileMissing
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.exported import MANIFEST, UNFINISHED, files_to_take, is_ours
from omnigraph.pipeline.sources.files import (
    LANCE_VERSIONS,
    OTHER_DATA_SUFFIXES,
    Form,
    form_of,
    graph_itself,
    untold,
)
from omnigraph.pipeline.sources.opening import FileState, state_of_object, suffix_of
from omnigraph.store.bucket_files import BucketFile, files_below, look_at
from omnigraph.store.layout import GRAPH
from omnigraph.store.location import BucketAccess, BucketLocation, source_location

__all__ = ["InputObject", "find_objects"]


@frozen
class InputObject:
    """A file of a bucket, or a Lance dataset there."""

    location: BucketLocation
    form: Form
    state: FileState
    """Of a Lance dataset only its size is known."""

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def file(self) -> str:
        return str(self.location)

    @property
    def table(self) -> tuple[str, str]:
        """As of a file: an object has one name."""
        return self.file, ""


def find_objects(source: str, *, form: Form | None, access: BucketAccess) -> Iterator[InputObject]:
    """The files of the source, by name; `form` is that of all of them, whatever their names say."""
    location = source_location(source, access)
    found = look_at(location) if not source.endswith("/") else None
    if found is not None:
        yield _named(found, form)
        return
    pattern = location.key.split("/") if location.key else []
    fixed = [*itertools.takewhile(lambda name: not glob.has_magic(name), pattern)]
    files = list(files_below(replace(location, key="/".join(fixed))))
    matched = [(match, file) for file in files if (match := _matched(file, pattern)) is not None]
    if not matched:
        raise FileMissing(path=source)
    for match, group in itertools.groupby(matched, lambda one: one[0]):
        below = [file for _, file in group]
        if [match] == [file.location.key for file in below]:
            yield _named(below[0], form)
        else:
            yield from _wanted(replace(location, key=match), below, form)


def _matched(file: BucketFile, pattern: Sequence[str]) -> str | None:
    """The key that the pattern means: the file's own, or that of a directory it is in."""
    names = file.location.key.split("/")
    for count in range(len(names) + 1):
        if _matches(names[:count], pattern):
            return "/".join(names[:count])
    return None


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not names
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return _matches(names, rest) or (bool(names) and _matches(names[1:], pattern))
    if not names or (names[0].startswith(".") and not first.startswith(".")):
        return False
    is_same = names[0] == first or (glob.has_magic(first) and fnmatchcase(names[0], first))
    return is_same and _matches(names[1:], rest)


def _named(file: BucketFile, form: Form | None) -> InputObject:
    found = form or form_of(Path(file.location.name))
    if found is None:
        raise untold(str(file.location))
    return InputObject(file.location, found, state_of_object(file))


def _wanted(
    directory: BucketLocation, files: Sequence[BucketFile], form: Form | None
) -> Iterator[InputObject]:
    """Files that programs leave beside data, and texts, are skipped as on a disk."""
    mark = f"/{LANCE_VERSIONS}/"
    paths = {_path(file.location): file for file in files}
    for root in _holding(directory, paths, GRAPH):
        raise graph_itself(str(replace(directory, key=root.strip("/"))))
    taken = _of_exports(directory, paths)
    datasets = {path.partition(mark)[0] for path in paths if mark in path}
    wanted: dict[str, InputObject] = {}
    for path, file in paths.items():
        found = next((above for above in _above(path) if above in datasets), path)
        if _is_passed_over(found.removeprefix(_path(directory))):
            continue
        if any(
            not takes(path.removeprefix(root))
            for root, takes in taken.items()
            if path.startswith(root)
        ):
            continue
        if found in datasets:
            size = file.size + (wanted[found].size if found in wanted else 0)
            dataset = replace(directory, key=found.removeprefix("/"))
            wanted[found] = InputObject(dataset, Form.LANCE, FileState(size, tag=""))
        elif form or form_of(Path(found)) or suffix_of(found) in OTHER_DATA_SUFFIXES:
            wanted[found] = _named(file, form)
    # An export without rows has no parts.
    if not wanted and not is_ours(directory.objects().get(MANIFEST) or b""):
        raise FileMissing(path=str(directory / "*.{jsonl,csv,parquet}"))
    yield from wanted.values()


def _of_exports(
    directory: BucketLocation, paths: Mapping[str, BucketFile]
) -> dict[str, Callable[[str], bool]]:
    """The exports in a directory, which are whole, and what to load of each."""

    def takes(root: str) -> Callable[[str], bool]:
        export = replace(directory, key=root.strip("/"))
        return files_to_take(
            str(export),
            lambda name: paths[f"{root}{name}"].size if f"{root}{name}" in paths else None,
            lambda name: export.objects().get(name) or b"",
        )

    return {root: takes(root) for root in _holding(directory, paths, MANIFEST, UNFINISHED)}


def _holding(directory: BucketLocation, paths: Mapping[str, BucketFile], *names: str) -> list[str]:
    """Where below the directory a file of one of the names lies, with a slash at the end."""
    above = _path(directory)
    return sorted(
        {
            path.removesuffix(name)
            for path in paths
            for name in names
            if path.endswith(f"/{name}") and not _is_passed_over(path.removeprefix(above), name)
        }
    )


def _is_passed_over(path: str, but: str = "") -> bool:
    names = path.removesuffix(but).split("/")
    return any(name.startswith((".", "_")) for name in names)


def _path(location: BucketLocation) -> str:
    """The key as a path within the bucket, whose own is empty."""
    return f"/{location.key}" if location.key else ""


def _above(path: str) -> Iterator[str]:
    """The directories that a path lies in, the outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
