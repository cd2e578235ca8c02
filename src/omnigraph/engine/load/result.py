"""What a load came to, told to its caller."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.ids import BranchName
from omnigraph.engine.requests import Load
from omnigraph.engine.results import CommitInfo, LoadResult
from omnigraph.store.commits import LOAD_ID, LOAD_REPORT, Commit, CommitKind
from omnigraph.write.work import CommitNote

if TYPE_CHECKING:
    from omnigraph.pipeline.load.resolve import ResolvedLoad
    from omnigraph.pipeline.runner import Engine

__all__ = ["load_note", "load_result", "report_of"]

MAX_RULES_TOLD = 100
"""Broken rules that a commit tells of; a quarantine has them all."""


def load_note(request: Load, report: Mapping[str, Any] | None = None) -> CommitNote:
    """What the commit of a load says of itself; `report` is what became of its rows."""
    extra = {}
    if request.load_id is not None:
        extra[LOAD_ID] = request.load_id
    if report is not None:
        told = {**report, "counts": report["counts"][:MAX_RULES_TOLD]}
        extra[LOAD_REPORT] = json.dumps(told, ensure_ascii=False)
    return CommitNote(CommitKind.LOAD, request.actor, request.message, extra=extra)


def report_of(request: Load, resolved: "ResolvedLoad") -> dict[str, Any]:
    """What became of the rows of a load: every one is loaded, rejected or superseded."""
    load, superseded = resolved.load, resolved.superseded
    loaded = sum((*resolved.nodes.values(), *resolved.edges.values()))
    assert load.read == loaded + load.rejected + superseded, "every row is accounted for"
    return {
        "mode": request.mode,
        "read": load.read,
        "loaded": loaded,
        "rejected": load.rejected,
        "superseded": superseded,
        "counts": load.violations.counts_json(),
    }


def load_result(
    request: Load,
    *,
    base_branch: BranchName | None,
    commit: Commit | None,
    quarantine: str | None,
    resolved: "ResolvedLoad | None" = None,
    engine: "Engine | None" = None,
    engine_reason: str | None = None,
    seconds: Mapping[str, float] | None = None,
) -> LoadResult:
    """Without a resolved load it is a repetition: `commit` brought the rows, and nothing was done
    now."""
    load = None if resolved is None else resolved.load
    return LoadResult(
        branch=request.branch,
        base_branch=base_branch,
        mode=request.mode,
        load_id=request.load_id,
        is_repeat=resolved is None,
        engine=engine,
        engine_reason=engine_reason,
        dry_run=request.dry_run,
        read=load.read if load else 0,
        rejected=load.rejected if load else 0,
        violations=load.violations if load and load.rejected else None,
        quarantine=quarantine,
        nodes=resolved.nodes if resolved else {},
        edges=resolved.edges if resolved else {},
        rows=dict(resolved.counts_of(resolved.load.catalog.entities)) if resolved else {},
        hints=tuple(map(_hint_of_repeats, resolved.repeated)) if resolved else (),
        input_bytes=load.input_bytes if load else 0,
        seconds=seconds or {},
        tasks=len(load.tasks) if load else 0,
        resumed_tasks=load.resumed if load else 0,
        commit=CommitInfo.of(commit) if commit is not None else None,
    )


def _hint_of_repeats(edge: str) -> str:
    return (
        f"{edge} edges were added that equal earlier ones: without a key a merge takes every edge "
        f"for new. Declare @key(src, dst) on {edge}, or name the load with load_id, and loading "
        "again adds nothing"
    )
