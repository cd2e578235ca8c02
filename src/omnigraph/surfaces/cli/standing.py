"""Options that every command has: `--debug`, and `--quiet` where a command says something.

A command that has a `quiet` of its own keeps it. For the others all that they say beside the answer
goes nowhere; an error is told by `main`, and is heard.
"""

import inspect
import os
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.surfaces.cli.options import QuietOption
from omnigraph.surfaces.cli.usage import UsageError

__all__ = ["DebugOption", "offer_everywhere"]

DebugOption = Annotated[
    bool, typer.Option("--debug", help="Show where in the program an error comes from.")
]
# `main` looks for it: an error may come before a command is known.
_DebugHere = Annotated[bool, typer.Option("--debug", help="As before the command.", hidden=True)]

# They say nothing beside their answer, or live on what they say.
NEVER_QUIET = frozenset({"demo", "serve", "version"})


def offer_everywhere(app: typer.Typer) -> None:
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _standing(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            offer_everywhere(group.typer_instance)


def _standing(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command)
    has_quiet = "quiet" in signature.parameters or command.__name__ in NEVER_QUIET

    @wraps(command)
    def run(*, context: typer.Context, debug: bool = False, **given: Any) -> Any:
        is_silent = not has_quiet and given.pop("quiet", False)
        try:
            if not is_silent:
                return command(**given)
            with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
                return command(**given)
        except UsageError as error:
            # A command that finds it itself does not know how it was called.
            if getattr(error, "ctx", None) is None:
                vars(error)["ctx"] = context
            raise

    added = {
        "context": (typer.Context, inspect.Parameter.empty),
        **({} if has_quiet else {"quiet": (QuietOption, False)}),
        "debug": (_DebugHere, False),
    }
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            *signature.parameters.values(),
            *(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
                )
                for name, (annotation, default) in added.items()
            ),
        ]
    )
    return run
