"""A command line that can't be understood, as an error like every other: a sentence and a hint.

Typer has errors of its own for it, and shows them by itself, also where JSON was asked for.
"""

import re
from typing import Any

import typer

from omnigraph.base.errors import UsageInvalid
from omnigraph.base.nearest import did_you_mean

__all__ = ["UsageError", "as_usage", "asks_for_help"]

# Typer brings its own copy of click or uses the one that is installed: this is its class in both.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

NO_COMMAND = re.compile(r"No such command '(.+?)'")


def asks_for_help(error: Exception) -> bool:
    """True for a group without a command: typer shows its help."""
    return type(error).__name__ == "NoArgsIsHelpError"


def as_usage(error: Any) -> UsageInvalid:
    """What typer found, in plain words."""
    context = error.ctx
    command = context.command_path if context is not None else "omnigraph"
    return UsageInvalid(command, *_told(error, context))


def _told(error: Any, context: Any) -> tuple[str, str | None]:
    """What is wrong, and what was probably meant."""
    if (option := getattr(error, "option_name", None)) is not None and hasattr(
        error, "possibilities"
    ):
        known = [name for each in context.command.params for name in each.opts]
        return f"there is no option {option}", did_you_mean(option, known)
    if found := NO_COMMAND.match(error.message):
        inner = context.command.commands.items()
        known = [name for name, each in inner if not each.hidden]
        return f"there is no command {found[1]}", did_you_mean(found[1], known)
    parameter = getattr(error, "param", None)
    # Pydantic, which typer checks choices with, puts this before the sentence.
    message = error.message.removeprefix("Value error, ").rstrip(".")
    if parameter is None:
        return message, None
    if type(error).__name__ == "MissingParameter":
        name, meaning = _shown(parameter), getattr(parameter, "help", None)
        return f"{name} is missing", f"{name}: {meaning}" if meaning else None
    return f"{_shown(parameter)}: {message}", None


def _shown(parameter: Any) -> str:
    """A parameter as it is typed: `--schema`, or `NAME`."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name).strip("[]").upper().rstrip("_")
