"""Work of the pipeline that is under way, can be resumed or was left behind, as `__staging` says.

Tasks write files long before a commit names them. A receipt names those of a task that is done. The
files of a task at work are named nowhere, but they are younger than the record of their load.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from omnigraph.base.errors import LoadUnderWay
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.staging.area import AreaRecord, Receipt
from omnigraph.pipeline.staging.record import driving
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import StoredObject
from omnigraph.store.survey import Survey

__all__ = ["StagedWork", "staged_work"]


@frozen(slots=False)
class StagedWork:
    loads: tuple[str, ...]
    """The names of loads that are under way or can be resumed."""
    files: frozenset[str]
    """Data files that receipts of such work name."""
    since_ms: int | None
    """Files written since may be of work that is under way; None: none is."""
    left: tuple[StoredObject, ...]
    """Records, receipts and scratch files of work that nobody can go on with."""


@frozen(slots=False)
class _Area:
    """A record with its receipts; or a folder of scratch files, which has no record."""

    record: StoredObject | None
    members: tuple[StoredObject, ...]

    @property
    def last_used_ms(self) -> int:
        return max(stored.changed_at_ms for stored in self.objects)

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        return self.members if self.record is None else (*self.members, self.record)


def staged_work(
    store: GraphStore, survey: Survey, *, branches: Collection[str], idle_before_ms: int
) -> StagedWork:
    """What is to be kept for work of the pipeline. Work without a name that has left no trace since
    `idle_before_ms` is dead: nobody else can know of it."""
    loads, files, since, left = list[str](), set[str](), list[int](), list[StoredObject]()
    for area in _areas(survey):
        record = None if area.record is None else _read(store, area.record)
        is_idle = area.last_used_ms < idle_before_ms
        if record is not None and record.is_named and _can_be_resumed(record, branches):
            loads.append(record.name)
            files |= _files_of(store, area.members)
            if _is_driven(store, record):
                since.append(_began_ms(area))
        elif is_idle:
            left += area.objects
        else:
            files |= _files_of(store, area.members)
            since.append(_began_ms(area))
    return StagedWork(tuple(sorted(loads)), frozenset(files), min(since, default=None), tuple(left))


def _began_ms(area: _Area) -> int:
    """When its driver began: it writes the record first, and again when it resumes."""
    if area.record is not None:
        return area.record.changed_at_ms
    return min(stored.changed_at_ms for stored in area.members)


def _areas(survey: Survey) -> Iterator[_Area]:
    records, folders = dict[str, StoredObject](), dict[str, list[StoredObject]]()
    for stored in survey.below(STAGING):
        head, _, rest = stored.name.removeprefix(f"{STAGING}/").partition("/")
        if rest:
            folders.setdefault(head, []).append(stored)
        elif PurePosixPath(head).suffix == ".json":
            records[head.removesuffix(".json")] = stored
    for folder in sorted({*records, *folders}):
        yield _Area(records.get(folder), tuple(folders.get(folder, ())))


def _read(store: GraphStore, stored: StoredObject) -> AreaRecord | None:
    """What a record says; None: it is gone by now, or can't be read."""
    try:
        return AreaRecord(**json.loads(store.objects.get(stored.name) or b""))
    except (ValueError, TypeError):
        return None


def _can_be_resumed(record: AreaRecord, branches: Collection[str]) -> bool:
    """True unless its branch is gone, and the load with it."""
    branch = record.about.get("branch")
    return branch is None or branch in branches


def _is_driven(store: GraphStore, record: AreaRecord) -> bool:
    try:
        with driving(store, record.name):
            return False
    except LoadUnderWay:
        return True


def _files_of(store: GraphStore, members: Iterable[StoredObject]) -> set[str]:
    """The data files that receipts name; scratch files are no receipts."""
    names = set[str]()
    for stored in members:
        if PurePosixPath(stored.name).suffix == ".json":
            data = store.objects.get(stored.name)
            names |= set() if data is None else _named_in(data)
    return names


def _named_in(data: bytes) -> set[str]:
    try:
        receipt = Receipt.from_json(data)
    except (ValueError, KeyError, TypeError):
        return set()
    return {
        f"{home}/data/{file['path']}"
        for home, fragment in receipt.files
        for file in json.loads(fragment)["files"]
    }
