"""Which version of each dataset exists for a reader: the dataset `__manifest`.

    hot fragment    one graph_head · the current row of every table · the last < 64 commits
    cold fragments  64 older commits each, never rewritten

A publish replaces the hot fragment whole. That is the compare-and-swap: two writers who both remove
one fragment can't both land, while two who only added rows would. It also keeps the cost of a read
or a publish at the size of the hot fragment, however long the history is.

Each Lance branch of `__manifest` is one branch of the graph, and has exactly one graph_head row:
the first publish on a new branch replaces the row it inherited.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import SchemaVersionUnsupported
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.store.datasets import Dataset, Datasets, LandingRefused
from omnigraph.store.layout import MANIFEST
from omnigraph.store.transactions import DatasetRef, Update

__all__ = [
    "CommitRow",
    "Manifest",
    "ManifestMoved",
    "ManifestState",
    "TableEntry",
]

STAMP = b"omnigraph:internal_schema_version"
SUPPORTED_STAMP = 1

COMMITS_PER_COLD_FRAGMENT = 64

# A reader that has opened a version reads its hot fragment at once; a minute is ages for that.
KEEP_VERSIONS_S = 60

# The file system's clock ticks coarsely: two changes within one tick look like one. A time stamp
# is believed only once it is this old.
CLOCK_TICK_NS = 20_000_000

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
    ],
    metadata={STAMP: str(SUPPORTED_STAMP)},
)


@dataclass(frozen=True, slots=True)
class TableEntry:
    """The version of a table that a commit pins."""

    ref: DatasetRef
    row_count: int
    seq: int
    """The sequence of the commit that pinned it. Version numbers don't tell the order: a roll-back
    and a type that was dropped and added again both step out of it."""


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit as the manifest keeps it; `commits.Commit` is what it means."""

    id: CommitId
    seq: int
    parents: tuple[CommitId, ...]
    metadata: str


@dataclass(frozen=True)
class ManifestState:
    """One version of one branch's manifest, projected."""

    branch: str | None
    """The Lance branch of `__manifest`; None is the graph's main."""
    version: int
    head: CommitId
    tables: Mapping[TableKey, TableEntry]
    recent: tuple[CommitRow, ...]
    """The commits of the hot fragment, oldest first; the head is the last."""
    hot: int
    cold: tuple[int, ...]


class ManifestMoved(Exception):
    """Someone published first: the state that was to be replaced is not the newest."""


class Manifest:
    """The manifest's branches, with what was last seen of each kept warm."""

    def __init__(self, datasets: Datasets) -> None:
        self._datasets = datasets
        self._warm: dict[str | None, tuple[ManifestState, _Sighting]] = {}
        self._cold: dict[str | None, dict[int, tuple[CommitRow, ...]]] = {}

    @staticmethod
    def create(
        datasets: Datasets,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
    ) -> None:
        datasets.create(MANIFEST, COLUMNS, _hot_rows(name, tables, [commit]))

    def newest(self, branch: str | None) -> ManifestState:
        """The branch's state now. Costs one look at a directory while nothing has changed."""
        # Look first, read second: a publish in between makes the sighting too old, not the state.
        sighting = _Sighting.of(self._datasets, branch)
        warm = self._warm.get(branch)
        if warm is not None and warm[1].rules_out_change_until(sighting):
            return warm[0]
        dataset = self._datasets.open_newest(MANIFEST, branch)
        if warm is not None and warm[0].version == dataset.ref.version:
            state = warm[0]
        else:
            state = _project(dataset)
        self._warm[branch] = (state, sighting)
        return state

    def commits(self, state: ManifestState) -> tuple[CommitRow, ...]:
        """Every commit of the branch, oldest first. Reads only fragments not read before."""
        known = self._cold.setdefault(state.branch, {})
        if missing := [fragment for fragment in state.cold if fragment not in known]:
            dataset = self._datasets.open(DatasetRef(MANIFEST, state.branch, state.version))
            known |= _commits_by_fragment(dataset, missing)
        cold = (row for fragment in state.cold for row in known[fragment])
        return (*cold, *state.recent)

    def replace(
        self,
        state: ManifestState,
        *,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
    ) -> ManifestState:
        """Make `commit` the head, with these tables, if `state` is still the newest."""
        base = DatasetRef(MANIFEST, state.branch, state.version)
        cooling = state.recent if len(state.recent) == COMMITS_PER_COLD_FRAGMENT else ()
        recent = (commit,) if cooling else (*state.recent, commit)
        cold = self._datasets.stage_rows(base, _table(map(_commit_row, cooling))) if cooling else ()
        hot = self._datasets.stage_rows(base, _hot_rows(name, tables, recent))
        # Lance numbers new fragments in this order, and readers know the hot one by the highest id.
        swap = Update(removed=(state.hot,), new=(*cold, *hot))
        try:
            landed = self._datasets.land(self._datasets.stage(base, swap, {"commit": commit.id}))
        except LandingRefused as refusal:
            raise ManifestMoved from refusal
        if cooling:
            self._datasets.forget_old_versions(MANIFEST, state.branch, older_than_s=KEEP_VERSIONS_S)
        published = _project(self._datasets.open(landed))
        # Kept without a proof of freshness: someone may have published since.
        self._warm[state.branch] = (published, _Sighting(changed_ns=0, looked_ns=0))
        return published


