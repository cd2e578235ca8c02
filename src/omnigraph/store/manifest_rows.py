"""The rows of `__manifest`: what a state of a branch says, written as rows and read from them.

Names of columns and kinds of rows are part of the format on disk.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.datasets import ROW_ADDRESS, Dataset, fragment_of
from omnigraph.store.transactions import DatasetRef

__all__ = [
    "COLUMNS",
    "CommitRow",
    "ManifestState",
    "TableEntry",
    "commit_rows",
    "commits_by_fragment",
    "hot_rows",
    "in_order",
    "is_commit",
    "read_state",
]

HEAD, TABLE, COMMIT = "graph_head", "table_version", "graph_commit"

# The kind of a commit in a hot fragment that came with a merge: it is not on the branch's line. In
# a cold fragment it is a commit like all others.
MERGED = "merged_commit"

COLUMNS = pa.schema(
    [
        pa.field(
            "object_id",
            pa.string(),
            nullable=False,
            metadata={"lance-schema:unenforced-primary-key": "true"},
        ),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.string())),
        pa.field("table_key", pa.string()),
        pa.field("table_version", pa.int64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.int64()),
        pa.field("seq", pa.int64(), nullable=False),
    ]
)


@frozen
class TableEntry:
    """The version of a table that a commit pins."""

    ref: DatasetRef
    row_count: int
    seq: int
    """The sequence of the commit that pinned it. Version numbers don't tell the order: a roll-back
    and a type that was dropped and added again both step out of it."""


@frozen
class CommitRow:
    """A commit as the manifest keeps it; `commits.Commit` is what it means."""

    id: CommitId
    seq: int
    parents: tuple[CommitId, ...]
    metadata: str


@frozen(slots=False)
class ManifestState:
    """One version of one branch's manifest, projected."""

    branch: str | None
    """The Lance branch of `__manifest`; None is the graph's main."""
    version: int
    head: CommitId
    tables: Mapping[TableKey, TableEntry]
    recent: tuple[CommitRow, ...]
    """The newest commits of the branch's line, oldest first; the head is the last."""
    merged: tuple[CommitRow, ...]
    """Commits of other branches' lines that came with merges, and are in no cold fragment yet."""
    hot: int
    cold: tuple[int, ...]
    fencing: int
    """The number of the owner who wrote it: no owner with a lower one may replace it."""
    is_behind: bool
    """True if its layout is an old one: a writer walks it forward first."""
    late_fragments: tuple[int, ...] = ()
    """Fragments of a late writer, which swapped a state long gone; the next swap removes them."""


Row = dict[str, Any]


def read_state(dataset: Dataset, *, is_behind: bool) -> ManifestState:
    """What a version of the manifest says.

    Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` for rows of another kind.
    """
    *cold, hot = sorted(dataset.fragment_ids)
    rows = _read(dataset, hot)
    state = _project(dataset.ref, rows.to_pylist(), hot=hot, cold=cold, is_behind=is_behind)
    return state if _made_for(rows) == state.version else _without_late_fragments(dataset, state)


def commits_by_fragment(
    dataset: Dataset, fragments: Sequence[int]
) -> dict[int, tuple[CommitRow, ...]]:
    """The commits of cold fragments, oldest first."""
    table = dataset.scan(COLUMNS.names, fragment_ids=fragments, with_row_address=True)
    rows: dict[int, list[Row]] = {fragment: [] for fragment in fragments}
    for row in table.to_pylist():
        rows[fragment_of(row[ROW_ADDRESS])].append(row)
    return {fragment: _commits_among(found) for fragment, found in rows.items()}


def in_order(commit: CommitRow) -> tuple[int, CommitId]:
    """The place of a commit among others; on one line no two have the same sequence."""
    return commit.seq, commit.id


def is_commit(commit: CommitId) -> pc.Expression:
    """True for the row of this commit."""
    return pc.field("object_id") == f"{COMMIT}:{commit}"


def hot_rows(
    name: BranchName,
    tables: Mapping[TableKey, TableEntry],
    recent: Sequence[CommitRow],
    *,
    merged: Sequence[CommitRow] = (),
    fencing: int,
    version: int,
) -> pa.Table:
    """The rows of a hot fragment, which is written to become this version."""
    head = recent[-1]
    head_row = {
        "object_id": f"{HEAD}:{name}",
        "object_type": HEAD,
        "metadata": json.dumps({"fencing": fencing, "version": version}),
        "base_objects": [f"{COMMIT}:{head.id}"],
        "seq": head.seq,
    }
    table_rows = (_table_row(key, entry) for key, entry in sorted(tables.items()))
    merged_rows = ({**_commit_row(commit), "object_type": MERGED} for commit in merged)
    return _table([head_row, *table_rows, *merged_rows, *map(_commit_row, recent)])


