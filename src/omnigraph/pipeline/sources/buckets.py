"""Which files of a bucket a load reads: `s3://bucket/key`, all below a prefix, or a pattern.

A bucket has no directories, only keys with slashes; here they count as if it had. So what holds for
names in a directory (`files`) holds below a prefix, and `*` in a pattern stays between two slashes.
"""

import glob
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from omnigraph.base.errors import FileMissing
from omnigraph.pipeline.sources.files import (
    LANCE_VERSIONS,
    OTHER_DATA_SUFFIXES,
    Form,
    form_of,
    unreadable,
)
from omnigraph.pipeline.sources.opening import suffix_of
from omnigraph.store.bucket_files import BucketFile, files_below, look_at
from omnigraph.store.root import BucketAccess, bucket_and_key

__all__ = ["InputObject", "find_objects"]


@dataclass(frozen=True, slots=True)
class InputObject:
    """A file of a bucket, or a Lance dataset there."""

    path: str
    form: Form
    size: int
    options: dict[str, str] = field(repr=False, hash=False)

    @property
    def file(self) -> str:
        return self.path

    @property
    def table(self) -> tuple[str, str]:
        """As of a file: an object has one name."""
        return self.path, ""


def find_objects(source: str, *, form: Form | None, access: BucketAccess) -> Iterator[InputObject]:
    """The files of the source, by name; `form` is that of all of them, whatever their names say."""
    bucket, key = bucket_and_key(source)
    options = access.options(bucket)
    found = look_at(source, options)
    if found is not None:
        yield _named(found, form, options)
        return
    pattern = key.rstrip("/").split("/") if key else []
    fixed = [*itertools.takewhile(lambda name: not glob.has_magic(name), pattern)]
    files = list(files_below(f"s3://{bucket}/{'/'.join(fixed)}", options))
    matched = [(match, file) for file in files if (match := _matched(file, pattern)) is not None]
    if not matched:
        raise FileMissing(path=source)
    for match, group in itertools.groupby(matched, lambda one: one[0]):
        below = [file for _, file in group]
        if [match] == [file.uri for file in below]:
            yield _named(below[0], form, options)
        else:
            yield from _wanted(match, below, form, options)


def _matched(file: BucketFile, pattern: Sequence[str]) -> str | None:
    """The address that the pattern means: the file's own, or that of a directory it is in."""
    bucket, key = bucket_and_key(file.uri)
    names = key.split("/")
    for count in range(len(names) + 1):
        if _matches(names[:count], pattern):
            return "/".join([f"s3://{bucket}", *names[:count]])
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


def _named(file: BucketFile, form: Form | None, options: dict[str, str]) -> InputObject:
    found = form or form_of(Path(file.uri))
    if found is None:
        raise unreadable(file.uri)
    return InputObject(file.uri, found, file.size, options)


def _wanted(
    directory: str, files: Sequence[BucketFile], form: Form | None, options: dict[str, str]
) -> Iterator[InputObject]:
    """What programs leave beside data and texts are passed over, as on a disk."""
    mark = f"/{LANCE_VERSIONS}/"
    datasets = {file.uri.partition(mark)[0] for file in files if mark in file.uri}
    wanted: dict[str, InputObject] = {}
    for file in files:
        place = next((above for above in _above(file.uri) if above in datasets), file.uri)
        names = place.removeprefix(directory).split("/")
        if any(name.startswith((".", "_")) for name in names):
            continue
        if place in datasets:
            size = file.size + (wanted[place].size if place in wanted else 0)
            wanted[place] = InputObject(place, Form.LANCE, size, options)
        elif form or form_of(Path(place)) or suffix_of(place) in OTHER_DATA_SUFFIXES:
            wanted[place] = _named(file, form, options)
    if not wanted:
        raise FileMissing(path=f"{directory}/*.{{jsonl,csv,parquet}}")
    yield from wanted.values()


def _above(uri: str) -> Iterator[str]:
    """The directories that an address lies in, the outermost first."""
    parts = uri.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
