"""Which version of each dataset exists for a reader: the dataset `__manifest`.

    hot fragment    one graph_head · the current row of every table · the last <= 64 commits of the
                    branch's line · the last <= 64 commits of other lines that came with merges
    cold fragments  64 older commits each or more, of both kinds; `gather` makes one of many

A publish replaces the hot fragment whole. That is the compare-and-swap: two writers who both remove
one fragment can't both land, while two who only added rows would. It also keeps the cost of a read
or a publish at the size of the hot fragment, however long the history is.

Each Lance branch of `__manifest` is one branch of the graph, and has exactly one graph_head row:
the first publish on a new branch replaces the row it inherited.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from omnigraph.base.errors import GraphReplaced, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.base.recent import Recent
from omnigraph.store.datasets import Dataset, Datasets, LandingRefused
from omnigraph.store.freshness import FreshnessStamp
from omnigraph.store.layout import MANIFEST
from omnigraph.store.limits import DEFAULT_LIMITS, StoreLimits
from omnigraph.store.manifest_rows import (
    COLUMNS,
    CommitRow,
    ManifestState,
    TableEntry,
    commit_rows,
    commits_by_fragment,
    hot_rows,
    in_order,
    is_commit,
    read_state,
)
from omnigraph.store.transactions import DatasetRef, Update
from omnigraph.store.upgrade import UPGRADES, Upgrades

__all__ = [
    "CommitRow",
    "Manifest",
    "ManifestMoved",
    "ManifestState",
    "TableEntry",
]


class ManifestMoved(Exception):
    """Someone published first: the state that was to be replaced is not the newest."""


class Manifest:
    """The manifest's branches, with what was last seen of each kept warm."""

    def __init__(
        self,
        datasets: Datasets,
        upgrades: Upgrades = UPGRADES,
        limits: StoreLimits = DEFAULT_LIMITS,
    ) -> None:
        self._datasets = datasets
        self._upgrades = upgrades
        self._limits = limits
        self._warm: Recent[str | None, _Warm] = Recent(limits.max_kept_branches)
        self._cold: Recent[tuple[str | None, int], tuple[CommitRow, ...]] = Recent(
            limits.max_kept_commits, weigh=len
        )

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
            MANIFEST, schema, hot_rows(name, tables, [commit], fencing=0, version=1).cast(schema)
        )

    def newest(self, branch: str | None) -> ManifestState:
        """The branch's state now. Costs one look at a directory while nothing has changed."""
        # Look first, read second: a publish in between makes the stamp too old, not the state.
        stamp = FreshnessStamp.of(self._datasets, branch)
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

    def _is_still_newest(self, warm: "_Warm", *, now: "FreshnessStamp") -> bool:
        if warm.seen.rules_out_change_until(now):
            return True
        # A version that came after it was read is too young to have been removed again.
        ref = DatasetRef(MANIFEST, warm.state.branch, warm.state.version)
        return (
            warm.read.is_recent(now, limit_ns=self._limits.trusted_ns)
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
            wanted = is_commit(known.head)
            cold = list(found.cold)
            if not cold or not dataset.scan([], predicate=wanted, fragment_ids=cold).num_rows:
                raise GraphReplaced(str(self._datasets.root))
        return found

    def commits(self, state: ManifestState) -> tuple[CommitRow, ...]:
        """Every commit that it holds. Those of the branch's line come oldest first.

        Commits that came with merges stand anywhere among them, but before the recent ones. Reads
        only fragments not read before.
        """
        kept = {fragment: self._cold.get((state.branch, fragment)) for fragment in state.cold}
        known = {fragment: rows for fragment, rows in kept.items() if rows is not None}
        if missing := [fragment for fragment in state.cold if fragment not in known]:
            dataset = self._datasets.open(DatasetRef(MANIFEST, state.branch, state.version))
            read = commits_by_fragment(dataset, missing)
            for fragment, rows in read.items():
                self._cold.put((state.branch, fragment), rows)
            known |= read
        cold = (row for fragment in state.cold for row in known[fragment])
        return (*cold, *state.merged, *state.recent)

    def forget(self, branch: str | None) -> None:
        """Let go of what was seen of a branch that is no more."""
        self._warm.forget(branch)
        self._cold.forget_all(lambda key: key[0] == branch)

    def replace(
        self,
        state: ManifestState,
        *,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
        merged: Sequence[CommitRow] = (),
        fencing: int,
    ) -> ManifestState:
        """Make `commit` the head, with these tables, if `state` is still the newest.

        `merged` are the commits of other lines that come with it.
        """
        is_full = len(state.recent) >= self._limits.commits_per_cold_fragment
        recent = (commit,) if is_full else (*state.recent, commit)
        wanted = replace(
            state,
            head=commit.id,
            tables=tables,
            recent=recent,
            merged=(*state.merged, *merged),
            fencing=fencing,
        )
        published = self._swap(state, wanted, name=name, cooling=state.recent if is_full else ())
        if is_full:
            self._datasets.forget_old_versions(
                MANIFEST, state.branch, older_than_s=self._limits.keep_versions_s
            )
        return published

    def rewind(
        self,
        state: ManifestState,
        *,
        name: BranchName,
        tables: Mapping[TableKey, TableEntry],
        commit: CommitRow,
    ) -> ManifestState:
        """Make an earlier commit of the line the head again, which had these tables.

        Only for a fork that no reader knows of: a line never loses a commit. It goes on holding the
        later commits, as it does those that came with merges.
        """
        earlier = tuple(row for row in state.recent if row.seq <= commit.seq)
        later = state.recent[len(earlier) :]
        wanted = replace(
            state,
            head=commit.id,
            tables=tables,
            recent=earlier or (commit,),
            merged=(*state.merged, *later),
        )
        return self._swap(state, wanted, name=name)

    def renumber(self, state: ManifestState, *, name: BranchName, fencing: int) -> ManifestState:
        """Say the same with a new owner's number. From then on no earlier owner can publish."""
        return self._swap(state, replace(state, fencing=fencing), name=name)

    def gather(self, state: ManifestState, *, name: BranchName) -> int:
        """Write all cold fragments as one, if there are many; gives how many there were.

        Every version of the manifest lists them. The caller holds the branch's fence.
        """
        if len(state.cold) <= self._limits.max_cold_fragments:
            return 0
        at_hand = len(state.merged) + len(state.recent)
        older = self.commits(state)[:-at_hand]
        self._swap(state, state, name=name, cooling=older, gathered=state.cold)
        return len(state.cold)

    def _swap(
        self,
        state: ManifestState,
        wanted: ManifestState,
        *,
        name: BranchName,
        cooling: Sequence[CommitRow] = (),
        gathered: Sequence[int] = (),
    ) -> ManifestState:
        """Replace `state` by `wanted`, if `state` is still the newest.

        `gathered` are cold fragments whose commits are among those that cool now.
        """
        merged = tuple(sorted(wanted.merged, key=in_order))
        # A fragment for each merge would make every version of the manifest longer.
        if cooling or len(merged) > self._limits.commits_per_cold_fragment:
            cooling, merged = (*cooling, *merged), ()
        wanted = replace(wanted, merged=merged)
        base = DatasetRef(MANIFEST, state.branch, state.version)
        cold = self._datasets.stage_rows(base, commit_rows(cooling)) if cooling else ()
        rows = hot_rows(
            name,
            wanted.tables,
            wanted.recent,
            merged=wanted.merged,
            fencing=wanted.fencing,
            version=state.version + 1,
        )
        hot = self._datasets.stage_rows(base, rows)
        # Lance numbers new fragments in this order, and readers know the hot one by the highest id.
        removed = (state.hot, *state.late_fragments, *gathered)
        swap = Update(removed=removed, new=(*cold, *hot))
        try:
            landed = self._datasets.land(self._datasets.stage(base, swap, {}))
        except LandingRefused as refusal:
            raise ManifestMoved from refusal
        *known, newest = sorted(self._datasets.open(landed).fragment_ids)
        published = replace(
            wanted, version=landed.version, hot=newest, cold=tuple(known), late_fragments=()
        )
        # Kept without a proof of freshness: someone may have published since.
        published_now = FreshnessStamp.now(folder=None)
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
            return read_state(dataset, is_behind=is_behind)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"a row of the manifest can't be parsed: {error}"
            raise StorageFailed(doing="read", path=MANIFEST, reason=reason) from error


@frozen
class _Warm:
    """What was last seen of a branch's manifest."""

    state: ManifestState
    seen: FreshnessStamp
    """When it was last known to be the newest."""
    read: FreshnessStamp
    """When it was read or published."""
    fingerprint: str | None
    """Of its version's file; None in a bucket."""
