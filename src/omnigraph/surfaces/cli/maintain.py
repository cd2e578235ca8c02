"""Commands that look after a graph: optimize, cleanup, repair, stats, indexes."""

from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.ids import MAIN
from omnigraph.base.keeping import DEFAULT_KEEP
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.addressing import is_url
from omnigraph.surfaces.cli.consent import YesOption, name_target, require_yes
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
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import (
    cleanup_json,
    indexes_json,
    optimize_json,
    repair_json,
    statistics_json,
)

if TYPE_CHECKING:
    from omnigraph.engine.upkeep_results import CleanupResult


def register(app: typer.Typer) -> None:
    app.command()(optimize)
    app.command()(cleanup)
    app.command()(repair)
    app.command()(stats)
    app.command()(indexes)


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
    name_target(graph, branch, as_json=as_json, quiet=quiet)
    with waiting("optimize", is_silent=quiet, as_json=as_json):
        result = graph.optimize(branch, actor=actor, message=message)
    if as_json:
        print_json(optimize_json(result))
    elif not quiet:
        if result.commit is None:
            say(f"nothing to do on {graph.uri}, branch {branch}")
        for doing, tables in (("compacted", result.compacted), ("indexed", result.indexed)):
            if tables:
                say(f"{doing} {', '.join(tables)} on {graph.uri}, branch {branch}")


def cleanup(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    keep: Annotated[
        int, typer.Option("--keep", help="How many of the newest commits of each branch stay.")
    ] = DEFAULT_KEEP,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="Remove nothing that was newest within this time: 7d."),
    ] = None,
    grace: Annotated[
        str | None,
        typer.Option("--grace", help="How long others may go on with what they have begun: 1h."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Remove it: the rows of old commits are then gone.")
    ] = False,
    actor: ActorOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Remove old commits of all branches, and files that nobody needs. Commits stay known.

    Example: omnigraph cleanup --keep 20 --older-than 7d --dry-run --store g.omni
    """
    place = one_uri(uri, store)
    if confirm and not dry_run and not is_url(place):
        require_yes(place, "removes the rows of old commits", yes=yes)
    graph = open_graph(place)
    name_target(graph, as_json=as_json, quiet=quiet)
    with waiting("cleanup", is_silent=quiet, as_json=as_json):
        result = graph.cleanup(
            keep=keep,
            older_than=older_than,
            grace=grace,
            dry_run=dry_run,
            confirm=confirm,
            actor=actor,
        )
    if as_json:
        print_json(cleanup_json(result))
    elif not quiet:
        _show_cleanup(result, graph.uri)


def _show_cleanup(result: "CleanupResult", uri: str) -> None:
    print_table(
        ["table", "versions", "files", "bytes", "versions kept", "bytes kept", "files waiting"],
        (
            [
                name,
                table.versions,
                table.files,
                table.bytes,
                table.kept_versions,
                table.kept_bytes,
                table.waiting_files,
            ]
            for name, table in result.tables.items()
        ),
        may_shorten=False,
    )
    removed = f"{amount(result.files, 'file')}, {result.bytes:,} bytes"
    lost = amount(len(result.commits), "commit")
    say(f"{'would remove' if result.dry_run else 'removed'} {removed} from {uri}")
    say(f"{lost} can't be read {'then' if result.dry_run else 'any more'}")
    kept = ", ".join(f"{count:,} {reason}" for reason, count in sorted(result.kept.items()))
    say(f"commits kept: {kept}")
    if result.waiting_files:
        waiting = amount(result.waiting_files, "file")
        say(f"{waiting} may belong to a write that is under way: a later cleanup removes the rest")
    if result.loads:
        say(f"files stay for loads that can be resumed: {', '.join(result.loads)}")


def repair(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Publish tables that have moved and show the same rows."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Publish those that show other rows, too.")
    ] = False,
    actor: ActorOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show where files and commits disagree, and repair what can be repaired.

    Example: omnigraph repair --store g.omni
    """
    place = one_uri(uri, store)
    is_write = confirm
    if is_write and not is_url(place):
        require_yes(
            place, "publishes tables as their files show them, in place of the last commit", yes=yes
        )
    graph = open_graph(place)
    if is_write:
        name_target(graph, as_json=as_json, quiet=quiet)
    with waiting("repair", is_silent=quiet, as_json=as_json):
        result = graph.repair(confirm=confirm, force=force, actor=actor)
    if as_json:
        print_json(repair_json(result))
    elif not result.findings and not quiet:
        say(f"nothing is wrong with {graph.uri}")
    elif result.findings:
        print_table(
            ["finding", "where", "explanation", "repaired"],
            ([f.kind, f.where, f.explanation, f.is_repaired] for f in result.findings),
            may_shorten=False,
        )
        if is_write and not quiet:
            say(f"repaired what can be repaired in {graph.uri}")


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
    with waiting("stats", as_json=as_json):
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


def indexes(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every index that is built or declared, and for how many rows it answers.

    Example: omnigraph indexes --store g.omni
    """
    on = branch_to_read(branch, snapshot)
    graph = open_graph(one_uri(uri, store), read_only=True)
    found = graph.indexes(on, snapshot=snapshot)
    if as_json:
        print_json(indexes_json(found))
        return
    print_table(
        ["table", "column", "kind", "declared", "built", "rows", "rows indexed", "pending"],
        (
            [
                index.table,
                index.column,
                index.kind,
                "yes" if index.declared else "no",
                "yes" if index.built else "no",
                index.rows,
                index.rows_indexed,
                index.pending,
            ]
            for index in found
        ),
        may_shorten=False,
    )
