"""`omnigraph serve`: graphs over HTTP."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from omnigraph.base.errors import ArgumentInvalid, DependencyMissing
from omnigraph.surfaces.cli.garbage import settle
from omnigraph.surfaces.cli.options import StoreOption

__all__ = ["register", "require_server"]

NEEDED = ("httptools", "opentelemetry", "prometheus_client", "starlette", "uvicorn", "uvloop")


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    *,
    store: StoreOption,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            help="The id that it is served under; if left out, the name of its directory.",
            metavar="ID",
        ),
    ] = None,
    bind: Annotated[
        str, typer.Option("--bind", help="Where to listen; port 0 is any.", metavar="HOST:PORT")
    ] = "127.0.0.1:8080",
    unauthenticated: Annotated[
        bool, typer.Option("--unauthenticated", help="Serve anyone, without tokens.")
    ] = False,
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", help="What actors may do: a file of the policy, YAML or Cedar."),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option("--queries", help="Stored queries: a .gq file, or a directory of them."),
    ] = None,
    load_from: Annotated[
        list[str] | None,
        typer.Option(
            "--load-from",
            help="Load jobs may name files in this directory, or below s3://…; repeatable.",
            metavar="PLACE",
        ),
    ] = None,
    spool: Annotated[
        Path | None,
        typer.Option("--spool", help="Where load jobs and their uploads are kept.", metavar="DIR"),
    ] = None,
    max_job_bytes: Annotated[
        int | None, typer.Option("--max-job-bytes", help="The largest upload.", min=1)
    ] = None,
    max_spool_bytes: Annotated[
        int | None, typer.Option("--max-spool-bytes", help="All uploads together.", min=1)
    ] = None,
    max_body_bytes: Annotated[
        int | None, typer.Option("--max-body-bytes", help="The largest request.", min=1)
    ] = None,
    max_load_bytes: Annotated[
        int | None, typer.Option("--max-load-bytes", help="The largest load.", min=1)
    ] = None,
    query_timeout_s: Annotated[
        float | None, typer.Option("--query-timeout-s", help="The longest read.", min=0.001)
    ] = None,
    query_memory_bytes: Annotated[
        int | None, typer.Option("--query-memory-bytes", help="The largest read.", min=1)
    ] = None,
    slow_query_s: Annotated[
        float | None,
        typer.Option("--slow-query-s", help="Longer reads are told in the log.", min=0),
    ] = None,
    upkeep_s: Annotated[
        float | None,
        typer.Option(
            "--upkeep-s",
            help="How long to pause before indexes and files are looked after again; 0: never.",
            min=0,
            show_default="60",
        ),
    ] = None,
) -> None:
    """Serve a graph over HTTP, for many people and agents at once.

    Example: omnigraph serve --store ./people.omni --bind 127.0.0.1:8080
    """
    host, port = _address(bind)
    require_server()
    from omnigraph.surfaces.server.lifecycle import serve as serve_graphs
    from omnigraph.surfaces.server.limits import ServerLimits
    from omnigraph.surfaces.server.starting import UPKEEP_S, ServerConfig

    settle()
    given = {
        "max_body_bytes": max_body_bytes,
        "max_load_bytes": max_load_bytes,
        "max_job_bytes": max_job_bytes,
        "max_spool_bytes": max_spool_bytes,
        "query_timeout_s": query_timeout_s,
        "query_memory_bytes": query_memory_bytes,
        "slow_query_s": slow_query_s,
    }
    limits = ServerLimits(**{name: each for name, each in given.items() if each is not None})  # type: ignore[arg-type]
    serve_graphs(
        ServerConfig(
            store=store,
            graph_id=graph,
            host=host,
            port=port,
            is_unauthenticated=unauthenticated,
            policy=tuple(policy or ()),
            queries=tuple(queries or ()),
            upkeep_s=UPKEEP_S if upkeep_s is None else upkeep_s,
            load_from=tuple(load_from or ()),
            spool=spool,
            limits=limits,
        )
    )


def require_server() -> None:
    """Raise if the packages are missing that only a server needs."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise DependencyMissing(
            what="the server", install="pip install 'omnigraph[server]' brings what it needs"
        )


def _address(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) <= 65535
    if not host or not is_port:
        rule = "it must be a host and a port, such as 127.0.0.1:8080 or [::1]:8080"
        raise ArgumentInvalid("--bind", bind, rule)
    return host.removeprefix("[").removesuffix("]"), int(port)
