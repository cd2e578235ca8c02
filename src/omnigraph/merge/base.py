"""The base of a merge: what both sides are compared with.

Usually it is one commit. Where merges went both ways, or one branch went into both sides, there
are several latest commits that both descend from, and none of them has all that both sides share:
compared with a single one, what came by way of another would look new on each side, and a deletion
of it would be undone. Such commits become one base first, row by row (`joining`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import starmap

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TableKey
from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.merge.joining import Bases, JointRows, joint_rows, pairs_of
from omnigraph.merge.schemas import edge_ids_at, left_out, lifted_changes, rows_as, unknown_to
from omnigraph.read.changes.diff import changes_between, matched
from omnigraph.read.changes.places import places_between
from omnigraph.store.changes import Changes, RowChanges
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.history import MAX_BASE_LEVELS, CommitLog
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "Since",
    "StoredBases",
    "all_of",
    "base_of",
    "base_rows",
    "bases_of",
    "changes_since",
    "edge_ids_at_bases",
]

StoredBases = Bases[Snapshot]


@frozen(slots=False)
class Since:
    """What a side changed since the bases, as the schema of the other side has it."""

    changes: Changes
    disputed: Mapping[TableKey, pa.Array] = field(default_factory=dict)
    """The ids of changed rows that several bases dispute."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Types and properties that this schema has no more, and how many rows had changed there."""


class _BasesOfCommits:
    """The bases of two commits. Those of several bases are looked up only where rows need them."""

    def __init__(self, known: "_Known", one: CommitId, other: CommitId) -> None:
        self._known = known
        self._heads = one, other

    @cached_property
    def _commits(self) -> tuple[Commit, ...]:
        return self._known.history.merge_bases(*self._heads)

    @cached_property
    def latest(self) -> Sequence[Snapshot]:
        is_alone = len(self._commits) == 1
        return [self._known.snapshot(each, is_alone=is_alone) for each in self._commits]

    def below(self, one: int, other: int) -> StoredBases:
        return self._known.bases(self._commits[one].id, self._commits[other].id)


class _Known:
    """The commits below two heads, each looked up once."""

    def __init__(self, store: GraphStore, ours: CommitId, theirs: CommitId) -> None:
        self.history: CommitLog = store.history()
        self._store = store
        self._heads = theirs, ours
        self._snapshots: dict[CommitId, Snapshot] = {}
        self._bases: dict[tuple[CommitId, CommitId], StoredBases] = {}

    def bases(self, one: CommitId, other: CommitId) -> StoredBases:
        return self._bases.setdefault((one, other), _BasesOfCommits(self, one, other))

    def snapshot(self, commit: Commit, *, is_alone: bool = False) -> Snapshot:
        """The commit, or one with the same rows that can be read; raises `CommitReclaimed`.

        A commit on the line of theirs shares more files with it, so of a base that is alone that
        one is taken if there is one.
        """
        if commit.id not in self._snapshots:
            others = (self.history.ancestor_like(commit.id, of=head) for head in self._heads)
            alike = (other for other in others if other is not None)
            order = (*alike, commit) if is_alone else (commit, *alike)
            readable = (each for each in order if self._store.has_rows_of(each))
            found = next(readable, commit)
            self._snapshots[commit.id] = self._store.snapshot_at(found.id)
        return self._snapshots[commit.id]


def base_of(store: GraphStore, ours: Snapshot, theirs: Snapshot) -> Snapshot:
    """The merge base of two heads, the first of several; raises `CommitReclaimed`."""
    known = _Known(store, ours.commit.id, theirs.commit.id)
    first, *others = known.history.merge_bases(ours.commit.id, theirs.commit.id)
    return known.snapshot(first, is_alone=not others)


def bases_of(store: GraphStore, ours: Snapshot, theirs: Snapshot) -> StoredBases:
    """The merge bases of two heads. To look at them raises `CommitReclaimed` where the rows of a
    base are gone."""
    heads = ours.commit.id, theirs.commit.id
    return _Known(store, *heads).bases(*heads)


def all_of(bases: StoredBases) -> list[Snapshot]:
    """The bases, and those of several bases themselves, and so on: each once, the latest first."""
    found: dict[CommitId, Snapshot] = {}
    level, seen = [bases], set[int]()
    for _ in range(MAX_BASE_LEVELS):
        seen |= {id(each) for each in level}
        found |= {base.commit.id: base for each in level for base in each.latest}
        below = {id(b): b for each in level for b in starmap(each.below, pairs_of(each))}
        level = [each for key, each in below.items() if key not in seen]
    return [*found.values()]


def base_rows(
    bases: StoredBases,
    entity: EntityType,
    ids: pa.Array,
    *,
    ours: Snapshot,
    theirs: pa.Table,
    unknown: Sequence[str],
) -> JointRows:
    """The rows of the base that have these ids, as our schema has them; of several bases, what they
    come to. `theirs` are the rows that theirs has, and `unknown` columns that it does not have."""
    if len(bases.latest) == 1:
        return JointRows(rows_as(bases.latest[0], entity, ids), ids.slice(0, 0))
    mine, yours = (rows.drop_columns([*unknown]) for rows in (rows_as(ours, entity, ids), theirs))
    return joint_rows(bases, ids, lambda base, some: rows_as(base, entity, some), (mine, yours))


def edge_ids_at_bases(bases: StoredBases, edge: EdgeType, end: str, ids: pa.Array) -> Iterator[str]:
    """The ids of edges with one of these nodes at this end, on any base or below."""
    for base in all_of(bases):
        yield from edge_ids_at(base, edge, end, ids)


def changes_since(bases: StoredBases, ours: Snapshot, theirs: Snapshot) -> Since:
    """What theirs changed since the bases, as our schema has it."""
    has_our_schema = theirs.schema_hash == ours.schema_hash
    first, *others = bases.latest
    if not others and first.schema_hash == theirs.schema_hash:
        changes = changes_between(first, theirs)
        if has_our_schema:
            return Since(changes)
        lost = left_out([changes], theirs.catalog, ours.catalog)
        return Since(lifted_changes(changes, theirs.catalog, ours.catalog), left_out=lost)
    tables, disputed = dict[TableKey, RowChanges](), dict[TableKey, pa.Array]()
    since_each = [dict[TableKey, RowChanges]() for _ in bases.latest]
    for was in theirs.catalog.entities:
        ids, entity = _may_have_changed(was, bases, theirs), ours.catalog.by_id.get(was.id)
        if len(ids) and not has_our_schema:
            after = rows_as(theirs, was, ids)
            for base, since in zip(bases.latest, since_each, strict=True):
                since[was.table_key] = matched(rows_as(base, was, ids), after)
        if len(ids) and entity is not None:
            after, unknown = rows_as(theirs, entity, ids), unknown_to(theirs, entity)
            joint = base_rows(bases, entity, ids, ours=ours, theirs=after, unknown=unknown)
            if len(found := matched(joint.rows, after)):
                tables[entity.table_key], disputed[entity.table_key] = found, joint.disputed
    lost = left_out([*map(Changes, since_each)], theirs.catalog, ours.catalog)
    return Since(Changes(tables), disputed, lost)


def _may_have_changed(entity: EntityType, bases: StoredBases, theirs: Snapshot) -> pa.Array:
    """The ids of the rows of a type that theirs may have changed since one base or another."""
    ids = [places_between(base, theirs, entity).id for base in bases.latest]
    return pa.concat_arrays(ids).unique()
