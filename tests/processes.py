"""Processes that tests start: how long to wait for them, and that none outlives the run."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import IO

PATIENCE_S = 600.0
"""How long to wait for what must happen. It only tells a hang from slowness, and nothing is
measured by it: beside other work a JVM may take a minute to come up."""

WARDEN = Path(__file__).with_name("warden.py")


def wait_until(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)


def pool(workers: int) -> ProcessPoolExecutor:
    """Processes that begin from nothing, as other users of a graph would."""
    return ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent
    )


def end_with_parent() -> None:
    """In a child of `multiprocessing`: go when the parent is gone, also if it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def under_a_warden(
    command: list[str], *, environment: Mapping[str, str], output: IO[bytes]
) -> "subprocess.Popen[bytes]":
    """Start a server. Close its input to end it, with all that it has started."""
    return subprocess.Popen(
        [sys.executable, WARDEN, *command],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
