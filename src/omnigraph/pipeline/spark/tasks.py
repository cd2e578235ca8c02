"""Inside a task of Spark: what runs there, and how its results and errors come back.

Workers import this module and what they are sent, and nothing of the session.
"""

import base64
import importlib
import os
import pickle
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.base.errors import OmnigraphError
from omnigraph.pipeline.runner import TaskResult, runs

__all__ = [
    "BUG_MARK",
    "ERROR_MARK",
    "RAN",
    "VERSION_MARK",
    "UnknownWorkError",
    "marked",
    "our_version",
    "read_tasks",
    "run_one",
    "run_over",
    "run_partition",
    "shipped",
    "task_body",
    "value_of",
]

T = TypeVar("T")
R = TypeVar("R")

RAN = pa.schema([("ran", pa.binary())])

# How an error of ours travels from a task through Java and back: as a word in its message, with the
# name of the machine. A bug of ours has a mark too, since other people's code and other people's
# machines fail in the same way.
ERROR_MARK = "omnigraph-error:"
BUG_MARK = "omnigraph-bug"

# How a worker says which version it has, and on which machine: no class of ours is known there.
VERSION_MARK = "omnigraph-version:"

Body = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def shipped(body: Body) -> Body:
    """What Spark sends to workers in place of `body`: it looks for our version there first.

    Another version might know all names that it is sent, and write other files.
    """
    from pyspark import cloudpickle

    packed = cloudpickle.dumps(partial(task_body, body))  # type: ignore[no-untyped-call]
    wanted = our_version()

    # A function within a function is pickled with its code: whatever a worker has, it runs this.
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            found = getattr(importlib.import_module("omnigraph"), "__version__", "of no version")
        except ImportError:
            found = ""
        if found != wanted:
            raise RuntimeError(f"{VERSION_MARK}{found}@{socket.gethostname()}.")
        yield from pickle.loads(packed)(batches)

    return run


def value_of(broadcast: Any) -> Any:
    """What the driver has sent to all workers."""
    return pickle.loads(broadcast.value)


def our_version() -> str:
    # The package as a whole stands above this module, which may not import it by its name.
    return str(importlib.import_module("omnigraph").__version__)


def marked(error: OmnigraphError, *, host: str = "") -> str:
    """The word that an error of ours travels as; no host, if any machine would say the same."""
    return f"{ERROR_MARK}{base64.b64encode(pickle.dumps(error)).decode()}@{host}."


def task_body(body: Body, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    failed: list[Exception] = []
    try:
        yield from body(_noting(batches, failed))
    except OmnigraphError as error:
        raise RuntimeError(marked(error, host=socket.gethostname())) from error
    except (MemoryError, UnknownWorkError):
        raise
    except Exception as error:
        if error not in failed:
            error.add_note(BUG_MARK)
        raise


def _noting(batches: Iterator[pa.RecordBatch], failed: list[Exception]) -> Iterator[pa.RecordBatch]:
    """The rows as they come. What goes wrong in bringing them is noted: it is no bug of ours."""
    try:
        yield from batches
    except Exception as error:
        failed.append(error)
        raise


def read_tasks(
    tasks: tuple[bytes, ...],
    read: Callable[[T], Iterator[pa.RecordBatch]],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from read(_unpickled(tasks[number]))


class UnknownWorkError(Exception):
    """Says, in a task, that what the driver sent makes no sense there."""


def _unpickled(task: bytes) -> Any:
    try:
        return pickle.loads(task)
    except (AttributeError, TypeError, ValueError, LookupError, pickle.UnpicklingError) as error:
        told = f"{type(error).__name__}: {error}"
        raise UnknownWorkError(
            f"a worker may have another version of omnigraph ({told})"
        ) from error


def run_one(work: Callable[[T], R], numbered: tuple[int, T]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    number, task = numbered
    context = TaskContext.get()
    assert context is not None, "runs inside a task"
    ran = TaskResult(result=work(task), partition=context.partitionId(), pid=os.getpid())
    yield _pickled((number, ran))


def run_partition(
    work: Callable[[Iterator[pa.RecordBatch]], R], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "runs inside a task"
    yield _pickled((context.partitionId(), work(batches)))


def run_over(
    work: Callable[[int, pa.Table], R], by: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for value, rows in runs(batches, by):
        yield _pickled(work(value, rows))


def _pickled(value: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], schema=RAN)
