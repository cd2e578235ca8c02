"""Conflicts of rows beside each other: what breaks a rule only where both sides are put together.

Each side obeys the rules, so a broken one has rows of both. The choice of ours leaves out what
theirs did to break it; with theirs, the rows of ours that stand against it become what they are on
theirs.

| broken | conflict of | ours | theirs |
|---|---|---|---|
| their edge, our deletion of its node | the edge | it is left out | the node is back |
| our edge, their deletion of its node | the edge | the node stays | the edge goes |
| two rows with one unique value | their row | it is as ours has it | our row is as theirs has it |
| a source with too many or too few edges | the source | it has the edges of ours | of theirs |
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.conflicts import Conflict, Take
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.words import clipped, listed
from omnigraph.check.sets.in_memory import BrokenTerm
from omnigraph.check.sets.rules import Claim, Degree, End
from omnigraph.lang.schema.catalog import SRC, EntityType, shown_property
from omnigraph.merge.conflicts import Found, Images, SideNames, conflict_of, images, images_at
from omnigraph.merge.schemas import edge_ids_at, rows_as
from omnigraph.merge.table import Pin, TableMerge
from omnigraph.merge.three_way import Side
from omnigraph.store.identity import shown_id
from omnigraph.store.snapshot import Snapshot

__all__ = ["SetConflicts"]


@frozen(slots=False)
class SetConflicts:
    """What breaks a rule, told as conflicts."""

    ours: Snapshot
    theirs: Snapshot
    tables: Mapping[TableKey, TableMerge]
    names: SideNames

    def of(self, broken: Iterable[BrokenTerm]) -> Iterator[Found]:
        for each in broken:
            match each.rule:
                case Claim() as rule:
                    yield from self._clash(rule, each)
                case End() as rule:
                    yield from self._orphans(rule, each)
                case Degree() as rule:
                    yield self._degree(rule, each)

    def _clash(self, rule: Claim, broken: BrokenTerm) -> Iterator[Found]:
        """Our rows and theirs have one value; the conflict is of each row of theirs."""
        entity, rivals = rule.entity, {*broken.incoming, *broken.kept}
        names = tuple(shown_property(entity, name) for name in rule.properties)
        for id_ in broken.incoming:
            others = sorted(rivals - {id_})
            holders = listed((clipped(shown_id(entity, row)) for row in (*others, id_)), "and")
            message = (
                f"{entity.name} {holders} have the same {listed(names, 'and')}, "
                f"{clipped(broken.term)}, which must be unique"
            )
            rows = self._images(entity, id_)
            yield Found(
                conflict_of("unique_violation", entity, id_, rows, names, message),
                {
                    "ours": [Pin(entity, id_, "ours")],
                    "theirs": [Pin(entity, other, "theirs") for other in others],
                },
                is_of_rows=False,
            )

    def _orphans(self, rule: End, broken: BrokenTerm) -> Iterator[Found]:
        """An edge of one side needs a node that the other deleted; the conflict is of the edge."""
        for id_ in broken.incoming:
            yield self._orphan(
                rule,
                id_,
                broken.term,
                whose=self.names.theirs,
                ours=Pin(rule.edge, id_, "ours"),
                theirs=Pin(rule.node, broken.term, "theirs"),
            )
        for id_ in broken.kept:
            yield self._orphan(
                rule,
                id_,
                broken.term,
                whose=self.names.ours,
                ours=Pin(rule.node, broken.term, "ours"),
                theirs=Pin(rule.edge, id_, "theirs"),
            )

    def _orphan(
        self, rule: End, id_: str, node_id: str, *, whose: str, ours: Pin, theirs: Pin
    ) -> Found:
        end = shown_property(rule.edge, rule.column)
        node = f"{rule.node.name} {clipped(shown_id(rule.node, node_id))}"
        edge = f"{rule.edge.name} {clipped(shown_id(rule.edge, id_))}"
        other = self.names.ours if whose == self.names.theirs else self.names.theirs
        message = f"{edge} of {whose} needs {node}, which {other} deleted"
        rows = self._images(rule.edge, id_)
        conflict = conflict_of("orphan_edge", rule.edge, id_, rows, (end,), message)
        return Found(conflict, {"ours": [ours], "theirs": [theirs]}, is_of_rows=False)

    def _degree(self, rule: Degree, broken: BrokenTerm) -> Found:
        edge, source = rule.edge, pa.array([broken.term], pa.string())
        ours, theirs = (
            edge_ids_at(snapshot, edge, SRC, source) for snapshot in (self.ours, self.theirs)
        )
        base, changed = self._base_edges(rule, broken.term, theirs)
        conflict = Conflict(
            "cardinality_violation",
            "node",
            rule.source.name,
            broken.term,
            edge.name,
            sorted(base),
            sorted(ours),
            sorted(theirs),
            broken.message,
        )
        return Found(
            conflict,
            {
                "ours": [
                    *(Pin(edge, id_, "ours") for id_ in changed),
                    *self._absent(self.ours, rule, broken.term, "ours"),
                ],
                "theirs": [
                    *(Pin(edge, id_, "theirs") for id_ in sorted({*ours, *theirs})),
                    *self._absent(self.theirs, rule, broken.term, "theirs"),
                ],
            },
            is_of_rows=False,
        )

    def _absent(self, side: Snapshot, rule: Degree, source: str, take: Take) -> Iterator[Pin]:
        """The source itself, where the side has no such node: without its edges it would have too
        few of them."""
        if not rows_as(side, rule.source, pa.array([source], pa.string())).num_rows:
            yield Pin(rule.source, source, take)

    def _base_edges(
        self, rule: Degree, source: str, theirs: list[str]
    ) -> tuple[list[str], list[str]]:
        """The edges of a source on the base, and those that theirs changed."""
        table = self.tables.get(rule.edge.table_key)
        if table is None:
            return theirs, []  # theirs changed no edge of the type
        base = table.sides.base
        was = base.has & np.isin(base.rows[SRC].to_numpy(zero_copy_only=False), [source])
        old = table.sides.ids.filter(pa.array(was)).to_pylist()
        changed = table.sides.ids.filter(pa.array(table.rows_at(SRC, [source]))).to_pylist()
        return [*old, *(id_ for id_ in theirs if id_ not in table.place)], changed

    def _images(self, entity: EntityType, id_: str) -> Images:
        """A row on the base, on ours and on theirs."""
        table = self.tables.get(entity.table_key)
        if table is not None and (row := table.place.get(id_)) is not None:
            return images_at(entity, table.sides, row)
        # Theirs did not change it, so it is on theirs what it is on the base.
        theirs = self._image(self.theirs, entity, id_)
        return theirs, self._image(self.ours, entity, id_), theirs

    def _image(self, snapshot: Snapshot, entity: EntityType, id_: str) -> dict[str, Any] | None:
        ids = pa.array([id_], pa.string())
        return images(entity, Side.of(ids, rows_as(snapshot, entity, ids)), np.array([0]))[0]
