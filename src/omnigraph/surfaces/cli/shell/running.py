"""A question that Ctrl-C takes back, and not the shell with it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from omnigraph.base.errors import QueryCancelled

__all__ = ["interruptible"]

T = TypeVar("T")

TICK_S = 0.1
"""How late Ctrl-C may be noticed."""


def interruptible(ask: Callable[[threading.Event], T]) -> T:
    """What `ask` gives. Ctrl-C sets the event it was called with, and is raised when it ended.

    It runs in a thread of its own: in this one Ctrl-C would cut it off at any step, also where it
    fills a cache that the next question uses. A second Ctrl-C no longer waits for it.
    """
    cancel, is_over = threading.Event(), threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(ask(cancel))
        except BaseException as error:  # noqa: BLE001 - it is raised below, in the other thread
            errors.append(error)
        finally:
            is_over.set()

    try:
        threading.Thread(target=run, name="question", daemon=True).start()
        _wait(is_over)
    except KeyboardInterrupt:
        cancel.set()
        _wait(is_over)
        if errors and not isinstance(errors[0], QueryCancelled):
            raise errors[0] from None
        raise KeyboardInterrupt("the query was ended") from None
    if errors:
        raise errors[0]
    return results[0]


def _wait(event: threading.Event) -> None:
    # A signal that comes just before a thread falls asleep does not wake it: it must not sleep on.
    while not event.wait(TICK_S):
        pass
