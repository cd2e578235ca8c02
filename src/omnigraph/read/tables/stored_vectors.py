"""The vectors of a column, through the cache: followed from version to version, or read anew."""

from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import VersionKey
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.versions import Versions

__all__ = ["StoredVectors"]


class StoredVectors:
    def __init__(self, versions: Versions, cache: RuntimeCache, copies: DiskCopies) -> None:
        self._versions = versions
        self._cache = cache
        self._copies = copies

    def of(self, entity: EntityType, column: str) -> Vectors:
        key = VersionKey("vectors", self._versions.ref(entity), column)
        return self._cache.follow(key, key.family, lambda earlier: self._made(entity, key, earlier))

    def _made(
        self, entity: EntityType, key: VersionKey, earlier: tuple[VersionKey, Vectors] | None
    ) -> Vectors:
        if earlier is None and (copy := self._copies.last(key.disk_family)) is not None:
            (ref,) = copy.refs
            earlier = key._replace(ref=ref), Vectors.of_arrays(copy.arrays)
            if ref == key.ref:
                return earlier[1]
        since = None if earlier is None else self._versions.since(entity, earlier[0].ref)
        if earlier is not None and since is not None:
            scanned = (
                self._versions.scan(entity, [key.column], since) if since.new_fragments else []
            )
            return earlier[1].followed(since.kept, next(iter(scanned), None))
        (values,) = self._versions.scan(entity, [key.column])
        vectors = Vectors.of_column(values)
        self._copies.keep(key.disk_family, (key.ref,), vectors)
        return vectors
