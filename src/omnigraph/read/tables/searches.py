"""The columns of a snapshot that can be searched, through the cache."""

from omnigraph.lang.schema.catalog import EdgeType, EntityType
from omnigraph.read.pace import Pace
from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.ranked import TextIndex, VectorIndex
from omnigraph.read.search.text import WordIndex
from omnigraph.read.search.vectors import Vectors
from omnigraph.read.search.vectors_shown import ShownVectors
from omnigraph.read.search.vectors_streamed import StreamedVectors
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.stored_texts import StoredTexts
from omnigraph.read.tables.stored_vectors import StoredVectors
from omnigraph.read.tables.versions import Versions
from omnigraph.read.tables.visible_rows import Visibility

__all__ = ["StoredSearches", "VisibleSearches"]


class StoredSearches:
    """Over all rows of a snapshot."""

    def __init__(
        self, versions: Versions, cache: RuntimeCache, copies: DiskCopies, pace: Pace
    ) -> None:
        self._texts = StoredTexts(versions, cache, copies, pace)
        self._vectors = StoredVectors(versions, cache, copies, pace)

    def text(self, entity: EntityType, column: str) -> WordIndex:
        return self._texts.of(entity, column)

    def vectors(self, entity: EntityType, column: str) -> Vectors | ListedVectors | StreamedVectors:
        return self._vectors.of(entity, column)


class VisibleSearches:
    """Over the rows that a view shows, as if there were no others."""

    def __init__(self, stored: StoredSearches, visibility: Visibility, cache: RuntimeCache) -> None:
        self._stored = stored
        self._visibility = visibility
        self._cache = cache

    def text(self, entity: EntityType, column: str) -> TextIndex:
        visible = self._visibility.rows(entity)
        if visible is None:
            return self._stored.text(entity, column)
        ends = self._visibility.end_types(entity) if isinstance(entity, EdgeType) else ()
        key = self._visibility.key("visible text", [entity, *ends], column)
        return self._cache.get(
            key,
            lambda: self._stored.text(entity, column).only(visible.stored),
            family=key.family,
        )

    def vectors(self, entity: EntityType, column: str) -> VectorIndex:
        whole, visible = self._stored.vectors(entity, column), self._visibility.rows(entity)
        return whole if visible is None else ShownVectors(whole, visible.stored)
