"""A question that Ctrl-C takes back, and not the shell with it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from omnigraph.base.errors import QueryCancelled

__all__ = ["interruptible"]

T = TypeVar("T")


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

    threading.Thread(target=run, name="question", daemon=True).start()
    try:
        is_over.wait()
    except KeyboardInterrupt:
        cancel.set()
        is_over.wait()
        if errors and not isinstance(errors[0], QueryCancelled):
            raise errors[0] from None
        raise
    if errors:
        raise errors[0]
    return results[0]
