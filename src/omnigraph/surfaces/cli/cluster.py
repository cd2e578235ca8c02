"""Commands for deployments: a folder with `cluster.yaml` is validated, planned and applied."""

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.words import amount
from omnigraph.surfaces.cli.addressing import server_url, their_config
from omnigraph.surfaces.cli.garbage import settle
from omnigraph.surfaces.cli.options import ActorOption, JsonOption, group
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import EXIT_ERROR, EXIT_TO_DO

if TYPE_CHECKING:
    from omnigraph.cluster.folder import Folder
    from omnigraph.cluster.place import ClusterPlace
    from omnigraph.cluster.plan import Change, Plan
    from omnigraph.surfaces.shapes.cluster import GraphDeclared

ConfigOption = Annotated[
    Path, typer.Option("--config", help="The folder that holds cluster.yaml.", metavar="DIR")
]
PlanOption = Annotated[
    str | None,
    typer.Option("--plan", help="Only if the plan still has this digest.", metavar="DIGEST"),
]
HERE = Path()
MARKS = {"create": "+", "update": "~", "delete": "-"}


def register(app: typer.Typer) -> None:
    cluster = group(
        "Deployments as code: graphs, queries and policies that a folder declares.",
        example="omnigraph cluster plan --config deploy",
    )
    for command in (validate, plan, apply, approve, status, refresh):
        cluster.command(command.__name__)(command)
    cluster.command("import")(import_)
    cluster.command("force-unlock")(force_unlock)
    app.add_typer(cluster, name="cluster")
    graphs = group("The graphs of a deployment.", example="omnigraph graphs list --config deploy")
    graphs.command("list")(list_graphs)
    app.add_typer(graphs, name="graphs")
    queries = group(
        "The stored queries of a deployment.", example="omnigraph queries list --config deploy"
    )
    queries.command("list")(list_queries)
    queries.command("validate")(validate_queries)
    app.add_typer(queries, name="queries")


def validate(*, config: ConfigOption = HERE, as_json: JsonOption = False) -> None:
    """Check a folder and all files it names: all mistakes at once. Nothing stored is looked at.

    Example: omnigraph cluster validate --config deploy
    """
    from omnigraph.surfaces.cluster_json import folder_json

    folder = _folder(config)
    if as_json:
        print_json(folder_json(folder))
        return
    kinds = {"graph": 0, "query": 0, "policy": 0, "provider": 0}
    for address in folder.resources:
        kind = address.partition(".")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    counts = [amount(kinds[kind], noun) for kind, noun in _NOUNS.items()]
    print_text(f"valid: {', '.join(counts)}")


_NOUNS = {"graph": "graph", "query": "query", "policy": "policy", "provider": "provider"}


