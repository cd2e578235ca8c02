"""Which version of each dataset exists for a reader: the dataset `__manifest`.

    hot fragment    one graph_head · the current row of every table · the last < 64 commits
    cold fragments  64 older commits each, never rewritten

A publish replaces the hot fragment whole. That is the compare-and-swap: two writers who both remove
one fragment can't both land, while two who only added rows would. It also keeps the cost of a read
or a publish at the size of the hot fragment, however long the history is.

Each Lance branch of `__manifest` is one branch of the graph, and has exactly one graph_head row:
the first publish on a new branch replaces the row it inherited.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import GraphReplaced, StorageFailed
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.base.recent import Recent
from omnigraph.store.datasets import (
    ROW_ADDRESS,
    Dataset,
    Datasets,
    FolderState,
    LandingRefused,
    fragment_of,
)
from omnigraph.store.layout import MANIFEST
from omnigraph.store.transactions import DatasetRef, Update
from omnigraph.store.upgrade import UPGRADES, Upgrades

__all__ = [
    "CommitRow",
    "Manifest",
    "ManifestMoved",
    "ManifestState",
    "TableEntry",
]

COMMITS_PER_COLD_FRAGMENT = 64

# A reader that has opened a version reads its hot fragment at once; a minute is ages for that.
KEEP_VERSIONS_S = 60

# Half of that: how long after we looked a newer version is sure to be still there.
TRUSTED_NS = KEEP_VERSIONS_S * 10**9 // 2

# The file system's clock ticks coarsely: two changes within one tick look like one. A time stamp
# is believed only once it is this old.
CLOCK_TICK_NS = 20_000_000

# Branches whose newest state is kept: for the others it is read again.
MAX_KEPT_BRANCHES = 256

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
    fencing: int
    """The number of the owner who wrote it: no owner with a lower one may replace it."""
    is_behind: bool
    """Whether its layout is an old one: a writer walks it forward first."""
    strays: tuple[int, ...] = ()
    """Fragments of someone who swapped a state that was long gone; the next swap removes them."""


class ManifestMoved(Exception):
    """Someone published first: the state that was to be replaced is not the newest."""


class Manifest:
    """The manifest's branches, with what was last seen of each kept warm."""

    def __init__(self, datasets: Datasets, upgrades: Upgrades = UPGRADES) -> None:
        self._datasets = datasets
        self._upgrades = upgrades
        self._warm: Recent[str | None, _Warm] = Recent(MAX_KEPT_BRANCHES)
        self._cold: Recent[str | None, dict[int, tuple[CommitRow, ...]]] = Recent(MAX_KEPT_BRANCHES)

    @staticmethod
    def create(
        datasets: Datasets,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
        upgrades: Upgrades = UPGRADES,
    ) -> None:
        schema = upgrades.stamped(COLUMNS)
        datasets.create(
            MANIFEST, schema, _hot_rows(name, tables, [commit], fencing=0, version=1).cast(schema)
        )

    def newest(self, branch: str | None) -> ManifestState:
        """The branch's state now. Costs one look at a directory while nothing has changed."""
        # Look first, read second: a publish in between makes the stamp too old, not the state.
        stamp = _FreshnessStamp.of(self._datasets, branch)
        warm = self._warm.get(branch)
        if warm is not None and self._is_still_newest(warm, now=stamp):
            self._warm.put(branch, replace(warm, seen=stamp))
            return warm.state
        if warm is None and branch is not None:
            self.newest(None)  # of main a handle may know enough to see that all was replaced
        dataset = self._datasets.open_newest(MANIFEST, branch)
        fingerprint = self._datasets.fingerprint(dataset.ref)
        state = self._project(dataset)
        if warm is not None:
            state = self._descended(warm.state, state, dataset)
        self._warm.put(branch, _Warm(state, stamp, stamp, fingerprint))
        return state

    def _is_still_newest(self, warm: "_Warm", *, now: "_FreshnessStamp") -> bool:
        if warm.seen.rules_out_change_until(now):
            return True
        # A version that came after it was read is too young to have been removed again.
        ref = DatasetRef(MANIFEST, warm.state.branch, warm.state.version)
        return (
            warm.read.is_recent(now)
            and self._datasets.is_newest(ref)
            and self._datasets.fingerprint(ref) == warm.fingerprint
        )

    def _descended(
        self, known: ManifestState, found: ManifestState, dataset: Dataset
    ) -> ManifestState:
        """What was found, if what was known led there; else raise `GraphReplaced`.

        Nothing takes a published commit out of a branch's line. Where it is missing, an older state
        of the graph was put back, and version numbers mean something else from there on.
        """
        if known.version == found.version and known.head == found.head:
            return known
        if all(row.id != known.head for row in found.recent):
            wanted = pc.field("object_id") == f"{COMMIT}:{known.head}"
            cold = list(found.cold)
            if not cold or not dataset.scan([], predicate=wanted, fragment_ids=cold).num_rows:
                raise GraphReplaced(str(self._datasets.root))
        return found

    def commits(self, state: ManifestState) -> tuple[CommitRow, ...]:
        """Every commit of the branch, oldest first. Reads only fragments not read before."""
        known = self._cold.get(state.branch) or {}
        if missing := [fragment for fragment in state.cold if fragment not in known]:
            dataset = self._datasets.open(DatasetRef(MANIFEST, state.branch, state.version))
            known = known | _commits_by_fragment(dataset, missing)
            self._cold.put(state.branch, known)
        cold = (row for fragment in state.cold for row in known[fragment])
        return (*cold, *state.recent)

    def forget(self, branch: str | None) -> None:
        """Let go of what was seen of a branch that is no more."""
        self._warm.forget(branch)
        self._cold.forget(branch)

    def replace(
        self,
        state: ManifestState,
        *,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
        fencing: int,
    ) -> ManifestState:
        """Make `commit` the head, with these tables, if `state` is still the newest."""
        cooling = state.recent if len(state.recent) == COMMITS_PER_COLD_FRAGMENT else ()
        recent = (commit,) if cooling else (*state.recent, commit)
        wanted = replace(state, head=commit.id, tables=tables, recent=recent, fencing=fencing)
        published = self._swap(state, wanted, name=name, cooling=cooling)
        if cooling:
            self._datasets.forget_old_versions(MANIFEST, state.branch, older_than_s=KEEP_VERSIONS_S)
        return published

    def renumber(self, state: ManifestState, *, name: BranchName, fencing: int) -> ManifestState:
        """Say the same with a new owner's number. From then on no earlier owner can publish."""
        return self._swap(state, replace(state, fencing=fencing), name=name)

    def _swap(
        self,
        state: ManifestState,
        wanted: ManifestState,
        *,
        name: BranchName,
        cooling: Sequence[CommitRow] = (),
    ) -> ManifestState:
        """Put what `wanted` says in the place of `state`, if that is still the newest."""
        base = DatasetRef(MANIFEST, state.branch, state.version)
        cold = self._datasets.stage_rows(base, _table(map(_commit_row, cooling))) if cooling else ()
        hot_rows = _hot_rows(
            name, wanted.tables, wanted.recent, fencing=wanted.fencing, version=state.version + 1
        )
        hot = self._datasets.stage_rows(base, hot_rows)
        # Lance numbers new fragments in this order, and readers know the hot one by the highest id.
        swap = Update(removed=(state.hot, *state.strays), new=(*cold, *hot))
        try:
            landed = self._datasets.land(self._datasets.stage(base, swap, {}))
        except LandingRefused as refusal:
            raise ManifestMoved from refusal
        *known, newest = sorted(self._datasets.open(landed).fragment_ids)
        published = replace(
            wanted, version=landed.version, hot=newest, cold=tuple(known), strays=()
        )
        # Kept without a proof of freshness: someone may have published since.
        published_now = _FreshnessStamp.now(folder=None)
        fingerprint = self._datasets.fingerprint(landed)
        self._warm.put(state.branch, _Warm(published, published_now, published_now, fingerprint))
        return published

    def brought_up_to_date(self, state: ManifestState) -> ManifestState:
        """Walk the layout of the newest state forward. The caller holds the branch's fence."""
        if not state.is_behind:
            return state
        self._upgrades.apply(self._datasets, state.branch)
        return self.newest(state.branch)

    def _project(self, dataset: Dataset) -> ManifestState:
        """What a version says, by the rows of its hot fragment."""
        is_behind = self._upgrades.is_behind(dataset)
        try:
            *cold, hot = sorted(dataset.fragment_ids)
            rows = _read(dataset, hot)
            state = _project(dataset.ref, rows.to_pylist(), hot=hot, cold=cold, is_behind=is_behind)
            return state if _made_for(rows) == state.version else _without_strays(dataset, state)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"a row of the manifest can't be parsed: {error}"
            raise StorageFailed(doing="read", path=MANIFEST, reason=reason) from error


