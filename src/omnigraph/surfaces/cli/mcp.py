"""`omnigraph mcp`: a graph as tools of an agent, on standard input and output."""

import importlib.util
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.errors import DependencyMissing, PolicyDenied
from omnigraph.base.ids import MAIN
from omnigraph.surfaces.cli.options import ActorOption, StoreOption, open_graph

if TYPE_CHECKING:
    from omnigraph.engine.gate import Action
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.engine.stored_queries import StoredQueries
    from omnigraph.surfaces.mcp.offered import Offered

__all__ = ["register", "require_mcp"]

QUERY_TIMEOUT_S = 300.0
"""As a server has it: an agent that waits longer has forgotten why."""


def register(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp(
    *,
    store: StoreOption,
    branch: Annotated[
        str, typer.Option("--branch", help="The branch to read, and to make branches from.")
    ] = MAIN,
    queries: Annotated[
        list[Path] | None,
        typer.Option("--queries", help="Stored queries: a .gq file, or a directory of them."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let the agent write, on a branch of its own.")
    ] = False,
    on: Annotated[
        str | None,
        typer.Option("--on", help="With --write: write this branch instead.", metavar="BRANCH"),
    ] = None,
    any_branch: Annotated[
        bool,
        typer.Option("--any-branch", help="With --write: a call may name any branch to write."),
    ] = False,
    no_merge: Annotated[
        bool, typer.Option("--no-merge", help="With --write: leave merging to people.")
    ] = False,
    actor: ActorOption = None,
) -> None:
    """Offer a graph to an agent, as tools of the Model Context Protocol.

    Example: omnigraph mcp --store ./people.omni --write --as helper

    A client starts this command and speaks with it on standard input and output.
    """
    if not write and (on is not None or any_branch or no_merge):
        raise typer.BadParameter("--on, --any-branch and --no-merge need --write")
    require_mcp()
    from omnigraph.engine.stored_queries import read_queries
    from omnigraph.surfaces.mcp.caller import Caller, Place, Writing, allow_all, slug
    from omnigraph.surfaces.mcp.stdio import serve_stdio

    is_on_a_server = store.startswith(("http://", "https://"))
    stored = read_queries(queries or ())
    with open_graph(store, read_only=not write) as opened:
        # An agent that has no graph should be told so before it asks for it.
        graph = opened if actor is None else opened.as_actor(actor)
        stored.require_fit(graph)
        graph.branch(branch)
        writing = None
        if write:
            name = "" if actor is None else slug(actor, "mcp")
            session = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            writing = Writing(name=name, session=session, on=on, is_any_branch=any_branch)
            if on is not None:
                graph.branch(on)
        place = Place(("--server" if is_on_a_server else "--store", graph.uri))
        serve_stdio(
            Caller(
                graph=graph,
                place=place,
                base=branch,
                writing=writing,
                offered=_offered(graph, stored, branch),
                timeout_s=QUERY_TIMEOUT_S,
                allow=_no_merge if no_merge else allow_all,
            )
        )


def _offered(graph: "Graph", stored: "StoredQueries", base: str) -> "Offered":
    """The stored queries of the server that the graph is on, and those of the command line."""
    from omnigraph.surfaces.client.connection import Connection
    from omnigraph.surfaces.mcp.offered import FileQueries, ServerQueries, all_of

    own = FileQueries(graph=graph, queries=stored, base=base)
    if not isinstance(graph.backend, Connection):
        return own
    return all_of(ServerQueries(served=graph.backend.stored, base=base), own)


def _no_merge(action: "Action", branch: str | None, target: str | None) -> None:
    if action == "branch_merge":
        reason = "it was started with --no-merge, so that people merge"
        raise PolicyDenied(
            action, actor="this agent", branch=branch, target_branch=target, reason=reason
        )


def require_mcp() -> None:
    """Raise if the package is missing that only agents need."""
    if importlib.util.find_spec("mcp") is None:
        raise DependencyMissing(
            what="the package mcp, which servers of agents need,",
            install="pip install 'omnigraph[mcp]' brings what it needs",
        )
