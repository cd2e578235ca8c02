"""Index segments: what Lance has of them, and writing those that a step asks for.

A segment is files that nobody sees until a transaction names them. It is written by one call over
some fragments, or in parts by tasks, anywhere, which this process merges. A part of a task that was
run twice, or whose driver died, is named by nobody and goes with the next cleanup.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from lance.dataset import Index, LanceDataset
from lance.indices import IndicesBuilder

from omnigraph.base.frozen import frozen
from omnigraph.store.datasets.lance_values import (
    failures,
    open_handle,
    segment_from,
    segment_of,
    segment_text,
)
from omnigraph.store.datasets.reading import Dataset
from omnigraph.store.datasets.version_file import oldest_version
from omnigraph.store.datasets.words import ANALYSIS
from omnigraph.store.indexes import (
    FORGETFUL,
    MIN_VECTORS,
    IndexChange,
    IndexedFragment,
    IndexKind,
    IndexStep,
    WantedIndex,
    steps_of,
)
from omnigraph.store.location import Location
from omnigraph.store.transactions import CreateIndex

__all__ = [
    "SegmentJob",
    "SegmentTask",
    "StagedSegments",
    "index_steps",
    "stage_steps",
    "write_segment",
]

# Up to so many bytes vectors are kept in their lists as they are. Beyond, a byte stands for each
# number: a quarter of the room, and the true distances are computed from the rows in either case.
MAX_PLAIN_VECTOR_BYTES = 256 << 20
FLOAT_BYTES = 4
# To choose lists takes time by the square of their number. From a million vectors on there are as
# many lists as a list has vectors.
VECTORS_PER_LIST = 1_024


@frozen
class SegmentTask:
    """A segment, or a part of one, to be written wherever the dataset can be read."""

    location: Location
    version: int
    column: str
    name: str
    fragments: tuple[int, ...]
    options: Mapping[str, Any]


@frozen
class SegmentJob:
    """Who writes segments, and how much of a table one task takes."""

    run: Callable[[Sequence[SegmentTask]], Sequence[str]]
    max_task_bytes: int


class StagedSegments(NamedTuple):
    operation: CreateIndex
    parts: tuple[str, ...]
    """The uuids of parts that were merged: their files are not needed any more."""


def index_steps(dataset: Dataset, wanted: Sequence[WantedIndex]) -> tuple[IndexStep, ...]:
    """What makes the indexes of a dataset those that are wanted."""
    return steps_of(wanted, dataset.indexes, _fragments_to_index(dataset))


def _fragments_to_index(dataset: Dataset) -> list[IndexedFragment]:
    """Its fragments in order. Their oldest rows are looked up where it matters how old they are."""
    forgetful = [index.covered for index in dataset.indexes.values() if index.kind in FORGETFUL]
    with failures("read fragments of", dataset.ref.path):
        known = [fragment.metadata for fragment in dataset._handle.get_fragments()]
        return [
            IndexedFragment(
                fragment.id,
                fragment.num_rows,
                None
                if all(fragment.id in covered for covered in forgetful)
                else _oldest_row(fragment.created_at_version_meta),
            )
            for fragment in known
        ]


def _oldest_row(versions: Any) -> int | None:
    """The oldest of the versions that a fragment's rows were first written by."""
    stored = {} if versions is None else json.loads(versions.json())
    return oldest_version(bytes(stored["inline"])) if "inline" in stored else None


def stage_steps(
    dataset: Dataset,
    steps: Sequence[IndexStep],
    *,
    version: int,
    location: Location,
    job: SegmentJob | None = None,
) -> StagedSegments:
    """Write the segments that the steps ask for, as of this version of the dataset.

    The dataset may be a draft of that version, which has another number. Without a job this process
    writes every segment whole.
    """
    new, removed, merged = list[str](), list[str](), list[str]()
    for step in steps:
        if step.change is IndexChange.WAIT:
            continue
        if step.fragments:
            step, name = _by_its_name(dataset, step)
            tasks = _tasks(dataset, step, name, location, job)
            if not tasks:
                continue
            # By its own handle where it is one task: it has read the dataset's files before.
            one = partial(write_segment, handle=dataset._handle)
            parts = [one(tasks[0])] if job is None or len(tasks) == 1 else job.run(tasks)
            segment = _merged(dataset, step.index, [segment_from(part) for part in parts])
            merged += [part.uuid for part in map(segment_from, parts) if part.uuid != segment.uuid]
            new.append(segment_text(replace(segment, dataset_version=version)))
        removed += _outgoing(dataset, step)
    return StagedSegments(CreateIndex(tuple(new), tuple(removed)), tuple(merged))


def write_segment(task: SegmentTask, handle: LanceDataset | None = None) -> str:
    """Write a segment, or a part of one."""
    opened = handle if handle is not None else open_handle(task.location, task.version)
    with failures("index", f"{task.location} by {task.column}"):
        segment = opened.create_index_uncommitted(
            task.column,
            name=task.name,
            replace=True,
            fragment_ids=list(task.fragments),
            **task.options,
        )
    return segment_text(segment)


