"""What an export says of itself to a load: a load takes all that was written, or nothing.

In a bucket an export is not there at once. Its first object says that it is not whole yet, and its
last one, the manifest, names all others. A killed export leaves the first and never has the last.

Sizes are compared and sums are not: a size costs one look at the disk, a sum reads every byte.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.words import amount

__all__ = [
    "MANIFEST",
    "MANIFEST_VERSION",
    "SCHEMA",
    "UNFINISHED",
    "files_named",
    "files_to_take",
    "is_ours",
]

# A load of the directory passes over names that begin with _.
MANIFEST, UNFINISHED = "_manifest.json", "_unfinished"
SCHEMA = "schema.pg"

# Only manifests of ours have this member, which tells them from those of other programs.
VERSION_MEMBER, MANIFEST_VERSION = "manifest_version", 1


def is_ours(manifest: bytes) -> bool:
    """True if an export has written it: other programs call files of theirs so too."""
    try:
        content: Any = json.loads(manifest)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and VERSION_MEMBER in content


def files_named(manifest: bytes) -> frozenset[str]:
    """The files that a manifest of ours names."""
    return frozenset(str(file["path"]) for file in json.loads(manifest)["files"])


def files_to_take(
    directory: str, size_of: Callable[[str], int | None], read: Callable[[str], bytes]
) -> Callable[[str], bool]:
    """Which of the files below a directory to load, by their names below it.

    `size_of` has the bytes of a file, None if it is not there. An export that is not whole is
    refused: some of its rows would be loaded as if they were all.
    """
    is_unfinished = size_of(UNFINISHED) is not None
    told = _told(directory, read(MANIFEST)) if size_of(MANIFEST) is not None else None
    if told is None:
        if is_unfinished:
            raise SourceInvalid(
                file=directory,
                reason="an export to this place has not ended",
                advice="wait for it; if it was killed, export again with overwrite (--force)",
            )
        return lambda name: True
    for name, wanted in sorted(told.items()):
        _check_size(f"{directory}/{name}", size_of(name), wanted)
    if is_unfinished:
        # Another export to this place was killed: what it left there is not of this one.
        return lambda name: name in told
    # It is no data, whatever form the caller says that files have.
    return lambda name: name != SCHEMA


def _check_size(file: str, found: int | None, wanted: int) -> None:
    if found is None:
        raise SourceInvalid(
            file=file,
            reason="the manifest of the export names this file, and it is not there",
            advice=f"export again, or copy it again; to load what is left, remove {MANIFEST}",
        )
    if found != wanted:
        raise SourceInvalid(
            file=file,
            reason=f"the file has {amount(found, 'byte')}, "
            f"and by the manifest of the export it has {wanted:,}",
            advice="export again, or copy it again; to load the files as they are, "
            f"remove {MANIFEST}",
        )


def _told(directory: str, manifest: bytes) -> Mapping[str, int] | None:
    """The files that a manifest names, with their bytes; None if another program wrote it."""
    try:
        content: Any = json.loads(manifest)
    except (ValueError, RecursionError) as error:
        raise _unreadable(directory, "it is not whole JSON") from error
    if not isinstance(content, dict) or VERSION_MEMBER not in content:
        return None
    if (version := content[VERSION_MEMBER]) != MANIFEST_VERSION:
        raise _unreadable(
            directory, f"it is of version {version!r}, and this program reads {MANIFEST_VERSION}"
        )
    try:
        return {str(file["path"]): int(file["bytes"]) for file in content["files"]}
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(directory, "it does not say which files there are") from error


def _unreadable(directory: str, reason: str) -> SourceInvalid:
    return SourceInvalid(
        file=f"{directory}/{MANIFEST}",
        reason=f"the manifest of the export can't be read: {reason}",
        advice=f"export again, or copy it again; to load the files as they are, remove {MANIFEST}",
    )
