"""Asking before something is lost that is not on this machine, and saying where a write goes.

What is here is the business of the one who types. A bucket or a server is others' too, and by the
configuration it may be another one than they think.
"""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.surfaces.cli.output import say

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph

__all__ = ["YesOption", "name_target", "require_yes"]

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Don't ask, where the graph is not on this machine.")
]


def require_yes(place: str, loss: str, *, yes: bool) -> None:
    """Raise unless the `loss` may happen; a terminal is asked, a script has to say `--yes`.

    `loss` is what happens: "deletes branch review/1".
    """
    if yes or not _is_elsewhere(place):
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter(f"this {loss} of {place}, which is not on this machine: add --yes")
    sys.stderr.write(f"This {loss} of {place}. Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("nothing was changed")
        raise typer.Exit(1)


def name_target(
    graph: "Graph",
    branch: str | None = None,
    *,
    as_json: bool,
    quiet: bool,
    doing: str | None = None,
) -> None:
    """Say which graph is about to be written; a program gets it as an event.

    Without `doing` a person is told only in the end, in the sentence that says what was done.
    """
    if quiet:
        return
    if as_json:
        say(json.dumps({"event": "target", "uri": graph.uri, "branch": branch}))
    elif doing is not None:
        say(f"{doing} {graph.uri}" + (f", branch {branch}" if branch is not None else ""))


def _is_elsewhere(place: str) -> bool:
    from omnigraph.store.location import is_bucket_address

    return place.startswith(("http://", "https://")) or is_bucket_address(place)
