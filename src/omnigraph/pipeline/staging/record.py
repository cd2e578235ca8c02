"""The load as a piece of staged work: what its record says, and which driver has it.

The fence `load/…` decides who drives a load with a name. A load without one has no fence: nobody
else can know of it. The record lies in the graph's storage until the load is over. If its driver
dies, another one resumes the load from there, begins it anew, or finds that it was published and
only finishes what was left to be done.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import takewhile
from typing import Any

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchBusy,
    BranchMissing,
    LoadUnderWay,
    StagedLoadMissing,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName
from omnigraph.pipeline.staging.area import (
    AreaRecord,
    Ending,
    StagingArea,
    find_area,
    named_areas,
)
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.fence import Hold
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.sidecar import has_sidecars

__all__ = [
    "LoadRecord",
    "begin_load",
    "check_load_id",
    "conclude",
    "driving",
    "find_resumable",
    "is_none_ours",
    "is_unpublished",
    "resume_load",
]

# What people and jobs call a load, with room to spare: it is part of its commit for ever.
MAX_ID_CHARACTERS = 1_000
SHOWN_CHARACTERS = 80


@frozen
class LoadRecord:
    """What a load is: enough to resume it."""

    mode: str
    branch: str
    base_commit: str
    """The head of the branch when the load began."""
    parallelism: int
    """The number of workers that the input was split for: to resume it is to split it the same."""
    quarantine: Quarantine | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "LoadRecord":
        quarantine = document["quarantine"]
        return cls(**{**document, "quarantine": quarantine and Quarantine(**quarantine)})


def check_load_id(load_id: str) -> None:
    """Refuse a name that can't be shown, or kept in a commit. Any other is escaped."""
    if not 0 < len(load_id) <= MAX_ID_CHARACTERS:
        rule = f"it must have at least one character and at most {MAX_ID_CHARACTERS:,}"
    elif any(unicodedata.category(letter) in ("Cc", "Cs") for letter in load_id):
        rule = "it must have no control characters and no halves of surrogate pairs"
    else:
        return
    shown = load_id[:SHOWN_CHARACTERS].encode("unicode_escape").decode()
    raise ArgumentInvalid(argument="load_id", value=shown, rule=rule)


# Who drives it ------------------------------------------------------------------------------------


@contextmanager
def driving(store: GraphStore, load_id: str | None) -> Iterator[Hold | None]:
    """Be the one driver of a load; raise `LoadUnderWay` if another process is.

    Whoever is inside has closed the load's area before leaving, also after a Ctrl-C: the fence is
    then given back like after any other ending, so that the load can be repeated at once.
    """
    if load_id is None:
        yield None
        return
    interruption: KeyboardInterrupt | None = None
    with ExitStack() as stack:
        # Of a fixed length, since a name may be longer than a file's.
        name = f"load/{hashlib.sha256(load_id.encode()).hexdigest()[:32]}"
        fence = store.fences.hold(name, timeout_s=0, is_lasting=False)
        try:
            hold = stack.enter_context(fence)
        except BranchBusy as busy:
            raise LoadUnderWay(load_id=load_id, holder=busy.holder) from None
        try:
            yield hold
        except KeyboardInterrupt as error:
            interruption = error
    if interruption is not None:
        raise interruption


Knows = Callable[[BranchName], bool]
"""Whether the caller may know that a branch exists."""


def begin_load(
    store: GraphStore, area: StagingArea, record: LoadRecord, name: str | None, *, knows: Knows
) -> None:
    """Start afresh: what an earlier driver left under this name is thrown away."""
    if name is not None and (found := find_area(store.objects, name)) is not None:
        left = LoadRecord.from_json(found.about)
        if left.branch != record.branch and _is_there(store, left.branch):
            is_known = knows(BranchName(left.branch))
            where = f"branch {left.branch}" if is_known else "another branch"
            raise ArgumentInvalid(
                argument="load_id",
                value=name,
                rule=f"a load of this name waits to be resumed on {where}",
                advice="resume it there, load it there once more, or choose another load_id",
            )
        earlier = area.predecessor(found)
        is_gone = is_unpublished(store, left.branch, load_id=name, since=left.base_commit)
        earlier.close(Ending.NOTHING if is_gone else Ending.BY_OTHER)
        if is_gone:
            _drop(left.quarantine, is_alone=earlier.is_alone)
    area.open(record.to_json(), name=name)


