"""The command tree of `omnigraph`.

A process runs one command, so only the module of the word that was typed is imported. Where no
command is known by that word (help, completion, an alias, a misspelling), the tree is whole.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import omnigraph
from omnigraph.surfaces.cli.addressing import graph_said, offer_addresses, their_config
from omnigraph.surfaces.cli.completing import Known
from omnigraph.surfaces.cli.output import print_json
from omnigraph.surfaces.cli.plain_values import Command, take_plain_values
from omnigraph.surfaces.cli.standing import DebugOption, offer_everywhere
from omnigraph.surfaces.cli.usage import UsageError, as_usage, asks_for_help

__all__ = ["COMMANDS", "command_tree"]

# In the order of the help. Each module adds its commands to the tree with `register`.
COMMANDS = {
    "analytics": ("analytics",),
    "blob": ("blob",),
    "cluster": ("cluster", "graphs", "queries"),
    "data": ("init", "load", "query", "mutate"),
    "embed": ("embed",),
    "explore": ("explore",),
    "export": ("export",),
    "imports": ("import",),
    "history": ("branch", "revert", "commit", "changes"),
    "language": ("lint", "check", "fmt", "explain"),
    "log": ("log",),
    "maintain": ("optimize", "cleanup", "repair", "stats", "indexes"),
    "mcp": ("mcp",),
    "policy": ("policy",),
    "schema": ("schema",),
    "serve": ("serve",),
    "shell.command": ("shell",),
    "show": ("show",),
    "snapshot": ("snapshot",),
    "older_names": ("read", "change", "ingest"),
    "person": ("login", "logout", "profile", "alias"),
}
"""The modules of this folder, and the commands each of them adds."""


class Commands(TyperGroup):
    """The commands, with errors of usage in plain words, and aliases of the configuration."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            # A word that an alias stands for is a command: there are no aliases of aliases.
            words = their_config(tells=False).aliases.get(args[0])
            args = [*words, *args[1:]] if words is not None else args
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _plain_usage():
            return super().make_context(*args, **kwargs)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        take_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _plain_usage():
            return super().invoke(ctx)


@contextmanager
def _plain_usage() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        if asks_for_help(error):
            raise
        raise as_usage(error) from error


def command_tree(words: Sequence[str] = ()) -> typer.Typer:
    """All commands; or, of a command line's words, at least the commands these need."""
    app = typer.Typer(
        name="omnigraph",
        cls=Commands,
        help="A typed property graph with branches, commits and Spark-sized loads.\n\n"
        "Example: omnigraph demo",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "obj": Known(graph=graph_said, config=lambda: their_config(tells=False)),
        },
    )
    named = [module for module, commands in COMMANDS.items() if words and words[0] in commands]
    for module in named or COMMANDS:
        import_module(f"omnigraph.surfaces.cli.{module}").register(app)
    app.callback(invoke_without_command=True)(before_a_command)
    app.command()(version)
    app.command()(demo)
    offer_addresses(app)
    offer_everywhere(app)
    _set_class(app)
    return app


def _set_class(app: typer.Typer) -> None:
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _set_class(group.typer_instance)


def before_a_command(
    *,
    is_version: Annotated[bool, typer.Option("--version", "-v", help="Print the version.")] = False,
    debug: DebugOption = False,
) -> None:
    if is_version:
        version()
        raise typer.Exit


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
