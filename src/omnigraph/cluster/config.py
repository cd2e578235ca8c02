"""`cluster.yaml` as it is written: which graphs, policies and providers a deployment has.

    version: 1
    metadata: {name: brain}
    storage: ./data
    graphs:
      people: {schema: people.pg, queries: queries/, embedding_provider: mini}
    policies:
      staff: {file: staff.yaml, applies_to: [people]}
    providers:
      embedding: {mini: {provider: gemini, api_key: "${GEMINI_API_KEY}"}}

Nothing here looks at another file. Every value keeps its place, so that a schema that is missing is
told with the line that names it.
"""

import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped, listed
from omnigraph.base.yaml_text import YamlList, YamlMap, YamlNode, YamlRefused, YamlScalar, read_yaml
from omnigraph.cluster.reading import Findings, Named, Values
from omnigraph.cluster.secrets import is_hidden, without_secrets
from omnigraph.embed.provider import ProviderName

__all__ = [
    "CLUSTER_FILE",
    "EVERYWHERE",
    "ClusterConfig",
    "GraphDeclared",
    "PolicyDeclared",
    "ProviderDeclared",
    "QueryNamed",
    "read_config",
    "variable_of",
]

CLUSTER_FILE = "cluster.yaml"
VERSION = 1
EVERYWHERE = "cluster"
"""What a policy applies to that is about the cluster itself, such as the list of its graphs."""

FIELDS = ("version", "metadata", "storage", "state", "graphs", "policies", "providers")
RESERVED = ("aliases", "apis", "bindings", "environments", "imports", "pipelines", "ui", "users")
OF_A_GRAPH = ("schema", "queries", "embedding_provider")
RESERVED_OF_A_GRAPH = ("aliases", "bindings", "branches", "pipelines", "policy", "seed", "ui")
OF_A_PROVIDER = ("provider", "model", "base_url", "api_key", "timeout_s", "max_characters")
KEYED = ("gemini", "openai-compatible")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
STATE = {"backend": "cluster", "lock": True}
"""What there is to choose today: the ledger lies beside the graphs, and it is locked."""


@frozen
class QueryNamed:
    """A query by its name, and the file that it must be in."""

    name: Named
    file: Named


@frozen
class GraphDeclared:
    id: Named
    schema: Named | None
    query_paths: tuple[Named, ...] = ()
    """A directory, or files."""
    queries: tuple[QueryNamed, ...] = ()
    """Those that are declared one by one."""
    embedding_provider: Named | None = None


@frozen
class PolicyDeclared:
    name: Named
    file: Named | None
    applies_to: tuple[Named, ...]


@frozen
class ProviderDeclared:
    name: Named
    attributes: Mapping[str, str | float]
    """As written; the key is the name of a variable, as `${…}`."""


@frozen
class ClusterConfig:
    source: SourceText
    name: str
    storage: Named | None
    """Where graphs and ledger lie; None: in the folder itself."""
    graphs: tuple[GraphDeclared, ...]
    policies: tuple[PolicyDeclared, ...]
    providers: tuple[ProviderDeclared, ...]


def variable_of(text: str) -> str | None:
    """The variable that `${VARIABLE}` stands for."""
    found = VARIABLE.fullmatch(text)
    return None if found is None else found[1]


def read_config(source: SourceText, findings: Findings) -> ClusterConfig | None:
    """What the text declares, as far as it can be read; what is wrong is found in `findings`."""
    # What is wrong is shown with its line, but for a key that stands there in clear.
    shown = SourceText(without_secrets(source.text), source.name)
    try:
        document = read_yaml(source.text)
    except YamlRefused as refused:
        message, hint = refused.message, refused.hint
        if is_hidden(source, shown, refused.span):
            # The message may have a piece of it.
            message, hint = "what may be a secret can't be read", "write ${VARIABLE}"
        findings.add("K001", shown, refused.span, message, hint)
        return None
    return _Reading(Values(shown, findings)).config(document)


