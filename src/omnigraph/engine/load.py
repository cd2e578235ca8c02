"""Load: tasks stage the files, on Spark or in this process, and the one write protocol makes them
one commit.

The input is read once. Where another writer was quicker, an append or a merge is settled again with
what is there now; an overwrite is refused, since what it meant to replace has changed.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.base.errors import ArgumentInvalid, OmnigraphError
from omnigraph.base.failpoints import Faults
from omnigraph.base.ids import BranchName
from omnigraph.engine.results import CommitInfo, LoadResult
from omnigraph.store.commits import CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.stage import Work
from omnigraph.write.writer import OnConflict, write

if TYPE_CHECKING:
    from omnigraph.pipeline.runner import Runner

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
    engine: str,
    start_spark: Callable[[], "Runner"],
    progress: Progress | None,
    faults: Faults,
) -> LoadResult:
    """Stage the input and publish it as one commit; a single bad row loads nothing."""
    from omnigraph.pipeline.load import LoadMode, Phases, StagedLoad, stage_load
    from omnigraph.pipeline.settle import SettledLoad, settle_load

    load_mode = LoadMode.named(mode)
    start = _starter(engine, start_spark)
    tell = progress or _silent
    clock = Phases()
    staged: list[StagedLoad] = []
    settled: list[SettledLoad] = []

    def prepare(snapshot: Snapshot) -> Work:
        if not staged:
            with clock.phase("read"):
                staged.append(
                    stage_load(
                        runner,
                        _paths(sources),
                        snapshot=snapshot,
                        mode=load_mode,
                        root=str(store.root),
                        now_ms=store.clock.now_ms(),
                        progress=tell,
                    )
                )
        before = settled[-1] if settled else None
        tell("check", 0, 1)
        with clock.phase("check"):
            settled.append(settle_load(runner, staged[0], snapshot, before=before))
        tell("check", 1, 1)
        tell("publish", 0, 1)
        return settled[-1].work

    with _made_for_this(store, branch, from_):
        tell("start", 0, 0)
        with clock.phase("start"):
            runner = start()
        began = time.monotonic()
        id_ = write(
            store,
            prepare,
            branch=branch,
            kind=CommitKind.LOAD,
            actor=actor,
            message=message,
            on_conflict=(
                OnConflict.RAISE if load_mode is LoadMode.OVERWRITE else OnConflict.PREPARE_AGAIN
            ),
            faults=faults,
        )
    tell("publish", 1, 1)
    outcome = settled[-1]
    outcome.discard_scratch()
    seconds = clock.seconds
    publish = time.monotonic() - began - seconds["read"] - seconds["check"]
    commit = store.commit(id_) if id_ is not None else None
    changes = commit.changes if commit is not None else ()
    return LoadResult(
        branch=branch,
        base_branch=from_,
        mode=load_mode.value,
        engine=runner.engine,
        read=outcome.load.read,
        nodes=outcome.nodes,
        edges=outcome.edges,
        superseded=outcome.superseded,
        inserted=sum(change.inserted for change in changes),
        updated=sum(change.updated for change in changes),
        input_bytes=outcome.load.input_bytes,
        seconds={**seconds, "publish": publish},
        tasks=len(outcome.load.tasks),
        commit=CommitInfo.of(commit) if commit is not None else None,
    )


def _starter(engine: str, start_spark: Callable[[], "Runner"]) -> Callable[[], "Runner"]:
    from omnigraph.pipeline.local import InProcess

    match engine:
        case "local":
            return InProcess
        case "auto" | "spark":
            # Files, however small, are Spark's unless told otherwise: one rule to remember.
            return start_spark
        case _:
            rule = "it is auto, spark or local"
            raise ArgumentInvalid(argument="engine", value=engine, rule=rule)


@contextmanager
def _made_for_this(
    store: GraphStore, branch: BranchName, from_: BranchName | None
) -> Iterator[None]:
    """Make the branch first where asked to, and take it away again if the load fails."""
    if from_ is None:
        store.branches.resolve(branch)
        yield
        return
    store.create_branch(branch, from_=from_)
    try:
        yield
    except (OmnigraphError, KeyboardInterrupt):
        store.delete_branch(branch)
        raise


def _paths(sources: Sources) -> list[str]:
    if isinstance(sources, str | os.PathLike):
        return [os.fspath(sources)]
    return [os.fspath(source) for source in sources]


def _silent(phase: str, done: int, total: int) -> None:
    pass
