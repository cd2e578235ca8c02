"""The references of a dataset's forks: one small file each, which Lance writes and lists.

After a power cut a reference may be torn, or it may be whole and the only version of its fork torn
or gone. Such a fork was never acknowledged, and nothing was written to it: a writer makes the first
version of a fork durable before it adds another (`Datasets.secure_fork`). But Lance can't list the
other forks past a torn reference, so it is removed before Lance is asked.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote

from omnigraph.store.datasets.files import (
    home_of,
    reference_of,
    references_of,
    version_file,
)
from omnigraph.store.datasets.version_file import is_torn
from omnigraph.store.objects import Objects
from omnigraph.store.transactions import DatasetRef

__all__ = ["References"]

log = logging.getLogger(__name__)


class References:
    """The references of all forks under one root."""

    def __init__(self, objects: Objects, *, may_be_torn: bool) -> None:
        self._objects = objects
        self._may_be_torn = may_be_torn
        """False in a bucket, which takes an object whole or not at all."""
        self._whole: dict[str, frozenset[str]] = {}
        """The references of each dataset that are known to be whole: none is written again."""

    def fork_names(self, path: str) -> Iterator[str]:
        """The names of a dataset's forks, from one listing, however many there are."""
        return (unquote(PurePosixPath(name).stem) for name in self._sorted_out(path)[0])

    def has(self, path: str, fork: str) -> bool:
        return self._objects.exists(reference_of(path, fork))

    def start_of(self, path: str, fork: str | None) -> DatasetRef | None:
        """The version that a fork started from; None: it is the main line, or gone."""
        data = None if fork is None else self._objects.get(reference_of(path, fork))
        if data is None:
            return None
        reference = json.loads(data)
        return DatasetRef(path, reference["parentBranch"], reference["parentVersion"])

    def drop_torn(self, path: str) -> None:
        """Remove the references that Lance could not get past, and no file of any fork."""
        for reference in self._sorted_out(path)[1]:
            log.warning(
                "deleted %s: a power cut left it incomplete, and no fork uses it", reference
            )
            self._objects.delete(reference)

    def _sorted_out(self, path: str) -> tuple[list[str], list[str]]:
        """The references of a dataset that are whole, and those that are torn."""
        # Lance writes `<name>.json.tmp.<hex>` first: a process that is killed leaves it there.
        found = self._objects.list(references_of(path))
        names = [name for name in found if PurePosixPath(name).suffix == ".json"]
        if not self._may_be_torn:
            return names, []
        known = self._whole.get(path, frozenset())
        whole = frozenset(name for name in names if name in known or self._is_whole(path, name))
        self._whole[path] = whole
        return [n for n in names if n in whole], [n for n in names if n not in whole]

    def _is_whole(self, path: str, name: str) -> bool:
        try:
            start: int = json.loads(self._objects.get(name) or b"")["parentVersion"]
        except (ValueError, KeyError, TypeError):
            return False
        fork = unquote(PurePosixPath(name).stem)
        first = version_file(path, fork, start)
        if not is_torn(self._objects.get(first) or b"", version=start):
            return True
        # A clean-up may have removed the first version of a fork that has others.
        versions = self._objects.list(f"{home_of(path, fork)}/_versions")
        return any(name.endswith(".manifest") and name != first for name in versions)
