"""`omnigraph analytics`: algorithms over the edges of a graph."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.choices import AlgorithmName
from omnigraph.base.ids import MAIN
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.load_options import EngineOption, MasterOption, RemoteOption
from omnigraph.surfaces.cli.options import (
    ActorOption,
    JsonOption,
    MessageOption,
    QuietOption,
    ReadBranchOption,
    SnapshotOption,
    StoreOption,
    branch_to_read,
    open_graph,
    spark_settings,
)
from omnigraph.surfaces.cli.output import Format, print_json, print_rows, say
from omnigraph.surfaces.cli.progress import load_progress
from omnigraph.surfaces.wire import analytics_json

if TYPE_CHECKING:
    from omnigraph.engine.analytics_results import AnalyticsResult
    from omnigraph.engine.handles.graph import Graph

__all__ = ["register"]

OPTIONS = {"sources": "--source", "pairs": "--target"}
"""Arguments of Python whose options are called otherwise."""


def register(app: typer.Typer) -> None:
    app.command()(analytics)


def analytics(
    name: Annotated[AlgorithmName, typer.Argument(help="The algorithm.", metavar="ALGORITHM")],
    *,
    store: StoreOption,
    edge: Annotated[
        list[str] | None,
        typer.Option("--edge", help="An edge type to follow; repeatable; all if left out."),
    ] = None,
    directed: Annotated[
        bool | None,
        typer.Option("--directed/--undirected", help="Whether edges lead one way."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option("--weight", help="A property of the edges, a number.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="ID|TYPE:ID",
            help="Where paths begin; for pagerank, where walks begin again: repeatable.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="ID|TYPE:ID",
            help="Where paths end: shows a path from each source to each target; repeatable.",
        ),
    ] = None,
    damping: Annotated[
        float | None, typer.Option("--damping", help="For pagerank: between 0 and 1.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", help="For pagerank: a change that is none.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option("--max-iterations", help="At most so many rounds.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", help="For betweenness: paths from so many nodes.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Which nodes these are.")] = None,
    normalized: Annotated[
        bool | None,
        typer.Option("--normalized/--paths", help="For betweenness: shares, or numbers of paths."),
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", help="Print so many rows: the largest values.", min=1)
    ] = None,
    write_to: Annotated[
        list[str] | None,
        typer.Option(
            "--write-to",
            metavar="PROPERTY[=COLUMN]",
            help="Also write the answer to a property of the nodes, as one commit; repeatable.",
        ),
    ] = None,
    write_branch: Annotated[
        str | None, typer.Option("--write-branch", help="The branch of that commit.")
    ] = None,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout-s", help="Give up after so many seconds.")
    ] = None,
    engine: EngineOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    style: Annotated[
        Format | None, typer.Option("--format", help="How to print rows; a table if left out.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run an algorithm over the edges of a graph, and show a row for each node.

    Algorithms: pagerank, connected_components, strongly_connected_components, label_propagation,
    triangle_count, degrees, k_core, betweenness, shortest_paths.

    Example: omnigraph analytics pagerank --edge Knows --top 10 --store g.omni
    """
    on = branch_to_read(branch, snapshot)
    is_writing = bool(write_to)
    settings = spark_settings(master, remote, engine=engine)
    graph = open_graph(store, read_only=not is_writing, settings=settings)
    own = {
        "directed": directed,
        "weight": weight,
        "damping": damping,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "samples": samples,
        "seed": seed,
        "normalized": normalized,
        **_ends(name, source or [], target or []),
    }
    run = getattr(_place(graph, on, snapshot).analytics, name)
    with load_progress(is_silent=quiet, as_json=as_json) as progress:
        result = run(
            edge or None,
            **_taken(name, run, own),
            engine=engine,
            timeout_s=timeout_s,
            progress=progress,
            write_to=_properties(run, write_to),
            write_branch=write_branch,
            # Whoever only reads makes no commit: a profile may name an actor all the same.
            actor=actor if is_writing else None,
            message=message,
        )
    shown = result if top is None else _largest(result, top)
    if as_json or style is Format.JSON:
        print_json(analytics_json(shown, branch=None if snapshot else on or MAIN))
    else:
        print_rows(shown, style or Format.TABLE)
    if not (quiet or as_json):
        _say(result, graph, is_writing=is_writing)


def _place(graph: "Graph", branch: str | None, snapshot: str | None) -> Any:
    if snapshot is not None:
        return graph.at(snapshot, branch)
    return graph if branch is None else graph.branch(branch)


def _ends(name: str, sources: list[str], targets: list[str]) -> dict[str, Any]:
    if name != "shortest_paths":
        return {"sources": sources or None, "pairs": targets or None}
    if targets and not sources:
        raise typer.BadParameter("paths begin somewhere: give --source beside --target")
    if not sources:
        raise typer.BadParameter("paths begin somewhere: give --source")
    if targets:
        return {"pairs": [(source, target) for source in sources for target in targets]}
    if len(sources) > 1:
        raise typer.BadParameter("paths to all nodes begin at one: give --source once, or --target")
    return {"source": sources[0]}


def _taken(name: str, run: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given; refused where the algorithm has no use for one."""
    known = inspect.signature(run).parameters
    given = {argument: value for argument, value in own.items() if value is not None}
    for argument in given:
        if argument not in known:
            option = OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
            raise typer.BadParameter(f"{name} takes no {option}")
    return given


def _properties(run: Any, write_to: list[str] | None) -> str | dict[str, str] | None:
    if not write_to:
        return None
    pairs = [text.partition("=") for text in write_to]
    if len(pairs) == 1 and not pairs[0][1]:
        return write_to[0]
    if not all(column for _, _, column in pairs):
        raise typer.BadParameter("name the column of each property: --write-to property=column")
    names = [name for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise typer.BadParameter("--write-to names a property twice: a property takes one column")
    return {property_: column for property_, _, column in pairs}


def _largest(result: "AnalyticsResult", count: int) -> "AnalyticsResult":
    """The rows with the largest values; of equal ones those that come first."""
    from dataclasses import replace

    value = next(c for c in result.columns if c not in ("type", "id") and "_type" not in c)
    if value == "source":
        value = "distance"
    keys = [(value, "descending"), ("type", "ascending"), ("id", "ascending")]
    known = [key for key in keys if key[0] in result.columns]
    return replace(result, table=result.table.sort_by(known).slice(0, count))


def _say(result: "AnalyticsResult", graph: "Graph", *, is_writing: bool) -> None:
    over = f"{amount(result.node_count, 'node')} and {amount(result.edge_count, 'edge')}"
    rounds = "" if result.iterations is None else f", {amount(result.iterations, 'round')}"
    say(f"{result.query_name} over {over}{rounds}, at {result.graph_commit_id}")
    if not result.converged:
        say("the values still changed in the last round: --max-iterations allows more")
    if is_writing and result.commit is None:
        say("nothing changed: the nodes have these values already")
    elif result.commit is not None:
        counts = ", ".join(f"{name} {count:,}" for name, count in result.written.items())
        branch = result.commit.graph_branch
        say(
            f"wrote {counts} on {graph.uri}, branch {branch}: commit "
            f"{result.commit.graph_commit_id}"
        )
