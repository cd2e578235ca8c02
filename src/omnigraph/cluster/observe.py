"""What really lies where the graphs of a deployment should lie."""

from omnigraph.base.errors import GraphMissing, OmnigraphError
from omnigraph.base.frozen import frozen
from omnigraph.cluster.place import ClusterPlace
from omnigraph.engine.handles.graph import Graph

__all__ = ["Absent", "Observed", "Occupied", "Present", "Unreadable", "observe"]


@frozen
class Absent:
    """Nothing is there, or what a making left that did not finish."""


@frozen
class Occupied:
    """Files are there that are no graph."""


@frozen
class Unreadable:
    """Something keeps the graph from being read."""

    reason: str


@frozen
class Present:
    graph: Graph
    """Opened to be read."""
    schema: str
    """The text that main has."""


Observed = Absent | Occupied | Unreadable | Present


def observe(place: ClusterPlace, id_: str) -> Observed:
    try:
        graph = Graph.open(str(place.graph(id_)), read_only=True, settings=place.settings)
        return Present(graph, graph.schema().text)
    except OmnigraphError as error:
        storage = place.graph_storage(id_)
        is_empty = not any(True for _ in storage.objects.survey(""))
        if is_empty or storage.holds_leftovers():
            return Absent()
        return Occupied() if isinstance(error, GraphMissing) else Unreadable(str(error))
