"""Commands over what changed: branch diff, commit show and changes, changes poll and baseline."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.ids import MAIN
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.colour import OF_OPERATION
from omnigraph.surfaces.cli.options import (
    BranchOption,
    JsonOption,
    QuietOption,
    StoreOption,
    TypesOption,
    group,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import (
    baseline_json,
    change_page_json,
    commit_changes_json,
    commit_json,
    diff_json,
)

if TYPE_CHECKING:
    from omnigraph.engine.change_results import ChangeCause, EntityChanges

SHOWN = 50
"""Changes that text shows of a diff; JSON has all of them."""


class Kind(StrEnum):
    NODE = "node"
    EDGE = "edge"


class Op(StrEnum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


KindOption = Annotated[list[Kind] | None, typer.Option("--kind", help="Only nodes, or edges.")]
OpOption = Annotated[list[Op] | None, typer.Option("--op", help="Only this operation.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="At most so many.", min=1)]
CommitArgument = Annotated[str, typer.Argument(help="The id of a commit.")]


def register(app: typer.Typer, *, branch: typer.Typer, commit: typer.Typer) -> None:
    branch.command("diff")(diff)
    commit.command("show")(show)
    commit.command("changes")(commit_changes)
    changes = group(
        "Follow what is published.",
        example="omnigraph changes poll --start beginning --store g.omni",
    )
    changes.command("poll")(poll)
    changes.command("baseline")(baseline)
    app.add_typer(changes, name="changes")


def diff(
    one: Annotated[
        str,
        typer.Argument(
            metavar="A", help="A branch, a commit, or a time.", autocompletion=completing.branches
        ),
    ],
    other: Annotated[
        str | None,
        typer.Argument(metavar="B", help="Likewise.", autocompletion=completing.branches),
    ] = None,
    *,
    store: StoreOption,
    types: TypesOption = None,
    kinds: KindOption = None,
    ops: OpOption = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what A has changed since it parted from main; with B too, what turns A into B.

    Example: omnigraph branch diff review/1 --store g.omni
    """
    from_, to = (MAIN, one) if other is None else (one, other)
    graph = open_graph(store, read_only=True)
    with waiting("diff", as_json=as_json):
        found = graph.diff(from_, to, since_base=other is None, **_chosen(types, kinds, ops))
    if as_json:
        print_json(diff_json(found, limit))
    else:
        _print_changes(found, limit or SHOWN)


def show(id: CommitArgument, *, store: StoreOption, as_json: JsonOption = False) -> None:
    """Show one commit: who made it, when, why, and from which.

    Example: omnigraph commit show 01JZ… --store g.omni
    """
    shown = commit_json(open_graph(store, read_only=True).commit(id))
    if as_json:
        print_json(shown)
        return
    for name, value in shown.items():
        if value is not None:
            print_text(f"{name}: {value}")


def commit_changes(
    id: CommitArgument,
    *,
    store: StoreOption,
    types: TypesOption = None,
    kinds: KindOption = None,
    ops: OpOption = None,
    limit: LimitOption = None,
    page_token: Annotated[
        str | None, typer.Option("--page-token", help="From a page: the one after it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a commit changed, against its first parent.

    Example: omnigraph commit changes 01JZ… --type Person --store g.omni
    """
    graph = open_graph(store, read_only=True)
    with waiting("changes", as_json=as_json):
        page = graph.commit_changes(
            id, **_chosen(types, kinds, ops), limit=limit, page_token=page_token
        )
    if as_json:
        print_json(commit_changes_json(page))
        return
    _print_changes(page.changes)
    if page.next_page_token is not None:
        say(f"there is more: --page-token {page.next_page_token}")


def poll(
    *,
    store: StoreOption,
    branch: BranchOption = MAIN,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Of the page before.")] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="now, beginning, or after:COMMIT.")
    ] = None,
    types: TypesOption = None,
    kinds: KindOption = None,
    ops: OpOption = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was published since a cursor, and the cursor to go on with.

    Example: omnigraph changes poll --start beginning --store g.omni
    """
    if (cursor is None) == (start is None):
        raise typer.BadParameter("say where to begin, once: with --cursor or with --start")
    graph = open_graph(store, read_only=True)
    with waiting("poll", as_json=as_json):
        page = graph.changes(
            cursor,
            start="now" if start is None else start,
            branch=branch,
            **_chosen(types, kinds, ops),
            limit=limit,
        )
    if as_json:
        print_json(change_page_json(page))
        return
    for block in page.blocks:
        print_text(_cause(block.cause))
        _print_changes(block.changes)
    say("caught up" if page.caught_up else "there is more")
    print_text(f"cursor: {page.cursor}")


def baseline(
    *,
    store: StoreOption,
    out: Annotated[Path, typer.Option("--out", help="The file to write: JSON lines.")],
    branch: BranchOption = MAIN,
    types: TypesOption = None,
    kinds: KindOption = None,
    ops: OpOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the rows of a branch, and print the cursor that goes on from there.

    Example: omnigraph changes baseline --out start.jsonl --store g.omni
    """
    graph = open_graph(store, read_only=True)
    with waiting("baseline", is_silent=quiet, as_json=as_json):
        made = graph.changes_baseline(
            out, branch=branch, **_chosen(types, kinds, ops), overwrite=force
        )
    if as_json:
        print_json(baseline_json(made))
        return
    if not quiet:
        rows = made.export.total_entities
        say(f"wrote {rows:,} rows of commit {made.snapshot_commit_id} to {out}")
    print_text(f"cursor: {made.resume_cursor}")


def _chosen(
    types: list[str] | None, kinds: list[Kind] | None, ops: list[Op] | None
) -> dict[str, Any]:
    return {
        "types": types or None,
        "kinds": [kind.value for kind in kinds] if kinds else None,
        "ops": [op.value for op in ops] if ops else None,
    }


def _cause(cause: "ChangeCause") -> str:
    who = ": ".join(said for said in (cause.actor_id, cause.message) if said)
    made = f"{cause.authored_at:%Y-%m-%dT%H:%M:%SZ}"
    return f"commit {cause.graph_commit_id} on {cause.authored_branch} at {made} {who}".rstrip()


def _print_changes(changes: "EntityChanges", limit: int | None = None) -> None:
    from omnigraph.engine.change_results import SHOWN_COLUMNS, shown_cells

    if len(changes):
        rows = [shown_cells(row) for row in changes.property_changes(limit)]
        operation = SHOWN_COLUMNS.index("op")
        print_table(SHOWN_COLUMNS, rows, paints=[OF_OPERATION[row[operation]] for row in rows])
    more = len(changes) - limit if limit is not None else 0
    say(changes.summary + (f", of which {limit:,} are shown: --json has all" if more > 0 else ""))
