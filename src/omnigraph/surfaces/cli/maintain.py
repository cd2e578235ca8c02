"""Commands that look after a graph: optimize, stats."""

import typer

from omnigraph.base.ids import MAIN
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    JsonOption,
    MessageOption,
    QuietOption,
    ReadBranchOption,
    SnapshotOption,
    UriArgument,
    UriOption,
    branch_to_read,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, say
from omnigraph.surfaces.wire import optimize_json, statistics_json


def register(app: typer.Typer) -> None:
    app.command()(optimize)
    app.command()(stats)


def optimize(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: BranchOption = MAIN,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compact the files of a branch and bring its indexes up to date. No answer changes.

    Example: omnigraph optimize --store g.omni
    """
    graph = open_graph(one_uri(uri, store))
    result = graph.optimize(branch, actor=actor, message=message)
    if as_json:
        print_json(optimize_json(result))
    elif not quiet:
        if not result.commits:
            say(f"nothing to do on {graph.uri}, branch {branch}")
        for doing, tables in (("compacted", result.compacted), ("indexed", result.indexed)):
            if tables:
                say(f"{doing} {', '.join(tables)} on {graph.uri}, branch {branch}")


def stats(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the size of every table, and how much of it indexes answer for.

    Example: omnigraph stats --store g.omni
    """
    on = branch_to_read(branch, snapshot)
    graph = open_graph(one_uri(uri, store), read_only=True)
    statistics = graph.stats(on, snapshot=snapshot)
    if as_json:
        print_json(statistics_json(statistics))
        return
    print_table(
        ["table", "rows", "deleted", "fragments", "bytes", "indexed"],
        (
            [
                key,
                table.row_count,
                table.deleted_rows,
                table.fragments,
                table.bytes,
                ", ".join(f"{c} {table.coverage(c):.0%}" for c in sorted(table.indexed_rows))
                or None,
            ]
            for key, table in sorted(statistics.tables.items())
        ),
        may_shorten=False,
    )