@dataclass(frozen=True, slots=True)
class _FreshnessStamp:
    """How the folder of versions looked, if it can be seen, and when we looked."""

    folder: FolderState | None
    at_ns: int
    """Compared with the file system's clock, so it can't be one that a test holds still."""
    at_monotonic_ns: int

    @classmethod
    def of(cls, datasets: Datasets, branch: str | None) -> "_FreshnessStamp":
        return cls.now(datasets.look_at_versions(MANIFEST, branch))

    @classmethod
    def now(cls, folder: FolderState | None) -> "_FreshnessStamp":
        return cls(folder, time.time_ns(), time.monotonic_ns())

    def rules_out_change_until(self, later: "_FreshnessStamp") -> bool:
        if self.folder is None or self.folder != later.folder:
            return False
        return self.at_ns - self.folder.changed_ns > CLOCK_TICK_NS

    def is_recent(self, now: "_FreshnessStamp") -> bool:
        """Whether little time has passed since, by two clocks that err in different ways.

        The machine's time can be set back. The other clock stands still while a machine sleeps.
        """
        passed = (now.at_ns - self.at_ns, now.at_monotonic_ns - self.at_monotonic_ns)
        return all(0 <= passed_ns < TRUSTED_NS for passed_ns in passed)


@dataclass(frozen=True, slots=True)
class _Warm:
    """What was last seen of a branch's manifest."""

    state: ManifestState
    seen: _FreshnessStamp
    """When it was last known to be the newest."""
    read: _FreshnessStamp
    """When it was read or published."""
    fingerprint: str | None
    """Of its version's file; None in a bucket."""


