"""Everything that is stored below a graph's root, and what each file is by its name.

Only names that Lance or we give are understood. A file that somebody else put there is nothing to
us: it is never touched.
"""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum

from omnigraph.base.frozen import frozen
from omnigraph.store.layout import AUDIT, EDGES, MANIFEST, NODES
from omnigraph.store.objects import Objects, StoredObject

__all__ = ["DatasetFile", "FileKind", "Survey", "survey"]


class FileKind(Enum):
    VERSION = "version"
    """The file of one version: what makes it readable."""
    CONTENT = "content"
    """Rows, deletions, index segments, blobs, transactions: named by versions or by nobody."""
    FORK = "fork"
    """The reference of a fork, or Lance's note of the newest version: they come and go with it."""
    HALF_WRITTEN = "half written"
    """What a process that died was about to write."""
    FOREIGN = "foreign"
    """Not ours."""


@frozen
class DatasetFile:
    stored: StoredObject
    kind: FileKind
    branch: str | None
    """The fork whose folder it lies in; None is the main line."""
    version: int | None = None
    """Of a version's file."""
    named_as: str = ""
    """The name by which a version names it: a blob by that of the file that it belongs to."""
    index_folder: str | None = None

    @property
    def name(self) -> str:
        return self.stored.name


@frozen(slots=False)
class Survey:
    taken_at_ms: int
    """By the clock of the machine: files have the time of theirs, which no test holds still."""
    datasets: Mapping[str, list[DatasetFile]]
    """The files of each dataset, by its path."""
    others: list[StoredObject] = field(default_factory=list)

    def below(self, folder: str) -> Iterator[StoredObject]:
        """What lies in a folder that is no dataset's."""
        return (stored for stored in self.others if stored.name.startswith(f"{folder}/"))


DATASET = re.compile(
    rf"(?P<path>{MANIFEST}|{re.escape(AUDIT)}|(?:{NODES}|{EDGES})/[^/]+)/(?P<rest>.+)"
)
# Greedy: a branch may have a segment that is called as a folder of Lance's is.
PLACE = re.compile(
    r"(?:tree/(?P<fork>.+)/)?(?P<folder>_versions|data|_deletions|_indices|_transactions|_refs)/"
    r"(?P<file>.+)"
)
VERSION = re.compile(r"(\d{20})\.manifest")
HINT = "latest_version_hint.json"
REFERENCE = re.compile(r"(branches|tags)/[^/]+\.json")
# Ours, and Lance's: it writes `NAME#1` first, and gives the file its name when it is whole.
UNFINISHED = re.compile(r"(^|/)\.unfinished-|\.tmp|#\d+$")
# The version file of a draft, which its writer removes (`Datasets.draft`).
DRAFT = re.compile(r"d\d+\.manifest")
CONTENT = {
    "data": re.compile(r"[^/]+\.lance|[^/]+/[^/]+"),
    "_deletions": re.compile(r"[^/]+\.(arrow|bin)"),
    "_transactions": re.compile(r"[^/]+\.txn"),
    "_indices": re.compile(r"[^/]+/.+"),
}


def survey(objects: Objects) -> Survey:
    taken_at_ms = time.time_ns() // 1_000_000
    datasets, others = defaultdict[str, list[DatasetFile]](list), list[StoredObject]()
    for stored in objects.survey(""):
        match = DATASET.fullmatch(stored.name)
        if match is None:
            others.append(stored)
        else:
            datasets[match["path"]].append(_understood(stored, match["path"], match["rest"]))
    return Survey(taken_at_ms, datasets, others)


def _understood(stored: StoredObject, path: str, rest: str) -> DatasetFile:
    place = PLACE.fullmatch(rest)
    if place is None:
        return DatasetFile(stored, FileKind.FOREIGN, None)
    fork, folder, file = place["fork"], place["folder"], place["file"]
    if UNFINISHED.search(file) or (folder == "_versions" and DRAFT.fullmatch(file)):
        return DatasetFile(stored, FileKind.HALF_WRITTEN, fork)
    if folder == "_versions" and (number := VERSION.fullmatch(file)):
        version = 2**64 - 1 - int(number[1])
        return DatasetFile(stored, FileKind.VERSION, fork, version=version)
    if (folder == "_versions" and file == HINT) or (
        folder == "_refs" and REFERENCE.fullmatch(file)
    ):
        return DatasetFile(stored, FileKind.FORK, fork)
    if folder not in CONTENT or not CONTENT[folder].fullmatch(file):
        return DatasetFile(stored, FileKind.FOREIGN, fork)
    home = path if fork is None else f"{path}/tree/{fork}"
    index_folder = file.partition("/")[0] if folder == "_indices" else None
    # Large blobs lie beside the file of their rows, in a folder of its name.
    owner = f"{file.partition('/')[0].removesuffix('.lance')}.lance"
    named_as = f"{home}/data/{owner}" if folder == "data" else stored.name
    return DatasetFile(stored, FileKind.CONTENT, fork, named_as=named_as, index_folder=index_folder)
