"""The command tree of `omnigraph`."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import omnigraph
from omnigraph.surfaces.cli import (
    blob,
    data,
    embed,
    export,
    history,
    language,
    log,
    maintain,
    older_names,
    person,
    policy,
    schema,
    serve,
    show,
    snapshot,
)
from omnigraph.surfaces.cli.addressing import offer_addresses, their_config
from omnigraph.surfaces.cli.output import print_json

__all__ = ["app"]


class Commands(TyperGroup):
    """The commands, with errors of usage in plain words, and aliases of the configuration."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            # A word that an alias stands for is a command: there are no aliases of aliases.
            words = their_config(tells=False).aliases.get(args[0])
            args = [*words, *args[1:]] if words is not None else args
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Pydantic, which typer checks choices with, puts this before the sentence.
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="omnigraph",
    cls=Commands,
    help="A typed property graph with branches, commits and Spark-sized loads.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
blob.register(app)
data.register(app)
embed.register(app)
export.register(app)
history.register(app)
language.register(app)
log.register(app)
maintain.register(app)
policy.register(app)
schema.register(app)
serve.register(app)
show.register(app)
snapshot.register(app)
older_names.register(app)
person.register(app)
offer_addresses(app)


@app.callback(invoke_without_command=True)
def before_a_command(
    *,
    is_version: Annotated[bool, typer.Option("--version", "-v", help="Print the version.")] = False,
) -> None:
    if is_version:
        version()
        raise typer.Exit


@app.command()
def version(
    *, as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False
) -> None:
    """Print the version.

    Example: omnigraph version
    """
    if as_json:
        print_json({"version": omnigraph.__version__})
    else:
        sys.stdout.write(f"omnigraph {omnigraph.__version__}\n")


@app.command()
def demo(
    directory: Annotated[
        str | None,
        typer.Argument(help="A new folder to keep the graph in; if left out, nothing stays."),
    ] = None,
) -> None:
    """Load, ask, branch, change, merge and travel in time, on a sample graph.

    Example: omnigraph demo ./demo
    """
    from omnigraph.surfaces.cli.demo import run_demo

    run_demo(directory)