class _Reading:
    def __init__(self, values: Values) -> None:
        self._values = values

    def config(self, document: YamlNode) -> ClusterConfig | None:
        values = self._values
        what = "a cluster"
        found = values.fields(
            document,
            what,
            known=FIELDS,
            reserved=RESERVED,
            required=("version", "metadata", "graphs"),
        )
        self._version(found.get("version"))
        self._state(found.get("state"))
        name = self._name(found.get("metadata"))
        providers = tuple(self._providers(found.get("providers")))
        graphs = tuple(
            self._graph(id_, node)
            for id_, node in values.named(found.get("graphs"), "graphs").items()
        )
        for graph in graphs:
            if graph.id.text == EVERYWHERE:
                said = f"no graph is called {EVERYWHERE}: policies mean the whole cluster by it"
                values.wrong("K004", graph.id.span, said)
        policies = tuple(
            self._policy(each, node)
            for each, node in values.named(found.get("policies"), "policies").items()
        )
        self._check_names(graphs, policies, providers)
        storage = values.text(found.get("storage"), "storage")
        return ClusterConfig(values.source, name, storage, graphs, policies, providers)

    def _version(self, node: YamlNode | None) -> None:
        if node is not None and not (
            isinstance(node, YamlScalar) and type(node.value) is int and node.value == VERSION
        ):
            said = f"this program reads version {VERSION} of {CLUSTER_FILE}"
            self._values.wrong("K004", node.span, said, f"write version: {VERSION}")

    def _state(self, node: YamlNode | None) -> None:
        if node is None:
            return
        for name, value in self._values.fields(node, "state", known=tuple(STATE)).items():
            if not isinstance(value, YamlScalar) or value.value != STATE[name]:
                only = str(STATE[name]).lower() if STATE[name] is True else STATE[name]
                said = f"{name} of state can only be {only}"
                self._values.wrong("K004", value.span, said, f"write {only}, or leave it out")

    def _name(self, node: YamlNode | None) -> str:
        if node is None:
            return ""
        fields = self._values.fields(
            node, "metadata", known=("name", "description"), required=("name",)
        )
        self._values.text(fields.get("description"), "the description")
        name = self._values.text(fields.get("name"), "the name of a cluster")
        return "" if name is None else name.text

    def _graph(self, id_: Named, node: YamlNode) -> GraphDeclared:
        what = f"graph {id_.text}"
        fields = self._values.fields(
            node, what, known=OF_A_GRAPH, reserved=RESERVED_OF_A_GRAPH, required=("schema",)
        )
        queries = fields.get("queries")
        paths: tuple[Named, ...] = ()
        named: tuple[QueryNamed, ...] = ()
        match queries:
            case None:
                pass
            case YamlList():
                paths = self._values.texts(queries, f"queries of {what}")
            case YamlMap():
                named = tuple(self._queries(queries, what))
            case YamlScalar():
                path = self._values.text(queries, f"queries of {what}")
                paths = () if path is None else (path,)
        return GraphDeclared(
            id=id_,
            schema=self._values.text(fields.get("schema"), f"the schema of {what}"),
            query_paths=paths,
            queries=named,
            embedding_provider=self._values.text(
                fields.get("embedding_provider"), f"embedding_provider of {what}"
            ),
        )

    def _queries(self, node: YamlMap, what: str) -> "list[QueryNamed]":
        found = []
        # What their file calls them is for their file to say.
        for key, value in node.entries:
            name = Named(str(key.value), key.span)
            fields = self._values.fields(
                value, f"query {clipped(name.text)}", known=("file",), required=("file",)
            )
            file = self._values.text(fields.get("file"), f"file of query {clipped(name.text)}")
            if file is not None:
                found.append(QueryNamed(name, file))
        return found

    def _policy(self, name: Named, node: YamlNode) -> PolicyDeclared:
        what = f"policy {name.text}"
        keys = ("file", "applies_to")
        fields = self._values.fields(node, what, known=keys, required=keys)
        targets: tuple[Named, ...] = ()
        if (given := fields.get("applies_to")) is not None:
            targets = self._values.texts(given, f"applies_to of {what}")
        return PolicyDeclared(
            name, self._values.text(fields.get("file"), f"file of {what}"), targets
        )

    def _providers(self, node: YamlNode | None) -> "list[ProviderDeclared]":
        if node is None:
            return []
        kinds = self._values.fields(node, "providers", known=("embedding",))
        return [
            ProviderDeclared(name, self._provider(name, value))
            for name, value in self._values.named(kinds.get("embedding"), "providers").items()
        ]

    def _provider(self, name: Named, node: YamlNode) -> dict[str, str | float]:
        what, values = f"provider {name.text}", self._values
        fields = values.fields(node, what, known=OF_A_PROVIDER, required=("provider",))
        found: dict[str, str | float] = {}
        for key in ("provider", "model", "base_url"):
            if (text := values.text(fields.get(key), f"{key} of {what}")) is not None:
                found[key] = text.text
        if "provider" in found and found["provider"] not in (known := get_args(ProviderName)):
            said = f"{clipped(str(found['provider']))} is no provider of embeddings"
            values.wrong("K004", fields["provider"].span, said, f"write {listed(known)}")
        if (given := fields.get("api_key")) is not None:
            written = given.value if isinstance(given, YamlScalar) else None
            if isinstance(written, str) and variable_of(written) is not None:
                found["api_key"] = written
            else:
                # It is not shown: it may be a key.
                said = f"api_key of {what} is not the name of a variable"
                values.wrong("K009", given.span, said, "write ${VARIABLE}, such as ${KEY}")
        # An API of one's own may do without a key.
        is_keyless = found.get("provider") == "openai-compatible" and "base_url" in fields
        if found.get("provider") in KEYED and "api_key" not in fields and not is_keyless:
            self._values.wrong("K005", node.span, f"{what} needs api_key", "write ${VARIABLE}")
        if "base_url" in found:
            self._check_url(fields["base_url"], str(found["base_url"]), what)
        for key, is_whole in (("timeout_s", False), ("max_characters", True)):
            number = values.number(fields.get(key), f"{key} of {what}", is_whole=is_whole)
            if number is not None:
                found[key] = number
        return found

    def _check_url(self, node: YamlNode, url: str, what: str) -> None:
        try:
            parts = urlsplit(url)
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_url = False
        if not is_url:
            said = f"base_url of {what} is no URL"
            self._values.wrong("K004", node.span, said, "write https://host/path")
        elif parts.username or parts.password or parts.query or parts.fragment:
            # It would stand in the ledger, where anyone reads it who may read the storage.
            said = f"base_url of {what} has a user, a password, a query or a fragment"
            self._values.wrong("K009", node.span, said, "give the key as api_key: ${VARIABLE}")

    def _check_names(
        self,
        graphs: tuple[GraphDeclared, ...],
        policies: tuple[PolicyDeclared, ...],
        providers: tuple[ProviderDeclared, ...],
    ) -> None:
        known = {provider.name.text for provider in providers}
        for graph in graphs:
            wanted = graph.embedding_provider
            if wanted is not None and wanted.text not in known:
                self._unknown(wanted, "provider of embeddings", known)
        ids = {graph.id.text for graph in graphs}
        taken: dict[str, PolicyDeclared] = {}
        for policy in policies:
            targets = {target.text for target in policy.applies_to}
            if EVERYWHERE in targets and len(targets) > 1:
                span = policy.applies_to[0].span
                said = f"a policy applies to graphs or to the {EVERYWHERE}, never to both"
                self._values.wrong("K004", span, said, "make two policies of it")
            for target in policy.applies_to:
                if target.text != EVERYWHERE and target.text not in ids:
                    self._unknown(target, "graph", ids)
                elif (other := taken.setdefault(target.text, policy)) is not policy:
                    said = f"{target.text} has a policy already: {other.name.text}"
                    self._values.wrong("K008", target.span, said, "join the two policies")

    def _unknown(self, name: Named, what: str, known: set[str]) -> None:
        said = f"there is no {what} {clipped(name.text)}"
        self._values.wrong("K007", name.span, said, name_hint(name.text, known))
