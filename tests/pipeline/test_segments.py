"""Indexes that tasks build in parts: the same answers, and no part left behind."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.segments import segment_job
from omnigraph.pipeline.spark.session import Spark
from omnigraph.store.datasets import Datasets, SegmentJob, SegmentTask
from omnigraph.store.durability import Durability
from omnigraph.write.upkeep import optimized
from tests.buckets import location_of
from tests.store_contract.pages import MANY, NAMES, PAGE, check, edit, land, make_pages, page, steps


def build_and_check(place: Path | str, runner: Runner) -> None:
    """Three files, then two that are compacted: the second build works on a draft."""
    datasets = Datasets(location_of(place), Durability.RELAXED)
    job = segment_job(runner, max_task_bytes=1)
    parts = list[int]()

    def counting(tasks: Sequence[SegmentTask]) -> Sequence[str]:
        parts.append(len(tasks))
        return job.run(tasks)

    counted = SegmentJob(counting, job.max_task_bytes)
    first = {name: MANY[name] for name in list(MANY)[:290]}
    ref, model = make_pages(datasets, first), dict(first)
    for number in range(2):
        ref = edit(datasets, ref, {f"new{number}": page(number)})
        model[f"new{number}"] = page(number)
    dataset = datasets.own(ref)
    index = datasets.stage_indexes(dataset, steps(dataset), ref=ref, job=counted)
    ref = land(datasets, ref, [index])
    assert parts == [3] * len(NAMES)
    assert {i.rows for i in datasets.open(ref).indexes.values()} == {len(model)}
    check(datasets.open(ref), model)
    named = {s.uuid for i in datasets.open(ref).indexes.values() for s in i.segments}
    folders = {Path(name).parts[-2] for name in datasets._objects.walk(f"{ref.path}/_indices")}
    assert folders == named
    for number in range(2, 4):
        ref = edit(datasets, ref, {f"new{number}": page(number), "old1": page(number)})
        model |= {f"new{number}": page(number), "old1": page(number)}
    ref = land(datasets, ref, optimized(datasets, PAGE, ref, lambda _: counted))
    assert {i.rows for i in datasets.open(ref).indexes.values()} == {len(model)}
    check(datasets.open(ref), model)


def test_threads_of_this_process_build_parts(place: str) -> None:
    build_and_check(place, InProcess())


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_tasks_of_spark_build_parts(tmp_path: Path, spark: Spark) -> None:
    build_and_check(tmp_path, spark)
