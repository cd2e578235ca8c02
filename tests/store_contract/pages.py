"""A table with an index of every kind, and questions that each of them answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from lance.query import MatchQuery, PhraseQuery

from omnigraph.base.ids import TypeId, TypeName
from omnigraph.base.types import ListOf, Scalar, VectorOf
from omnigraph.lang.schema.catalog import Index, NodeType
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import Dataset, Datasets, index_steps
from omnigraph.store.indexes import IndexStep, wanted_indexes
from omnigraph.store.transactions import CreateIndex, DatasetRef, Rewrite
from omnigraph.write.upkeep import optimized
from tests.store_contract.builders import CATALOG, property_, rows_of, staged_edit

NUMBER = CATALOG.next_id

PAGE = NodeType(
    TypeId(NUMBER),
    TypeName("Page"),
    (
        property_(NUMBER + 1, "body", Scalar.STRING),
        property_(NUMBER + 2, "tags", ListOf(Scalar.STRING)),
        property_(NUMBER + 3, "v", VectorOf(4)),
        property_(NUMBER + 4, "year", Scalar.I32),
    ),
    constraints=(
        Index(("body",)),
        Index(("body",), "ngram"),
        Index(("tags",)),
        Index(("v",)),
        Index(("year",)),
    ),
)
NAMES = {
    "id_btree", "body_btree", "body_inverted", "body_ngram", "tags_label_list", "v_vector",
    "year_btree",
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    body: str | None
    tags: tuple[str, ...] | None
    year: int | None
    v: tuple[float, ...] | None


def page(seed: int) -> Page:
    """Some page, the same for the same number."""
    words = ("cats", "running", "fox", "the", "dog")
    return Page(
        body=None if seed % 7 == 3 else f"{words[seed % 5]} {words[seed // 5 % 5]}",
        tags=None if seed % 5 == 4 else tuple("ab"[: seed % 3]),
        year=None if seed % 6 == 5 else seed % 4,
        v=None if seed % 9 == 8 else (1.0 + seed % 3, 1.0 + seed % 4, seed % 2, 0.5),
    )


Pages = Mapping[str, Page]


def table_of(pages: Pages) -> pa.Table:
    return rows_of(PAGE, [{"id": name, **vars(page)} for name, page in pages.items()])


MANY: Pages = {f"old{number}": page(number) for number in range(300)}
"""Enough for lists of vectors."""


def make_pages(datasets: Datasets, pages: Pages = MANY) -> DatasetRef:
    return datasets.create("nodes/page", table_schema(PAGE), table_of(pages))


# Steps --------------------------------------------------------------------------------------------


def edit(datasets: Datasets, ref: DatasetRef, put: Pages, gone: Sequence[str] = ()) -> DatasetRef:
    update, counts = staged_edit(datasets, ref, table_of(put), gone)
    if not counts.inserted + counts.updated + counts.deleted:
        return ref
    return datasets.land(datasets.stage(ref, update, {}))


def land(
    datasets: Datasets, ref: DatasetRef, operations: Sequence[Rewrite | CreateIndex | None]
) -> DatasetRef:
    for operation in operations:
        if operation is not None:
            ref = datasets.land(datasets.stage(ref, operation, {}))
    return ref


def steps(dataset: Dataset) -> tuple[IndexStep, ...]:
    return index_steps(dataset, wanted_indexes(PAGE))


def index(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    dataset = datasets.own(ref)
    return land(datasets, ref, [datasets.stage_indexes(dataset, steps(dataset), ref=ref)])


def compact(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    rewrite = datasets.stage_compaction(ref, fewer_than_rows=1_000, drops_deleted=True)
    return land(datasets, ref, [rewrite])


def optimize(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    return land(datasets, ref, optimized(datasets, PAGE, ref))


def fork(datasets: Datasets, ref: DatasetRef) -> DatasetRef:
    name = f"b{ref.version}" if ref.branch is None else f"{ref.branch}.{ref.version}"
    return datasets.fork(ref, name)


# Questions ----------------------------------------------------------------------------------------

QUERY = (1.0, 2.0, 0.0, 0.5)


def check(dataset: Dataset, pages: Pages) -> None:
    """Every index tells what the pages say, and nothing of what they said before."""
    for year in range(4):
        assert _found(dataset, f"year = {year}") == {k for k, p in pages.items() if p.year == year}
    for text in ("run", "cats", "s f", "dog"):
        expected = {k for k, p in pages.items() if p.body is not None and text in p.body}
        assert _found(dataset, f"contains(body, '{text}')") == expected
    for text in ("cats", "the f", "x"):
        expected = {k for k, p in pages.items() if p.body is not None and p.body.startswith(text)}
        assert _found(dataset, f"starts_with(body, '{text}')") == expected
    for tag in "abc":
        expected = {k for k, p in pages.items() if p.tags is not None and tag in p.tags}
        assert _found(dataset, f"array_has(tags, '{tag}')") == expected
    if "body_inverted" in dataset.indexes and dataset.row_count:
        _check_words(dataset, pages)
    _check_vectors(dataset, pages)


def _found(dataset: Dataset, filter_: str | None, **options: Any) -> set[str]:
    found = dataset._handle.scanner(columns=["id"], filter=filter_, **options).to_table()
    ids = found["id"].to_pylist()
    assert len(set(ids)) == len(ids)
    # As many as are asked for, if there are so many: readers take fewer for all.
    first = dataset._handle.scanner(columns=["id"], filter=filter_, limit=2, **options).to_table()
    assert len(first) == min(2, len(ids))
    return set(ids)


def _check_words(dataset: Dataset, pages: Pages) -> None:
    bodies = {k: (p.body or "").split() for k, p in pages.items()}
    for word, stem in (("cat", "cats"), ("runs", "running"), ("fox", "fox"), ("the", "the")):
        found = _matching(dataset, MatchQuery(word, "body"))
        assert found == {k for k, words in bodies.items() if stem in words}, word
    found = _matching(dataset, PhraseQuery("the fox", "body"))
    assert found == {k for k, words in bodies.items() if words == ["the", "fox"]}


def _matching(dataset: Dataset, query: MatchQuery | PhraseQuery) -> set[str]:
    scanner = dataset._handle.scanner(columns=["id", "_score"], full_text_query=query)
    return set(scanner.to_table()["id"].to_pylist())


def _check_vectors(dataset: Dataset, pages: Pages) -> None:
    known = {k: np.array(p.v) for k, p in pages.items() if p.v is not None}
    if not known:
        return
    query = np.array(QUERY, dtype=np.float32)
    nearest = {"column": "v", "q": query, "k": len(known), "nprobes": 1_000, "refine_factor": 1}
    found = dataset._handle.scanner(
        columns=["id", "_distance"], nearest={**nearest, "metric": "cosine"}
    ).to_table()
    assert set(found["id"].to_pylist()) == set(known)
    for id_, distance in zip(*(found[c].to_pylist() for c in ("id", "_distance")), strict=True):
        cosine = known[id_] @ query / np.linalg.norm(known[id_]) / np.linalg.norm(query)
        assert abs(1 - cosine - distance) < 1e-5
