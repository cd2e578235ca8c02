"""`omnigraph explore`: a graph in the browser of the person who types it, and of nobody else."""

import secrets
import sys
import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, unquote, urlencode

import typer

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.addressing import is_url
from omnigraph.surfaces.cli.garbage import settle
from omnigraph.surfaces.cli.options import ActorOption, UriArgument, UriOption, one_uri, open_graph
from omnigraph.surfaces.cli.output import say
from omnigraph.surfaces.cli.serve import require_server

__all__ = ["explore", "register"]

TOKEN_BYTES = 32
BUILT_IN = "graph"
"""What a graph is called whose own name can't stand in a path."""


def register(app: typer.Typer) -> None:
    app.command()(explore)


def explore(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch", help="The branch to begin on.", autocompletion=completing.branches
        ),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option("--queries", help="Stored queries: a .gq file, or a directory of them."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    port: Annotated[
        int | None,
        typer.Option("--port", help="Where to listen; any if left out.", min=0, max=65535),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
    actor: ActorOption = None,
) -> None:
    """See a graph in your browser: ask, look around, review a branch and merge it.

    Example: omnigraph explore people.omni

    It runs until Ctrl-C, on this machine, for you alone: the address that it prints holds a key.
    A graph on a server is shown by that server, which asks for your token.
    """
    address = one_uri(uri, store)
    if is_url(address):
        given = {
            "--queries": queries,
            "--read-only": read_only,
            "--port": port is not None,
            "--as": actor,
        }
        for option in (name for name, is_given in given.items() if is_given):
            rule = "it is for a graph on this machine, and this one is on a server"
            raise ArgumentInvalid(option, None, rule, "leave it out")
        _open(_on_server(address, branch), opens=not no_browser)
        say("The page asks for the token that the server knows you by, if it needs one.")
        return
    require_server()
    if branch is not None:
        with open_graph(address, read_only=True) as graph:
            graph.branch(branch)
    _serve(
        address,
        branch=branch,
        queries=tuple(queries or ()),
        is_read_only=read_only,
        port=port or 0,
        opens=not no_browser,
        actor=actor,
    )


def _on_server(address: str, branch: str | None) -> str:
    """The page of a server, beginning with one of its graphs."""
    server, _, graph = address.rpartition("/graphs/")
    return f"{server}/explore#{_fragment(graph=unquote(graph), branch=branch)}"


def _serve(
    store: str,
    *,
    branch: str | None,
    queries: tuple[Path, ...],
    is_read_only: bool,
    port: int,
    opens: bool,
    actor: str | None,
) -> None:
    from omnigraph.surfaces.server.access import Personal
    from omnigraph.surfaces.server.lifecycle import serve
    from omnigraph.surfaces.server.starting import GRAPH_ID, ServerConfig, id_of
    from omnigraph.surfaces.server.tokens import Tokens

    settle()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    id_ = id_of(store) if GRAPH_ID.fullmatch(id_of(store)) else BUILT_IN
    config = ServerConfig(
        store=store,
        graph_id=id_,
        host="127.0.0.1",
        port=port,
        person=Personal(Tokens.of({"explorer": token}), actor),
        is_read_only=is_read_only,
        queries=queries,
        # To look at a graph changes nothing of it, not even its indexes.
        upkeep_s=0,
    )

    def announce(at: str) -> None:
        fragment = _fragment(token=token, graph=id_, branch=branch)
        _open(f"http://{at}/explore#{fragment}", opens=opens)
        say("Ctrl-C ends it.")

    try:
        serve(config, announce)
    except ArgumentInvalid as refused:
        if refused.argument != "--bind":
            raise
        raise replace(refused, argument="--port") from None


def _fragment(**members: str | None) -> str:
    """Members behind the `#`, which no browser sends to a server."""
    given = {name: value for name, value in members.items() if value is not None}
    return urlencode(given, quote_via=quote, safe="")


def _open(url: str, *, opens: bool) -> None:
    sys.stdout.write(f"Explorer: {url}\n")
    sys.stdout.flush()
    if opens and _has_screen():
        # A browser that is missing is no failure: the address was printed.
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(url)


def _has_screen() -> bool:
    """True if a browser can show itself; one for text would take the terminal."""
    from omnigraph.engine.settings import Settings

    return sys.platform in ("darwin", "win32") or Settings.from_environment().has_screen
