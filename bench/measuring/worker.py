"""One system in a process of its own, so that memory and native libraries do not mix."""

import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

Steps = Mapping[str, Callable[[Any], Any]]
"""What a worker can be asked to do, by name."""


class Worker:
    """`start` runs in the process: it gives the system's version and its steps."""

    def __init__(self, name: str, start: Callable[..., tuple[str, Steps]], *arguments: Any) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(start, arguments, theirs), daemon=True)
        self._process.start()
        # While our copy of its end is open, a worker's death would not be noticed here.
        theirs.close()
        self.version = str(self._answer()[1])

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def call(self, step: str, argument: Any = None) -> tuple[float, Any]:
        """The seconds that a step took, and its answer."""
        self._pipe.send((step, argument))
        return self._answer()

    def stop(self) -> None:
        self._pipe.close()
        self._process.join(timeout=20)

    def _answer(self) -> tuple[float, Any]:
        try:
            seconds, answer = self._pipe.recv()
        except EOFError:
            sys.exit(f"{self.name} died; its error stands above")
        return seconds, answer


def show(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _serve(
    start: Callable[..., tuple[str, Steps]], arguments: tuple[Any, ...], pipe: Connection
) -> None:
    version, steps = start(*arguments)
    pipe.send((0.0, version))
    while True:
        try:
            step, argument = pipe.recv()
        except EOFError:
            return
        began = time.perf_counter()
        answer = steps[step](argument)
        pipe.send((time.perf_counter() - began, answer))
