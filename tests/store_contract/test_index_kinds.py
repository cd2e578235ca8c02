"""Indexes of every kind through edits, compactions and forks: each tells what the rows say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.store.datasets import DatasetRef, Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.objects import DiskObjects
from omnigraph.store.row_filters import HasWords
from omnigraph.store.survey import FileKind, survey
from omnigraph.store.transactions import CreateIndex, Rewrite
from omnigraph.write.upkeep import optimized
from tests.buckets import location_of
from tests.store_contract.pages import (
    MANY,
    NAMES,
    PAGE,
    Page,
    check,
    compact,
    edit,
    fork,
    index,
    land,
    make_pages,
    optimize,
    page,
    steps,
)

SOME = [f"old{number}" for number in range(6)]
NEW = [f"new{number}" for number in range(4)]
EDIT = st.tuples(
    st.dictionaries(st.sampled_from(SOME + NEW), st.integers(0, 60), max_size=4),
    st.sampled_from(SOME + NEW),
)
STEPS = st.lists(st.sampled_from([compact, index, optimize, fork]) | EDIT, min_size=3, max_size=8)


@given(steps_taken=STEPS)
@settings(max_examples=12)
def test_every_index_agrees_with_a_dictionary_through_edits_compactions_and_forks(
    tmp_path_factory: pytest.TempPathFactory, steps_taken: list[object]
) -> None:
    datasets = Datasets(location_of(tmp_path_factory.mktemp("graph")), Durability.RELAXED)
    ref, model = index(datasets, make_pages(datasets)), dict(MANY)
    for step in steps_taken:
        if isinstance(step, tuple):
            put, gone = step
            upserts = {name: page(seed) for name, seed in put.items()}
            deletes = [gone] if gone not in upserts and gone in model else []
            ref = edit(datasets, ref, upserts, deletes)
            model = {k: v for k, v in {**model, **upserts}.items() if k not in deletes}
        else:
            assert callable(step)
            ref = step(datasets, ref)
        dataset = datasets.open(ref)
        assert dataset.row_count == len(model)
        check(dataset, model)
        if step in (index, optimize):
            assert {i.rows for i in dataset.indexes.values()} == {len(model)}
            assert set(dataset.indexes) == NAMES
            assert not steps(dataset)
        if step is optimize:
            assert optimize(datasets, ref) == ref


@pytest.fixture
def datasets(tmp_path: Path) -> Datasets:
    return Datasets(location_of(tmp_path), Durability.RELAXED)


def covered(datasets: Datasets, ref: DatasetRef) -> dict[str, frozenset[int]]:
    return {name: index.covered for name, index in datasets.open(ref).indexes.items()}


def test_a_compaction_takes_along_what_follows_its_rows(datasets: Datasets) -> None:
    """New fragments have their own numbers, so no index believes that it covers another one."""
    ref = edit(datasets, make_pages(datasets), {"new0": page(1)})
    ref = edit(datasets, index(datasets, ref), {"new1": page(2)})
    after = compact(datasets, ref)
    assert datasets.open(after).fragment_ids == (2, 3)
    assert covered(datasets, after) == {
        name: frozenset() if name.endswith("_btree") else frozenset({3}) for name in NAMES
    }
    check(datasets.open(after), {**MANY, "new0": page(1), "new1": page(2)})


def test_one_pass_leaves_nothing_to_do(datasets: Datasets) -> None:
    """Rows that were changed: words and tags are built anew, the rest grows."""
    ref = index(datasets, make_pages(datasets))
    ref = edit(datasets, ref, {"old1": page(4), "new0": page(1)}, ["old5"])
    ref = edit(datasets, ref, {"new1": page(2)})
    operations = optimized(datasets, PAGE, ref)
    assert [type(operation) for operation in operations] == [CreateIndex, Rewrite, CreateIndex]
    after = land(datasets, ref, operations)
    assert len(datasets.open(after).fragment_ids) == 2  # n-grams and lists keep theirs apart
    assert optimized(datasets, PAGE, after) == ()
    expected = {k: v for k, v in MANY.items() if k != "old5"}
    changed = {"old1": page(4), "new0": page(1), "new1": page(2)}
    check(datasets.open(after), {**expected, **changed})


def test_a_draft_is_seen_by_nobody_and_leaves_nothing(datasets: Datasets, tmp_path: Path) -> None:
    ref = edit(datasets, make_pages(datasets), {"new0": page(1)})
    rewrite = datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True)
    assert rewrite is not None
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with datasets.draft(ref, [rewrite]) as drafted:
        assert drafted.row_count == len(MANY) + 1
        assert len(drafted.fragment_ids) == 1
        assert {path for path in tmp_path.rglob("*") if path.is_file()} > before
        assert datasets.newest_version(ref.path, None) == ref.version
        assert len(datasets.open_newest(ref.path, None).fragment_ids) == 2
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_draft_that_a_dead_process_left_is_in_nobodys_way(
    datasets: Datasets, tmp_path: Path
) -> None:
    ref = edit(datasets, make_pages(datasets), {"new0": page(1)})
    rewrite = datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True)
    assert rewrite is not None
    versions = tmp_path / ref.path / "_versions"
    with datasets.draft(ref, [rewrite]):
        (left,) = versions.glob("d*.manifest")
        data = left.read_bytes()
    left.write_bytes(data)
    found = survey(DiskObjects(tmp_path, Durability.RELAXED)).datasets[ref.path]
    assert [f.name for f in found if f.kind is FileKind.HALF_WRITTEN] == [
        f"{ref.path}/_versions/{left.name}"
    ]
    assert datasets.newest_version(ref.path, None) == ref.version
    # Also where the newest version is torn, and files are looked at one by one.
    newest = versions / f"{2**64 - 1 - ref.version:020}.manifest"
    newest.write_bytes(newest.read_bytes()[:-20])
    fresh = Datasets(location_of(tmp_path), Durability.RELAXED)
    assert fresh.newest_version(ref.path, None) == ref.version - 1


# What Lance does, and why we do otherwise ---------------------------------------------------------


def test_lance_believes_that_an_unnumbered_fragment_has_the_number_0(datasets: Datasets) -> None:
    ref = edit(datasets, make_pages(datasets), {"new0": page(1)})
    ref = index(datasets, ref)
    rewrite = datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True)
    assert rewrite is not None
    ((old, new),) = rewrite.groups
    unnumbered = tuple(json.dumps({**json.loads(fragment), "id": 0}) for fragment in new)
    after = land(datasets, ref, [Rewrite(((old, unnumbered),))])
    assert datasets.open(after).fragment_ids == (2,)
    assert covered(datasets, after)["body_ngram"] == {0}


@pytest.mark.parametrize(
    ("name", "is_wrong"),
    [("tags_label_list", True), ("body_inverted", True), ("body_ngram", False)],
)
def test_a_further_segment_over_a_changed_row_finds_its_old_value_in_some_kinds(
    datasets: Datasets, name: str, is_wrong: bool
) -> None:
    ref = index(datasets, make_pages(datasets))
    changed = {"old1": Page("dog dog", ("z",), 1, None)}
    ref = edit(datasets, ref, changed)
    dataset = datasets.own(ref)
    (step,) = [each for each in steps(dataset) if each.index.name == name]
    delta = replace(step, fragments=(1,), removed=())
    after = land(datasets, ref, [datasets.stage_indexes(dataset, [delta], ref=ref)])
    try:
        check(datasets.open(after), {**MANY, **changed})
        is_right = True
    except AssertionError:
        is_right = False
    assert is_right is not is_wrong


def test_lance_counts_words_of_rows_that_are_gone_among_the_first(datasets: Datasets) -> None:
    """So few rows within a limit do not mean that there are no more."""
    ref = index(datasets, make_pages(datasets))
    names = [f"whale{number:02}" for number in range(20)]
    added = edit(datasets, ref, {name: Page("whale", None, 1, None) for name in names})
    ref = compact(datasets, edit(datasets, index(datasets, added), {}, names[:15]))
    dataset, whales = datasets.open(ref), HasWords("body", "whale", is_phrase=False)
    assert dataset.scan(["id"], predicate=whales).num_rows == 5
    assert dataset.scan(["id"], predicate=whales, rows=range(5)).num_rows < 5
