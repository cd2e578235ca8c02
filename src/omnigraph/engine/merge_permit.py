"""Merges and reverts of actors from whom something is hidden, or who may not write every row.

Each row that a merge changes is judged by the rules of `branch_merge`, and each row that a revert
changes by those of `change`, as the row was and as it will be. The counts, rows and conflicts that
are reported are those that the actor sees. A conflict about rows that the actor does not see on all
sides is neither reported nor settled by them: the merge is denied, without details. A rule that
only several rows break is a conflict of all rows of their types, so it is reported to actors who
see these types whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.conflicts import Conflict
from omnigraph.base.errors import CommitReclaimed, DeniedError, MergeConflicts
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.engine.engine import Engine
from omnigraph.engine.permit import Permit
from omnigraph.engine.requests import Merge, Revert
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType
from omnigraph.merge.base import all_of, bases_of
from omnigraph.merge.merging import counted
from omnigraph.merge.writer import MergeWork, MergeWriter, RevertWriter
from omnigraph.read.changes.diff import matched
from omnigraph.read.values.conditions import meeting
from omnigraph.read.where.affected import rows_with_ids
from omnigraph.store.arrow import table_schema
from omnigraph.store.changes import Changes, RowChanges
from omnigraph.store.datasets import read_fragment_columns
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import Replacement, StagedFiles, TableEdit, TableWork, Writer

__all__ = ["PermittedMerge", "refusal_of"]


def refusal_of(request: Merge | Revert, check: Callable[[], None]) -> str | None:
    """Why a check denies a request; None: it does not. Unless it is a preview, this is raised."""
    try:
        check()
    except DeniedError as denied:
        if not request.preview:
            raise
        return denied.message
    return None


OF_ONE_ROW = ("divergent_insert", "divergent_update", "delete_vs_update")


@frozen(slots=False)
class PermittedMerge(Writer[MergeWork]):
    """Prepares the work of another writer, judges it, and tells of it what may be told."""

    engine: Engine
    request: Merge | Revert
    writer: MergeWriter | RevertWriter

    def prepare(self, snapshot: Snapshot) -> MergeWork:
        permit = Permit.of(self.engine.gate, snapshot, self.request, self._branches())
        if permit.is_free:
            return self.writer.prepare(snapshot)
        if self.request.resolve is not None:
            # All that is in conflict, whatever was chosen: choices settle, and ask, no hidden one.
            whole = replace(self.writer, resolve=None, tells_conflicts=True).prepare(snapshot)
            self._shown(permit, whole.conflicts, more=whole.more_conflicts)
        try:
            work = self.writer.prepare(snapshot)
        except MergeConflicts as found:
            shown = self._shown(permit, found.conflicts, more=found.more)
            raise MergeConflicts(
                source=found.source, target=found.target, conflicts=shown, more=found.more
            ) from None
        conflicts = self._shown(permit, work.conflicts, more=work.more_conflicts)
        refusal = refusal_of(self.request, lambda: _judge_all(permit, work))
        return replace(work, conflicts=conflicts, refusal=refusal, **_told(permit, work))

    def _branches(self) -> tuple[BranchName, ...]:
        """Where rows go, and where they come from: the rules of both say what is seen of them."""
        match self.writer:
            case MergeWriter(theirs=theirs):
                source = theirs.branch
            case RevertWriter(commit=commit):
                source = commit.branch
        return tuple(dict.fromkeys((self.request.branch, source)))

    # Conflicts -----------------------------------------------------------------------------------

    def _shown(
        self, permit: Permit, conflicts: tuple[Conflict, ...], *, more: int
    ) -> tuple[Conflict, ...]:
        """The conflicts without hidden properties; raise where one is about hidden rows."""
        catalog = permit.snapshot.catalog
        if more and not all(map(permit.sees_whole, catalog.entities)):
            raise permit.denial()
        by_name: dict[str, EntityType] = {e.name: e for e in catalog.entities}
        partly = [c for c in conflicts if not _is_of_whole_types(permit, by_name, c)]
        if any(c.kind not in OF_ONE_ROW for c in partly):
            raise permit.denial()
        for name in sorted({c.type_name for c in partly}):
            ids = pa.array(sorted({c.entity_id for c in partly if c.type_name == name}))
            self._require_seen(permit, by_name[name], ids)
        return tuple(_without_hidden(permit, by_name[c.type_name], c) for c in conflicts)

    def _require_seen(self, permit: Permit, entity: EntityType, ids: pa.Array) -> None:
        """Raise unless rows are seen on every side that has them."""
        for side in self._sides(permit):
            by = tuple(dict.fromkeys((*self._branches(), side.branch)))
            view = self.engine.gate.view(side, self.request, by)
            known = {each.name for each in view.catalog.entities}
            columns = [name for name in view.columns_to_judge(entity) if name != ID]
            rows = rows_with_ids(side, entity, ids, columns)
            if rows.num_rows and (
                entity.name not in known or view.shown(entity, rows).num_rows < rows.num_rows
            ):
                raise permit.denial()

    def _sides(self, permit: Permit) -> Iterator[Snapshot]:
        ours, store = permit.snapshot, self.engine.store
        yield ours
        match self.writer:
            case MergeWriter(theirs=theirs):
                others = [theirs, *self._bases(permit, theirs)]
            case RevertWriter(commit=commit):
                assert commit.parent is not None, "the first commit of a graph is not reverted"
                others = [store.snapshot_at(commit.id), store.snapshot_at(commit.parent)]
        for side in others:
            if side.schema_hash != ours.schema_hash:
                raise permit.denial()
            yield side

    def _bases(self, permit: Permit, theirs: Snapshot) -> list[Snapshot]:
        """The base. Where there are several, every base, and every base of these: the row of the
        joint base is the row of one of them, and the rows of all have decided which."""
        try:
            return all_of(bases_of(self.engine.store, permit.snapshot, theirs))
        except CommitReclaimed:
            # The merge did without these rows. Whether they were hidden, nobody can tell.
            raise permit.denial() from None


def _is_of_whole_types(
    permit: Permit, by_name: Mapping[str, EntityType], conflict: Conflict
) -> bool:
    """True if all rows of the types that the conflict is about are seen."""
    names = [conflict.type_name]
    if conflict.kind == "cardinality_violation" and conflict.property is not None:
        names.append(conflict.property)
    return all(name in by_name and permit.sees_whole(by_name[name]) for name in names)


def _without_hidden(permit: Permit, entity: EntityType, conflict: Conflict) -> Conflict:
    hidden = {property_.name for property_ in permit.hidden(entity)}
    if not hidden:
        return conflict
    if conflict.property is not None and not hidden.isdisjoint(conflict.property.split(", ")):
        raise permit.denial()

    def without(image: Any) -> Any:
        if not isinstance(image, dict) or conflict.property is not None:
            return image
        return {name: value for name, value in image.items() if name not in hidden}

    base, ours, theirs = map(without, (conflict.base, conflict.ours, conflict.theirs))
    return replace(conflict, base=base, ours=ours, theirs=theirs)


# Rows ---------------------------------------------------------------------------------------------


def _judge_all(permit: Permit, work: MergeWork) -> None:
    """Raise unless the actor may write every row of a merge."""
    for entity in permit.snapshot.catalog.entities:
        if (table := work.tables.get(entity.table_key)) is not None:
            _judge(permit, entity, table)


def _judge(permit: Permit, entity: EntityType, work: TableWork) -> None:
    """Raise unless the actor may write every row of a table's work."""
    if permit.may_change(entity):
        return
    columns = permit.columns_judged(entity)

    def committed(ids: pa.Array) -> pa.Table:
        return rows_with_ids(permit.snapshot, entity, ids, [c for c in columns if c != ID])

    match work:
        case TableEdit(rows=rows):
            permit.judge_images(entity, committed(rows.ids), rows.upserts)
        case StagedFiles(fragments=fragments) | Replacement(fragments=fragments):
            for fragment in fragments:
                after = read_fragment_columns(work.written_at, [fragment], columns)
                permit.judge_images(entity, committed(after[ID].combine_chunks()), after)
            if isinstance(work, Replacement) and len(work.deleted):
                # Their places are known, and not what they hold.
                raise permit.denial()
        case _:
            raise AssertionError(f"a merge does no {type(work).__name__}")


