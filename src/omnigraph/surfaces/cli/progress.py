"""A load's progress: bars on a terminal, plain lines elsewhere, events for a program."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base.progress import Progress
from omnigraph.surfaces.cli.output import say

__all__ = ["load_progress"]


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
