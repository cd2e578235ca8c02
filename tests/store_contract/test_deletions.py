"""Deleted rows are found in small files as a scan finds them, or by the scan."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.store.datasets import Dataset, row_ids_beside, row_set
from omnigraph.store.datasets.deletions import MalformedDeletionFile, deleted_offsets, row_ids_at

SCHEMA = "node Person { number: I64 @key }"
REMOVE = """query remove($low: I64, $high: I64) {
    delete Person where number >= $low and number < $high
}"""
PEOPLE = 8_000

# Lance keeps up to some thousand deletions as an array, and more of them as a bitmap.
HISTORIES: dict[str, list[tuple[int, int] | None]] = {
    "few": [(10, 12), (100, 101)],
    "so many that they are a bitmap": [(0, 6_000), (7_000, 7_001)],
    "after a compaction": [(5, 2_000), None, (3_000, 3_002), (2_500, 2_501)],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_rows_beside_another_version_are_those_that_a_scan_finds(
    tmp_path: Path, history: str
) -> None:
    graph = Graph.init(tmp_path / "g", SCHEMA, durability="relaxed")
    people = pa.table({"number": pa.array(range(PEOPLE), pa.int64())})
    graph.load({"Person": people}, mode="append", engine="local")
    moments = [graph.snapshot().stored]
    for step in HISTORIES[history]:
        if step is None:
            graph.optimize()
        else:
            graph.mutate(REMOVE, {"low": step[0], "high": step[1]})
        moments.append(graph.snapshot().stored)
    person = moments[0].catalog.node_by_name["Person"]
    datasets = [moment.dataset(person) for moment in moments]
    files = {piece.deletions.path for d in datasets for piece in d.fragments if piece.deletions}
    assert any(path.endswith(".bin") for path in files) == ("bitmap" in history)
    scanning = [Dataset(dataset.ref, dataset._handle) for dataset in datasets]
    for one, scanned in zip(datasets, scanning, strict=True):
        for other, other_scanned in zip(datasets, scanning, strict=True):
            found, expected = _beside(one, other), _beside(scanned, other_scanned)
            assert found == expected
            ours, theirs = (set(d.scan(["id"])["id"].to_pylist()) for d in (one, other))
            assert ours - theirs <= found <= ours


@pytest.mark.parametrize("history", ["few", "so many that they are a bitmap"])
def test_a_deletion_file_that_is_cut_off_is_never_read_as_a_shorter_one(
    tmp_path: Path, history: str
) -> None:
    graph = Graph.init(tmp_path / "g", SCHEMA, durability="relaxed")
    people = pa.table({"number": pa.array(range(PEOPLE), pa.int64())})
    graph.load({"Person": people}, mode="append", engine="local")
    for low, high in filter(None, HISTORIES[history]):
        graph.mutate(REMOVE, {"low": low, "high": high})
    [*_, file] = sorted(tmp_path.rglob("_deletions/*"))
    whole = file.read_bytes()
    assert deleted_offsets(whole, file.name) is not None
    for size in {*range(0, len(whole), 1 + len(whole) // 50), len(whole) - 1}:
        for torn in (whole[:size], bytes(len(whole))):
            with pytest.raises(MalformedDeletionFile):
                deleted_offsets(torn, file.name)


def _beside(one: Dataset, other: Dataset) -> set[str]:
    row_ids = np.concatenate(row_ids_beside(one, other, since=0))
    return set(one.rows_at(row_set(row_ids), ["id"])["id"].to_pylist())


def test_row_ids_run_on_in_ranges() -> None:
    # Two segments: 5 up to 8, and 100 up to 300.
    sequence = [10, 6, 10, 4, 8, 5, 16, 8, 10, 7, 10, 5, 8, 100, 16, 172, 2]
    found = row_ids_at(f'{{"Inline": {sequence}}}', np.array([0, 2, 3, 202]))
    assert found is not None and found.tolist() == [5, 7, 100, 299]


def test_what_is_not_understood_is_left_to_a_scan() -> None:
    assert deleted_offsets(b"something", "_deletions/0-1-2.bin") is None
    assert row_ids_at('{"External": {}}', np.array([0])) is None
    # A segment of another kind than a range.
    assert row_ids_at('{"Inline": [10, 4, 34, 2, 8, 1]}', np.array([0])) is None
