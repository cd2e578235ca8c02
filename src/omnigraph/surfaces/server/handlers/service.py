"""The server itself: is it well, what does it offer, how is it used."""

import msgspec

import omnigraph
from omnigraph.base.errors import OmnigraphError
from omnigraph.engine.tables import INTERNAL_SCHEMA_VERSION
from omnigraph.surfaces.server.calls import Call, Reply, json_reply
from omnigraph.surfaces.server.errors import for_clients
from omnigraph.surfaces.server.models.answers import (
    GraphInfo,
    GraphListResponse,
    HealthOutput,
    ReadyOutput,
)

__all__ = ["health", "list_graphs", "ready"]


def health(call: Call) -> Reply:
    """The process answers. Nothing of a graph is looked at."""
    return json_reply(
        HealthOutput(
            status="ok",
            version=omnigraph.__version__,
            internal_schema_version=INTERNAL_SCHEMA_VERSION,
        )
    )


def ready(call: Call) -> Reply:
    """Every graph can be read: its storage is there, and it is the graph that was opened."""
    graphs = call.serving.registry.graphs
    # How many, and not which: anyone may ask.
    for served in graphs.values():
        try:
            served.graph.branches()
        except OmnigraphError as error:
            raise for_clients(error, served, called="one of its graphs") from error
    aside = len(call.serving.set_aside) or msgspec.UNSET
    return json_reply(ReadyOutput(status="ready", graphs=len(graphs), set_aside=aside))


def list_graphs(call: Call) -> Reply:
    graphs = call.serving.registry.graphs
    return json_reply(
        GraphListResponse(
            graphs=[GraphInfo(graph_id=id_, uri=graphs[id_].address) for id_ in sorted(graphs)]
        )
    )