def _told(permit: Permit, work: MergeWork) -> dict[str, Any]:
    """What may be told of the rows of a merge."""
    catalog = permit.snapshot.catalog
    whole = {entity.table_key for entity in catalog.entities if permit.sees_whole(entity)}
    names = {entity.name for entity in catalog.entities if entity.table_key in whole}
    left_out = {n: c for n, c in work.left_out.items() if n.partition(".")[0] in names}
    if work.changes is None:
        counts = {key: count for key, count in work.counts.items() if key in whole}
        return {"counts": counts, "left_out": left_out}
    shown = _seen_changes(permit, work.changes, whole)
    return {"changes": shown, "counts": counted(shown), "left_out": left_out}


def _seen_changes(permit: Permit, changes: Changes, whole: Iterable[TableKey]) -> Changes:
    """The rows that the actor sees of a merge, as they were and as they will be."""
    found: dict[TableKey, RowChanges] = {}
    known = {entity.table_key: entity for entity in permit.view.catalog.entities}
    for key, rows in changes.tables.items():
        if key in whole:
            found[key] = rows
        elif (entity := known.get(key)) is not None:
            before, after = (_rows(image) for image in (rows.before, rows.after))
            columns = table_schema(entity).names
            was = _seen(permit, entity, before, changes, is_after=False).select(columns)
            now = _seen(permit, entity, after, changes, is_after=True).select(columns)
            if len(seen := matched(was, now)):
                found[key] = seen
    return Changes(found)


def _rows(images: pa.Array) -> pa.Table:
    return pa.Table.from_struct_array(images.drop_null())


def _seen(
    permit: Permit, entity: EntityType, rows: pa.Table, changes: Changes, *, is_after: bool
) -> pa.Table:
    restriction = permit.view.restriction(entity)
    if restriction is None:
        return rows
    rows = meeting(restriction.own, rows)
    if not isinstance(entity, EdgeType):
        return rows
    for column, name in ((SRC, entity.source), (DST, entity.target)):
        node = permit.view.catalog.node_by_name[name]
        ends = rows[column].combine_chunks().unique()
        seen = permit.view.rows_of(node, ends, [])[ID].combine_chunks()
        moved = changes.tables.get(node.table_key)
        if is_after and moved is not None:
            after = _seen(permit, node, _rows(moved.after), changes, is_after=True)
            still = seen.filter(pc.invert(pc.is_in(seen, value_set=moved.id)))
            seen = pa.concat_arrays([still, after[ID].combine_chunks()])
        rows = rows.filter(pc.is_in(rows[column], value_set=seen))
    return rows
