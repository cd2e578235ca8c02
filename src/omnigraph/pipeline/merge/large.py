"""A merge of any size: tasks merge the tables, the driver settles what is left to be said.

Nothing here publishes. What comes of it holds for one head of ours; where another writer was
quicker it is asked again, and only tables that the other has touched are merged anew.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.ids import TableKey
from omnigraph.check.sets.in_memory import BrokenTerm
from omnigraph.merge.base import StoredBases
from omnigraph.merge.choices import Choices
from omnigraph.merge.conflicts import Found, SideNames
from omnigraph.merge.merging import Merged, told_once
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.sets_in_files import RowsInFiles
from omnigraph.pipeline.merge.held import HeldRows
from omnigraph.pipeline.merge.match import MergedTable, count_changed, match_table, no_rows
from omnigraph.pipeline.merge.stretches import part_of
from omnigraph.pipeline.merge.versions import refs_of
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import TaskArea
from omnigraph.store.snapshot import Snapshot

__all__ = ["LargeMerge"]

# Rows that the driver takes up to settle them, on three sides in its memory; and broken rules that
# it goes through to find those that a choice is about.
MAX_HELD_ROWS = 100_000

Tables = dict[TableKey, MergedTable]


class LargeMerge:
    """The merge of one pair of branches, in files, as often as it must be prepared."""

    def __init__(self, runner: Runner, area: TaskArea, limits: LoadLimits) -> None:
        """Whoever owns the area has the last word on the files that tasks write."""
        self._runner = runner
        self._area = area
        self._limits = limits
        self._done: dict[tuple[object, ...], MergedTable] = {}

    def merge(
        self,
        bases: StoredBases,
        ours: Snapshot,
        theirs: Snapshot,
        *,
        names: SideNames,
        choices: Choices,
    ) -> Merged:
        """What the changes from the bases to theirs do to ours, as the choices have it."""
        tables = self._match(bases, ours, theirs, choices)
        left_out = self._left_out(tables, bases, ours, theirs)
        held = HeldRows(bases=bases, ours=ours, theirs=theirs, names=names, take=choices.of_all)
        unseen = self._hold_conflicts(tables, held, choices)
        while True:
            whole = self._with_held(tables, held, ours)
            checks = RowsInFiles(
                self._runner,
                ours,
                {key: table.incoming for key, table in whole.items()},
                limits=self._limits,
            )
            limit_terms = MAX_HELD_ROWS if choices.single else self._limits.max_conflicts
            seen, unseen_terms = checks.broken_terms(limit_terms=limit_terms)
            broken = self._looked_at(seen, choices)
            found = _found(held, broken)
            if not held.pin(choices.pins(found)):
                break
            if held.count > MAX_HELD_ROWS:
                what = "the rows of a merge that must be settled one by one"
                raise LimitExceeded(what=what, limit=MAX_HELD_ROWS, found=held.count)
            tables = self._without_held(tables, held)
        if not unseen_terms:
            # Else a choice may be about a conflict that was only counted.
            choices.require_all_used()
        # Nothing of a conflict is brought before it is settled, so a preview doesn't count it.
        if held.pin([pin for f in found if not f.is_of_rows for pin in f.effects["ours"]]):
            whole = self._with_held(self._without_held(tables, held), held, ours)
        more = unseen + unseen_terms + len(seen) - len(broken)
        conflicts = sorted((each.conflict for each in found), key=lambda c: c.order())
        told = conflicts[: self._limits.max_conflicts]
        return Merged(
            tables={key: table.work for key, table in whole.items() if not table.work.is_empty},
            changes=None,
            counts={key: table.counts for key, table in whole.items()},
            conflicts=tuple(told),
            more_conflicts=more + len(conflicts) - len(told),
            reads=checks.reads | whole.keys(),
            left_out=left_out,
        )

    def _match(
        self, bases: StoredBases, ours: Snapshot, theirs: Snapshot, choices: Choices
    ) -> Tables:
        chosen = frozenset(choice.entity_id for choice in choices.single)
        tables: Tables = {}
        for entity in ours.catalog.entities:
            if (was := theirs.catalog.by_id.get(entity.id)) is None:
                continue
            key, after = entity.table_key, theirs.tables[was.table_key].ref
            if {*refs_of(bases, was)} == {after}:
                continue
            # With the schema: a rule may be new where no version is. The latest bases decide about
            # those below. With the choices: a merge is also prepared without any, to see what they
            # are about.
            before = tuple(base.commit.id for base in bases.latest)
            sides = (before, ours.tables[key].ref, after, ours.schema_hash, choices.of_all, chosen)
            if sides not in self._done:
                self._done[sides] = match_table(
                    self._runner,
                    entity,
                    was,
                    bases=bases,
                    ours=ours,
                    theirs=theirs,
                    area=self._area,
                    limits=self._limits,
                    take=choices.of_all,
                    chosen=chosen,
                )
            tables[key] = self._done[sides]
        return tables

    def _left_out(
        self, tables: Tables, bases: StoredBases, ours: Snapshot, theirs: Snapshot
    ) -> Mapping[str, int]:
        """Types and properties that our schema has no more, and how many rows changed there."""
        found: Counter[str] = Counter()
        for part in (part for table in tables.values() for part in table.parts):
            found.update(part.left_out)
        for entity in theirs.catalog.entities:
            if entity.id not in ours.catalog.by_id:
                found[str(entity.name)] += count_changed(
                    self._runner,
                    entity,
                    bases=bases,
                    theirs=theirs,
                    area=self._area,
                    limits=self._limits,
                )
        return dict(+found)

    def _hold_conflicts(self, tables: Tables, held: HeldRows, choices: Choices) -> int:
        """Take up the first rows in conflict; gives how many conflicts are left uncounted for."""
        for table in tables.values():
            entity = table.job.entity
            named = {c.entity_id for c in choices.single if c.type_name == entity.name}
            ids = sorted({id_ for part in table.parts for id_ in part.in_conflict.to_pylist()})
            first = ids[: self._limits.max_conflicts]
            held.hold(entity, [*first, *(id_ for id_ in ids[len(first) :] if id_ in named)])
        all_conflicts = sum(part.conflicts for table in tables.values() for part in table.parts)
        return all_conflicts - len(held.conflicts_of_rows()) - len(held.conflicts_of_values())

    def _looked_at(self, broken: Sequence[BrokenTerm], choices: Choices) -> list[BrokenTerm]:
        """The first of the terms, and all that a choice may be about."""
        chosen = {choice.entity_id for choice in choices.single}
        first = self._limits.max_conflicts
        others = (b for b in broken[first:] if not chosen.isdisjoint(_ids(b)))
        return [*broken[:first], *others]

    def _with_held(self, tables: Tables, held: HeldRows, ours: Snapshot) -> Tables:
        """The tables, together with what has become of the rows that the driver looks at."""
        whole = dict(tables)
        for entity in held.entities:
            table = whole.get(entity.table_key) or no_rows(entity, ours, self._area)
            part = part_of(table.job, held.edits(entity), held.there(entity))
            whole[entity.table_key] = MergedTable(table.job, (*table.parts, part))
        return whole

    def _without_held(self, tables: Tables, held: HeldRows) -> Tables:
        left = dict(tables)
        for entity in held.entities:
            if (table := tables.get(entity.table_key)) is not None:
                ids, there = held.ids(entity), held.there(entity)
                left[entity.table_key] = table.without(self._runner, ids, there)
        return left


def _ids(broken: BrokenTerm) -> tuple[str, ...]:
    """The ids that conflicts about a term may have."""
    return (broken.term, *broken.incoming, *broken.kept)


def _found(held: HeldRows, broken: list[BrokenTerm]) -> list[Found]:
    held.hold_all_of(broken)
    told = told_once(held.conflicts_of_rows(), held.conflicts_of_sets(broken))
    return [*told, *held.conflicts_of_values()]
