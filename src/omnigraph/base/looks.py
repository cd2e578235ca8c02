"""Looks at the clock, for long work that knows nothing of requests.

The caller passes a function that raises once the request was cancelled or its time is over. The
work calls it every few milliseconds.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["Look", "looking", "never"]

Look = Callable[[], None]

T = TypeVar("T")

ITEMS_BETWEEN_LOOKS = 256
"""Tokens, names or columns take some microseconds each; a look takes less than one."""


def never() -> None:
    """Raise nothing: the work has no deadline."""


def looking(items: Iterable[T], look: Look) -> Iterator[T]:
    """The items, with a look before the first and after every few."""
    for number, item in enumerate(items):
        if number % ITEMS_BETWEEN_LOOKS == 0:
            look()
        yield item
