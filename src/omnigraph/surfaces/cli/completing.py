"""What a shell offers when someone presses Tab: branches, types, queries, servers, profiles.

Whoever presses Tab waits for nothing and sees no error: what can't be found at once is not offered.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import typer

from omnigraph.base.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.surfaces.cli.configuration.file import Config

__all__ = ["Known", "branches", "profiles", "queries", "servers", "types"]

PATIENCE_S = 5.0
"""A server, or a bucket, may take forever."""
MOST_FILES = 20

Given = dict[str, Any]
"""What a command line says so far."""


@frozen
class Known:
    """How to find what is offered; the object of the context of every command."""

    graph: "Callable[[Given], Graph]"
    config: "Callable[[], Config]"


Find = Callable[[Known, Given], Iterable[str]]


def branches(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known, given: known.graph(given).branches(), ctx, incomplete)


def types(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(_types, ctx, incomplete)


def queries(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(_queries, ctx, incomplete)


def servers(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known, _: known.config().servers, ctx, incomplete)


def profiles(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known, _: known.config().profiles, ctx, incomplete)


def _offered(find: Find, context: typer.Context, incomplete: str) -> list[str]:
    """What is found and begins as typed; nothing, where it takes too long or can't be found."""
    found: list[str] = []
    given = dict(context.params)

    def look() -> None:
        with suppress(Exception):
            found.extend(name for name in find(context.obj, given) if name.startswith(incomplete))

    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        looking = Thread(target=look, daemon=True)
        looking.start()
        looking.join(PATIENCE_S)
    return list(found)


def _types(known: Known, given: Given) -> Iterable[str]:
    graph = known.graph(given)
    snapshot, branch = given.get("snapshot"), given.get("branch")
    at = None if snapshot else branch
    return [entity.name for entity in graph.schema(at, snapshot=snapshot).catalog.entities]


def _queries(known: Known, given: Given) -> Iterable[str]:
    """Of the file that is named, or, as long as none is, of those that lie here."""
    from omnigraph.base.span import SourceText
    from omnigraph.lang.query.text.parser import read

    file = given.get("file")
    files = [Path(file)] if file is not None else sorted(Path.cwd().glob("*.gq"))
    for each in files[:MOST_FILES]:
        with suppress(Exception):
            text = SourceText(each.read_text(encoding="utf-8"), each.name)
            yield from (query.header.name.text for query in read(text).file.queries)
