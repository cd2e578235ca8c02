"""`omnigraph serve`: graphs over HTTP."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from omnigraph.base.errors import ArgumentInvalid, DependencyMissing
from omnigraph.surfaces.cli.garbage import settle

__all__ = ["register", "require_server"]

NEEDED = ("httptools", "opentelemetry", "prometheus_client", "starlette", "uvicorn", "uvloop")


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    *,
    store: Annotated[
        str | None, typer.Option("--store", "--uri", help="The graph: a path or URI.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="All graphs of a deployment: its folder, its storage root, or s3://….",
            metavar="PLACE",
        ),
    ] = None,
    require_all_graphs: Annotated[
        bool,
        typer.Option(
            "--require-all-graphs",
            help="Don't start while a graph of the cluster can't be opened.",
        ),
    ] = False,
    watch_s: Annotated[
        float | None,
        typer.Option(
            "--watch-s",
            help="How often to look for a new revision of the cluster; 0: only on SIGHUP.",
            min=0,
            show_default="2",
        ),
    ] = None,
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
    allow_spark: Annotated[
        bool,
        typer.Option("--allow-spark", help="Let anyone start Spark; goes with --unauthenticated."),
    ] = False,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-hosts",
            help="A name that the server is called by, at a proxy for instance; repeatable.",
            metavar="HOST",
        ),
    ] = None,
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
    mcp_write: Annotated[
        bool,
        typer.Option("--mcp-write", help="Agents that come by /mcp may write, as policy allows."),
    ] = False,
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
    max_answer_rows: Annotated[
        int | None, typer.Option("--max-answer-rows", help="The most rows of an answer.", min=1)
    ] = None,
    max_answer_bytes: Annotated[
        int | None, typer.Option("--max-answer-bytes", help="The largest answer.", min=1)
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
    """Serve a graph, or all graphs of a deployment, over HTTP, for many people and agents at once.

    Example: omnigraph serve --store ./people.omni --bind 127.0.0.1:8080
    """
    host, port = _address(bind)
    place = _place(store, cluster, {"--graph": graph, "--policy": policy, "--queries": queries})
    if cluster is None and (require_all_graphs or watch_s is not None):
        raise typer.BadParameter("--require-all-graphs and --watch-s go with --cluster")
    if allow_spark and not unauthenticated:
        raise typer.BadParameter(
            "--allow-spark goes with --unauthenticated: a policy gives actors the right run_spark"
        )
    require_server()
    from omnigraph.surfaces.server.lifecycle import serve as serve_graphs
    from omnigraph.surfaces.server.limits import ServerLimits
    from omnigraph.surfaces.server.starting import UPKEEP_S, WATCH_S, ServerConfig

    settle()
    given = {
        "max_body_bytes": max_body_bytes,
        "max_load_bytes": max_load_bytes,
        "max_job_bytes": max_job_bytes,
        "max_spool_bytes": max_spool_bytes,
        "query_timeout_s": query_timeout_s,
        "query_memory_bytes": query_memory_bytes,
        "max_answer_rows": max_answer_rows,
        "max_answer_bytes": max_answer_bytes,
        "slow_query_s": slow_query_s,
    }
    limits = ServerLimits(**{name: each for name, each in given.items() if each is not None})  # type: ignore[arg-type]
    serve_graphs(
        ServerConfig(
            store=place,
            is_cluster=cluster is not None,
            requires_all_graphs=require_all_graphs,
            watch_s=WATCH_S if watch_s is None else watch_s,
            graph_id=graph,
            host=host,
            port=port,
            is_unauthenticated=unauthenticated,
            may_run_spark=allow_spark,
            allowed_hosts=tuple(allowed_hosts or ()),
            policy=tuple(policy or ()),
            queries=tuple(queries or ()),
            upkeep_s=UPKEEP_S if upkeep_s is None else upkeep_s,
            load_from=tuple(load_from or ()),
            spool=spool,
            may_agents_write=mcp_write,
            limits=limits,
        )
    )


def _place(store: str | None, cluster: str | None, declared: Mapping[str, object]) -> str:
    """The graph to serve, or the storage root of a cluster."""
    if (store is None) == (cluster is None):
        raise typer.BadParameter("give --store for one graph, or --cluster for a deployment")
    if cluster is None:
        assert store is not None
        return store
    for option, given in declared.items():
        if given:
            raise typer.BadParameter(f"{option} goes with --store: a cluster declares it itself")
    from omnigraph.cluster.served import cluster_storage

    return cluster_storage(cluster)


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
