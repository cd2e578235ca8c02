"""Where a server's offer comes from: one graph that it was started with, or a cluster.

A cluster's server looks at the ledger from time to time, and offers the newest revision. A graph
that can't be opened is set aside: it is missing for everyone, and the others are served. It is
tried again from time to time, since its storage may have been away. A graph that gets a
policy while a server runs that knows no actors is set aside, too: what was applied holds.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from omnigraph.base.errors import (
    ArgumentInvalid,
    OmnigraphError,
    PolicyNeedsTokens,
    StorageError,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount
from omnigraph.cluster.folder import NO_TYPES
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.served import GraphOffered, Revision, embed_config, read_revision
from omnigraph.engine.engine import Engine
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.settings import Settings, variable
from omnigraph.surfaces.server.access import Access, DefaultDeny, Open, UnderPolicy
from omnigraph.surfaces.server.logs import MEMBERS
from omnigraph.surfaces.server.registry import Registry, ServedGraph, Serving
from omnigraph.surfaces.server.starting import ServerConfig, open_graphs, serving_of, tokens_of
from omnigraph.surfaces.server.tracing import RequestTrace

__all__ = ["ClusterOffer", "Offer", "StoreOffer", "offer_of"]

log = logging.getLogger("omnigraph.server")

AGAIN_S = 30.0
"""How soon a graph that can't be opened, or a revision that can't be read, is tried again."""


class Offer(Protocol):
    @property
    def graphs(self) -> Mapping[str, Graph]:
        """Those that are served now."""
        ...

    @property
    def watch_s(self) -> float:
        """How often to ask whether it has moved; 0: never."""
        ...

    def serving(self) -> Serving:
        """All that the server offers, or an error that says why it can't; then all stays."""
        ...

    def has_moved(self) -> bool:
        """True if there is something new since `serving` was asked."""
        ...

    def close(self) -> None: ...


def offer_of(config: ServerConfig) -> Offer:
    return ClusterOffer(config) if config.is_cluster else StoreOffer(config)


class StoreOffer:
    """One graph, with the policy and the queries of the command line."""

    watch_s = 0.0

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self.graphs: Mapping[str, Graph] = open_graphs(config)

    def serving(self) -> Serving:
        return serving_of(self._config, self.graphs)

    def has_moved(self) -> bool:
        return False

    def close(self) -> None:
        for graph in self.graphs.values():
            graph.close()


@frozen
class _Opened:
    graph: Graph
    settings: Settings

    @property
    def is_the_same(self) -> bool:
        """False if another graph was put in its place, or it can't be read."""
        try:
            self.graph.branches()
        except OmnigraphError:
            return False
        return True


class ClusterOffer:
    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._place = ClusterPlace.at(config.store, settings=config.settings)
        self._opened: dict[str, _Opened] = {}
        """Also what is set aside, or of a revision that was refused: it is not opened again."""
        self._served: frozenset[str] = frozenset()
        self._every: list[Graph] = []
        self._mark: str | None = None
        self._set_aside: dict[str, str] = {}
        self._has_begun = False
        """True once there was something to serve."""
        self._again_at: float | None = None
        self._for_anyone = Open(may_run_spark=config.may_run_spark)
        self.watch_s = config.watch_s

    @property
    def graphs(self) -> Mapping[str, Graph]:
        return {id_: self._opened[id_].graph for id_ in self._served}

    def has_moved(self) -> bool:
        is_due = self._again_at is not None and time.monotonic() >= self._again_at
        return is_due or self._place.ledger_mark() != self._mark

    def serving(self) -> Serving:
        # Before the ledger is read: a revision that comes in between is then found next time.
        # A revision that is refused is not tried again until there is another one, unless it was
        # the storage that failed, which may come back.
        self._again_at = None
        self._mark = self._place.ledger_mark()
        try:
            revision = read_revision(self._place)
        except StorageError:
            self._look_again()
            raise
        # A server does not begin without tokens beside a policy. One that runs goes on with what
        # the policy does not guard: if it refused the revision, it would go on with all.
        has_policy = revision.has_policies and not self._has_begun
        tokens = tokens_of(self._config, has_policy=has_policy)
        # Nor is it refused for what else is wrong: the old one is served without the policy.
        is_unheeded = tokens is None and revision.has_policies
        is_whole = self._config.requires_all_graphs and not is_unheeded
        access: Access = DefaultDeny(tokens) if tokens is not None else self._for_anyone
        served: dict[str, ServedGraph] = {}
        set_aside: dict[str, OmnigraphError] = {}
        for offered in revision.graphs:
            try:
                served[offered.id] = _served(offered, self._open(offered), access)
            except OmnigraphError as error:
                # Tokens come with a new start; what else is wrong may be put right in its place.
                if not isinstance(error, PolicyNeedsTokens):
                    self._look_again()
                if is_whole:
                    raise _required(offered.id, error) from error
                set_aside[offered.id] = error
        self._tell(set_aside)
        log.info("revision %d of the cluster: %s", revision.number, amount(len(served), "graph"))
        self._served = frozenset(served)
        for id_ in self._opened.keys() - {offered.id for offered in revision.graphs}:
            del self._opened[id_]
        self._has_begun = True
        return Serving(Registry(served), _of_cluster(revision, access), self._set_aside)

    def _tell(self, set_aside: Mapping[str, OmnigraphError]) -> None:
        """Tell the log which graphs are set aside, once for each reason."""
        for id_, error in set_aside.items():
            if self._set_aside.get(id_) != str(error):
                told = {"graph": id_, "code": error.code, "hint": error.hint}
                log.error("the graph %s is set aside: %s", id_, error, extra={MEMBERS: told})
        self._set_aside = {id_: str(error) for id_, error in set_aside.items()}

    def _look_again(self) -> None:
        self._again_at = time.monotonic() + AGAIN_S

    def _open(self, offered: GraphOffered) -> Graph:
        settings = self._config.settings
        if offered.provider is not None:
            settings = replace(settings, embed=embed_config(offered.provider, variable))
        known = self._opened.get(offered.id)
        if known is not None and known.settings == settings and known.is_the_same:
            return known.graph
        graph = Graph(Engine.open(offered.uri, settings=settings, trace=RequestTrace()))
        self._every.append(graph)
        self._opened[offered.id] = _Opened(graph, settings)
        return graph

    def close(self) -> None:
        for graph in self._every:
            graph.close()


def _served(offered: GraphOffered, graph: Graph, access: Access) -> ServedGraph:
    guarded, own = graph, access
    if offered.policy is not None:
        if isinstance(access, Open):
            raise PolicyNeedsTokens(offered.id)
        guarded = graph.under_policy(offered.policy)
        schema = graph.schema()
        own = UnderPolicy(access.tokens, offered.policy.fitted(schema.catalog, schema.text))
    offered.queries.tell_misfits(graph)
    return ServedGraph(offered.id, graph, guarded, offered.queries, access=own, is_declared=True)


def _required(id_: str, error: OmnigraphError) -> ArgumentInvalid:
    rule = f"a graph can't be served: {error}"
    advice = "omnigraph cluster refresh tells what is wrong; without it the others are served"
    return ArgumentInvalid("--require-all-graphs", id_, rule, advice)


def _of_cluster(revision: Revision, access: Access) -> Access:
    """What is asked of the cluster itself."""
    if revision.policy is None:
        return access
    if isinstance(access, Open):
        log.error("the list of graphs is closed: %s", PolicyNeedsTokens(None))
        return replace(access, is_list_closed=True)
    return UnderPolicy(access.tokens, revision.policy.fitted(NO_TYPES, "cluster"))
