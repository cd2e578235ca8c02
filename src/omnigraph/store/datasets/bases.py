"""Where forks say that they came from, and making that true again after a move.

Every version file of a fork names the datasets that its inherited files lie in by their absolute
addresses. If a graph is moved they lead nowhere. If it is copied they lead into the original, which
is worse. And where one is spelled otherwise than Lance spells the dataset that it cleans up, Lance
takes the files that it leads to for nobody's, and deletes them.

The old address never decides which dataset is meant: a base without a name is the dataset itself, a
base with a name is the dataset's fork of that name.
"""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from lance.dataset import LanceDataset

from omnigraph.base.errors import GraphMoved
from omnigraph.store.datasets.files import home_of
from omnigraph.store.datasets.version_file import (
    Base,
    MalformedVersionFile,
    VersionFile,
    parse_version_file,
    with_bases_at,
)
from omnigraph.store.objects import Objects

__all__ = ["Bases"]

VERSION_OF_A_FORK = re.compile(r"(?P<path>.+?)/tree/.+/_versions/\d{20}\.manifest")

# They wait for the disk or for the store, not for the processor.
PARALLEL_FILES = 8


class Bases:
    """The bases of all forks under one root."""

    def __init__(self, objects: Objects, root: str) -> None:
        self._objects = objects
        self._root = root

    def require_here(self, path: str, handle: LanceDataset) -> None:
        """Raise `GraphMoved` if an open fork would read files elsewhere."""
        for base in handle.base_paths().values():
            if base.path != self._address_in(path)(base.name):
                there = base.path.removesuffix(f"/{home_of(path, base.name)}")
                raise GraphMoved(here=self._root, there=there)

    def elsewhere(self, path: str, forks: Iterable[str]) -> Base | None:
        """A base that leads out of here, of the newest version of one of a dataset's forks.

        The newest stands for all: a version takes its bases over from the one before.
        """
        address_of = self._address_in(path)
        for fork in forks:
            # Lance counts down in file names, so the newest comes first.
            names = self._objects.list(f"{home_of(path, fork)}/_versions")
            versions = (self._version(name) for name in names if name.endswith(".manifest"))
            newest = next((version for version in versions if version is not None), None)
            for base in newest.bases if newest is not None else ():
                if base.path != address_of(base.name):
                    return base
        return None

    def any_elsewhere(self) -> bool:
        """True if any version of any fork has a base that leads out of here."""
        return any(
            base.path != self._address_in(path)(base.name)
            for name, path in self._versions_of_forks()
            if (version := self._version(name)) is not None
            for base in version.bases
        )

    def bring_here(self) -> int:
        """Make every base of every fork lead to where its name says; how many files that took.

        Each file is replaced whole, never written over: a copy made of hard links shares it. To be
        killed here leaves some files done and some not, and to run it again does the rest.
        """
        with ThreadPoolExecutor(PARALLEL_FILES, thread_name_prefix="omnigraph-bases") as pool:
            return sum(pool.map(lambda file: self._rewrite(*file), self._versions_of_forks()))

    def _rewrite(self, name: str, path: str) -> bool:
        raw = self._objects.get(name)
        if raw is None:
            return False
        try:
            rewritten = with_bases_at(raw, self._address_in(path))
        except MalformedVersionFile:
            return False  # a power cut tore it: recovery removes it, and nothing else opens it
        if rewritten == raw:
            return False
        self._objects.put(name, rewritten)
        return True

    def _versions_of_forks(self) -> list[tuple[str, str]]:
        """The names of all version files of forks, each with the path of its dataset."""
        found = map(VERSION_OF_A_FORK.fullmatch, self._objects.walk(""))
        return [(match[0], match["path"]) for match in found if match is not None]

    def _version(self, name: str) -> VersionFile | None:
        """What a version file says; None if it is torn or gone."""
        try:
            return parse_version_file(self._objects.get(name) or b"")
        except MalformedVersionFile:
            return None

    def _address_in(self, path: str) -> Callable[[str | None], str]:
        return lambda name: f"{self._root}/{home_of(path, name)}"
