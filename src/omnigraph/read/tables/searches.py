"""The columns of a snapshot that can be searched, through the cache."""

from omnigraph.base.errors import Unsupported
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.search.ranked import TextIndex, VectorIndex
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.disk_copies import DiskCopies
from omnigraph.read.tables.versions import Versions
from omnigraph.read.tables.visible_rows import Visibility

__all__ = ["StoredSearches", "VisibleSearches"]


class StoredSearches:
    """Over all rows of a snapshot."""

    def __init__(self, versions: Versions, cache: RuntimeCache, copies: DiskCopies) -> None:
        self._versions = versions
        self._cache = cache
        self._copies = copies

    def text(self, entity: EntityType, column: str) -> TextIndex:
        raise Unsupported("full-text search")

    def vectors(self, entity: EntityType, column: str) -> VectorIndex:
        raise Unsupported("vector search")


class VisibleSearches:
    """Over the rows that a view shows, as if there were no others."""

    def __init__(self, stored: StoredSearches, visibility: Visibility) -> None:
        self._stored = stored
        self._visibility = visibility

    def text(self, entity: EntityType, column: str) -> TextIndex:
        raise Unsupported("full-text search")

    def vectors(self, entity: EntityType, column: str) -> VectorIndex:
        raise Unsupported("vector search")
