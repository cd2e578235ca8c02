"""The command that writes a graph for others: export."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from omnigraph.base.choices import ExportFormat
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.load_options import ExportEngineOption, MasterOption, RemoteOption
from omnigraph.surfaces.cli.options import (
    JsonOption,
    QuietOption,
    ReadBranchOption,
    SnapshotOption,
    StoreOption,
    TypesOption,
    branch_to_read,
    open_graph,
    spark_settings,
)
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import export_json

STANDARD_OUTPUT = "-"


def register(app: typer.Typer) -> None:
    app.command()(export)


def export(
    path: Annotated[
        str,
        typer.Argument(
            help="A file; for parquet, on Spark and in a bucket a directory. - is standard output."
        ),
    ] = STANDARD_OUTPUT,
    *,
    store: StoreOption,
    types: TypesOption = None,
    style: Annotated[ExportFormat, typer.Option("--format", help="jsonl or parquet.")] = "jsonl",
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    engine: ExportEngineOption = "auto",
    master: MasterOption = None,
    remote: RemoteOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the graph, or some types of it, as files that a load reads back.

    Example: omnigraph export people.jsonl --store people.omni
    """
    from omnigraph.pipeline.sources.files import Form, form_of

    is_stream = path == STANDARD_OUTPUT
    if is_stream and as_json:
        raise typer.BadParameter(
            "--json wants standard output, and so do the rows: name a file for them"
        )
    on = branch_to_read(branch, snapshot)
    # Rows that scroll by show well enough that work goes on.
    is_seen = is_stream and sys.stdout.isatty()
    settings = spark_settings(master, remote, engine=engine)
    with (
        waiting("export", is_silent=quiet or is_seen, as_json=as_json),
        open_graph(store, read_only=True, settings=settings) as graph,
    ):
        result = graph.export(
            sys.stdout.buffer if is_stream else path,
            types=types or None,
            format=style,
            branch=on,
            snapshot=snapshot,
            overwrite=force,
            engine=engine,
        )
    if is_stream:
        sys.stdout.buffer.flush()
    if as_json:
        print_json(export_json(result))
    elif not quiet:
        for name, count in (*result.nodes.items(), *result.edges.items()):
            say(f"  {name}: {count:,}")
        where = "standard output" if is_stream else path
        entities, size = amount(result.total_entities, "entity"), amount(result.bytes, "byte")
        say(f"wrote {entities}, {size}, to {where}")
        is_file = [file.path for file in result.files] == [result.path]
        if is_file and not is_stream and form_of(Path(path)) is not Form.JSONL:
            say(f"  note: load it with --format {style}, since its name doesn't say so")
