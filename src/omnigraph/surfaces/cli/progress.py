"""How far work is: bars on a terminal, plain lines elsewhere, events for a program."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from omnigraph.base.progress import Progress
from omnigraph.surfaces.cli.output import say

__all__ = ["load_progress", "waiting"]

PATIENCE_S = 2.0
EACH_S = 1.0
REMIND_S = 30.0
"""A log gets a line so often."""
CLEAR_TO_END = "\x1b[K"


@contextmanager
def load_progress(*, is_silent: bool, as_json: bool) -> Iterator[Progress]:
    if is_silent:
        yield _ignore
    elif as_json:
        yield _tell_event
    elif sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _PhaseLines()


def _ignore(phase: str, done: int, total: int) -> None:
    pass


def _tell_event(phase: str, done: int, total: int) -> None:
    # Standard output belongs to the one document that is the answer.
    say(json.dumps({"event": "progress", "phase": phase, "done": done, "total": total}))


class _PhaseLines:
    """One line as each phase begins: a log has no use for a moving bar."""

    def __init__(self) -> None:
        self._phase: str | None = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase:
            self._phase = phase
            say(f"  {phase} …")


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("  {task.description:<8}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                for earlier in tasks.values():
                    bars.update(earlier, total=1, completed=1)
                tasks[phase] = bars.add_task(phase, total=None)
            bars.update(tasks[phase], total=total or None, completed=done)

        yield report


# Work that does not tell how far it is ------------------------------------------------------------


@contextmanager
def waiting(
    doing: str, *, is_silent: bool = False, as_json: bool = False, patience_s: float | None = None
) -> Iterator[None]:
    """Say that work goes on, once it takes longer than a person waits without wondering.

    Nothing may be printed inside: a terminal shows a line that is written again each second.
    """
    if is_silent:
        yield
        return
    over = Event()
    patience_s = PATIENCE_S if patience_s is None else patience_s
    is_line = sys.stderr.isatty() and not as_json
    tell = Thread(target=_tell_of_it, args=(doing, over, patience_s, is_line, as_json), daemon=True)
    tell.start()
    try:
        yield
    finally:
        over.set()
        tell.join()


def _tell_of_it(doing: str, over: Event, patience_s: float, is_line: bool, as_json: bool) -> None:
    started = time.monotonic()
    if over.wait(patience_s):
        return
    while True:
        spent = f"{time.monotonic() - started:.0f} s"
        if is_line:
            sys.stderr.write(f"\r  {doing} … {spent}{CLEAR_TO_END}")
            sys.stderr.flush()
        elif as_json:
            _tell_event(doing, 0, 0)
        else:
            say(f"  {doing} … {spent}")
        if over.wait(EACH_S if is_line else REMIND_S):
            break
    if is_line:
        sys.stderr.write(f"\r{CLEAR_TO_END}")
        sys.stderr.flush()
