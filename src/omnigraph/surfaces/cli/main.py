"""`omnigraph`: the command tree, and the one place where an error becomes text and an exit code."""

import io
import os
import sys
import traceback
from typing import Annotated

import typer

import omnigraph
from omnigraph.base.errors import OmnigraphError
from omnigraph.surfaces.cli import blob, data, export, history, language, maintain
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.words import as_typed
from omnigraph.surfaces.wire import EXIT_ERROR, exit_code

UNKNOWN_HOW_FAR = "interrupted: what had not been committed was not written"

app = typer.Typer(
    name="omnigraph",
    help="A typed property graph with branches, commits and Spark-sized loads.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
blob.register(app)
data.register(app)
export.register(app)
history.register(app)
language.register(app)
maintain.register(app)


@app.callback(invoke_without_command=True)
def before_a_command(
    *, is_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
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


def main() -> None:
    """Run a command; every error leaves as text or JSON, never as a traceback."""
    _show_any_character()
    try:
        app()
    except OmnigraphError as error:
        if "--json" in sys.argv:
            print_json(error.to_json())
        else:
            say(as_typed(error.render()))
        sys.exit(exit_code(error))
    except SystemExit as leaving:
        # Typer makes a silent exit of Ctrl-C.
        if (stopped := _interruption(leaving)) is not None:
            say(f"interrupted: {stopped}" if stopped.args else UNKNOWN_HOW_FAR)
        raise
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_ERROR)
    except Exception as error:  # noqa: BLE001 - the outermost surface: a bug of ours ends here
        _report_bug(error)
        sys.exit(EXIT_ERROR)


def _show_any_character() -> None:
    """Where the encoding of a terminal has no letter for a character, show the character's code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C that led to an error, if one did."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _report_bug(error: Exception) -> None:
    sentence = f"internal error: {type(error).__name__}: {error}"
    if "--json" in sys.argv:
        print_json({"error": sentence, "code": "internal", "details": {}, "hint": None})
    else:
        say(sentence)
    if os.environ.get("OMNIGRAPH_DEBUG"):
        traceback.print_exc()
    else:
        say("  hint: this is a defect of omnigraph; OMNIGRAPH_DEBUG=1 shows where")