# Rows -------------------------------------------------------------------------------------------

HEAD, TABLE, COMMIT = "graph_head", "table_version", "graph_commit"

Row = dict[str, Any]


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


def _without_strays(dataset: Dataset, seen: ManifestState) -> ManifestState:
    """The same version, read with care: its newest fragment was not made for it.

    Lance finds out that a swap comes too late by looking at the swaps since. Where the versions
    between have been removed it sees none, and lands it. Then the fragment that was made for the
    latest version is the hot one, and what came too late is a stray. If only the layout was walked
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
    strays = tuple(f for f in fragments if f > hot or (f in made_for and f != hot))
    cold = [f for f in fragments if f != hot and f not in strays]
    rows = _read(dataset, hot).to_pylist()
    state = _project(dataset.ref, rows, hot=hot, cold=cold, is_behind=seen.is_behind)
    return replace(state, strays=strays)


def _read(dataset: Dataset, fragment: int) -> pa.Table:
    return dataset.scan(COLUMNS.names, fragment_ids=[fragment])


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
        rows[fragment_of(row[ROW_ADDRESS])].append(row)
    return {fragment: _commits_among(found) for fragment, found in rows.items()}


def _hot_rows(
    name: BranchName,
    tables: Mapping[TableKey, TableEntry],
    recent: Sequence[CommitRow],
    *,
    fencing: int,
    version: int,
) -> pa.Table:
    head = recent[-1]
    head_row = {
        "object_id": f"{HEAD}:{name}",
        "object_type": HEAD,
        "metadata": json.dumps({"fencing": fencing, "version": version}),
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
