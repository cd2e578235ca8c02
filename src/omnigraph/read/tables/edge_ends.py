"""The ends of edges as rows of the node tables, and which of them came and went since a version.

All adjacency is built from ends. To turn ids into rows is nearly all of the work, so the ends of a
table follow its versions: edges that are left are renumbered, and only new ones are looked up.
"""

from collections.abc import Sequence

import numpy as np

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.space import Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import Before, EndsKey, Numbers, laid_out
from omnigraph.read.tables.columns import StoredColumns
from omnigraph.read.tables.renumbering import Renumbering
from omnigraph.read.tables.versions import Versions
from omnigraph.read.topology.build import Ends, follow_ends, number_ends
from omnigraph.store.datasets import DatasetRef

__all__ = ["EdgeEnds"]


class EdgeEnds:
    def __init__(
        self,
        versions: Versions,
        cache: RuntimeCache,
        columns: StoredColumns,
        pace: Pace = UNHURRIED,
    ) -> None:
        self._versions = versions
        self._pace = pace
        self._cache = cache
        self._columns = columns
        self._new: dict[tuple[TableKey, tuple[int, ...], int], Ends] = {}
        """Each direction of a walk asks for new edges, and so do the ends of all edges."""

    def types(self, edge: EdgeType) -> tuple[NodeType, NodeType]:
        by_name = self._versions.catalog.node_by_name
        return by_name[edge.source], by_name[edge.target]

    def of(self, edge: EdgeType) -> Ends:
        """Both ends of each edge of a table, in the table's order."""
        key = self._key(edge)
        return self._cache.follow(key, key.family, lambda earlier: self._made(edge, earlier))

    def _key(self, edge: EdgeType) -> EndsKey:
        refs = (self._versions.ref(node) for node in self.types(edge))
        return EndsKey(self._versions.ref(edge), *refs)

    def _made(self, edge: EdgeType, earlier: tuple[EndsKey, Ends] | None) -> Ends:
        followed = None if earlier is None else self._followed(edge, *earlier)
        return followed or self._numbered(edge)

    def _followed(self, edge: EdgeType, was: EndsKey, ends: Ends) -> Ends | None:
        since = self._versions.since(edge, was.edge)
        source, target = self.types(edge)
        sources = self.numbers_since(source, was.source)
        targets = self.numbers_since(target, was.target)
        if since is None or sources is None or targets is None:
            return None
        return follow_ends(
            ends,
            kept=since.kept,
            source_numbers=sources.numbers,
            target_numbers=targets.numbers,
            fresh=self.new(edge, since),
        )

    def new(self, edge: EdgeType, since: Renumbering) -> Ends:
        """The ends of the edges that are new since an earlier version."""
        key = (edge.table_key, since.new_fragments, since.skipped)
        if key not in self._new:
            self._new[key] = self._numbered(edge, since)
        return self._new[key]

    def _numbered(self, edge: EdgeType, since: Renumbering | None = None) -> Ends:
        source, target = self.types(edge)
        look = self._pace.check
        part = None if since is None else (since.new_fragments, since.skipped)
        with self._cache.in_pieces(("ends", self._key(edge), part), self._pace) as pieces:
            ids = pieces.piece("ids", lambda: self._versions.scan(edge, [SRC, DST], since))
            pieces.piece("nodes", lambda: self._columns.ids(source))
            sources = pieces.piece(
                "sources", lambda: number_ends(ids[0], self._columns.ids(source), look)
            )
            targets = pieces.piece(
                "targets", lambda: number_ends(ids[1], self._columns.ids(target), look)
            )
        return Ends(sources, targets)

    def keep_up(self, edge: EdgeType) -> None:
        """Keep cached ends current for the next version; don't build ends that aren't cached."""
        key = self._key(edge)
        if self._cache.has(key, key.family):
            self.of(edge)

    def lost(self, edge: EdgeType, was: EndsKey, since: Renumbering) -> Ends | None:
        """The ends of the edges that are gone, as rows of today; -1 where the node went too.

        None: they can't be read any more.
        """
        known = self._cache.peek(was)
        if isinstance(known, Ends):
            moved = self._lost_of_known(edge, was, since, known)
            if moved is not None:
                return moved
        texts = self._versions.rows_before(was.edge, since.gone, [SRC, DST])
        if texts is None:
            return None
        sources, targets = (
            self._columns.ids(node).find(ids).astype(np.int32)
            for ids, node in zip(texts, self.types(edge), strict=True)
        )
        return Ends(sources, targets)

    def _lost_of_known(
        self, edge: EdgeType, was: EndsKey, since: Renumbering, known: Ends
    ) -> Ends | None:
        sides = []
        for node, ref, rows in zip(
            self.types(edge), (was.source, was.target), (known.sources, known.targets), strict=True
        ):
            now, gone = self.numbers_since(node, ref), rows[since.gone]
            if now is None:
                return None
            sides.append(gone if now.numbers is None else now.numbers[gone].astype(np.int32))
        return Ends(sides[0], sides[1])

    # Nodes ---------------------------------------------------------------------------------------

    def space_before(self, space: Space, refs: Sequence[DatasetRef]) -> Before | None:
        """The rows that those of a space are now, when its tables were at these versions."""
        found = []
        for part, ref in zip(space.parts, refs, strict=True):
            numbers = self.numbers_since(part.entity, ref)
            if numbers is None:
                return None
            found.append(numbers)
        return laid_out(space, found)

    def numbers_since(self, node: EntityType, ref: DatasetRef) -> Numbers | None:
        """The row that each row of an earlier version is now: an update moves a row to the end."""
        since = self._versions.since(node, ref)
        if since is None:
            return None
        numbers = since.renumbered()
        if numbers is not None and since.new_count:
            gone = since.gone
            rows = self._versions.rows_before(ref, gone, [ID])
            if rows is None:
                return None
            numbers[gone] = self._columns.ids(node).find(rows[0])
        return Numbers(since.old_count, numbers)
