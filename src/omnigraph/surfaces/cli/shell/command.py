"""The command `shell`: a conversation with a person, or a script from standard input."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.errors import ArgumentInvalid, OmnigraphError
from omnigraph.base.ids import MAIN
from omnigraph.base.words import listed
from omnigraph.surfaces.cli.options import ActorOption, UriArgument, UriOption, one_uri, open_graph
from omnigraph.surfaces.cli.output import Format, say

if TYPE_CHECKING:
    from omnigraph.surfaces.cli.shell.completing import Known
    from omnigraph.surfaces.cli.shell.editor import Editor
    from omnigraph.surfaces.cli.shell.session import Session

__all__ = ["WELCOME", "converse", "known_to", "register"]

WELCOME = "A query runs at ; or an empty line. .help lists the commands, Ctrl-D leaves."


def register(app: typer.Typer) -> None:
    app.command("shell")(shell)


def shell(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: Annotated[str, typer.Option("--branch", help="The branch to begin on.")] = MAIN,
    style: Annotated[
        Format | None, typer.Option("--format", help="How to print rows; a table if left out.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    actor: ActorOption = None,
) -> None:
    """Type queries and changes one after another, with completion and history.

    Example: omnigraph shell people.omni

    What is not typed but piped in is run to its end, or to the first error. `.help` lists the
    commands of the shell.
    """
    from omnigraph.surfaces.cli.shell.session import MODES, Session

    if style is not None and style not in MODES:
        rule = f"a shell shows rows as {listed(MODES)}"
        raise ArgumentInvalid("--format", style.value, rule, "leave it out for a table")
    with open_graph(one_uri(uri, store), read_only=read_only) as graph:
        session = Session(graph, branch=branch, style=style, actor=actor, is_read_only=read_only)
        if not sys.stdin.isatty():
            _run_script(session, sys.stdin.read())
            return
        from omnigraph.engine.settings import Settings
        from omnigraph.surfaces.cli.shell.editor import Editor, history_in

        editor = Editor(lambda: known_to(session), history_in(Settings.from_environment().home))
        say(f"{graph.uri}, branch {branch}\n{WELCOME}")
        converse(session, editor)


def converse(session: "Session", editor: "Editor") -> None:
    """Ask for statements and run them, until the person leaves."""
    from omnigraph.surfaces.cli.shell.commands import Leave, run_text
    from omnigraph.surfaces.cli.shell.session import said
    from omnigraph.surfaces.cli.words import interruption_as_said

    while True:
        session.forget()
        try:
            text = editor.read(session.label)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            run_text(session, text, "<shell>")
        except Leave:
            return
        except KeyboardInterrupt as stopped:
            say(interruption_as_said(stopped))
        except OmnigraphError as error:
            say(said(error, session))


def known_to(session: "Session") -> "Known":
    """What the session can name."""
    from omnigraph.surfaces.cli.shell.completing import Known

    catalog = session.catalog()
    rest = {} if catalog is None else {"catalog": catalog}
    return Known(branches=tuple(session.branches()), parameters=tuple(session.params), **rest)


def _run_script(session: "Session", text: str) -> None:
    from omnigraph.surfaces.cli.shell.commands import Leave, run_text
    from omnigraph.surfaces.cli.shell.session import said
    from omnigraph.surfaces.wire import exit_code

    try:
        run_text(session, text, "<stdin>")
    except Leave:
        return
    except OmnigraphError as error:
        say(said(error, session))
        raise typer.Exit(exit_code(error)) from None
