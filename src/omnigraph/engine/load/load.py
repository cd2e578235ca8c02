"""Load: tasks stage the files, on Spark or in this process, and the one write protocol makes them
one commit.

The input is read once. Where another writer was quicker, an append or a merge is resolved again at
the new head; an overwrite is refused, since the rows it meant to replace have changed. However a
load ends, its staging area is told so once (`Ending`).
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from omnigraph.base.errors import (
    BranchBusy,
    BranchExists,
    BranchMissing,
    OmnigraphError,
    ReadSetMoved,
)
from omnigraph.base.ids import BranchName
from omnigraph.base.progress import Progress, silent
from omnigraph.engine.engine import Engine
from omnigraph.engine.history import allow_start, denying_taken_names, known_start
from omnigraph.engine.load.earlier import loaded_before
from omnigraph.engine.load.frames import for_tasks
from omnigraph.engine.load.preparation import Preparation
from omnigraph.engine.load.result import load_note, load_result
from omnigraph.engine.reconcile import Reconciler
from omnigraph.engine.requests import BranchCreate, Load, Read
from omnigraph.engine.results import LoadResult
from omnigraph.engine.travel import told
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.recover import recover_if_idle
from omnigraph.write.work import CommitNote, Target, Work
from omnigraph.write.writer import Written, write

__all__ = ["load"]

# How often loads may fail that have made the branch of a load which does not.
MAX_TRIES_TO_HAVE_A_BRANCH = 5

log = logging.getLogger(__name__)

Prepared = Callable[[LoadResult], None]


def load(
    engine: Engine,
    request: Load,
    progress: Progress | None = None,
    prepared: Prepared | None = None,
) -> LoadResult:
    """Load the source as one commit; a dry run does everything but publish.

    `prepared` hears what the load will have come to, before it is published: whoever writes that
    down can tell it after a crash, when the engine only knows that a load of this name is there.
    """
    engine.gate.allow(request)
    if request.from_ is not None and not _is_there(engine.store, request.branch):
        create = BranchCreate(branch=request.branch, from_=request.from_, actor=request.actor)
        start = known_start(engine, request.actor, request.from_)
        allow_start(engine, create, start)
        with denying_taken_names(engine, create, start):
            engine.store.branches.check_new(request.branch)
    if request.load_id is not None:
        from omnigraph.pipeline.staging.record import check_load_id

        check_load_id(request.load_id)
    with for_tasks(engine, request) as for_its_tasks:
        if request.dry_run:
            return _rehearse(engine, for_its_tasks, progress or silent)
        return _carry_out(engine, for_its_tasks, progress or silent, prepared)


def _carry_out(
    engine: Engine, request: Load, tell: Progress, prepared: Prepared | None
) -> LoadResult:
    """Stage the input and publish it as one commit."""
    from omnigraph.pipeline.staging.record import driving

    store = engine.store
    if request.load_id is not None:
        # A load of this name that died in its last step is finished first.
        with suppress(BranchMissing):
            recover_if_idle(store, request.branch)
    if (before := loaded_before(engine, request)) is not None:
        return _finished(engine, request, before)
    base = _base_of(store, request)
    with driving(store, request.load_id) as hold:
        preparation = Preparation(
            engine, request, base=base, hold=hold, tell=tell, prepared=prepared
        )
        result = _publish(engine, request, preparation, tell)
    if result.commit is not None and result.read >= engine.settings.load_limits.min_indexed_rows:
        Reconciler(engine).run_on(request.branch)
    return result


def _publish(engine: Engine, request: Load, preparation: Preparation, tell: Progress) -> LoadResult:
    from omnigraph.pipeline.staging.area import Ending

    began = time.monotonic()
    note = load_note(request)
    try:
        written = _write(engine, request, preparation, note)
    except (BranchBusy, ReadSetMoved):
        # These say that nothing was published and nothing is left to recover.
        preparation.end(Ending.NOTHING)
        raise
    except (Exception, KeyboardInterrupt):  # the caller's own code may raise what it likes
        preparation.fail()
        raise
    if written is None:
        preparation.end(Ending.BY_OTHER)
        before = loaded_before(engine, request)
        assert before is not None, "a write steps aside only for this"
        return _repeated(engine, request, before, base_branch=preparation.base)
    failure: BaseException | None = None
    try:
        tell("publish", 1, 1)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - it is raised below
        failure = error  # of the caller's own code: the load is published and comes to its end
    result = preparation.result(written.commit, seconds=time.monotonic() - began)
    ending = Ending.PUBLISHED if written.commit is not None else Ending.NOTHING
    preparation.end(ending, written.commit)
    if failure is not None:
        raise failure
    return result


def _write(
    engine: Engine, request: Load, preparation: Preparation, note: CommitNote
) -> Written[Work] | None:
    """Write the load to its branch, which is made first if need be.

    Another load may have made the branch, and take it away under us since it failed. Then we make
    it: nobody has written there.
    """
    store, to = engine.store, Target(request.branch)
    for _ in range(MAX_TRIES_TO_HAVE_A_BRANCH - 1):
        try:
            with _on_its_branch(store, request):
                return write(store, preparation, to=to, note=note, faults=engine.faults)
        except BranchMissing as missing:
            is_ours = request.from_ is not None and missing.branch == request.branch
            if not is_ours or not preparation.may_go_on:
                raise
        except BranchExists as found:
            if found.existing != request.branch:
                raise
    with _on_its_branch(store, request):
        return write(store, preparation, to=to, note=note, faults=engine.faults)


def _rehearse(engine: Engine, request: Load, tell: Progress) -> LoadResult:
    """Do everything that a load does but publish, and say what would have become of the input."""
    from omnigraph.pipeline.staging.area import Ending

    store = engine.store
    if (before := loaded_before(engine, request)) is not None:
        return _repeated(engine, request, before)
    base = _base_of(store, request)
    if base is not None:
        store.branches.check_new(request.branch)
    snapshot = store.snapshot(base or request.branch)
    preparation = Preparation(engine, request, base=base, hold=None, tell=tell)
    began = time.monotonic()
    preparation.prepare(snapshot)
    result = preparation.result(None, seconds=time.monotonic() - began)
    preparation.end(Ending.NOTHING)
    return result


def _finished(engine: Engine, request: Load, before: Commit) -> LoadResult:
    """The answer of a load that is there already, whose driver may have died before it was over."""
    from omnigraph.pipeline.staging.record import conclude

    kept = conclude(engine.store, request.load_id or "", request.branch)
    return _repeated(engine, request, before, quarantine=kept)


def _repeated(
    engine: Engine,
    request: Load,
    before: Commit,
    *,
    base_branch: BranchName | None = None,
    quarantine: str | None = None,
) -> LoadResult:
    """The answer of a load that is there already, with its commit as the actor may know it."""
    if before.actor == request.actor:
        engine.store.pending.drop(before.id)
    result = load_result(request, base_branch=base_branch, commit=before, quarantine=quarantine)
    return replace(result, commit=told(engine, Read(actor=request.actor), before))


@contextmanager
def _on_its_branch(store: GraphStore, request: Load) -> Iterator[None]:
    """Make the branch first if it is missing, and take it away again if the load fails."""
    branch = request.branch
    if request.from_ is None or _is_there(store, branch):
        # An earlier try may have made it and died, even before it could leave a record.
        store.branches.resolve(branch)
        yield
        return
    try:
        create_branch(store, branch, from_=request.from_)
        yield
    except (BranchExists, BranchMissing):
        raise  # it is another's, or it is gone
    except (Exception, KeyboardInterrupt):
        try:
            # What was published there stays, whoever wrote it, and so does the branch.
            with suppress(BranchMissing):
                delete_branch(store, branch, only_if_unwritten=True)
        except OmnigraphError as failure:
            log.warning("the branch %s stays: %s", branch, failure)
        raise


def _base_of(store: GraphStore, request: Load) -> BranchName | None:
    """What the branch of a load has to be made from; None where it is there already."""
    if request.from_ is None or _is_there(store, request.branch):
        return None
    return request.from_


def _is_there(store: GraphStore, branch: BranchName) -> bool:
    return branch in {one.name for one in store.branches.list()}
