"""The staging area: every file that a piece of pipeline work writes before its commit.

Tasks write files of tables, and each leaves a receipt that names its files. The driver writes more
of them, and makes folders for rows that tasks are to read. None of this is visible to a reader. All
of it ends in `StagingArea.close`, which alone deletes staged files; a task deletes its own (by
`TaskFiles`), when it fails before anyone has heard of them.

An area with a name outlives its driver: its record and its receipts lie in the graph's storage, so
that another driver can go on. One driver has it at a time, the holder of its fence. On a disk the
fence ends with its holder. In a bucket it is a lease, and an earlier holder may live on and publish
the files that it knows: these are then left for a clean-up.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from enum import Enum
from types import TracebackType
from typing import Any
from urllib.parse import quote

from omnigraph.base.errors import FenceLost, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import discard_fragments
from omnigraph.store.fence import Hold
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import STAGING
from omnigraph.store.location import Location
from omnigraph.store.objects import Objects

__all__ = [
    "AreaRecord",
    "Ending",
    "Receipt",
    "StagingArea",
    "TaskArea",
    "TaskFiles",
    "find_area",
    "folder_of",
    "named_areas",
]

# A file's name has at most 255 bytes, and that of a record adds an ending.
MAX_NAME_CHARACTERS, SHOWN_CHARACTERS = 200, 80


class Ending(Enum):
    """How the work of an area has ended, which decides what goes."""

    PUBLISHED = "published"
    """Our commit names some of the files. The others go, and so do record and receipts."""
    NOTHING = "nothing"
    """No commit names a file of the area, and none ever will: everything goes."""
    BY_OTHER = "by other"
    """Another driver has published the work, perhaps with files that receipts name: these stay.
    Files that only this driver knows go, and so do record and receipts."""
    UNKNOWN = "unknown"
    """Our commit may be published, by now or by recovery: every file stays. Record and receipts
    stay too where the area has a name, so that the work can be resumed."""


@frozen
class AreaRecord:
    """What `__staging/{name}.json` says of an area while its work is not over."""

    name: str
    key: str
    """Tells this area from earlier ones of the same name: their tasks may still be at work."""
    is_named: bool
    """True if the caller chose the name. Nobody else knows any other, so nobody can resume it."""
    about: Mapping[str, Any]
    """What kind of work it is, in the words of the work itself."""
    fence_number: int = 0
    others_may_live: bool = False
    """True if an earlier driver lost the fence without giving it back: it may yet publish."""

    @property
    def object_name(self) -> str:
        return f"{folder_of(self.name)}.json"

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def find_area(objects: Objects, name: str) -> AreaRecord | None:
    return _record_at(objects, f"{folder_of(name)}.json")


def named_areas(objects: Objects) -> list[AreaRecord]:
    """The areas that can be resumed by their names: under way, or left behind."""
    names = [name for name in objects.list(STAGING) if name.endswith(".json")]
    found = (_record_at(objects, name) for name in names)
    return [record for record in found if record is not None and record.is_named]


def folder_of(name: str) -> str:
    """The folder of an area's receipts, and the beginning of its record's name. No two names share
    one."""
    # Dots too: a name of dots alone would lead elsewhere, and `a.json` is the record of `a`.
    escaped = quote(name, safe="").replace(".", "%2E").replace("~", "%7E")
    if len(escaped) > MAX_NAME_CHARACTERS:
        escaped = f"{escaped[:SHOWN_CHARACTERS]}~{hashlib.sha256(name.encode()).hexdigest()}"
    return f"{STAGING}/{escaped}"


def _record_at(objects: Objects, object_name: str) -> AreaRecord | None:
    data = objects.get(object_name)
    return None if data is None else AreaRecord(**json.loads(data))


# Inside a task ------------------------------------------------------------------------------------


class TaskFiles:
    """Files that one task has written. They are deleted if the task fails within the `with` block:
    nobody else knows them."""

    def __init__(self, files: Iterable[tuple[Location, Sequence[str]]] = ()) -> None:
        self._files = list(files)

    def add(self, home: Location, fragments: Sequence[str]) -> None:
        self._files.append((home, fragments))

    def discard(self) -> None:
        for home, fragments in self._files:
            _discard(home, fragments)
        self._files.clear()

    def __enter__(self) -> "TaskFiles":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Not if the task is killed: nothing durable happens while a process dies.
        if isinstance(error, Exception):
            self.discard()


@frozen(slots=False)
class Receipt:
    """A task is done: the files that it wrote, and what else there is to say of it."""

    files: tuple[tuple[str, str], ...]
    """The home of each file below the graph's root, since receipts outlive a move; its fragment."""
    result: Mapping[str, Any]

    def to_json(self) -> bytes:
        return json.dumps({"files": self.files, "result": self.result}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Receipt":
        document = json.loads(data)
        files = tuple((home, fragment) for home, fragment in document["files"])
        return cls(files, document["result"])


@frozen(slots=False)
class TaskArea:
    """A staging area as its tasks see it, on any machine."""

    root: Location
    folder: str
    record: str
    key: str

    def find_receipt(self, task: str) -> Receipt | None:
        data = self._objects.get(self._name(task))
        return None if data is None else Receipt.from_json(data)

    def leave_receipt(self, task: str, receipt: Receipt, *, is_final: bool) -> Receipt:
        """The receipt that counts: ours, unless another copy of the task was quicker.

        With `is_final` ours counts in any case. Raises if the work was given up meanwhile.
        """
        name, data = self._name(task), receipt.to_json()
        if is_final:
            self._objects.put(name, data)
        # A bucket may keep the object and lose the answer: its bytes tell whose it is.
        elif not self._objects.put_if_absent(name, data):
            found = self._objects.get(name)
            data = found if found is not None else b""
        if not data or not self._is_open():
            if data == receipt.to_json():
                self._objects.delete(name)
                self._objects.forget_folder(self.folder)
            raise StorageFailed(doing="stage", path=self.folder, reason="the work was given up")
        return receipt if data == receipt.to_json() else Receipt.from_json(data)

    def forget_receipt(self, task: str) -> None:
        self._objects.delete(self._name(task))

    def _is_open(self) -> bool:
        record = _record_at(self._objects, self.record)
        return record is not None and record.key == self.key

    def _name(self, task: str) -> str:
        # With the key: the tasks of an earlier driver must not build on files of ours.
        return f"{self.folder}/{self.key}-{task}.json"

    @property
    def _objects(self) -> Objects:
        return self.root.objects()


def _discard(home: Location, fragments: Sequence[str]) -> None:
    """Files that can't be deleted now are found by a clean-up."""
    with suppress(StorageFailed):
        discard_fragments(home, fragments)


# The driver ---------------------------------------------------------------------------------------


class StagingArea:
    """The files of one piece of work, from the side of its driver."""

    def __init__(self, store: GraphStore, *, hold: Hold | None = None) -> None:
        """`hold` is the fence of the area's name. Without a name there is no fence: nobody else
        can know of the area."""
        self._store = store
        self._hold = hold
        self._record: AreaRecord | None = None
        self._folders: list[str] = []
        self._own: list[tuple[Location, Sequence[str]]] = []
        self._is_closed = False

    def open(self, about: Mapping[str, Any], *, name: str | None) -> AreaRecord:
        """Have tasks leave receipts from here on. A `name` lets another driver resume the work."""
        clock = self._store.clock
        record = AreaRecord(
            name=name if name is not None else clock.ulid(),
            key=clock.ulid(),
            is_named=name is not None,
            about=about,
            fence_number=self._hold.number if self._hold is not None else 0,
        )
        return self._write(record)

    def resume(self, found: AreaRecord, about: Mapping[str, Any]) -> AreaRecord:
        """Go on with the area of a driver that is gone, and with the receipts of its tasks."""
        assert self._hold is not None, "only an area with a name can be found"
        others_may_live = self._may_have_company(found)
        record = replace(found, about=about, others_may_live=others_may_live)
        return self._write(replace(record, fence_number=self._hold.number))

    def predecessor(self, found: AreaRecord) -> "StagingArea":
        """The area of the same name that a driver has left who is gone, to be closed."""
        area = StagingArea(self._store, hold=self._hold)
        area._record = replace(found, others_may_live=self._may_have_company(found))
        return area

    @property
    def is_alone(self) -> bool:
        """True if no earlier driver can publish files of this area."""
        return self._record is None or not self._record.others_may_live

    @property
    def for_tasks(self) -> TaskArea | None:
        """None if tasks leave no receipts."""
        if self._record is None:
            return None
        return TaskArea(
            root=self._store.root,
            folder=folder_of(self._record.name),
            record=self._record.object_name,
            key=self._record.key,
        )

    def new_folder(self) -> str:
        """The name of a folder in the graph's storage that is removed however the work ends."""
        self._folders.append(f"{STAGING}/{self._store.clock.ulid()}")
        return self._folders[-1]

    def add(self, home: Location, fragments: Sequence[str]) -> None:
        """Files that no receipt names: only this driver can publish them."""
        self._own.append((home, fragments))

    def close(self, ending: Ending, *, published: Collection[str] = ()) -> None:
        """Delete all that will never be needed, now that the work has ended.

        `published` are the fragments that our commit names. Files that can't be deleted now are
        found by the next work of this name, or by a clean-up.
        """
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(StorageFailed):
            self._remove_folders()
        with suppress(StorageFailed):
            self._delete_files(ending, frozenset(published))

    def _delete_files(self, ending: Ending, published: frozenset[str]) -> None:
        record = self._record
        if ending is not Ending.UNKNOWN:
            for home, fragments in self._own:
                _discard(home, [text for text in fragments if text not in published])
        is_over = ending is not Ending.UNKNOWN or (record is not None and not record.is_named)
        if record is None or not is_over or self._is_lost():
            return
        # Another driver may publish files that it knows by their receipts.
        may_go = ending in (Ending.PUBLISHED, Ending.NOTHING) and self.is_alone
        folder, objects = folder_of(record.name), self._store.objects
        for name in objects.list(folder):
            if may_go and (data := objects.get(name)) is not None:
                for path, fragment in Receipt.from_json(data).files:
                    if fragment not in published:
                        # Below our own root: of a copy, the receipt was written in the original.
                        _discard(self._store.root / path, [fragment])
            objects.delete(name)
        objects.forget_folder(folder)
        # The record goes last: as long as it is there the rest can be found.
        objects.delete(record.object_name)

    def _remove_folders(self) -> None:
        """With all that is in them: a task that was run twice has left files that nobody knows."""
        for folder in self._folders:
            for name in [*self._store.objects.walk(folder)]:
                self._store.objects.delete(name)
            self._store.objects.forget_folder(folder)

    def _is_lost(self) -> bool:
        """True if another driver has taken the area over, or may have."""
        if self._hold is None:
            return False
        try:
            self._hold.confirm()
        except (FenceLost, StorageFailed):
            return True
        return False

    def _may_have_company(self, found: AreaRecord) -> bool:
        """True if an earlier driver may live: it gave no fence back that can be lost."""
        assert self._hold is not None
        is_other = self._hold.number != found.fence_number
        return found.others_may_live or (self._hold.may_lapse and is_other)

    def _write(self, record: AreaRecord) -> AreaRecord:
        self._store.objects.put(record.object_name, record.to_json())
        self._record = record
        return record
