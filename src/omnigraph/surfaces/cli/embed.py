"""The command that makes vectors of texts: embed."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from omnigraph.base.choices import EmbedOnly
from omnigraph.base.disk_failures import reading_file
from omnigraph.base.ids import MAIN
from omnigraph.base.words import amount
from omnigraph.engine.text import SCHEMA, read_source
from omnigraph.surfaces.cli.consent import name_target
from omnigraph.surfaces.cli.load_options import EngineOption, MasterOption, RemoteOption
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    JsonOption,
    MessageOption,
    QuietOption,
    TypesOption,
    UriArgument,
    UriOption,
    one_uri,
    open_graph,
    spark_settings,
)
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.progress import load_progress, waiting
from omnigraph.surfaces.wire import embed_json, embedded_file_json

if TYPE_CHECKING:
    from omnigraph.embed.keeping import KeepingProvider
    from omnigraph.embed.provider import Provider

STANDARD = Path("-")


def register(app: typer.Typer) -> None:
    app.command()(embed)


def embed(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    types: TypesOption = None,
    only: Annotated[
        EmbedOnly,
        typer.Option("--only", help="missing vectors, stale ones too, or all."),
    ] = "missing",
    data: Annotated[
        Path | None,
        typer.Option("--data", help="A file of NDJSON, instead of a graph; - is standard input."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="With --data: a new file; - is standard output.")
    ] = STANDARD,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="With --data: the .pg schema.", metavar="FILE")
    ] = None,
    branch: BranchOption = MAIN,
    engine: EngineOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the vectors that @embed asks for, as one commit; or put them into lines of a file.

    Example: omnigraph embed --only stale --store people.omni
    """
    if data is not None:
        _refuse(
            "is about a graph: leave it out beside --data",
            {
                "--type": types,
                "--branch": branch != MAIN,
                "--engine": engine,
                "--master": master,
                "--remote": remote,
                "--message": message,
                "GRAPH": uri or store,
            },
        )
        _embed_file(data, out, schema, is_all=_is_all(only), as_json=as_json, quiet=quiet)
        return
    _refuse(
        "is about a file: give --data FILE too, or leave it out",
        {"--out": out != STANDARD, "--schema": schema},
    )
    graph = open_graph(one_uri(uri, store), settings=spark_settings(master, remote, engine=engine))
    name_target(graph, branch, as_json=as_json, quiet=quiet)
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


def _refuse(why: str, options: Mapping[str, object]) -> None:
    """Raise for the first option that is given."""
    for option, value in options.items():
        if value:
            raise typer.BadParameter(f"{option} {why}")


def _is_all(only: EmbedOnly) -> bool:
    if only == "stale":
        raise typer.BadParameter("a file does not say what is stale: give --only missing or all")
    return only == "all"


def _embed_file(
    data: Path, out: Path, schema: Path | None, *, is_all: bool, as_json: bool, quiet: bool
) -> None:
    """Write the lines of a file with the vectors that they lack."""
    from omnigraph.embed.providers import open_provider
    from omnigraph.engine.embed_files import embed_lines, new_embedded_file
    from omnigraph.engine.language import catalog_of
    from omnigraph.engine.settings import Settings

    if schema is None:
        raise typer.BadParameter("--data needs --schema FILE, which says what is embedded")
    if as_json and out == STANDARD:
        raise typer.BadParameter(
            "--json wants standard output, and so do the lines: name a file with --out"
        )
    catalog = catalog_of(read_source(schema, SCHEMA))
    config = Settings.from_environment().embed
    provider = open_provider(config)
    with ExitStack() as stack:
        source: BinaryIO = sys.stdin.buffer
        if data != STANDARD:
            with reading_file(str(data)):
                source = stack.enter_context(data.open("rb"))
        sink: BinaryIO = sys.stdout.buffer
        asked: Provider | KeepingProvider = provider
        if out != STANDARD:
            sink, asked = stack.enter_context(new_embedded_file(out, provider, config))
        stack.enter_context(waiting("embed", is_silent=quiet, as_json=as_json))
        result = embed_lines(asked, catalog, source, sink, file=str(data), is_all=is_all)
        sink.flush()
    if as_json:
        print_json(embedded_file_json(result, model=provider.model, path=str(out)))
    elif not quiet:
        made = f"{amount(result.vectors, 'vector')} by {provider.model}"
        say(f"{made} in {amount(result.lines, 'line')}")
