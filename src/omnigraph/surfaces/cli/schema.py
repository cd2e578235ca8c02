"""Commands for schemas: plan, apply, show, diagram."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.ids import MAIN, CommitId
from omnigraph.base.words import amount
from omnigraph.engine import language
from omnigraph.engine.text import SCHEMA, read_source
from omnigraph.surfaces.cli.consent import YesOption, name_target, require_yes
from omnigraph.surfaces.cli.language import schema_diagram
from omnigraph.surfaces.cli.options import (
    ActorOption,
    JsonOption,
    MessageOption,
    QuietOption,
    ReadBranchOption,
    SnapshotOption,
    UriArgument,
    UriOption,
    branch_to_read,
    group,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import schema_change_json

if TYPE_CHECKING:
    from omnigraph.engine.schema_results import SchemaChange

DesiredOption = Annotated[
    Path | None, typer.Option("--schema", help="The schema as it should be.", metavar="FILE")
]
DataLossOption = Annotated[
    bool, typer.Option("--allow-data-loss", help="Let a cleanup remove what is dropped.")
]

TWO_SCHEMAS = "give the schema with --schema and a graph, or two schema files: old, then new"


def register(app: typer.Typer) -> None:
    schema = group("Look at schemas and change them.", example="omnigraph schema show g.omni")
    schema.command("plan")(plan)
    schema.command("apply")(apply)
    schema.command("show")(show)
    schema.command("get", hidden=True)(show)
    schema.command("diagram")(schema_diagram)
    app.add_typer(schema, name="schema")


def plan(
    graph_or_old: Annotated[
        str | None, typer.Argument(help="The graph, or a schema file.", metavar="GRAPH")
    ] = None,
    new: Annotated[
        Path | None, typer.Argument(help="The schema after that of a file.", metavar="[NEW]")
    ] = None,
    *,
    schema: DesiredOption = None,
    store: UriOption = None,
    branch: ReadBranchOption = None,
    allow_data_loss: DataLossOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the steps that lead to another schema; between two files, as if all types had rows.

    Example: omnigraph schema plan --schema new.pg g.omni
    """
    if schema is not None:
        if new is not None:
            raise typer.BadParameter(TWO_SCHEMAS)
        graph = open_graph(one_uri(graph_or_old, store), read_only=True)
        with waiting("plan", as_json=as_json):
            planned = graph.schema_plan(
                schema, allow_data_loss=allow_data_loss, branch=branch_to_read(branch, None)
            )
    elif graph_or_old is None or new is None or store is not None or branch is not None:
        raise typer.BadParameter(TWO_SCHEMAS)
    else:
        planned = language.plan_schema(
            read_source(Path(graph_or_old), SCHEMA),
            read_source(new, SCHEMA),
            allow_data_loss=allow_data_loss,
        )
    if as_json:
        print_json(planned.to_json())
    else:
        _print_steps(planned)
    raise typer.Exit(0 if planned.can_be_applied else 1)


def apply(
    uri: UriArgument = None,
    *,
    schema: Annotated[
        Path, typer.Option("--schema", help="The schema as it should be.", metavar="FILE")
    ],
    store: UriOption = None,
    allow_data_loss: DataLossOption = False,
    if_commit: Annotated[
        str | None, typer.Option("--if-commit", help="Only if main is at this commit.")
    ] = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Give a graph another schema, with its rows: all steps in one commit, or none.

    Example: omnigraph schema apply --schema new.pg g.omni
    """
    place = one_uri(uri, store)
    if allow_data_loss:
        require_yes(place, "drops what the new schema does not have", yes=yes)
    graph = open_graph(place)
    name_target(graph, MAIN, as_json=as_json, quiet=quiet)
    with waiting("apply", is_silent=quiet, as_json=as_json):
        change = graph.schema_apply(
            schema,
            allow_data_loss=allow_data_loss,
            actor=actor,
            message=message,
            if_commit=CommitId(if_commit) if if_commit else None,
        )
    if as_json:
        print_json(schema_change_json(change))
        return
    if change.commit is not None:
        _print_steps(change)
        done = f"took {amount(len(change.steps), 'step')} as commit {change.commit.graph_commit_id}"
    else:
        done = "the schema means the same: nothing to do"
    if not quiet:
        say(f"{done} in {graph.uri}")


def show(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the schema of a branch, or of a commit, as its author wrote it.

    Example: omnigraph schema show g.omni
    """
    graph = open_graph(one_uri(uri, store), read_only=True)
    found = graph.schema(branch_to_read(branch, snapshot), snapshot=snapshot)
    if as_json:
        print_json({"schema": found.text, "graph_commit_id": found.graph_commit_id})
    else:
        print_text(found.text)


def _print_steps(planned: "SchemaChange") -> None:
    if not planned.steps and not planned.refusals:
        say("the schemas mean the same: nothing to do")
    if planned.steps:
        print_table(
            ["step", "on", "tier", "code", "what happens"],
            ([s.kind, s.name, s.tier, s.code, s.message] for s in planned.steps),
            may_shorten=False,
        )
    for refusal in planned.refusals:
        say(f"error[{refusal.code}]: {refusal.message}\n  hint: {refusal.hint}")
    if planned.violations is not None:
        say(f"error: {planned.violations.report}\n  hint: correct these rows before the apply")
    if planned.branches_in_the_way:
        names = ", ".join(planned.branches_in_the_way)
        say(f"error: these branches stand in the way: {names}\n  hint: merge or delete them first")
    for rule in planned.rules_in_the_way:
        say(f"error: the policy would not fit: {rule}\n  hint: take the rule out of it first")
