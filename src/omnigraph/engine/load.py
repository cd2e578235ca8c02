"""Load: Spark stages the files, the one write protocol makes them one commit.

Rows are written once. Where another writer was quicker, an append is judged again against what is
there now; an overwrite is refused, since what it meant to replace has changed.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.base.errors import BranchExists, ReadSetMoved
from omnigraph.base.failpoints import Faults
from omnigraph.base.ids import BranchName
from omnigraph.engine.results import LoadResult, commit_info
from omnigraph.store.branches import check_branch_name
from omnigraph.store.commits import CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.stage import StagedFragments
from omnigraph.write.writer import OnConflict, write

if TYPE_CHECKING:
    from omnigraph.pipeline.session import Spark

__all__ = ["Progress", "Sources", "load"]

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Progress = Callable[[str, int, int], None]
"""Hears the phase, how much of it is done, and out of how much."""


def load(
    store: GraphStore,
    sources: Sources,
    *,
    mode: str,
    branch: BranchName,
    from_: BranchName | None,
    actor: str | None,
    message: str | None,
    start_spark: Callable[[], "Spark"],
    progress: Progress | None,
    faults: Faults,
) -> LoadResult:
    """Stage the input on Spark and publish it as one commit; a single bad row loads nothing.

    With `from_`, the branch is made only once the input is known to be good.
    """
    from omnigraph.pipeline.load import LoadMode, recheck_load, stage_load

    load_mode = LoadMode.named(mode)
    base = _base(store, branch, from_)
    tell = progress or _silent
    seconds: dict[str, float] = {}
    with _timed(seconds, "start Spark"):
        tell("start", 0, 0)
        spark = start_spark()
    staged = stage_load(
        spark,
        _paths(sources),
        snapshot=base,
        mode=load_mode,
        root=str(store.root),
        now_ms=store.clock.now_ms(),
        progress=tell,
    )
    seconds |= staged.seconds

    def prepare(snapshot: Snapshot) -> StagedFragments:
        if snapshot.tables != base.tables:
            if load_mode is LoadMode.OVERWRITE:
                moved = (k for k in snapshot.tables if snapshot.tables[k] != base.tables.get(k))
                raise ReadSetMoved(branch=branch, tables=tuple(sorted(moved)))
            recheck_load(spark, staged, snapshot)
        return staged.work

    with _timed(seconds, "publish"):
        tell("publish", 0, 1)
        if from_ is not None:
            store.create_branch(branch, from_=from_)
        commit = write(
            store,
            prepare,
            branch=branch,
            kind=CommitKind.LOAD,
            actor=actor,
            message=message,
            on_conflict=(
                OnConflict.PREPARE_AGAIN if load_mode is LoadMode.APPEND else OnConflict.RAISE
            ),
            faults=faults,
        )
        tell("publish", 1, 1)
    return LoadResult(
        branch=branch,
        base_branch=from_,
        mode=load_mode.value,
        nodes=staged.nodes,
        edges=staged.edges,
        input_bytes=staged.input_bytes,
        seconds=seconds,
        spark_tasks=len(staged.tasks),
        commit=commit_info(store, commit),
    )


def _base(store: GraphStore, branch: BranchName, from_: BranchName | None) -> Snapshot:
    """What the input is judged against: the branch's head, or that of the one it will leave."""
    if from_ is None:
        return store.snapshot(branch)
    check_branch_name(branch)
    if branch in (b.name for b in store.branches.list()):
        raise BranchExists(branch=branch, existing=branch)
    return store.snapshot(from_)


def _paths(sources: Sources) -> list[str]:
    if isinstance(sources, str | os.PathLike):
        return [os.fspath(sources)]
    return [os.fspath(source) for source in sources]


def _silent(phase: str, done: int, total: int) -> None:
    pass


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    seconds[phase] = time.monotonic() - began
