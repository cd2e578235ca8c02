"""The options of `omnigraph load`: what is read, what becomes of bad rows, and who runs it."""

from typing import Annotated

import typer

from omnigraph.base.choices import LoadEngine, LoadModeName, OnError, QueryEngine, SourceFormat
from omnigraph.surfaces.cli import completing

DataOption = Annotated[
    list[str],
    typer.Option(
        "--data",
        help="A file, directory or glob, also in a bucket (s3://…); repeatable. "
        "- is standard input.",
    ),
]
ModeOption = Annotated[LoadModeName, typer.Option("--mode", help="append, merge or overwrite.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Make the branch from this one first, if it is missing.",
        autocompletion=completing.branches,
    ),
]
LoadIdOption = Annotated[
    str | None,
    typer.Option(
        "--load-id", metavar="NAME", help="Load only if no load of this name is on the branch."
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="NAME",
        help="Go on with the load of this name, whose process died.",
    ),
]
FormatOption = Annotated[
    SourceFormat | None,
    typer.Option("--format", help="What the files are: jsonl, csv or parquet."),
]
MappingOption = Annotated[
    str | None, typer.Option("--mapping", help="A YAML file: which columns feed what.")
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="fail, or quarantine: load the good rows, set the bad ones aside."
    ),
]
QuarantineOption = Annotated[
    str | None,
    typer.Option("--quarantine", help="Where bad rows go: a new directory.", metavar="DIR"),
]
MaxErrorsOption = Annotated[
    int | None, typer.Option("--max-errors", help="Of more bad rows than this, load nothing.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check everything, publish nothing.")]
EmbedOption = Annotated[
    bool, typer.Option("--embed", help="Make the vectors that rows lack, in the same commit.")
]
EngineOption = Annotated[
    LoadEngine | None,
    typer.Option(
        "--engine",
        help="local: in this process; spark; or auto: Spark if it is configured or the input is "
        "large. OMNIGRAPH_LOAD_ENGINE is the default.",
    ),
]
ReadEngineOption = Annotated[
    QueryEngine, typer.Option("--engine", help="local: here; or spark, which runs the same plan.")
]
ExportEngineOption = Annotated[
    LoadEngine,
    typer.Option("--engine", help="local, spark: parts in parallel; auto: spark for large ones."),
]
MasterOption = Annotated[
    str | None,
    typer.Option("--master", help="Where Spark runs: local[*], spark://host:7077, …"),
]
RemoteOption = Annotated[
    str | None, typer.Option("--remote", help="A Spark Connect server: sc://host:15002.")
]
