"""The places that a server loads files from: directories, and prefixes of buckets.

A name outside of them is refused in the same words whether something is there or not. Links are
followed before a file is judged, since one in an allowed directory may lead anywhere; so are those
of a directory's files, one by one. What is opened afterwards is the path without links.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import ArgumentInvalid, FileMissing, FileNotAllowed
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.sources.files import Form, InputFile, NamedFiles, form_of, unreadable
from omnigraph.store.location import is_bucket_address

__all__ = ["Places"]

OPTION = "--load-from"
MAGIC = "*?["


@frozen
class Places:
    directories: tuple[Path, ...] = ()
    """Without links."""
    prefixes: tuple[str, ...] = ()
    """Addresses without a slash at the end."""

    @classmethod
    def named(cls, names: Iterable[str]) -> "Places":
        directories, prefixes = [], []
        for name in names:
            if is_bucket_address(name):
                prefixes.append(name.rstrip("/"))
            elif "://" in name:
                raise ArgumentInvalid(OPTION, name, "it must be a directory or s3://bucket/prefix")
            elif not (directory := Path(os.path.realpath(name))).is_dir():
                raise ArgumentInvalid(OPTION, name, "there is no such directory")
            else:
                directories.append(directory)
        return cls(tuple(directories), tuple(prefixes))

    def find(self, names: Iterable[str], form: Form | None) -> NamedFiles:
        """What the names mean; raises FileNotAllowed, or FileMissing within a place."""
        return NamedFiles(tuple(file for name in names for file in self._find(name, form)))

    def _find(self, name: str, form: Form | None) -> Iterator[InputFile | str]:
        if not name or "\0" in name or ".." in PurePosixPath(name).parts:
            raise FileNotAllowed(name)
        if "://" in name:
            yield self._address(name)
            return
        path = self._path(name)
        if path.is_dir():
            yield from self._files_below(path, name, form)
        elif path.is_file():
            yield _input(path, name, form)
        else:
            # A pipe, say: it is told as what is not there.
            raise FileMissing(name)

    def _address(self, name: str) -> str:
        """An address in a bucket, which must lie below a prefix up to its first wildcard."""
        segments = name.partition("://")[2].split("/")
        fixed = next((n for n, each in enumerate(segments) if set(each) & set(MAGIC)), None)
        is_plain = not any(each in ("", ".", "..") for each in segments[:-1]) and "%" not in name
        known = f"s3://{'/'.join(segments[:fixed])}/"
        if not is_plain or not name.startswith("s3://"):
            raise FileNotAllowed(name)
        if not any(known.startswith(f"{prefix}/") for prefix in self.prefixes):
            raise FileNotAllowed(name)
        return name

    def _path(self, name: str) -> Path:
        """The path without links: of an absolute name, or below the first place that has it."""
        # An absolute name is itself, whatever place it is joined to.
        meant = [Path(os.path.realpath(place / name)) for place in self.directories]
        inside = [path for path in meant if self._is_inside(path)]
        found = next((path for path in inside if path.exists()), None)
        if found is None:
            # A link that leaves one place is no file of the others.
            raise FileMissing(name) if meant and inside == meant else FileNotAllowed(name)
        return found

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self.directories)

    def _files_below(self, directory: Path, called: str, form: Form | None) -> Iterator[InputFile]:
        """Files of data, by name; those that programs leave beside them are passed over."""
        found = sorted(self._below(directory, called.rstrip("/"), seen={directory}))
        wanted = [(path, name) for name, path in found if form or form_of(Path(name)) is not None]
        if not wanted:
            raise FileMissing(f"{called.rstrip('/')}/*.{{jsonl,csv,parquet}}")
        for path, name in wanted:
            yield _input(path, name, form)

    def _below(
        self, directory: Path, called: str, *, seen: set[Path]
    ) -> Iterator[tuple[str, Path]]:
        with disk_failures("read", called):
            names = [entry.name for entry in os.scandir(directory)]
        for name in names:
            if name.startswith((".", "_")):
                continue
            path, told = Path(os.path.realpath(directory / name)), f"{called}/{name}"
            if not self._is_inside(path):
                raise FileNotAllowed(told)
            if path.is_dir():
                if path not in seen:
                    yield from self._below(path, told, seen=seen | {path})
            elif path.is_file():
                yield told, path


def _input(path: Path, name: str, form: Form | None) -> InputFile:
    found = form or form_of(Path(name))
    if found is None:
        raise unreadable(name)
    return InputFile(str(path), found, called=name)
