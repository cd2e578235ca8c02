"""Commands that put data in and get answers out: init, load, query, mutate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.ids import MAIN, CommitId
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.consent import YesOption, name_target, require_yes
from omnigraph.surfaces.cli.load_options import (
    DataOption,
    DryRunOption,
    EmbedOption,
    EngineOption,
    FormatOption,
    FromOption,
    LoadIdOption,
    MappingOption,
    MasterOption,
    MaxErrorsOption,
    ModeOption,
    OnErrorOption,
    QuarantineOption,
    ReadEngineOption,
    RemoteOption,
    ResumeOption,
)
from omnigraph.surfaces.cli.load_report import say_loaded
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    ExpressionOption,
    JsonOption,
    MessageOption,
    ParamsFileOption,
    ParamsOption,
    QueryFileOption,
    QueryNameArgument,
    QuietOption,
    ReadBranchOption,
    SnapshotOption,
    StoreOption,
    UriArgument,
    UriOption,
    branch_to_read,
    one_uri,
    open_graph,
    parameters,
    query_source,
    spark_settings,
)
from omnigraph.surfaces.cli.output import Format, print_json, print_rows, say
from omnigraph.surfaces.cli.progress import load_progress, waiting
from omnigraph.surfaces.wire import load_json, mutation_json, query_json

if TYPE_CHECKING:
    from omnigraph.engine.results import MutationResult


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(load)
    app.command()(query)
    app.command()(mutate)


def init(
    uri: Annotated[
        str | None, typer.Argument(help="Where the graph will live: an empty place.")
    ] = None,
    *,
    store: UriOption = None,
    schema: Annotated[Path, typer.Option("--schema", help="The .pg schema.", metavar="FILE")],
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Remove first what an init left that did not finish; never a graph."
        ),
    ] = False,
    actor: ActorOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a new graph.

    Example: omnigraph init --schema people.pg ./people.omni
    """
    from omnigraph.engine.handles.graph import Graph

    place = one_uri(uri, store)
    if force:
        require_yes(place, "removes what an unfinished init left", yes=yes)
    with waiting("init", is_silent=quiet, as_json=as_json):
        graph = Graph.init(place, schema, actor=actor, message=message, force=force)
    name_target(graph, MAIN, as_json=as_json, quiet=quiet)
    head = graph.commits(limit=1)[0]
    if as_json:
        print_json({"uri": graph.uri, "graph_commit_id": head.graph_commit_id})
    elif not quiet:
        say(f"made {graph.uri}")


def load(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    data: DataOption,
    mode: ModeOption,
    branch: BranchOption = MAIN,
    from_: FromOption = None,
    load_id: LoadIdOption = None,
    resume: ResumeOption = None,
    format_: FormatOption = None,
    mapping: MappingOption = None,
    on_error: OnErrorOption = "fail",
    quarantine: QuarantineOption = None,
    max_errors: MaxErrorsOption = None,
    dry_run: DryRunOption = False,
    embed: EmbedOption = False,
    engine: EngineOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Load files (NDJSON, CSV, Parquet, Lance), checked as a whole, as one commit.

    Example: omnigraph load --data people.jsonl --mode append ./people.omni
    """
    if uri is None and store is None:
        _refuse_a_path_for_a_name(load_id=load_id, resume=resume)
    if resume is not None and load_id is not None:
        raise typer.BadParameter("--resume names the load already: leave out --load-id")
    place = one_uri(uri, store)
    if mode == "overwrite" and not dry_run:
        require_yes(place, f"replaces rows on branch {branch}", yes=yes)
    graph = open_graph(place, settings=spark_settings(master, remote, engine=engine))
    name_target(graph, branch, as_json=as_json, quiet=quiet, doing="loading into")
    with load_progress(is_silent=quiet, as_json=as_json) as progress:
        result = graph.load(
            data,
            mode=mode,
            branch=branch,
            from_=from_,
            mapping=mapping,
            format=format_,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            dry_run=dry_run,
            load_id=resume or load_id,
            resume=resume is not None,
            embed=embed,
            engine=engine,
            actor=actor,
            message=message,
            progress=progress,
        )
    if as_json:
        print_json(load_json(result))
    elif not quiet:
        say_loaded(result)


def _refuse_a_path_for_a_name(**names: str | None) -> None:
    """Say where the graph's path went, if an option that needs a value has taken it for one."""
    for argument, value in names.items():
        option = f"--{argument.replace('_', '-')}"
        if value is not None:
            raise typer.BadParameter(
                f"{option} takes the name of a load, and took {value!r} for it: "
                f"write {option} NAME and then the graph"
            )


def query(
    name: QueryNameArgument = None,
    *,
    store: StoreOption,
    file: QueryFileOption = None,
    expression: ExpressionOption = None,
    params: ParamsOption = None,
    params_file: ParamsFileOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    style: Annotated[
        Format | None, typer.Option("--format", help="How to print rows; a table if left out.")
    ] = None,
    engine: ReadEngineOption = "local",
    master: MasterOption = None,
    remote: RemoteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question.

    Example: omnigraph query friends_of --query people.gq --params '{"name": "Ada"}' --store g.omni
    """
    if as_json and style not in (None, Format.JSON):
        raise typer.BadParameter("say once how to print rows: with --json or with --format")
    on = branch_to_read(branch, snapshot)
    source, given = query_source(file, expression), parameters(params, params_file)
    settings = spark_settings(master, remote, engine=engine)
    with (
        waiting("query", as_json=as_json),
        open_graph(store, read_only=True, settings=settings) as graph,
    ):
        result = graph.query(
            source, name=name, params=given, branch=on, snapshot=snapshot, engine=engine
        )
    if as_json or style is Format.JSON:
        print_json(query_json(result, branch=None if snapshot else on or MAIN))
    else:
        print_rows(result, style or Format.TABLE)


def mutate(
    name: QueryNameArgument = None,
    *,
    store: StoreOption,
    file: QueryFileOption = None,
    expression: ExpressionOption = None,
    params: ParamsOption = None,
    params_file: ParamsFileOption = None,
    branch: BranchOption = MAIN,
    if_commit: Annotated[
        str | None, typer.Option("--if-commit", help="Only if the branch is at this commit.")
    ] = None,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", help="Write once: a second try of this id changes nothing."),
    ] = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Change the graph: all statements of a query, as one commit.

    Example: omnigraph mutate add_person --query people.gq --params '{"name": "Ada"}' --store g.omni
    """
    source, given = query_source(file, expression), parameters(params, params_file)
    graph = open_graph(store)
    name_target(graph, branch, as_json=as_json, quiet=quiet)
    with waiting("mutate", is_silent=quiet, as_json=as_json):
        result = graph.mutate(
            source,
            name=name,
            params=given,
            branch=branch,
            actor=actor,
            message=message,
            if_commit=CommitId(if_commit) if if_commit else None,
            request_id=request_id,
        )
    if as_json:
        print_json(mutation_json(result))
    elif not quiet:
        say_changed(result, graph.uri)


def say_changed(result: "MutationResult", uri: str) -> None:
    """Say what a mutation has changed, and where."""
    if result.commit is None:
        say(f"nothing changed on {uri}, branch {result.branch}")
    else:
        nodes, edges = (result.affected_nodes, result.affected_edges)
        rows = f"{amount(nodes, 'node')} and {amount(edges, 'edge')}"
        where = f"{uri}, branch {result.branch}: commit {result.commit.graph_commit_id}"
        if result.is_repeat:
            say(f"nothing written: this request has changed {rows} before, on {where}")
        else:
            say(f"{rows} changed on {where}")
