"""The references of a dataset's forks: one small file each, which Lance writes and lists.

After a power cut a reference may be torn. Its fork was never acknowledged, but Lance can't list the
others past it, so it is removed before Lance is asked.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote

from omnigraph.store.datasets.files import reference_of, references_of
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
        whole = frozenset(name for name in names if name in known or self._is_json(name))
        self._whole[path] = whole
        return [n for n in names if n in whole], [n for n in names if n not in whole]

    def _is_json(self, name: str) -> bool:
        try:
            json.loads(self._objects.get(name) or b"")
        except ValueError:
            return False
        return True