def _outgoing(dataset: Dataset, step: IndexStep) -> list[str]:
    known = None if step.stored is None else dataset._indexes().get(step.stored)
    segments = known.segments if known is not None else ()
    return [
        segment_text(segment_of(known, segment))
        for segment in segments
        if str(segment.uuid) in step.removed
    ]


def _merged(dataset: Dataset, index: WantedIndex, parts: Sequence[Index]) -> Index:
    if len(parts) == 1 and index.kind is not IndexKind.INVERTED:
        return parts[0]
    with failures("index", f"{dataset.ref.path} by {index.column}"):
        # Of words even a whole segment is made of parts, which no query can read until then.
        return dataset._handle.merge_existing_index_segments(list(parts))


def _by_its_name(dataset: Dataset, step: IndexStep) -> tuple[IndexStep, str]:
    """The name of what a step builds, which texts that are not in normal form decide.

    An index without such texts that is to be extended by some is built anew, under the other name.
    """
    exact, *other = step.index.names
    if not other or (step.stored in other and step.change is IndexChange.EXTEND):
        return step, step.stored or exact
    if dataset.is_normal(step.index.column, step.fragments):
        return step, exact
    if step.change is not IndexChange.EXTEND:
        return step, other[0]
    gone = tuple(segment.uuid for segment in dataset.indexes[exact].segments)
    everything = dataset.fragment_ids
    anew = replace(step, change=IndexChange.REPLACE, fragments=everything, removed=gone)
    return anew, other[0]


def _tasks(
    dataset: Dataset, step: IndexStep, name: str, location: Location, job: SegmentJob | None
) -> list[SegmentTask]:
    """What writes a segment over the fragments of a step; none: too little to make it of."""
    groups = [step.fragments] if job is None else _groups(dataset, step, job.max_task_bytes)
    options = _options(dataset, step, is_shared=len(groups) > 1)
    if options is None:
        return []
    version = dataset.ref.version
    column = step.index.column
    return [SegmentTask(location, version, column, name, group, options) for group in groups]


def _groups(dataset: Dataset, step: IndexStep, max_bytes: int) -> list[tuple[int, ...]]:
    """Neighbouring fragments of about so many bytes."""
    row_bytes = dataset.files.bytes / max(1, dataset.row_count)
    sizes = {fragment.id: fragment.rows * row_bytes for fragment in dataset.fragments}
    ends = np.cumsum([sizes[number] for number in step.fragments])
    numbers = (ends // max(1, max_bytes)).astype(int).tolist()
    pairs = zip(numbers, step.fragments, strict=True)
    return [tuple(f for _, f in group) for _, group in groupby(pairs, key=lambda pair: pair[0])]


def _options(dataset: Dataset, step: IndexStep, *, is_shared: bool) -> Mapping[str, Any] | None:
    """How Lance is to build it; None: there is too little to make it of."""
    match step.index.kind:
        case IndexKind.VECTOR:
            return _vector_options(dataset, step, is_shared=is_shared)
        case IndexKind.INVERTED:
            return {"index_type": "INVERTED", "with_position": True, **ANALYSIS}
        case IndexKind.BTREE | IndexKind.NGRAM | IndexKind.LABEL_LIST:
            return {"index_type": step.index.kind.value.upper()}


def _vector_options(
    dataset: Dataset, step: IndexStep, *, is_shared: bool
) -> Mapping[str, Any] | None:
    """How vectors are put into lists: into those of the segments that are there, or into new ones.

    None: there are too few of them to choose lists. Parts of a segment share their lists.
    """
    handle, column = dataset._handle, step.index.column
    description = dataset._indexes().get(step.index.name)
    width = dataset.schema.field(column).type.list_size
    with failures("index", f"{dataset.ref.path} by {column}"):
        if step.change is IndexChange.EXTEND and description is not None:
            centroids = handle.get_ivf_model(step.index.name).centroids
            return _ivf(description.index_type, len(centroids), centroids)
        count = handle.count_rows(f"`{column}` IS NOT NULL")
        if count < MIN_VECTORS:
            return None
        is_plain = count * width * FLOAT_BYTES <= MAX_PLAIN_VECTOR_BYTES
        kind = "IVF_FLAT" if is_plain else "IVF_SQ"
        lists = max(1, min(math.isqrt(count), count // VECTORS_PER_LIST))
        if not is_shared:
            return _ivf(kind, lists)
        builder = IndicesBuilder(handle, column)
        trained = builder.train_ivf(num_partitions=lists, distance_type="cosine")
        return _ivf(kind, lists, trained.centroids)


def _ivf(kind: str, lists: int, centroids: Any = None) -> Mapping[str, Any]:
    given = {} if centroids is None else {"ivf_centroids": centroids}
    return {"index_type": kind, "metric": "cosine", "num_partitions": lists, **given}
