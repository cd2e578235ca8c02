"""The base of a merge: what both sides are compared with.

Usually it is one commit. Where merges went both ways, or one branch went into both sides, there
are several latest commits that both descend from, and none of them has all that both sides share:
compared with a single one, what came by way of another would look new on each side, and a deletion
of it would be undone. Such commits are merged into one base first, row by row, from the base that
they have themselves. A row of which they disagree is a base that neither side has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.base.ids import CommitId
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.merge.schemas import left_out, lifted_changes, rows_as
from omnigraph.merge.three_way import Side, differ
from omnigraph.read.changes.diff import changes_between, matched
from omnigraph.store.changes import Changes
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot

__all__ = ["Since", "base_of", "bases_of", "changes_since"]


@dataclass(frozen=True)
class Since:
    """What a side changed since the bases, as the schema of the other side has it."""

    changes: Changes
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Types and properties that this schema has no more, and how many rows had changed there."""


def base_of(store: GraphStore, ours: Snapshot, theirs: Snapshot) -> Snapshot:
    """The merge base of two heads, the first of several; raises `CommitReclaimed`."""
    return bases_of(store, ours, theirs)[0]


def bases_of(store: GraphStore, ours: Snapshot, theirs: Snapshot) -> list[Snapshot]:
    """The merge bases of two heads, or commits with the rows of them that are nearer to theirs.

    A commit on the line of theirs shares more files with it. An earlier base would not do: see
    above. Raises `CommitReclaimed` where the rows of a base are gone.
    """
    history, heads = store.history(), (ours.commit.id, theirs.commit.id)
    bases = history.merge_bases(*heads)
    if len(bases) > 1:
        return [store.snapshot_at(base.id) for base in bases]
    for head in reversed(heads):
        near = history.ancestor_like(bases[0].id, of=head)
        if near is not None and store.has_rows_of(near):
            return [store.snapshot_at(near.id)]
    return [store.snapshot_at(bases[0].id)]


def changes_since(
    store: GraphStore, bases: Sequence[Snapshot], ours: Snapshot, theirs: Snapshot
) -> Since:
    """What theirs changed since the bases, as our schema has it."""
    since_each = [changes_between(base, theirs) for base in bases]
    has_our_schema = theirs.schema_hash == ours.schema_hash
    lost = {} if has_our_schema else left_out(since_each[0], theirs.catalog, ours.catalog)
    if len(bases) == 1:
        [changes] = since_each
        if not has_our_schema:
            changes = lifted_changes(changes, theirs.catalog, ours.catalog)
        return Since(changes, lost)
    tables = {}
    for entity in ours.catalog.entities:
        if len(ids := _changed(entity, theirs, since_each)):
            rows = _Rows(store, entity, ids, ours, theirs)
            found = matched(rows.base(ours.commit.id, theirs.commit.id), rows.at(theirs))
            if len(found):
                tables[entity.table_key] = found
    return Since(Changes(tables), lost)


def _changed(entity: EntityType, theirs: Snapshot, since_each: Sequence[Changes]) -> pa.Array:
    """The ids of the rows of a type that theirs changed since one base or another."""
    was = theirs.catalog.by_id.get(entity.id)
    tables = [changes.tables.get(was.table_key) for changes in since_each if was is not None]
    ids = [rows.id for rows in tables if rows is not None]
    return pa.concat_arrays([pa.array([], pa.string()), *ids]).unique()


class _Rows:
    """The rows of one table with some ids, at one moment or another, as our schema has them."""

    def __init__(
        self,
        store: GraphStore,
        entity: EntityType,
        ids: pa.Array,
        ours: Snapshot,
        theirs: Snapshot,
    ) -> None:
        self._store = store
        self._entity = entity
        self._ids = ids
        self._sides = [Side.of(ids, self.at(side)) for side in (ours, theirs)]

    def at(self, snapshot: Snapshot) -> pa.Table:
        return rows_as(snapshot, self._entity, self._ids)

    def base(self, one: CommitId, other: CommitId) -> pa.Table:
        """The rows at the merge base of two commits; of several bases, what they come to."""
        first, *others = self._store.history().merge_bases(one, other)
        rows = self.at(self._store.snapshot_at(first.id))
        for each in others:
            root = self.base(first.id, each.id)
            rows = self._joined(root, rows, self.at(self._store.snapshot_at(each.id)))
        return rows

    def _joined(self, root: pa.Table, one: pa.Table, other: pa.Table) -> pa.Table:
        sides = [Side.of(self._ids, rows) for rows in (one, other, root)]
        is_changed = [differ(sides[2], side) for side in sides[:2]]
        chosen = np.where(is_changed[1] & ~is_changed[0], 1, 0)
        disputed = np.flatnonzero(is_changed[0] & is_changed[1] & differ(sides[0], sides[1]))
        # Of three rows that all differ, our side and theirs have at most two.
        is_free = [
            np.logical_and.reduce([differ(side, held) for held in self._sides]) for side in sides
        ]
        chosen[disputed] = np.argmax(np.stack(is_free)[:, disputed], axis=0)
        parts = [
            side.rows.filter(pa.array((chosen == number) & side.has))
            for number, side in enumerate(sides)
        ]
        return pa.concat_tables(parts).cast(one.schema)
