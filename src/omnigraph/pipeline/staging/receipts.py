"""The receipts of a load's tasks: a task that has left one need not be done again.

A task leaves a receipt when its files are written, in the graph's own storage, so that it does not
matter which machine it ran on. A second run of the task (by Spark, after an executor was lost; by
another driver, after the first one died) finds the receipt and takes its word instead of reading
the input. The name of a task depends on all that its files depend on, so a changed input makes
another task.

A receipt is worth the files it names: rejected rows lie in parts of the quarantine, which the next
driver takes over. If a file or a part is gone the task is done again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import Violation, Violations
from omnigraph.pipeline.sources import Split
from omnigraph.pipeline.sources.spilled import digest_of
from omnigraph.pipeline.sources.splits import (
    InlineLines,
    InlineTable,
    LanceRows,
    ScratchRows,
)
from omnigraph.pipeline.staging.area import Receipt, TaskArea, TaskFiles
from omnigraph.pipeline.staging.stage import (
    Origin,
    StagedAs,
    StagedFile,
    StagedTable,
    StageJob,
    TaskOutput,
    stage_splits,
)
from omnigraph.store.datasets import has_fragments

__all__ = ["NamedTask", "name_tasks", "stage_task"]


@frozen
class NamedTask:
    name: str
    splits: tuple[Split, ...]


def name_tasks(
    job: StageJob, tasks: Sequence[tuple[Split, ...]], *, schema_hash: str
) -> list[NamedTask]:
    """Tasks by all that their files depend on: the input, the schema, where the files go."""
    is_quarantined = job.quarantine is not None
    homes = sorted((key, job.home_of(key)) for key in job.homes)
    embed = (job.embed.provider, job.embed.model) if job.embed is not None else None
    about = repr((schema_hash, homes, job.staged_as.value, is_quarantined, embed))
    named = []
    for splits in tasks:
        digest = hashlib.sha256(about.encode())
        for split in splits:
            digest.update(_identity(split).encode())
        named.append(NamedTask(digest.hexdigest(), splits))
    return named


def stage_task(job: StageJob, area: TaskArea, task: NamedTask) -> TaskOutput:
    """Inside a task: stage its splits, unless a receipt says that this has been done.

    Spark may run two copies of a task at once. The first one to leave a receipt has done it; the
    other deletes its own files.
    """
    # Rows that the driver holds die with it: their receipt is of their files alone.
    is_held = StagedAs.HELD in job.staged_as
    found = area.find_receipt(task.name)
    if found is not None and not is_held:
        output = _output(found)
        if found.result["is_whole"] and _is_there(job, output):
            return output
        area.forget_receipt(task.name)
    output = stage_splits(job, task.splits)
    ours = _receipt(output, job)
    if found is not None:
        # Another driver may publish these; if none does, they go with our own.
        ours = replace(ours, files=(*ours.files, *found.files))
    with TaskFiles(output.files(job)) as files:
        # Held rows are on their way to the driver, and the files of this copy go with them.
        counts = area.leave_receipt(task.name, ours, is_final=is_held)
        if counts is ours:
            return output
        files.discard()
    return _output(counts)


def _is_there(job: StageJob, output: TaskOutput) -> bool:
    """True if all files and parts that a receipt names are still there."""
    parts_are = not output.parts or (
        job.quarantine is not None and job.quarantine.has(output.parts)
    )
    return parts_are and all(
        has_fragments(job.homes[table.key].location, [file.fragment for file in table.files])
        for table in output.tables
    )


def _identity(split: Split) -> str:
    match split:
        case ScratchRows() | LanceRows():
            return repr(split)
        case InlineLines() | InlineTable():
            return f"{split!r} {digest_of(split.data)}"
        case _:
            # The next driver may be on another machine.
            state = split.state.everywhere if split.state is not None else ""
            return f"{replace(split, state=None)!r} {state}"


def _receipt(output: TaskOutput, job: StageJob) -> Receipt:
    # Of more rejected rows than may be, not all are written down; another driver may allow more.
    is_whole = output.rejected <= (job.quarantine.max_errors if job.quarantine is not None else 0)
    files = tuple((job.home_of(t.key), file.fragment) for t in output.tables for file in t.files)
    tables = [
        {
            "key": table.key,
            "files": [asdict(file) for file in table.files],
            "origins": [[origin.split, origin.rows] for origin in table.origins],
            "gives_ids": table.gives_ids,
        }
        for table in output.tables
    ]
    result = {
        "is_whole": is_whole,
        "read": output.read,
        "rejected": output.rejected,
        "counts": [[*about, count] for about, count in output.violations.counts.items()],
        "examples": [asdict(violation) for violation in output.violations.examples],
        "parts": list(output.parts),
        "tables": tables,
    }
    return Receipt(files, result)


def _output(receipt: Receipt) -> TaskOutput:
    result = receipt.result
    tables = tuple(
        StagedTable(
            key=TableKey(table["key"]),
            files=tuple(StagedFile(**file) for file in table["files"]),
            held=(),
            origins=tuple(Origin(split, rows) for split, rows in table["origins"]),
            gives_ids=table["gives_ids"],
        )
        for table in result["tables"]
    )
    return TaskOutput(
        read=result["read"],
        rejected=result["rejected"],
        violations=Violations(
            {(kind, type_, name): count for kind, type_, name, count in result["counts"]},
            [Violation(**example) for example in result["examples"]],
        ),
        tables=tables,
        parts=tuple(result["parts"]),
        was_done=True,
    )
