"""The words of a text column, through the cache: followed from version to version, or read anew."""

from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.pace import Pace
from omnigraph.read.search.analysis import ANALYSIS_VERSION
from omnigraph.read.search.text import WordIndex
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cache_keys import VersionKey
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.versions import Versions

__all__ = ["TEXT", "StoredTexts"]

TEXT = f"text {ANALYSIS_VERSION}"


class StoredTexts:
    def __init__(
        self, versions: Versions, cache: RuntimeCache, copies: DiskCopies, pace: Pace
    ) -> None:
        self._versions = versions
        self._cache = cache
        self._copies = copies
        self._pace = pace

    def of(self, entity: EntityType, column: str) -> WordIndex:
        key = VersionKey(TEXT, self._versions.ref(entity), column)
        return self._cache.follow(key, key.family, lambda earlier: self._made(entity, key, earlier))

    def _made(
        self, entity: EntityType, key: VersionKey, earlier: tuple[VersionKey, WordIndex] | None
    ) -> WordIndex:
        if earlier is None and (copy := self._copies.last(key.disk_family)) is not None:
            (ref,) = copy.refs
            earlier = key._replace(ref=ref), WordIndex.of_arrays(copy.arrays)
            if ref == key.ref:
                return earlier[1]
        made = None if earlier is None else self._followed(entity, key, *earlier)
        if made is None:
            with self._cache.in_pieces(key, self._pace) as pieces:
                texts = self._versions.whole(entity, key.column, pieces)
                block_bytes = self._cache.limits.max_text_block_bytes
                made = WordIndex.of(texts, pieces, max_block_bytes=block_bytes)
        # Kept once all rows lie together: what came since is quickly read again until then.
        if made.is_whole and (earlier is None or made.shared != earlier[1].shared):
            self._copies.keep(key.disk_family, (key.ref,), made)
        return made

    def _followed(
        self, entity: EntityType, key: VersionKey, was: VersionKey, earlier: WordIndex
    ) -> WordIndex | None:
        """Made from an earlier version; None: its rows can't be followed."""
        since = self._versions.since(entity, was.ref)
        if since is None:
            return None
        fresh = None
        if since.new_fragments:
            (fresh,) = self._versions.scan(entity, [key.column], since)
        with self._cache.in_pieces((key, was), self._pace) as pieces:
            return earlier.followed(since.kept, fresh, pieces)
