"""Columns, ids and codes of all rows of a snapshot, through the cache.

Each is made from the same thing at an earlier version where there is one: rows that are left keep
their values, and only new fragments are read. A few rows of a table that nobody has read yet are
looked up instead.
"""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from omnigraph.base.ids import TypeName
from omnigraph.lang.schema.catalog import ID, EdgeType, EntityType
from omnigraph.read.pace import UNHURRIED, Pace
from omnigraph.read.space import Space
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import VersionKey
from omnigraph.read.tables.chunked_column import ChunkedColumn
from omnigraph.read.tables.cold_lookups import ColdLookups
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.renumbering import Renumbering
from omnigraph.read.tables.stored_texts import TEXT
from omnigraph.read.tables.versions import Versions
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.topology.ids import MAX_SHORT_OFFSETS_BYTES, IdIndex
from omnigraph.read.values.encoded import Encoded
from omnigraph.read.values.ordering import Codes
from omnigraph.read.where.served import Served
from omnigraph.store.indexes import IndexKind, WantedIndex

__all__ = ["Holds", "StoredColumns"]

# To look at the clock costs nothing beside taking more values than these.
TAKEN_UNCHECKED = 1 << 12


Holds = Callable[[pa.Table], pa.Table]
"""Leaves the rows for which a predicate holds; they have its columns."""