@dataclass(frozen=True, slots=True)
class _Sighting:
    """When the versions had last changed, and when we looked."""

    changed_ns: int
    looked_ns: int

    @classmethod
    def of(cls, datasets: Datasets, branch: str | None) -> "_Sighting":
        # Compared with the file system's clock, so it can't be one that a test holds still.
        return cls(datasets.versions_changed_ns(MANIFEST, branch), time.time_ns())

    def rules_out_change_until(self, later: "_Sighting") -> bool:
        is_settled = self.looked_ns - self.changed_ns > CLOCK_TICK_NS
        return is_settled and self.changed_ns == later.changed_ns


# Rows -------------------------------------------------------------------------------------------

HEAD, TABLE, COMMIT = "graph_head", "table_version", "graph_commit"

Row = dict[str, Any]


def _project(dataset: Dataset) -> ManifestState:
    stamp = int(dataset.schema_metadata.get(STAMP, b"0"))
    if stamp > SUPPORTED_STAMP:
        raise SchemaVersionUnsupported(found=stamp, supported=SUPPORTED_STAMP)
    *cold, hot = sorted(dataset.fragment_ids)
    rows = _read(dataset, hot)
    [head] = [row for row in rows if row["object_type"] == HEAD]
    recent = _commits_among(rows)
    state = ManifestState(
        branch=dataset.ref.branch,
        version=dataset.ref.version,
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
        hot=hot,
        cold=tuple(cold),
    )
    assert recent[-1].id == state.head, "the head is the newest commit of the hot fragment"
    return state


def _read(dataset: Dataset, fragment: int) -> list[Row]:
    rows: list[Row] = dataset.scan(COLUMNS.names, fragment_ids=[fragment]).to_pylist()
    return rows


def _commits_among(rows: Iterable[Row]) -> tuple[CommitRow, ...]:
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
        if row["object_type"] == COMMIT
    )
    return tuple(sorted(commits, key=lambda commit: commit.seq))


def _commits_by_fragment(
    dataset: Dataset, fragments: Sequence[int]
) -> dict[int, tuple[CommitRow, ...]]:
    table = dataset.scan(COLUMNS.names, fragment_ids=fragments, with_row_address=True)
    rows: dict[int, list[Row]] = {fragment: [] for fragment in fragments}
    for row in table.to_pylist():
        rows[row["_rowaddr"] >> 32].append(row)
    return {fragment: _commits_among(found) for fragment, found in rows.items()}


def _hot_rows(
    name: BranchName, tables: Mapping[TableKey, TableEntry], recent: Sequence[CommitRow]
) -> pa.Table:
    head = recent[-1]
    head_row = {
        "object_id": f"{HEAD}:{name}",
        "object_type": HEAD,
        "base_objects": [f"{COMMIT}:{head.id}"],
        "seq": head.seq,
    }
    table_rows = (_table_row(key, entry) for key, entry in sorted(tables.items()))
    return _table([head_row, *table_rows, *map(_commit_row, recent)])


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
