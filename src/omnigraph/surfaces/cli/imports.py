"""The command that brings graphs of other systems in: import."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.choices import ImportFormat, LoadModeName
from omnigraph.base.errors import GraphMissing, LocalOnly
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.surfaces.cli.addressing import is_url
from omnigraph.surfaces.cli.consent import YesOption, require_yes
from omnigraph.surfaces.cli.load_options import (
    DryRunOption,
    EngineOption,
    FromOption,
    MasterOption,
    MaxErrorsOption,
    OnErrorOption,
    QuarantineOption,
    RemoteOption,
)
from omnigraph.surfaces.cli.load_report import say_loaded
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
from omnigraph.surfaces.wire import import_plan_json, load_json

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.engine.import_plan import EditedPlan, ImportPlan
    from omnigraph.engine.settings import Settings

PlanOption = Annotated[
    # As it was written: a path would make s3:/bucket of the address of a bucket.
    str | None,
    typer.Option(
        "--plan",
        metavar="DIR",
        help="Write the proposed schema and mapping there, to be edited, and import nothing.",
    ),
]
FromPlanOption = Annotated[
    Path | None,
    typer.Option(
        "--from-plan", metavar="DIR", help="Use the schema and the mapping of this directory."
    ),
]


def register(app: typer.Typer) -> None:
    app.command("import")(import_)


def import_(
    source: Annotated[
        str,
        typer.Argument(help="A directory or a file that was exported; also s3://bucket/prefix."),
    ],
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    format_: Annotated[
        ImportFormat | None,
        typer.Option(
            "--format", help="kuzu, neo4j-csv, apoc or graphml; told from the files if left out."
        ),
    ] = None,
    plan: PlanOption = None,
    from_plan: FromPlanOption = None,
    mode: Annotated[
        LoadModeName, typer.Option("--mode", help="append, merge or overwrite.")
    ] = "append",
    branch: BranchOption = MAIN,
    from_: FromOption = None,
    on_error: OnErrorOption = "fail",
    quarantine: QuarantineOption = None,
    max_errors: MaxErrorsOption = None,
    dry_run: DryRunOption = False,
    engine: EngineOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    yes: YesOption = False,
) -> None:
    """Import an export of Kuzu, Ladybug or Neo4j, or GraphML, as one commit; a graph that is not
    there yet is made, with the schema that is proposed.

    Example: omnigraph import ./exported ./people.omni
    """
    from omnigraph.engine.import_plan import EditedPlan, ImportPlan
    from omnigraph.engine.imports import import_ as use_case
    from omnigraph.engine.imports import import_new
    from omnigraph.engine.requests import Import
    from omnigraph.engine.text import SCHEMA, as_source

    settings = spark_settings(master, remote, engine=engine)
    if plan is not None:
        if from_plan is not None:
            raise typer.BadParameter("--plan writes a plan and --from-plan reads one: give one")
        made = ImportPlan.of(source, format=format_, settings=settings)
        made.save(plan)
        _say_plan(made, plan, as_json=as_json, quiet=quiet)
        return
    target = one_uri(uri, store)
    if is_url(target):
        # Before a source is read that may be large.
        raise LocalOnly("import")
    graph = _graph_at(target, settings)
    edited = None if from_plan is None else EditedPlan.read(from_plan)
    if edited is not None and graph is None:
        edited.check()
    if graph is not None and mode == "overwrite" and not dry_run:
        require_yes(graph.uri, f"replaces rows on branch {branch}", yes=yes)
    made = ImportPlan.of(source, format=format_, settings=settings)
    if not (quiet or as_json):
        _say_proposal(made) if edited is None else _say_edited(made, edited)
        say(f"importing into {target}, branch {branch}" + "; the graph is new" * (graph is None))
    request = Import(
        source=made,
        mapping=None if edited is None else edited.mapping_file,
        mode=mode,
        branch=BranchName(branch),
        from_=None if from_ is None else BranchName(from_),
        on_error=on_error,
        quarantine=quarantine,
        max_errors=max_errors,
        dry_run=dry_run,
        engine=engine,
        actor=actor,
        message=message,
    )
    with load_progress(is_silent=quiet, as_json=as_json) as progress:
        if graph is not None:
            result = graph.backend.run(use_case, request, progress)
        else:
            text = as_source(made.schema, SCHEMA) if edited is None else edited.schema
            result = import_new(target, text, request, settings=settings, progress=progress)
    if as_json:
        more = {"is_new": graph is None and not dry_run, **import_plan_json(made, edited)}
        print_json({**load_json(result), **more})
    elif not quiet:
        say_loaded(result)


def _graph_at(uri: str, settings: "Settings") -> "Graph | None":
    """The graph; None if there is none yet."""
    try:
        return open_graph(uri, settings=settings)
    except GraphMissing:
        return None


def _say_plan(plan: "ImportPlan", folder: str, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json({"plan": folder, **import_plan_json(plan)})
    elif not quiet:
        _say_proposal(plan)
        say(f"wrote {folder}: edit its files, then import with --from-plan {folder}")


def _say_proposal(plan: "ImportPlan") -> None:
    _say_shapes(plan, "the proposed schema", plan.schema, "the mapping", plan.mapping_text)


def _say_edited(plan: "ImportPlan", edited: "EditedPlan") -> None:
    """What is followed in the place of the proposal."""
    schema, mapping = edited.schema, edited.mapping
    _say_shapes(plan, schema.name, schema.text, str(edited.mapping_file), mapping.text)


def _say_shapes(
    plan: "ImportPlan", schema_title: str, schema: str, mapping_title: str, mapping: str
) -> None:
    say(f"{plan.source} is {plan.format}; {schema_title}:\n\n{schema}")
    say(f"{mapping_title}:\n\n{mapping}")
    for note in plan.notes:
        say(f"  note: {note}")
