"""Names that scripts of earlier versions type: `read`, `change` and `ingest`.

They do what the command of today does, and say its name. None of them is listed.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from omnigraph.surfaces.cli.data import load, mutate, query
from omnigraph.surfaces.cli.output import say

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("read", hidden=True)(_older(query, "read", "query"))
    app.command("change", hidden=True)(_older(mutate, "change", "mutate"))
    app.command("ingest", hidden=True)(_older(load, "ingest", "load --mode merge", mode="merge"))


def _older(
    command: Callable[..., Any], name: str, today: str, **defaults: Any
) -> Callable[..., Any]:
    """The command under an earlier name, with defaults that it had then."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        if not given.get("quiet"):
            say(f"omnigraph {name} is an earlier name: omnigraph {today} does the same")
        return command(*args, **given)

    signature = inspect.signature(command)
    parameters = [
        each.replace(default=defaults.get(each.name, each.default))
        for each in signature.parameters.values()
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
