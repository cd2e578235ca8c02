"""What the user gave becomes pieces, dealt to tasks in the order of the input.

Planning looks at names, headers and footers, and at whatever came with the call; of large files
only CSV is read through once, since where its records end can't be told from the middle.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from omnigraph.lang.schema.catalog import Catalog
from omnigraph.pipeline.sources.files import Form, InputFile, find_files
from omnigraph.pipeline.sources.lines import BLOCK_BYTES
from omnigraph.pipeline.sources.pieces import LineRange, LinesFile, Piece
from omnigraph.pipeline.sources.streams import is_packed

__all__ = ["PlannedInput", "pack", "plan_pieces"]

# A task's input: large enough for files worth having, small enough to show progress and to give
# every core something to do.
LEAST_TASK_BYTES, MOST_TASK_BYTES = 1 << 20, 128 << 20
TASKS_PER_CORE = 3


@dataclass(frozen=True)
class PlannedInput:
    tasks: list[tuple[Piece, ...]]
    size: int
    """Bytes, compressed where the input is."""
    is_in_memory: bool
    """Whether the rows came with the call and not as names of files."""


def plan_pieces(
    source: object,
    *,
    catalog: Catalog,
    mapping: object = None,
    format: str | None = None,
    parallelism: int,
) -> PlannedInput:
    """The source as tasks for `parallelism` workers."""
    assert isinstance(source, str | os.PathLike | Iterable)
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    files = find_files([os.fspath(s) for s in sources], form=Form.named(format))
    size = sum(Path(file.path).stat().st_size for file in files)
    even = size // (TASKS_PER_CORE * parallelism)
    task_bytes = min(max(even, LEAST_TASK_BYTES), MOST_TASK_BYTES)
    cut = min(BLOCK_BYTES, task_bytes)
    pieces = [piece for file in files for piece in _pieces_of(file, cut_bytes=cut)]
    return PlannedInput(pack(pieces, task_bytes=task_bytes), size, is_in_memory=False)


def pack(pieces: Iterable[Piece], *, task_bytes: int) -> list[tuple[Piece, ...]]:
    """The pieces in order, dealt to tasks of about `task_bytes` each."""
    tasks: list[tuple[Piece, ...]] = []
    task: list[Piece] = []
    room = task_bytes
    for piece in pieces:
        if task and piece.size > room:
            tasks.append(tuple(task))
            task, room = [], task_bytes
        task.append(piece)
        room -= piece.size
    return [*tasks, tuple(task)] if task else tasks


def _pieces_of(file: InputFile, *, cut_bytes: int) -> Iterator[Piece]:
    size = Path(file.path).stat().st_size
    if is_packed(file.path):
        yield LinesFile(file.file, file.path, size)
        return
    for start in range(0, size, cut_bytes):
        yield LineRange(file.file, file.path, start, min(start + cut_bytes, size))
