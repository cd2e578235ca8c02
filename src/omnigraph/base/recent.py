"""A cache of the most recently used values, so that a long-lived process stays small."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Recent"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key. Above the limit, the least recently used values are dropped.

    Safe to share between threads.
    """

    def __init__(self, limit: int, *, weigh: Callable[[V], int] = lambda _: 1) -> None:
        """`weigh` says how much of the limit a value takes."""
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._drop(key)
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._limit and self._values:
                self._drop(next(iter(self._values)))

    def forget(self, key: K) -> None:
        """Let it go, if it is there."""
        with self._lock:
            self._drop(key)

    def forget_all(self, is_unwanted: Callable[[K], bool]) -> None:
        with self._lock:
            for key in [key for key in self._values if is_unwanted(key)]:
                self._drop(key)

    def _drop(self, key: K) -> None:
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._weight = 0
