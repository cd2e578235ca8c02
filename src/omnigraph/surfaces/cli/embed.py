"""The command that makes vectors of texts: embed."""

from typing import Annotated

import typer

from omnigraph.base.choices import EmbedOnly
from omnigraph.base.ids import MAIN
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.load_options import EngineOption, MasterOption, RemoteOption
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    JsonOption,
    MessageOption,
    QuietOption,
    UriArgument,
    UriOption,
    one_uri,
    open_graph,
    spark_settings,
)
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.progress import load_progress
from omnigraph.surfaces.wire import embed_json


def register(app: typer.Typer) -> None:
    app.command()(embed)


def embed(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this type; repeatable.")
    ] = None,
    only: Annotated[
        EmbedOnly,
        typer.Option("--only", help="missing vectors, stale ones too, or all."),
    ] = "missing",
    branch: BranchOption = MAIN,
    engine: EngineOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the vectors that @embed asks for, as one commit.

    Example: omnigraph embed --only stale --store people.omni
    """
    graph = open_graph(one_uri(uri, store), settings=spark_settings(master, remote))
    with load_progress(is_silent=quiet, as_json=as_json) as progress:
        result = graph.embed(
            types or None,
            only=only,
            branch=branch,
            engine=engine,
            actor=actor,
            message=message,
            progress=progress,
        )
    if as_json:
        print_json(embed_json(result))
    elif not quiet:
        for name, counts in result.embedded.items():
            for property_, count in counts.items():
                say(f"  {name}.{property_}: {count:,}")
        if result.commit is None:
            say(f"nothing to do on {graph.uri}, branch {branch}")
        else:
            made = f"{amount(result.total_embedded, 'vector')} by {result.model}"
            say(f"{made} on {graph.uri}, branch {branch}: commit {result.commit.graph_commit_id}")
