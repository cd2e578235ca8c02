"""Commands over the graph's history: branch create, list, merge, delete; commit list.

`changes` adds those that show what was changed.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.ids import MAIN
from omnigraph.surfaces.cli import changes, completing
from omnigraph.surfaces.cli.consent import YesOption, name_target, require_yes
from omnigraph.surfaces.cli.merge import merge, revert
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    JsonOption,
    MessageOption,
    QuietOption,
    UriArgument,
    UriOption,
    group,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, say
from omnigraph.surfaces.wire import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.results import CommitInfo

BranchArgument = Annotated[
    str, typer.Argument(help="The branch.", autocompletion=completing.branches)
]


def register(app: typer.Typer) -> None:
    branch = group(
        "Make, list, merge and delete branches.", example="omnigraph branch list --store g.omni"
    )
    branch.command("create")(create)
    branch.command("list")(list_branches)
    branch.command("merge")(merge)
    branch.command("delete")(delete)
    app.add_typer(branch, name="branch")
    app.command("revert")(revert)
    commit = group("Look at commits.", example="omnigraph commit list --store g.omni")
    commit.command("list")(list_commits)
    app.add_typer(commit, name="commit")
    changes.register(app, branch=branch, commit=commit)


def create(
    name: Annotated[str, typer.Argument(help="The new branch.")],
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            help="The branch to start from; or the id of a commit, or a time of main.",
            autocompletion=completing.branches,
        ),
    ] = MAIN,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a branch at the head of another, or at any commit: instant, whatever the graph's size.

    Example: omnigraph branch create review/1 --store g.omni
    """
    graph = open_graph(one_uri(uri, store))
    name_target(graph, name, as_json=as_json, quiet=quiet)
    graph.branch_create(name, from_=from_, actor=actor, message=message)
    if as_json:
        print_json({"uri": graph.uri, "name": name, "from": from_, "actor_id": actor})
    elif not quiet:
        say(f"made branch {name} from {from_} in {graph.uri}")


def list_branches(
    uri: UriArgument = None, *, store: UriOption = None, as_json: JsonOption = False
) -> None:
    """List the branches.

    Example: omnigraph branch list --store g.omni
    """
    names = open_graph(one_uri(uri, store), read_only=True).branches()
    if as_json:
        print_json({"branches": names})
    else:
        print_table(["branch"], ([name] for name in names))


def delete(
    name: BranchArgument,
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Remove a branch that no other was made from, with all that was only there.

    Example: omnigraph branch delete review/1 --store g.omni
    """
    place = one_uri(uri, store)
    require_yes(place, f"deletes branch {name}", yes=yes)
    graph = open_graph(place)
    name_target(graph, name, as_json=as_json, quiet=quiet)
    graph.branch_delete(name, actor=actor, message=message)
    if as_json:
        print_json({"uri": graph.uri, "name": name, "deleted": True, "actor_id": actor})
    elif not quiet:
        say(f"deleted branch {name} of {graph.uri}")


def list_commits(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: BranchOption = MAIN,
    limit: Annotated[int | None, typer.Option("--limit", help="At most so many.", min=1)] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", help="Only commits of one actor: actor=NAME.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the commits of a branch, newest first.

    Example: omnigraph commit list --filter actor=ada --store g.omni
    """
    actor = _actor(filter_)
    graph = open_graph(one_uri(uri, store), read_only=True)
    commits = graph.commits(branch=branch, limit=limit, actor=actor)
    if as_json:
        print_json({"commits": [commit_json(commit) for commit in commits]})
        return
    is_shortened = print_table(
        ["commit", "made", "kind", "actor: message"],
        ([c.graph_commit_id, _second(c.created_at), c.kind, _why(c)] for c in commits),
    )
    if is_shortened:
        say("text is shortened: --json shows all of it")


def _actor(filter_: str | None) -> str | None:
    if filter_ is None:
        return None
    name, _, actor = filter_.partition("=")
    if name != "actor" or not actor:
        raise typer.BadParameter(f"write --filter actor=NAME, not {filter_}")
    return actor


def _second(time: datetime) -> str:
    """Milliseconds and an offset would leave a terminal of 80 columns no room for the message."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _why(commit: "CommitInfo") -> str | None:
    return ": ".join(said for said in (commit.actor_id, commit.message) if said) or None
