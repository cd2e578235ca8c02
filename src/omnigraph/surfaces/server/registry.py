"""The graphs that a server offers, by id, and all else that a reload replaces, as one value.

Requests hold the value that there was when they came. So a reload is seen whole or not at all.
"""

from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.errors import PathMissing
from omnigraph.base.frozen import frozen
from omnigraph.engine.backend import engine_of
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.stored_queries import StoredQueries
from omnigraph.surfaces.server.access import Access
from omnigraph.surfaces.server.models.numbers import EntityKindOutput

__all__ = ["Registry", "ServedGraph", "Serving"]


@frozen
class ServedGraph:
    id: str
    graph: Graph
    """For the server's own use: it sees all, and no answer is made of it."""
    guarded: Graph
    """The same under the policy, if there is one: handles of actors are made of it."""
    queries: StoredQueries = field(default_factory=StoredQueries)
    access: Access | None = None
    """What actors may do with this graph; None: what they may do with the server."""
    is_declared: bool = False
    """True if a cluster declares its schema, which then is changed there alone."""

    @property
    def address(self) -> str:
        """Where clients find the graph. Where its storage is, they are not told."""
        return f"/graphs/{self.id}"

    @property
    def places(self) -> tuple[str, ...]:
        """Where its storage is, in each form in which errors write it, the longest first."""
        forms = {self.graph.uri, str(engine_of(self.graph.backend).store.root)}
        return tuple(sorted(forms, key=len, reverse=True))

    def kind_of(self, type_name: str) -> EntityKindOutput:
        """Whether a type is one of nodes or of edges."""
        is_node = type_name in self.graph.schema().catalog.node_by_name
        return EntityKindOutput.NODE if is_node else EntityKindOutput.EDGE


@frozen
class Registry:
    graphs: Mapping[str, ServedGraph]

    def get(self, id_: str) -> ServedGraph:
        if (served := self.graphs.get(id_)) is None:
            raise PathMissing(f"/graphs/{id_}")
        return served


@frozen
class Serving:
    """All that answers depend on, and that a reload replaces."""

    registry: Registry
    access: Access
    """Of the server itself, and of graphs that have none of their own."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Graphs that should be served and can't be opened, and why."""

    def access_to(self, served: ServedGraph | None) -> Access:
        """What actors may do with a graph; without one, with the server."""
        return self.access if served is None or served.access is None else served.access
