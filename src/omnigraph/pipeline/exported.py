"""What an export says of itself to a load: a load takes all that was written, or nothing.

In a bucket an export is not there at once. Its first object says that it is not whole yet, and its
last one, the manifest, names all others. A killed export leaves the first and never has the last.
"""

import json
from collections.abc import Callable
from typing import Any

from omnigraph.base.errors import SourceInvalid

__all__ = ["MANIFEST", "UNFINISHED", "files_to_take"]

# A load of the directory passes over names that begin with _.
MANIFEST, UNFINISHED = "_manifest.json", "_unfinished"


def files_to_take(
    directory: str, is_there: Callable[[str], bool], read: Callable[[str], bytes]
) -> frozenset[str] | None:
    """The names of the only files to load from there; None: of all that there are.

    An export that is not whole is refused: some of its rows would be loaded as if they were all.
    """
    is_unfinished = is_there(UNFINISHED)
    told = _told(read(MANIFEST)) if is_there(MANIFEST) else None
    if told is None:
        if is_unfinished:
            raise SourceInvalid(
                file=directory,
                reason="an export to this place has not ended",
                advice="wait for it; if it was killed, export again with overwrite (--force)",
            )
        return None
    for name in sorted(told):
        if not is_there(name):
            raise SourceInvalid(
                file=f"{directory}/{name}",
                reason="the manifest of the export names this file, and it is not there",
                advice=f"export again; to load what is left, remove {MANIFEST}",
            )
    # Another export to this place was killed: what it left there is not of this one.
    return told if is_unfinished else None


def _told(manifest: bytes) -> frozenset[str] | None:
    """The files that a manifest names; None if it is not one of ours."""
    try:
        content: Any = json.loads(manifest)
        return frozenset(str(file["path"]) for file in content["files"])
    except (ValueError, KeyError, TypeError):
        return None
