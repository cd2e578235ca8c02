"""What a task of a load has done, told so that it need not be done again.

A task leaves a small object when its files are written, in the graph's own storage, so that it does
not matter which machine it ran on. Whoever runs the task again (Spark, after an executor was lost;
another driver, after the first one died) finds the object and takes its word instead of reading the
input. A task is known by all that its files depend on, so what has changed is another task.

An account is worth what it names: rows that were rejected lie in parts of the quarantine, which the
next driver takes over, and files may have been written again without rows that turned out wrong. If
one of them is gone the task is done again.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.base.errors import StorageFailed
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violation, Violations
from omnigraph.pipeline.sources import Piece
from omnigraph.pipeline.sources.opening import state_of
from omnigraph.pipeline.sources.pieces import InlineLines, InlineTable, ScratchRows
from omnigraph.pipeline.sources.spilled import digest_of
from omnigraph.pipeline.staging.stage import (
    Keeping,
    Origin,
    Share,
    StagedFile,
    StagedTable,
    StageJob,
    discard_tables,
    stage_pieces,
)
from omnigraph.store.datasets import has_fragments
from omnigraph.store.location import Location, location_at
from omnigraph.store.objects import Objects

__all__ = ["NamedTask", "name_tasks", "stage_task"]


@dataclass(frozen=True, slots=True)
class NamedTask:
    name: str
    pieces: tuple[Piece, ...]


def name_tasks(
    job: StageJob, tasks: Sequence[tuple[Piece, ...]], *, schema_hash: str
) -> list[NamedTask]:
    """Tasks by all that their files depend on: the input, the schema, where the files go."""
    is_quarantined = job.quarantine is not None
    homes = sorted((key, job.home_of(key)) for key in job.uris)
    about = repr((schema_hash, homes, job.keeping.value, is_quarantined))
    # Of files by their path: a bucket is asked once for each.
    states: dict[Location, str] = {}
    named = []
    for pieces in tasks:
        told = hashlib.sha256(about.encode())
        for piece in pieces:
            told.update(_identity(piece, states).encode())
        named.append(NamedTask(told.hexdigest(), pieces))
    return named


def stage_task(job: StageJob, folder: str, record: str, task: NamedTask) -> Share:
    """Inside a task: stage its pieces, unless that has been done before.

    What is done is written down in `folder`, as long as the load's `record` is there. Spark may run
    two copies of a task at once. The first one to say that it is done has done it; the other throws
    its own files away.
    """
    objects = location_at(job.root, job.options).objects()
    name = f"{folder}/{task.name}.json"
    # Rows that the driver holds die with it: there is an account of their files alone.
    if Keeping.HELD not in job.keeping and (done := objects.get(name)) is not None:
        account = json.loads(done)
        share = _share(account)
        if account["is_whole"] and _is_there(job, share):
            return share
        # What is left of it may be part of what another driver publishes.
        objects.delete(name)
    share = stage_pieces(job, task.pieces)
    # Of more rejected rows than may be, not all are written down; another driver may allow more.
    is_whole = share.rejected <= (job.quarantine.max_errors if job.quarantine is not None else 0)
    told = _told(share, job, is_whole=is_whole)
    try:
        done = _put_first(objects, name, told, job)
        if done is None or not objects.exists(record):
            if done == told:
                objects.delete(name)
                objects.forget_folder(folder)
            raise StorageFailed(doing="stage", path=folder, reason="the load was given up")
    except StorageFailed:
        discard_tables(job, share.tables)
        raise
    if done == told:
        return share
    discard_tables(job, share.tables)
    return _share(json.loads(done))


def _put_first(objects: Objects, name: str, told: bytes, job: StageJob) -> bytes | None:
    """What is written down of the task: ours, unless another copy of it was quicker."""
    if Keeping.HELD in job.keeping:
        # The rows of this copy are on their way to the driver, and its files go with them.
        objects.put(name, told)
        return told
    # A bucket may keep the object and lose the answer: what is there tells whose it is.
    is_ours = objects.put_if_absent(name, told)
    return told if is_ours else objects.get(name)


def _is_there(job: StageJob, share: Share) -> bool:
    """Whether all that an account names is still there."""
    parts_are = not share.parts or (job.quarantine is not None and job.quarantine.has(share.parts))
    return parts_are and all(
        has_fragments(
            location_at(job.uris[table.key], job.options), [file.fragment for file in table.files]
        )
        for table in share.tables
    )


def _identity(piece: Piece, states: dict[Location, str]) -> str:
    match piece:
        case ScratchRows():
            return repr(piece)
        case InlineLines() | InlineTable():
            return f"{piece!r} {digest_of(piece.data)}"
        case _:
            if piece.location not in states:
                states[piece.location] = state_of(piece)
            return f"{piece!r} {states[piece.location]}"


def _told(share: Share, job: StageJob, *, is_whole: bool) -> bytes:
    tables = [
        {
            "key": table.key,
            "home": job.home_of(table.key),
            "files": [asdict(file) for file in table.files],
            "origins": [[origin.piece, origin.rows] for origin in table.origins],
            "gives_ids": table.gives_ids,
        }
        for table in share.tables
    ]
    told = {
        "is_whole": is_whole,
        "read": share.read,
        "rejected": share.rejected,
        "counts": [[*about, count] for about, count in share.violations.counts.items()],
        "examples": [asdict(violation) for violation in share.violations.examples],
        "parts": share.parts,
        "tables": tables,
    }
    return json.dumps(told).encode()


def _share(told: Mapping[str, Any]) -> Share:
    tables = tuple(
        StagedTable(
            key=TableKey(table["key"]),
            files=tuple(StagedFile(**file) for file in table["files"]),
            held=(),
            origins=tuple(Origin(piece, rows) for piece, rows in table["origins"]),
            gives_ids=table["gives_ids"],
        )
        for table in told["tables"]
    )
    return Share(
        read=told["read"],
        rejected=told["rejected"],
        violations=Violations(
            {(kind, type_, name): count for kind, type_, name, count in told["counts"]},
            [Violation(**example) for example in told["examples"]],
        ),
        tables=tables,
        parts=tuple(told["parts"]),
        was_done=True,
    )
