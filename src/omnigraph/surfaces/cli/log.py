"""The command log: the commits of all branches, as a list or as a picture."""

import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len, set_cell_size

from omnigraph.base.words import visible
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.colour import paint_log
from omnigraph.surfaces.cli.lanes import lanes
from omnigraph.surfaces.cli.options import (
    JsonOption,
    UriArgument,
    UriOption,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_text, say
from omnigraph.surfaces.wire import log_json

if TYPE_CHECKING:
    from omnigraph.engine.log import Log
    from omnigraph.engine.results import CommitInfo

MORE = "…"


def register(app: typer.Typer) -> None:
    app.command("log")(log)


def log(
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch",
            help="Only what this branch descends from.",
            autocompletion=completing.branches,
        ),
    ] = None,
    graph: Annotated[
        bool, typer.Option("--graph", help="Draw how commits descend from each other.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", help="At most so many.", min=1)] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the commits of all branches, newest first, with those that were merged.

    Example: omnigraph log --graph --store g.omni
    """
    found = open_graph(one_uri(uri, store), read_only=True).log(branch, limit=limit)
    if as_json:
        print_json(log_json(found))
        return
    # A pipe has no width: lines are as long as they are.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = [*picture(found, now=datetime.now(UTC), width=width, has_lanes=graph)]
    print_text("\n".join(lines), paint=paint_log)
    if any(MORE in line for line in lines) and width is not None:
        say("some of it is shortened: --json shows all of it")


def picture(log: "Log", *, now: datetime, width: int | None, has_lanes: bool) -> Iterator[str]:
    """The lines of a log, none longer than `width` cells."""
    commits: dict[str, CommitInfo] = {c.graph_commit_id: c for c in log.commits}
    if not has_lanes:
        for commit in log.commits:
            yield _within(_said(log, commit, now=now), width)
        return
    parents = ((id_, _parents(commit)) for id_, commit in commits.items())
    for drawn, id_ in lanes(parents):
        # Many lanes take half of the room at most.
        art = drawn if width is None else _within(drawn, width // 2)
        said = "" if id_ is None else _said(log, commits[id_], now=now)
        yield _within(f"{art} {said}".rstrip(), width)


def _parents(commit: "CommitInfo") -> list[str]:
    return [p for p in (commit.parent_commit_id, commit.merged_parent_commit_id) if p is not None]


def _said(log: "Log", commit: "CommitInfo", *, now: datetime) -> str:
    """What a line says of a commit: its id, the branches whose head it is, its age, and why.

    The id is whole, however narrow the terminal: every command that takes a commit wants it so.
    """
    names = ", ".join(name for name, head in log.heads.items() if head == commit.graph_commit_id)
    why = ": ".join(said for said in (commit.actor_id, commit.message or commit.kind) if said)
    parts = (
        commit.graph_commit_id,
        f"[{names}]" if names else "",
        _age(now - commit.created_at),
        why,
    )
    return visible("  ".join(part for part in parts if part))


def _age(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds // length_s} {unit} ago"
    return f"{seconds} s ago"


def _within(text: str, width: int | None) -> str:
    """The text in so many cells; a sign says that it goes on."""
    if width is None or cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + MORE
