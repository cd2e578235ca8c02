"""What a server is started with, and what it offers by it: made at the start and at each reload.

Everything is read and checked before anything is offered: a token file, queries that fit the
schema. A reload that fails leaves all as it was.
"""

import hashlib
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.engine.engine import Engine
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.engine.stored_queries import read_queries
from omnigraph.policy.policy import Policy
from omnigraph.surfaces.server.access import Access, DefaultDeny, Open, Personal, UnderPolicy
from omnigraph.surfaces.server.callers import Callers
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.registry import Registry, ServedGraph, Serving
from omnigraph.surfaces.server.tokens import Tokens, read_tokens
from omnigraph.surfaces.server.tracing import RequestTrace

__all__ = [
    "GRAPH_ID",
    "UPKEEP_S",
    "WATCH_S",
    "ServerConfig",
    "callers_of",
    "id_of",
    "open_graphs",
    "open_spool",
    "serving_of",
    "tokens_of",
]

log = logging.getLogger("omnigraph.server")

UNAUTHENTICATED = "--unauthenticated"
UPKEEP_S = 60.0
"""Rows that came within a minute are quickly looked at one by one."""
WATCH_S = 2.0
"""How often the ledger of a cluster is looked at: one small request."""
GRAPH_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@frozen(kw_only=True)
class ServerConfig:
    store: str
    """The graph; or the storage root of a cluster."""
    is_cluster: bool = False
    requires_all_graphs: bool = False
    """True if a graph of the cluster that can't be opened keeps all others from being served."""
    watch_s: float = WATCH_S
    """How often a new revision of the cluster is looked for; 0: only when a signal says so."""
    graph_id: str | None = None
    """None: the name of the directory, without `.omni`."""
    host: str = "127.0.0.1"
    port: int = 8080
    is_unauthenticated: bool = False
    may_run_spark: bool = False
    """Anyone may start Spark, on a server without tokens; with tokens a policy says who may."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that the server is called by beside its own, at a proxy for instance."""
    policy: tuple[Path, ...] = ()
    """The files of one bundle."""
    queries: tuple[Path, ...] = ()
    upkeep_s: float = UPKEEP_S
    """About how long the upkeep pauses before it looks at all graphs again; 0: there is none."""
    person: Personal | None = None
    """Who alone is served, where it is one person's own server."""
    is_read_only: bool = False
    load_from: tuple[str, ...] = ()
    """Directories and prefixes of buckets whose files load jobs may name."""
    spool: Path | None = None
    """Where load jobs are kept; None: beside the cache of the user, one for each graph."""
    may_agents_write: bool = False
    """Agents that come by `/mcp` may write, as far as the policy lets them."""
    limits: ServerLimits = field(default_factory=ServerLimits)
    settings: Settings = field(default_factory=Settings.from_environment)


def open_graphs(config: ServerConfig) -> Mapping[str, Graph]:
    """The graphs to serve, by id. Opening one finishes or undoes first what a crash left."""
    id_ = config.graph_id or id_of(config.store)
    if not GRAPH_ID.fullmatch(id_):
        rule = "an id has letters, digits, dots, dashes and underscores, at most 128 of them"
        raise ArgumentInvalid("--graph", id_, rule, "name another one with --graph")
    engine = Engine.open(
        config.store,
        settings=config.settings,
        trace=RequestTrace(),
        read_only=config.is_read_only,
    )
    return {id_: Graph(engine)}


def callers_of(config: ServerConfig, address: str) -> Callers:
    """By which names the server may be called, and from which pages, at this address."""
    if config.person is not None:
        port = address.rpartition(":")[2]
        return Callers(frozenset({address, f"localhost:{port}"}))
    return Callers.of(
        bound=config.host, allowed=config.allowed_hosts, is_open=config.is_unauthenticated
    )


def open_spool(config: ServerConfig) -> Spool | None:
    """The spool; None where the user has no home, or another server of the graph uses it."""
    if config.person is not None:
        # A load job would outlive the server, and go on in the next one.
        return None
    if config.spool is not None:
        return Spool.open(config.spool)
    if (caches := config.settings.cache_directory) is None:
        return None
    # A graph has one whatever server offers it, so that its jobs are found again.
    place = config.store if "://" in config.store else os.path.realpath(config.store)
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    # Not in the cache, which anyone may empty at any time.
    root = caches.with_name(f"{caches.name}-spool") / name
    try:
        return Spool.open(root)
    except ArgumentInvalid as refused:
        log.warning("load jobs are not served: %s", refused)
        return None


def serving_of(config: ServerConfig, graphs: Mapping[str, Graph]) -> Serving:
    """All that the server offers, or an error that says why it can't."""
    policy = Policy.read(*config.policy) if config.policy else None
    access = _access(config, policy, graphs)
    queries = read_queries(config.queries)
    served = {}
    for id_, graph in graphs.items():
        queries.require_fit(graph)
        guarded = graph if policy is None else graph.under_policy(policy)
        served[id_] = ServedGraph(id_, graph, guarded, queries)
    return Serving(Registry(served), access)


def tokens_of(config: ServerConfig, *, has_policy: bool) -> Tokens | None:
    """The tokens that actors are known by; None: anyone is served. Raises if neither is so."""
    tokens = read_tokens(config.settings.token_sources)
    if config.is_unauthenticated:
        for is_given, what in ((tokens, "tokens are"), (has_policy, "a policy is")):
            if is_given:
                rule = f"{what} given too, and would not be minded"
                raise ArgumentInvalid(UNAUTHENTICATED, None, rule, "leave out one of the two")
        return None
    if not tokens:
        raise ArgumentInvalid(
            "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE",
            None,
            "a server needs tokens, and none are given",
            f"name a JSON file of tokens by actor, or serve anyone with {UNAUTHENTICATED}",
        )
    return tokens


def _access(config: ServerConfig, policy: Policy | None, graphs: Mapping[str, Graph]) -> Access:
    if config.person is not None:
        return config.person
    tokens = tokens_of(config, has_policy=policy is not None)
    if tokens is None:
        return Open(may_run_spark=config.may_run_spark)
    if policy is None:
        return DefaultDeny(tokens)
    # What actors may do depends on no type, so the schema of any graph will do.
    schema = next(iter(graphs.values())).schema()
    return UnderPolicy(tokens, policy.fitted(schema.catalog, schema.text))


def id_of(store: str) -> str:
    """The name of the directory, without `.omni`."""
    last = os.fspath(store).rstrip("/").rpartition("/")[2]
    if "://" not in store:
        last = Path(store).resolve().name
    return last.removesuffix(".omni")
