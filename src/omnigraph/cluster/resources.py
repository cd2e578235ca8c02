"""Resources: what a deployment is made of, each with an address and a digest.

| address | what it is | its text |
|---|---|---|
| `graph.G` | a graph, and its provider of embeddings | |
| `schema.G` | the schema of a graph | the `.pg` text |
| `query.G.N` | a stored query of a graph | the `.gq` text of its file |
| `policy.N` | a policy, and what it applies to | YAML or Cedar |
| `provider.embedding.N` | a provider of embeddings | |

Two resources are the same if and only if their digests are. Texts are kept under their own hash, so
that a text which is there needs no second look.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from omnigraph.base.frozen import frozen

__all__ = [
    "IMPORTED",
    "Address",
    "Entry",
    "Resource",
    "canonical",
    "digest_of",
    "graph_address",
    "graph_of",
    "kind_of",
    "policy_address",
    "provider_address",
    "query_address",
    "schema_address",
]

Address = str
IMPORTED = "is_imported"
"""The one attribute of a graph that was taken in, and that no apply has looked at yet."""


def graph_address(id_: str) -> Address:
    return f"graph.{id_}"


def schema_address(id_: str) -> Address:
    return f"schema.{id_}"


def query_address(graph: str, name: str) -> Address:
    return f"query.{graph}.{name}"


def policy_address(name: str) -> Address:
    return f"policy.{name}"


def provider_address(name: str) -> Address:
    return f"provider.embedding.{name}"


def kind_of(address: Address) -> str:
    return address.partition(".")[0]


def graph_of(address: Address) -> str | None:
    """The graph that a resource belongs to."""
    kind, _, rest = address.partition(".")
    return rest.partition(".")[0] if kind in ("graph", "schema", "query") else None


@frozen
class Entry:
    """A resource as the ledger has it: its text lies elsewhere, under its hash."""

    digest: str
    attributes: Mapping[str, Any]
    content: str | None = None
    """The hash of its text."""

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "attributes": dict(self.attributes),
            "content": self.content,
        }


@frozen
class Resource:
    address: Address
    attributes: Mapping[str, Any]
    text: str | None = None

    @property
    def entry(self) -> Entry:
        content = None if self.text is None else digest_of(self.text.encode())
        named = {"attributes": dict(self.attributes), "content": content}
        return Entry(digest_of(canonical(named)), dict(self.attributes), content)


def canonical(value: Any) -> bytes:
    """JSON that is written in one way only."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