def find_resumable(
    store: GraphStore, *, load_id: str, mode: str, branch: BranchName, knows: Knows
) -> tuple[AreaRecord, LoadRecord]:
    """The load that an earlier driver left; raises if there is none like this. Nothing moves."""

    def is_known(record: AreaRecord) -> bool:
        return knows(BranchName(LoadRecord.from_json(record.about).branch))

    found = find_area(store.objects, load_id)
    if found is None or not found.is_named or not is_known(found):
        known = sorted(record.name for record in named_areas(store.objects) if is_known(record))
        raise StagedLoadMissing(load_id=load_id, known=tuple(known))
    left = LoadRecord.from_json(found.about)
    if not is_unpublished(store, left.branch, load_id=load_id, since=left.base_commit):
        # It has died in its last step, and the next writer of the branch finishes that.
        raise LoadUnderWay(load_id=load_id, holder=f"another writer of branch {left.branch}")
    for argument, value, expected in (
        ("mode", mode, left.mode),
        ("branch", branch, left.branch),
    ):
        if value != expected:
            rule = f"the load that is resumed was begun with {expected}"
            raise ArgumentInvalid(argument=argument, value=value, rule=rule)
    return found, left


def resume_load(
    area: StagingArea, found: AreaRecord, left: LoadRecord, quarantine: Quarantine | None
) -> None:
    """Go on where an earlier driver died. From here on the files are ours to delete."""
    record = LoadRecord(left.mode, left.branch, left.base_commit, left.parallelism, quarantine)
    area.resume(found, record.to_json())
    if left.quarantine is not None and quarantine is not None:
        quarantine.take_over(left.quarantine)
    _drop(left.quarantine, is_alone=area.is_alone)


def _drop(quarantine: Quarantine | None, *, is_alone: bool) -> None:
    """Remove what an earlier driver rejected, unless it may live: in a bucket it may for long."""
    if quarantine is not None and (is_alone or quarantine.is_abandoned()):
        quarantine.drop()


# Endings ------------------------------------------------------------------------------------------


def conclude(store: GraphStore, load_id: str, branch: BranchName) -> str | None:
    """Finish for a driver that died when its load was published: name its quarantine, and delete
    all that it left but the files."""
    if find_area(store.objects, load_id) is None:
        return None
    try:
        with driving(store, load_id) as hold:
            found = find_area(store.objects, load_id)
            if found is None:
                return None
            left = LoadRecord.from_json(found.about)
            if left.branch != branch and _is_there(store, left.branch):
                return None  # it waits there to be resumed: the commit here is of another load
            quarantine = left.quarantine
            kept = quarantine.keep_if_complete() if quarantine is not None else None
            StagingArea(store, hold=hold).predecessor(found).close(Ending.BY_OTHER)
            return kept
    except LoadUnderWay:
        return None


def is_unpublished(store: GraphStore, branch: str, *, load_id: str | None, since: str) -> bool:
    """True if no commit after `since` names files of this load, and none will: only then may its
    files go. `since` is a commit that was the head after the load had begun, or before."""
    return is_none_ours(
        store, branch, lambda c: c.kind is CommitKind.LOAD and c.load_id == load_id, since=since
    )


def is_none_ours(
    store: GraphStore, branch: str, is_ours: Callable[[Commit], bool], *, since: str
) -> bool:
    """True if no commit after `since` is ours, and none will be that recovery may yet publish."""
    name = BranchName(branch)
    try:
        if has_sidecars(store, store.branches.resolve(name)):
            return False  # the unfinished write may be this load's, and recovery publishes it
        later = takewhile(lambda commit: commit.id != since, store.history().line(name))
        return not any(map(is_ours, later))
    except BranchMissing:
        return True  # with the branch all its commits are gone


def _is_there(store: GraphStore, branch: str) -> bool:
    return branch in {one.name for one in store.branches.list()}
