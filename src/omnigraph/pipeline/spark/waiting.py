"""A call of Spark's in a thread of its own: how it is waited for, and how far it has come.

A Ctrl-C, a deadline or a caller's own error ends the wait and never the call itself, which would
leave its answer in the connection for the next one to find.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

__all__ = ["POLL_S", "Answer", "Heard", "in_turn", "listening", "stages_of", "watched"]

R = TypeVar("R")

POLL_S = 0.2


@contextlib.contextmanager
def watched(
    context: Any | None, group: str, on_progress: Callable[[int], None] | None
) -> Iterator[list[BaseException]]:
    """Report how many tasks are done while the block runs, unless it is run over Connect.

    What `on_progress` raises ends the tasks, and is then in the list: so a caller stops a load.
    """
    stopped_by: list[BaseException] = []
    if on_progress is None or context is None:
        yield stopped_by
        return
    done = threading.Event()
    arguments = (context, group, done, on_progress, stopped_by)
    watcher = threading.Thread(target=_poll, args=arguments, daemon=True)
    watcher.start()
    try:
        yield stopped_by
    finally:
        done.set()
        watcher.join()


class Heard:
    """How many tasks are done by what Connect has told, for one who asks now and then."""

    def __init__(self, on_progress: Callable[[int], None] | None) -> None:
        self._on_progress = on_progress
        self.tasks_done = 0

    def tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.tasks_done)


def listening(session: Any, heard: Heard, action: Callable[[], R]) -> R:
    """What `action` gives; over Connect, the server tells meanwhile how many tasks are done."""
    here = threading.get_ident()

    def hear(stages: Iterable[Any] | None, **_: object) -> None:
        # A session tells of all that it runs, in the thread that waits for it.
        if threading.get_ident() == here:
            heard.tasks_done = sum(stage.num_completed_tasks for stage in stages or ())

    session.registerProgressHandler(hear)
    try:
        return action()
    finally:
        session.removeProgressHandler(hear)


class Answer(Generic[R]):
    """What a call gives that runs in a thread of its own."""

    def __init__(self, call: Callable[[], R], *, is_classic: bool) -> None:
        from pyspark import InheritableThread

        self._call = call
        self._given: R | None = None
        self._error: BaseException | None = None
        # To Python, a thread has ended once a Ctrl-C comes while it is joined.
        self._has_come = threading.Event()
        # Spark's own kind of thread keeps the caller's settings, and closes its connection.
        kind = InheritableThread if is_classic else threading.Thread
        kind(target=self._run, daemon=True).start()

    def get(self, look: Callable[[], None] | None = None) -> R:
        """`look` is called while it takes time; what that raises ends the wait."""
        # A signal that comes just before a thread falls asleep does not wake it: it must not sleep
        # on.
        while not self.wait(POLL_S):
            if look is not None:
                look()
        if self._error is not None:
            raise self._error
        return cast(R, self._given)

    def wait(self, seconds: float) -> bool:
        """True if it has come."""
        return self._has_come.wait(seconds)

    def _run(self) -> None:
        try:
            self._given = self._call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is asked for
            self._error = error
        finally:
            self._has_come.set()


def in_turn(first: Callable[[], None], then: Callable[[], R]) -> R:
    first()
    return then()


def stages_of(tracker: Any, group: str) -> list[Any]:
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return [stage for stage in stages if stage]


def _poll(
    context: Any,
    group: str,
    done: threading.Event,
    on_progress: Callable[[int], None],
    stopped_by: list[BaseException],
) -> None:
    from py4j.protocol import Py4JError

    tracker = context.statusTracker()
    while not done.wait(POLL_S):
        try:
            completed = sum(stage.numCompletedTasks for stage in stages_of(tracker, group))
            if stopped_by:
                # Again and again: an action may begin its next tasks after these were ended.
                context.cancelJobGroup(group)
        except (Py4JError, OSError):
            return  # Spark is gone: whoever waits for the answer is told so
        if not stopped_by:
            try:
                on_progress(completed)
            except BaseException as error:  # noqa: BLE001 - it is raised where the tasks are waited for
                stopped_by.append(error)
