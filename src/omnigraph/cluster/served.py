"""A revision as a server serves it: what the ledger names, with all texts, and nothing else.

The folder is not looked at: what is merely written there is served by nobody.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.cluster.config import CLUSTER_FILE, EVERYWHERE, variable_of
from omnigraph.cluster.folder import storage_of
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.resources import (
    IMPORTED,
    graph_address,
    kind_of,
    provider_address,
    query_address,
)
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.signatures import query_kinds
from omnigraph.engine.stored_queries import StoredQueries
from omnigraph.store.location import is_bucket_address

if TYPE_CHECKING:
    from omnigraph.policy.policy import Policy

__all__ = ["GraphOffered", "Revision", "cluster_storage", "embed_config", "read_revision"]


@frozen
class GraphOffered:
    id: str
    uri: str
    queries: StoredQueries
    policy: "Policy | None"
    provider: Mapping[str, Any] | None
    """Of embeddings, as it was declared: its key is the name of a variable."""


@frozen
class Revision:
    number: int
    graphs: tuple[GraphOffered, ...]
    policy: "Policy | None"
    """Of the cluster itself."""

    @property
    def has_policies(self) -> bool:
        return self.policy is not None or any(graph.policy is not None for graph in self.graphs)


def cluster_storage(address: str) -> str:
    """The storage root that someone means: by the folder that names it, or by itself."""
    if not is_bucket_address(address) and (Path(address) / CLUSTER_FILE).is_file():
        return storage_of(Path(address))
    return address if "://" in address else str(Path(address).resolve())


def read_revision(place: ClusterPlace) -> Revision:
    """What was applied last. Raises `ClusterMissing` where nothing was."""
    ledger = place.applied()
    policies = _policies(place, ledger)
    return Revision(
        number=ledger.revision,
        graphs=tuple(
            _graph(place, ledger, id_, policies.get(id_))
            for id_ in ledger.graphs
            if IMPORTED not in ledger.resources[graph_address(id_)].attributes
        ),
        policy=policies.get(EVERYWHERE),
    )


def embed_config(provider: Mapping[str, Any], variable: Callable[[str], str | None]) -> EmbedConfig:
    """A provider with its key, which is read from the environment of the server."""
    key = None
    if (named := provider.get("api_key")) is not None:
        name = variable_of(named) or ""
        if not (key := (variable(name) or "").strip() or None):
            rule = "the cluster's provider of embeddings takes its key from it, and it is not set"
            raise ArgumentInvalid(name, None, rule, "set it for the server")
    settings = {name: value for name, value in provider.items() if name != "api_key"}
    return EmbedConfig(**settings, api_key=key)


def _policies(place: ClusterPlace, ledger: Ledger) -> "dict[str, Policy]":
    # Cedar takes its time to import.
    from omnigraph.policy.policy import Policy

    found: dict[str, Policy] = {}
    for address, entry in ledger.resources.items():
        if kind_of(address) == "policy" and entry.content is not None:
            name = f"{address}.{entry.attributes['language']}"
            text = place.require_text(entry.content, address)
            policy = Policy.of_text(SourceText(text, name))
            found.update(dict.fromkeys(entry.attributes["applies_to"], policy))
    return found


def _graph(place: ClusterPlace, ledger: Ledger, id_: str, policy: "Policy | None") -> GraphOffered:
    entry = ledger.resources[graph_address(id_)]
    name = entry.attributes.get("embedding_provider")
    provider = None if name is None else ledger.resources[provider_address(name)].attributes
    return GraphOffered(id_, str(place.graph(id_)), _queries(place, ledger, id_), policy, provider)


def _queries(place: ClusterPlace, ledger: Ledger, id_: str) -> StoredQueries:
    sources: dict[str, SourceText] = {}
    mutations: set[str] = set()
    prefix = query_address(id_, "")
    for address, entry in ledger.resources.items():
        if address.startswith(prefix) and entry.content is not None:
            name = address.removeprefix(prefix)
            source = SourceText(place.require_text(entry.content, address), address)
            sources[name] = source
            if query_kinds(source).get(name):
                mutations.add(name)
    return StoredQueries(sources, frozenset(mutations))
