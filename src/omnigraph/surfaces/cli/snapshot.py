"""`omnigraph snapshot`: the version and the size of every table of a commit."""

import typer

from omnigraph.surfaces.cli.options import (
    JsonOption,
    ReadBranchOption,
    SnapshotOption,
    UriArgument,
    UriOption,
    branch_to_read,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, say
from omnigraph.surfaces.wire import tables_json


def register(app: typer.Typer) -> None:
    app.command("snapshot")(snapshot)


def snapshot(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: ReadBranchOption = None,
    at: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which version of each table a commit pins, and how many entities that has.

    Example: omnigraph snapshot --store g.omni
    """
    graph = open_graph(one_uri(uri, store), read_only=True)
    found = graph.tables(branch_to_read(branch, at), snapshot=at)
    if as_json:
        print_json(tables_json(found))
        return
    rows = [
        (t.entity_kind, t.type_name, t.entity_count, t.published_dataset_version)
        for t in found.datasets
    ]
    print_table(["kind", "type", "entities", "version"], rows)
    say(f"commit {found.graph_commit_id} on {found.graph_branch}")
