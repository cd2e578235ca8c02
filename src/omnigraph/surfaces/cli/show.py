"""`omnigraph show`: an entity, and what is around it."""

from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.words import amount
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.options import (
    JsonOption,
    ReadBranchOption,
    SnapshotOption,
    StoreOption,
    branch_to_read,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say
from omnigraph.surfaces.cli.tables import value_text
from omnigraph.surfaces.wire import neighborhood_json

if TYPE_CHECKING:
    from omnigraph.engine.neighborhood import NeighborNode

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command()(show)


def show(
    type_name: Annotated[
        str,
        typer.Argument(
            help="The type of the node.", metavar="TYPE", autocompletion=completing.types
        ),
    ],
    id_: Annotated[str, typer.Argument(help="Its id.", metavar="ID")],
    *,
    store: StoreOption,
    depth: Annotated[int, typer.Option("--depth", help="How many hops around it.")] = 1,
    limit: Annotated[int, typer.Option("--limit", help="At most so many nodes.")] = 20,
    page: Annotated[
        str | None, typer.Option("--page", help="The token that asks for the next page.")
    ] = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a node, its edges by type, and the nodes around it.

    Example: omnigraph show Person ada --store g.omni
    """
    found = open_graph(store, read_only=True).neighborhood(
        type_name,
        id_,
        depth=depth,
        limit=limit,
        page_token=page,
        branch=branch_to_read(branch, snapshot),
        snapshot=snapshot,
    )
    if as_json:
        print_json(neighborhood_json(found))
        return
    print_table(["property", "value"], found.entity.properties.items())
    if found.counts:
        print_text("")
        print_table(
            ["edges", "direction", "count"],
            ([tally.edge, tally.direction, tally.count] for tally in found.counts),
        )
    if found.nodes:
        print_text("")
        shown = ([node.distance, node.type_name, node.id, _said(node)] for node in found.nodes)
        print_table(["hops", "type", "id", "properties"], shown)
    left = found.node_count - len(found.nodes)
    more = f"; the next page: --page {found.next_page_token}" if found.next_page_token else ""
    say(f"{amount(len(found.nodes), 'node')} around it, {left:,} on other pages{more}")


def _said(node: "NeighborNode") -> str:
    values = ((name, value) for name, value in node.properties.items() if value is not None)
    return ", ".join(f"{name}: {value_text(value)}" for name, value in values)
