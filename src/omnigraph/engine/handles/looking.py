"""`Looking`: the part of `Graph` for those who look around: nodes by a text, one entity and its
history, and what is wrong with a query."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.base.choices import EntityKind
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.reads import Reads
from omnigraph.engine.requests import Moment
from omnigraph.engine.text import Text

if TYPE_CHECKING:
    from omnigraph.engine.editing import LintedText
    from omnigraph.engine.entity import Entity
    from omnigraph.engine.entity_history import EntityHistory
    from omnigraph.engine.find import Found

__all__ = ["Looking"]


class Looking(ABC):
    @abstractmethod
    def _reads(self, branch: str | None, snapshot: Moment | At | None) -> Reads: ...

    def find(
        self,
        text: str,
        *,
        types: Iterable[str] | None = None,
        limit: int = 20,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "Found":
        """Nodes that a text may mean, the likeliest first: the node with this id, ids and names
        that begin with it or hold it, then texts that have its words or hold it.

        `types` are the node types to look among. There are at most `limit` hits, up to 200.
        """
        return self._reads(branch, snapshot).find(
            text, types=types, limit=limit, timeout_s=timeout_s, cancel=cancel
        )

    def entity(
        self,
        kind: EntityKind,
        type: str,
        id: str,
        *,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
    ) -> "Entity":
        """One node or edge with all its properties, and how many edges of each type a node has.

        Raises `EntityMissing` if it is not there.
        """
        return self._reads(branch, snapshot).entity(kind, type, id)

    def entity_history(
        self,
        kind: EntityKind,
        type: str,
        id: str,
        *,
        limit: int = 20,
        page_token: str | None = None,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> "EntityHistory":
        """The commits that changed an entity, newest first, with each property before and after.

        There are at most `limit` of them on a page; a page may have fewer where many commits had to
        be looked at, and `next_page_token` asks for the one after it.
        """
        return self._reads(branch, snapshot).entity_history(
            kind,
            type,
            id,
            limit=limit,
            page_token=page_token,
            timeout_s=timeout_s,
            cancel=cancel,
        )

    def lint(
        self,
        source: Text,
        *,
        branch: str | None = None,
        snapshot: Moment | At | None = None,
    ) -> "LintedText":
        """Errors and probable mistakes in a text of queries, for the schema that the graph has.

        Nothing is run. Findings have a code, a sentence and their place.
        """
        return self._reads(branch, snapshot).lint(source)