def commit_rows(commits: Iterable[CommitRow]) -> pa.Table:
    """The rows of a cold fragment."""
    return _table(map(_commit_row, commits))


# Reading -----------------------------------------------------------------------------------------


def _project(
    ref: DatasetRef, rows: list[Row], *, hot: int, cold: list[int], is_behind: bool
) -> ManifestState:
    [head] = [row for row in rows if row["object_type"] == HEAD]
    recent = _commits_among(rows)
    state = ManifestState(
        branch=ref.branch,
        version=ref.version,
        head=CommitId(head["base_objects"][0].removeprefix(f"{COMMIT}:")),
        tables={
            TableKey(row["table_key"]): TableEntry(
                ref=DatasetRef(row["location"], row["table_branch"], row["table_version"]),
                row_count=row["row_count"],
                seq=row["seq"],
            )
            for row in rows
            if row["object_type"] == TABLE
        },
        recent=recent,
        merged=_commits_among(rows, MERGED),
        hot=hot,
        cold=tuple(cold),
        fencing=json.loads(head["metadata"] or "{}").get("fencing", 0),
        is_behind=is_behind,
    )
    assert recent[-1].id == state.head, "the head is the newest commit of the hot fragment"
    return state


def _made_for(hot_rows: pa.Table) -> int:
    """The version that the rows of a hot fragment were written to become."""
    [head] = hot_rows.filter(pc.field("object_type") == HEAD)["metadata"].to_pylist()
    return int(json.loads(head or "{}").get("version", 0))


def _without_late_fragments(dataset: Dataset, seen: ManifestState) -> ManifestState:
    """The same version, read with care: its newest fragment was not made for it.

    Lance finds out that a swap comes too late by looking at the swaps since. Where the versions
    between have been removed it sees none, and lands it. Then the fragment that was made for the
    latest version is the hot one, and the others are late fragments. If only the layout was walked
    forward since, there is no other fragment with a head.
    """
    heads = dataset.scan(
        ["metadata"], predicate=pc.field("object_type") == HEAD, with_row_address=True
    ).to_pylist()
    made_for = {
        fragment_of(row[ROW_ADDRESS]): json.loads(row["metadata"] or "{}").get("version", 0)
        for row in heads
    }
    hot = max(made_for, key=lambda fragment: made_for[fragment])
    fragments = sorted(dataset.fragment_ids)
    late_fragments = tuple(f for f in fragments if f > hot or (f in made_for and f != hot))
    cold = [f for f in fragments if f != hot and f not in late_fragments]
    rows = _read(dataset, hot).to_pylist()
    state = _project(dataset.ref, rows, hot=hot, cold=cold, is_behind=seen.is_behind)
    return replace(state, late_fragments=late_fragments)


def _read(dataset: Dataset, fragment: int) -> pa.Table:
    return dataset.scan(COLUMNS.names, fragment_ids=[fragment])


def _commits_among(rows: Iterable[Row], kind: str = COMMIT) -> tuple[CommitRow, ...]:
    commits = (
        CommitRow(
            id=CommitId(row["object_id"].removeprefix(f"{COMMIT}:")),
            seq=row["seq"],
            parents=tuple(
                CommitId(parent.removeprefix(f"{COMMIT}:")) for parent in row["base_objects"]
            ),
            metadata=row["metadata"],
        )
        for row in rows
        if row["object_type"] == kind
    )
    return tuple(sorted(commits, key=in_order))


# Writing -----------------------------------------------------------------------------------------


def _table_row(key: TableKey, entry: TableEntry) -> Row:
    return {
        "object_id": f"{TABLE}:{key}",
        "object_type": TABLE,
        "location": entry.ref.path,
        "table_key": key,
        "table_version": entry.ref.version,
        "table_branch": entry.ref.branch,
        "row_count": entry.row_count,
        "seq": entry.seq,
    }


def _commit_row(commit: CommitRow) -> Row:
    return {
        "object_id": f"{COMMIT}:{commit.id}",
        "object_type": COMMIT,
        "metadata": commit.metadata,
        "base_objects": [f"{COMMIT}:{parent}" for parent in commit.parents],
        "seq": commit.seq,
    }


def _table(rows: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=COLUMNS)
