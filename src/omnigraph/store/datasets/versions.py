"""The files of a dataset's versions: whether one came or went, and whether the newest is whole."""

import logging
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import PurePosixPath

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.files import home_of, version_file
from omnigraph.store.datasets.lance_values import storage_failed
from omnigraph.store.datasets.version_file import is_torn
from omnigraph.store.objects import Objects

__all__ = [
    "FolderState",
    "is_version_torn",
    "look_at",
    "newest_but_torn",
    "replaced_before",
    "written_at_ms",
]

log = logging.getLogger(__name__)


@frozen
class FolderState:
    """While all of this is the same, nothing came to a folder or went from it."""

    device: int
    inode: int
    changed_ns: int
    """By the file system's clock. Unlike the time of modification, nobody can set it."""


def look_at(home: str) -> FolderState:
    """The folder in which versions of a dataset on a disk come and go."""
    directory = f"{home}/_versions"
    try:
        found = os.stat(directory)  # noqa: PTH116 - to make a Path of it takes longer
    except OSError as error:
        raise storage_failed("look at", directory, error) from error
    return FolderState(found.st_dev, found.st_ino, found.st_ctime_ns)


def is_version_torn(objects: Objects, path: str, branch: str | None, version: int) -> bool:
    """True if the bytes of a version's file prove that they are not all there."""
    raw = objects.get(version_file(path, branch, version))
    return raw is not None and is_torn(raw, version=version)


def newest_but_torn(objects: Objects, path: str, branch: str | None) -> int | None:
    """The version before the newest if that one is torn; None if it is not.

    No more than one can be: a version is on the disk before the next one begins.
    """
    numbers = map(_version, objects.list(home_of(path, branch) + "/_versions"))
    versions = [number for number in numbers if number is not None][:2]
    if len(versions) < 2 or not is_version_torn(objects, path, branch, versions[0]):
        return None
    log.warning(
        "version %s of %s is incomplete after a power cut: reading the version before",
        versions[0],
        path,
    )
    return versions[1]


def written_at_ms(objects: Objects, path: str, branch: str | None) -> dict[int, int]:
    """When the file of each version was written."""
    files = objects.survey(home_of(path, branch) + "/_versions")
    found = ((_version(file.name), file.changed_at_ms) for file in files)
    return {version: at_ms for version, at_ms in found if version is not None}


def replaced_before(written_at: Mapping[int, int], moment_ms: float) -> list[int]:
    """The versions that had a successor by then."""
    return [old for old, new in pairwise(sorted(written_at)) if written_at[new] <= moment_ms]


def _version(name: str) -> int | None:
    """The version whose file has this name; those of drafts are called otherwise."""
    file = PurePosixPath(name)
    is_version = file.suffix == ".manifest" and file.stem.isdigit()
    return 2**64 - 1 - int(file.stem) if is_version else None