def plan(
    *,
    config: ConfigOption = HERE,
    actor: Annotated[str | None, typer.Option("--as", help="Who would apply it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an apply would do, with the steps of every schema; exits with 5 if there is some.

    Example: omnigraph cluster plan --config deploy
    """
    from omnigraph.cluster import apply as applying
    from omnigraph.surfaces.cluster_json import plan_json

    folder, place = _both(config)
    with waiting("plan", as_json=as_json):
        found = applying.plan(place, folder)
    approvals = place.approvals(found.revision)
    if as_json:
        print_json(plan_json(found, str(place.root), approvals))
    else:
        _print_changes(found, approvals, config)
        if found.is_empty:
            say("nothing to do")
        elif not found.blocked:
            by = f" --as {shlex.quote(actor)}" if actor else ""
            words = f"--plan {found.digest[:12]}{_of(config)}{by}"
            say(f"to apply just this: omnigraph cluster apply {words}")
        if (begun := applying.unfinished(place)) is not None:
            say(f"the apply of {begun.began_at} did not finish: the next one goes on with it")
            for id_ in applying.left_to_remove(place, begun, place.ledger()[0]):
                say(f"it removes what is left of graph.{id_}, whose delete was approved")
    if found.blocked:
        raise typer.Exit(EXIT_ERROR)
    raise typer.Exit(0 if found.is_empty else EXIT_TO_DO)


def apply(
    *,
    config: ConfigOption = HERE,
    expected: PlanOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the storage what the folder says: create, migrate, publish, then approved deletes.

    Example: omnigraph cluster apply --config deploy --as ada
    """
    from omnigraph.cluster import apply as applying
    from omnigraph.surfaces.cluster_json import applied_json

    folder, place = _both(config)
    with waiting("apply", as_json=as_json):
        done = applying.apply(place, folder, actor=_actor(actor), expected=expected)
    if as_json:
        print_json(applied_json(done, str(place.root)))
        return
    _print_changes(done.plan, {change.digest for change in done.plan.losses}, config)
    if done.finished is not None:
        say(f"finished what the apply of {done.finished.began_at} had begun")
    if done.changed:
        say(f"revision {done.ledger.revision} of {done.ledger.cluster} is applied to {place.root}")
    else:
        say(f"nothing to do: {place.root} is at revision {done.ledger.revision}")


def approve(
    addresses: Annotated[
        list[str], typer.Argument(help="What the plan deletes or loses.", metavar="ADDRESS...")
    ],
    *,
    config: ConfigOption = HERE,
    expected: PlanOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve of changes that lose data, just as the plan has them now.

    Example: omnigraph cluster approve graph.old --config deploy --as ada
    """
    from omnigraph.cluster import control
    from omnigraph.surfaces.cluster_json import approved_json

    folder, place = _both(config)
    approved = control.approve(place, folder, addresses, actor=_actor(actor), expected=expected)
    if as_json:
        print_json(approved_json(approved))
        return
    for change in approved:
        print_text(f"approved: {change.action} {change.address} ({change.digest[:12]})")


def status(*, config: ConfigOption = HERE, as_json: JsonOption = False) -> None:
    """Show what was applied, who is at work, and what was approved. No graph is opened.

    Example: omnigraph cluster status --config deploy
    """
    from omnigraph.cluster import control
    from omnigraph.surfaces.cluster_json import status_json

    found = control.status(_place(config))
    if as_json:
        print_json(status_json(found))
        return
    ledger = found.ledger
    if ledger.revision == 0:
        print_text(f"nothing was applied to {found.storage} yet")
    else:
        by = f" by {ledger.applied_by}" if ledger.applied_by else ""
        print_text(f"{ledger.cluster}, revision {ledger.revision}, applied {ledger.applied_at}{by}")
        print_table(
            ["resource", "digest"],
            ([each, ledger.resources[each].digest[:12]] for each in sorted(ledger.resources)),
        )
    if (lock := found.lock) is not None:
        who = lock.owner or lock.process
        dead = ", whose process does not run any more" if lock.is_dead else ""
        print_text(f"locked by {who}{dead}, since {lock.taken_at}, for {lock.operation}: {lock.id}")
    if found.unfinished is not None:
        print_text(f"the apply of {found.unfinished.began_at} has not finished")
    for approval in found.approvals:
        print_text(f"approved: {approval['action']} {approval['address']}")
    for drift in found.drift:
        print_text(f"drift at {found.observed_at}: {drift.address}: {drift.message}")


def refresh(*, config: ConfigOption = HERE, as_json: JsonOption = False) -> None:
    """Compare the storage with what was applied; exits with 5 if they differ.

    Example: omnigraph cluster refresh --config deploy
    """
    from omnigraph.cluster import control
    from omnigraph.surfaces.cluster_json import refreshed_json

    place = _place(config)
    found = control.refresh(place)
    if as_json:
        print_json(refreshed_json(found, str(place.root), place.applied()))
    else:
        for drift in found:
            print_text(f"{drift.address}: {drift.kind}: {drift.message}")
        say("an apply brings it back: omnigraph cluster plan" if found else "no drift")
    raise typer.Exit(EXIT_TO_DO if found else 0)


def import_(
    graphs: Annotated[
        list[str], typer.Argument(help="Graphs of the folder, by id.", metavar="GRAPH...")
    ],
    *,
    config: ConfigOption = HERE,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take graphs into the ledger that lie in their places already, as they are.

    Example: omnigraph cluster import people --config deploy
    """
    from omnigraph.cluster import control

    folder, place = _both(config)
    ledger = control.import_graphs(place, folder, graphs, actor=_actor(actor))
    if as_json:
        known = {"revision": ledger.revision, "graphs": list(ledger.graphs)}
        print_json({"storage": str(place.root), **known})
    else:
        print_text(f"the ledger knows {', '.join(ledger.graphs)} (revision {ledger.revision})")


def force_unlock(
    lock_id: Annotated[str, typer.Argument(help="As `cluster status` shows it.", metavar="LOCK")],
    *,
    config: ConfigOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Take the lock away from a process that died.

    Example: omnigraph cluster force-unlock 01J9Z3NDEKTSV4RRFFQ69G5FAV --config deploy
    """
    from omnigraph.cluster import lock
    from omnigraph.surfaces.cluster_json import lock_json

    taken = lock.force_unlock(_place(config), lock_id)
    if as_json:
        print_json({"lock": lock_json(taken)})
    else:
        print_text(f"unlocked: {taken.owner or taken.process} held the lock for {taken.operation}")


def list_graphs(
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The folder that holds cluster.yaml.", metavar="DIR"),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", help="What this server serves, instead.", metavar="NAME|URL"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the graphs that were applied and those that the folder declares beyond; or a server's.

    Example: omnigraph graphs list --config deploy
    """
    if server is not None and config is not None:
        raise typer.BadParameter("give --config for a folder, or --server for a server")
    shown = _declared_graphs(config or HERE) if server is None else _served_graphs(server)
    if as_json:
        print_json({"graphs": shown})
        return
    print_table(
        ["graph", "applied", "declared", "uri"],
        (
            [each["graph_id"], each["is_applied"], each["is_declared"], each["uri"]]
            for each in shown
        ),
    )


def _declared_graphs(config: Path) -> "list[GraphDeclared]":
    folder, place = _both(config)
    applied = place.ledger()[0].graphs
    return [
        {
            "graph_id": id_,
            "uri": str(place.graph(id_)),
            "is_applied": id_ in applied,
            "is_declared": id_ in folder.graphs,
        }
        for id_ in sorted({*applied, *folder.graphs})
    ]


def _served_graphs(server: str) -> "list[GraphDeclared]":
    import json

    from omnigraph.engine.settings import Settings
    from omnigraph.surfaces.cli.configuration.credentials import token_for
    from omnigraph.surfaces.client.connection import DEFAULT_TIMEOUT_S
    from omnigraph.surfaces.client.exchange import Exchange, Message
    from omnigraph.surfaces.client.pool import Address

    url = server_url(server, their_config()).partition("/graphs/")[0]
    token = token_for(Settings.from_environment(), url)
    exchange = Exchange(Address.parse(url), token=token, timeout_s=DEFAULT_TIMEOUT_S)
    try:
        answer = exchange.ask(Message(path="/graphs", is_write=False, method="GET"))
    finally:
        exchange.close()
    try:
        found = json.loads(answer.body)["graphs"]
        return [
            {
                "graph_id": each["graph_id"],
                "uri": f"{url}/graphs/{each['graph_id']}",
                "is_applied": True,
                "is_declared": None,
            }
            for each in found
        ]
    except (ValueError, KeyError, TypeError):
        raise answer.unreadable("it lists no graphs") from None


def list_queries(*, config: ConfigOption = HERE, as_json: JsonOption = False) -> None:
    """List the stored queries that the folder declares, with their parameters.

    Example: omnigraph queries list --config deploy
    """
    from omnigraph.surfaces.cluster_json import queries_json

    shown = queries_json(_folder(config))
    if as_json:
        print_json(shown)
        return
    print_table(
        ["graph", "query", "kind", "parameters"],
        (
            [
                each["graph_id"],
                each["name"],
                "mutation" if each["is_mutation"] else "read",
                ", ".join(
                    f"${p['name']}: {p['type']}{'?' * p['nullable']}" for p in each["parameters"]
                ),
            ]
            for each in shown["queries"]
        ),
    )


def validate_queries(*, config: ConfigOption = HERE, as_json: JsonOption = False) -> None:
    """Check that every stored query of the folder fits the schema of its graph.

    Example: omnigraph queries validate --config deploy
    """
    folder = _folder(config)
    found = sorted(folder.signatures)
    if as_json:
        print_json({"queries": found})
    else:
        print_text(f"valid: {amount(len(found), 'query')}")


def _folder(config: Path) -> "Folder":
    from omnigraph.cluster.folder import read_folder

    settle()
    return read_folder(config)


def _both(config: Path) -> "tuple[Folder, ClusterPlace]":
    from omnigraph.cluster.place import ClusterPlace

    folder = _folder(config)
    return folder, ClusterPlace.at(folder.storage)


def _place(config: Path) -> "ClusterPlace":
    """The storage, also while something else in the folder is wrong."""
    from omnigraph.cluster.folder import storage_of
    from omnigraph.cluster.place import ClusterPlace

    settle()
    return ClusterPlace.at(storage_of(config))


def _actor(given: str | None) -> str | None:
    return given if given is not None else their_config().actor


def _of(config: Path) -> str:
    """What a command that is told says of the folder, so that it can be copied."""
    return "" if config == HERE else f" --config {shlex.quote(str(config))}"


def _print_changes(found: "Plan", approvals: Collection[str], config: Path) -> None:
    for change in found.changes:
        for line in _lines(change, config, is_approved=change.digest in approvals):
            print_text(line)
    if found.changes:
        print_text(f"plan {found.digest[:12]}: {amount(len(found.changes), 'change')}")


def _lines(change: "Change", config: Path, *, is_approved: bool) -> list[str]:
    digests = " -> ".join(dict.fromkeys(d[:12] for d in (change.before, change.after) if d))
    why = f"  ({change.reason})" if change.reason else ""
    lines = [f"{MARKS[change.action]} {change.address}  {digests}{why}"]
    lines += [f"    {step['tier']}: {step['message']}" for step in change.steps]
    if change.loses_data:
        how = f"omnigraph cluster approve {change.address}{_of(config)}"
        lines.append(f"    loses data: {'approved' if is_approved else how}")
    lines += [f"    in the way: {reason}" for reason in change.blocked]
    return lines
