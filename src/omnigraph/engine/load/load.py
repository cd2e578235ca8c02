"""Load: tasks stage the files, on Spark or in this process, and the one write protocol makes them
one commit.

The input is read once. Where another writer was quicker, an append or a merge is settled again with
what is there now; an overwrite is refused, since what it meant to replace has changed.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchBusy,
    BranchExists,
    BranchMissing,
    OmnigraphError,
    ReadSetMoved,
)
from omnigraph.base.failpoints import Faults
from omnigraph.base.ids import BranchName
from omnigraph.base.progress import Progress
from omnigraph.engine.load.preparation import Preparation, Request, loaded_before
from omnigraph.engine.results import CommitInfo, LoadResult
from omnigraph.store.commits import LOAD_ID, Commit, CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.recover import recover_if_idle
from omnigraph.write.work import CommitNote, Target
from omnigraph.write.writer import write

if TYPE_CHECKING:
    from omnigraph.pipeline.load.load import LoadMode
    from omnigraph.pipeline.runner import Runner

__all__ = ["load", "rehearse"]

log = logging.getLogger(__name__)


def load(
    store: GraphStore,
    request: Request,
    *,
    actor: str | None,
    message: str | None,
    start_spark: Callable[[], "Runner"],
    progress: Progress | None,
    faults: Faults,
) -> LoadResult:
    """Stage the input and publish it as one commit."""
    mode = _checked_mode(request)
    if request.load_id is not None:
        # A load of this name that died in its last step is finished first.
        with suppress(BranchMissing):
            recover_if_idle(store, request.branch)
    if (before := loaded_before(store, request)) is not None:
        return _finished(store, request, before, base_branch=None)
    tell = progress or _silent
    with _on_its_branch(store, request):
        preparation = Preparation(store, request, mode=mode, start_spark=start_spark, tell=tell)
        began = time.monotonic()
        try:
            written = write(
                store,
                preparation,
                to=Target(request.branch),
                note=CommitNote(
                    CommitKind.LOAD,
                    actor,
                    message,
                    extra={LOAD_ID: request.load_id} if request.load_id is not None else {},
                ),
                faults=faults,
            )
        except (BranchBusy, ReadSetMoved):
            # These say that nothing was published and nothing is left to recover.
            preparation.clean_up(is_published=False)
            raise
        except (Exception, KeyboardInterrupt):  # the caller's own code may raise what it likes
            preparation.leave()
            raise
    tell("publish", 1, 1)
    if written is None:
        preparation.step_aside()
        before = loaded_before(store, request)
        assert before is not None, "a write steps aside only for this"
        return _finished(store, request, before, base_branch=request.from_)
    result = preparation.result(written.commit, seconds=time.monotonic() - began)
    preparation.clean_up(is_published=written.commit is not None)
    return result


def rehearse(
    store: GraphStore,
    request: Request,
    *,
    start_spark: Callable[[], "Runner"],
    progress: Progress | None,
) -> LoadResult:
    """Do everything that a load does but publish, and say what would have become of the input."""
    mode = _checked_mode(request)
    if (before := loaded_before(store, request)) is not None:
        return _repetition(request, before, base_branch=None, quarantine=None)
    base = request.branch
    if request.from_ is not None and not _is_there(store, request.branch):
        store.branches.check_new(request.branch)
        base = request.from_
    snapshot = store.snapshot(base)
    preparation = Preparation(
        store, request, mode=mode, start_spark=start_spark, tell=progress or _silent
    )
    began = time.monotonic()
    preparation.prepare(snapshot)
    result = preparation.result(None, seconds=time.monotonic() - began)
    preparation.clean_up(is_published=False)
    return result


def _checked_mode(request: Request) -> "LoadMode":
    from omnigraph.pipeline.load.load import LoadMode
    from omnigraph.pipeline.staging.ownership import check_load_id

    if request.load_id is not None:
        check_load_id(request.load_id)
    if request.resume and (request.load_id is None or request.is_dry_run):
        rule = "it is known by the load_id it was begun with, and is published"
        raise ArgumentInvalid(argument="resume", value="True", rule=rule)
    return LoadMode.named(request.mode)


def _finished(
    store: GraphStore, request: Request, before: Commit, *, base_branch: BranchName | None
) -> LoadResult:
    """The answer of a load that is there already, whose driver may have died before it was over."""
    from omnigraph.pipeline.staging.record import conclude

    kept = conclude(store, request.load_id or "")
    return _repetition(request, before, base_branch=base_branch, quarantine=kept)


def _repetition(
    request: Request, before: Commit, *, base_branch: BranchName | None, quarantine: str | None
) -> LoadResult:
    return LoadResult(
        branch=request.branch,
        base_branch=base_branch,
        mode=request.mode,
        load_id=request.load_id,
        is_repeat=True,
        engine=None,
        dry_run=request.is_dry_run,
        read=0,
        rejected=0,
        violations=None,
        quarantine=quarantine,
        nodes={},
        edges={},
        rows={},
        hints=(),
        input_bytes=0,
        seconds={},
        tasks=0,
        resumed_tasks=0,
        commit=CommitInfo.of(before),
    )


@contextmanager
def _on_its_branch(store: GraphStore, request: Request) -> Iterator[None]:
    """Make the branch first if it is missing, and take it away again if the load fails."""
    branch = request.branch
    if request.from_ is None or _is_there(store, branch):
        # An earlier try may have made it and died, even before it could leave a record.
        store.branches.resolve(branch)
        yield
        return
    try:
        store.create_branch(branch, from_=request.from_)
        yield
    except (BranchExists, BranchMissing):
        raise  # it is another's, or it is gone
    except (Exception, KeyboardInterrupt):
        try:
            # What was published there stays, whoever wrote it, and so does the branch.
            with suppress(BranchMissing):
                store.delete_branch(branch, only_if_unwritten=True)
        except OmnigraphError as failure:
            log.warning("the branch %s stays: %s", branch, failure)
        raise


def _is_there(store: GraphStore, branch: BranchName) -> bool:
    return branch in {one.name for one in store.branches.list()}


def _silent(phase: str, done: int, total: int) -> None:
    pass