class StoredColumns:
    def __init__(
        self,
        versions: Versions,
        cache: RuntimeCache,
        copies: DiskCopies,
        lookups: ColdLookups,
        lacking: frozenset[TypeName],
        pace: Pace = UNHURRIED,
    ) -> None:
        """`lacking` are types that have properties which the caller does not see."""
        self._lacking = lacking
        self._pace = pace
        self._versions = versions
        self._cache = cache
        self._copies = copies
        self._lookups = lookups

    def nodes(self, types: Iterable[TypeName]) -> Space:
        """The rows of these node types, numbered through in the order of the types' names."""
        by_name = self._versions.catalog.node_by_name
        return self._space([by_name[name] for name in sorted(set(types))])

    def edges(self, types: Iterable[TypeName]) -> Space:
        return self._space([self.edge(name) for name in sorted(set(types))])

    def edge(self, name: TypeName) -> EdgeType:
        return self._versions.catalog.edge_by_name[name]

    def row_count(self, entity: EntityType) -> int:
        return self._versions.row_count(entity)

    def _space(self, entities: Sequence[EntityType]) -> Space:
        return Space.of([(e, self._versions.row_count(e)) for e in entities])

    # Values --------------------------------------------------------------------------------------

    def values(self, entity: EntityType, column: str, rows: Ordinals | None) -> pa.Array:
        """A column, by its physical name, at these rows or all; NULL gives null."""
        key = VersionKey("column", self._versions.ref(entity), column)
        known = self._cache.used(key)
        if known is None:
            if rows is not None and self._is_worth_a_lookup(entity, key, rows):
                return self._lookups.values(entity, column, rows)
            known = self._chunked(entity, key)
        assert isinstance(known, ChunkedColumn)
        if rows is not None and len(rows) > TAKEN_UNCHECKED:
            self._pace.check()
        return known.whole if rows is None else known.take(rows)

    def sample(self, entity: EntityType, column: str, limit_rows: int) -> pa.Array:
        """The first values of a column. The column is not kept: most of it was not read."""
        return self._versions.dataset(entity).head(column, limit_rows=limit_rows)

    def _is_worth_a_lookup(self, entity: EntityType, key: VersionKey, rows: Ordinals) -> bool:
        return (
            len(rows) > 0
            and not self._cache.has(key, key.family)
            and bool((rows >= 0).all())
            and self._lookups.is_worth_it(entity, len(rows))
        )

    def _chunked(self, entity: EntityType, key: VersionKey) -> ChunkedColumn:
        return self._cache.follow(
            key, key.family, lambda earlier: self._made_column(entity, key.column, earlier)
        )

    def _made_column(
        self, entity: EntityType, column: str, earlier: tuple[VersionKey, ChunkedColumn] | None
    ) -> ChunkedColumn:
        since = self._since(entity, earlier)
        if earlier is None or since is None:
            return self._read_column(entity, column)
        left = earlier[1] if since.kept is None else earlier[1].only(since.kept)
        if not since.new_fragments:
            return left
        (fresh,) = self._versions.scan(entity, [column], since)
        if left.nbytes + fresh.nbytes > MAX_SHORT_OFFSETS_BYTES:
            return self._read_column(entity, column)
        return left.followed_by(fresh)

    def _read_column(self, entity: EntityType, column: str) -> ChunkedColumn:
        (values,) = self._versions.scan(entity, [column])
        return ChunkedColumn.of(values, self._cache.limits)

    def served(self, entity: EntityType, question: Served, holds: Holds) -> Ordinals | None:
        """The rows that an index finds and that `holds` leaves, where nobody has read the column.

        To look for a piece of a text takes longer than to ask its n-grams even if the column is
        there. None: the column is there, or reading it is cheaper.
        """
        column = question.index.column
        if self._is_there(entity, question.index) or not self._lookups.is_served(
            entity, question.index
        ):
            return None
        return self._lookups.matching(entity, question.filter, [column], holds)

    def _is_there(self, entity: EntityType, index: WantedIndex) -> bool:
        """Whether what would answer without the index is in memory, or on disk beside it."""
        ref, column = self._versions.ref(entity), index.column
        if index.kind is IndexKind.INVERTED:
            words = VersionKey(TEXT, ref, column)
            return self._cache.has(words, words.family) or self._copies.has(words.disk_family)
        kinds = ("codes",) if index.kind is IndexKind.NGRAM else ("codes", "column")
        keys = [VersionKey(kind, ref, column) for kind in kinds]
        return any(self._cache.has(key, key.family) for key in keys)

    def shows_all(self, entity: EntityType) -> bool:
        return entity.name not in self._lacking

    # Ids -----------------------------------------------------------------------------------------

    def find(self, entity: EntityType, ids: pa.Array) -> Ordinals:
        """The row of each id, or -1: through the index, or by looking up a few in a cold table."""
        key = VersionKey("ids", self._versions.ref(entity))
        known = self._cache.used(key)
        if known is None:
            is_cold = not self._cache.has(key, key.family) and not self._copies.has(key.disk_family)
            if is_cold and self._lookups.is_worth_it(entity, len(ids), column=ID):
                return self._lookups.find(entity, ids)
            known = self.ids(entity)
        assert isinstance(known, IdIndex)
        return known.find(ids, self._pace.check)

    def ids(self, entity: EntityType) -> IdIndex:
        """From ids to rows."""
        key = VersionKey("ids", self._versions.ref(entity))
        return self._cache.follow(
            key, key.family, lambda earlier: self._made_ids(entity, key, earlier)
        )

    def _made_ids(
        self, entity: EntityType, key: VersionKey, earlier: tuple[VersionKey, IdIndex] | None
    ) -> IdIndex:
        if earlier is None and (copy := self._copies.last(key.disk_family)) is not None:
            (ref,) = copy.refs
            earlier = key._replace(ref=ref), IdIndex.of_arrays(copy.arrays)
            if ref == key.ref:
                return earlier[1]
        since = self._since(entity, earlier)
        if earlier is not None and since is not None:
            fresh = self._versions.scan(entity, [ID], since)[0] if since.new_fragments else None
            return earlier[1].followed(since.kept, fresh)
        index = IdIndex(self.values(entity, ID, None))
        self._copies.keep(key.disk_family, (key.ref,), index)
        return index

    # Codes ---------------------------------------------------------------------------------------

    def codes(self, entity: EntityType, name: str) -> Codes:
        """A number for each row, equal where the property is."""
        return self._encoded(entity, name).codes

    def known_values(self, entity: EntityType, name: str) -> Encoded | None:
        """A property as numbers and their values, where somebody has told the values apart."""
        key = self._codes_key(entity, name)
        if not self._cache.has(key, key.family):
            return None
        encoded = self._encoded(entity, name)
        return encoded if encoded.values is not None else None

    def _codes_key(self, entity: EntityType, name: str) -> VersionKey:
        return VersionKey("codes", self._versions.ref(entity), entity.by_name[name].column)

    def _encoded(self, entity: EntityType, name: str) -> Encoded:
        key = self._codes_key(entity, name)
        return self._cache.follow(
            key, key.family, lambda earlier: self._made_codes(entity, key.column, earlier)
        )

    def _made_codes(
        self, entity: EntityType, column: str, earlier: tuple[VersionKey, Encoded] | None
    ) -> Encoded:
        since = self._since(entity, earlier)
        if earlier is not None and since is not None and earlier[1].values is not None:
            fresh = self._versions.scan(entity, [column], since)[0] if since.new_fragments else None
            return earlier[1].followed(since.kept, fresh)
        return Encoded.of(self.values(entity, column, None), self._pace)

    def _since(
        self, entity: EntityType, earlier: tuple[VersionKey, object] | None
    ) -> Renumbering | None:
        return None if earlier is None else self._versions.since(entity, earlier[0].ref)
