"""The tool `search`: nodes by the words of their texts, or by what these mean.

Each text property of each type is asked by itself, at one commit, with the rankings of the query
language. The lists are then fused by rank, since scores of different texts can't be compared.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.types import Scalar, VectorOf
from omnigraph.engine.change_values import json_ready
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.pages import Cursor, page_of, read_cursor
from omnigraph.surfaces.mcp.reading import moment_of
from omnigraph.surfaces.mcp.tool import Answer, Arguments

if TYPE_CHECKING:
    from omnigraph.engine.handles.at import At
    from omnigraph.lang.schema.catalog import Catalog, NodeType

__all__ = ["search"]

FOUND = 20
MAX_FOUND = 200
MAX_RANKINGS = 64
"""A search looks at so many properties. In a larger schema it needs a type."""
RANK_CONSTANT = 60
"""How slowly the worth of a rank falls; the same as that of `rrf`."""

TEXT, VECTOR, HYBRID = "text", "vector", "hybrid"
RANKINGS = {
    TEXT: "bm25($n.{text}, $q)",
    VECTOR: "nearest($n.{vector}, $q)",
    HYBRID: "rrf(nearest($n.{vector}, $q), bm25($n.{text}, $q))",
}


@frozen
class Ranking:
    """A property of a type, and how it is asked."""

    node: "NodeType"
    text: str
    """The property that has the text."""
    source: str

    def hits(self, at: "At", caller: Caller, words: str) -> Iterator[dict[str, Any]]:
        result = at.query(
            SourceText(self.source, "<search>"),
            params={"q": words},
            timeout_s=caller.timeout_s,
            memory_bytes=caller.memory_bytes,
            cancel=caller.cancel,
        )
        hidden = {p.name for p in self.node.properties if isinstance(p.type, VectorOf)}
        for row in result.readable().to_pylist():
            yield {name: value for name, value in row["n"].items() if name not in hidden}


def search(caller: Caller, arguments: Arguments) -> Answer:
    cursor = read_cursor("search", arguments, moments=1)
    branch, moment = moment_of(caller, arguments)
    at = _held(caller, cursor, branch, moment)
    catalog = at.schema().catalog
    mode = arguments.get("mode", TEXT)
    rankings = list(_rankings(catalog, arguments, mode))
    words = arguments["text"]
    found = _fused(rankings, at, caller, words)
    is_near = False
    if not found and mode == TEXT:
        # A word may be misspelt, or inflected in a way that no stem tells.
        rankings = list(_rankings(catalog, arguments, "fuzzy"))
        found, is_near = _fused(rankings, at, caller, words), True
    limit = min(arguments.get("limit", FOUND), MAX_FOUND)
    page = page_of(
        found[cursor.offset :],
        cursor,
        (at.graph_commit_id,),
        rows_left=max(len(found) - cursor.offset, 0),
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    value = {
        "branch": branch,
        "graph_commit_id": at.graph_commit_id,
        "mode": "fuzzy" if is_near and found else mode,
        "found": len(found),
        "hits": page.rows,
        **page.members("hits"),
    }
    if not found:
        asked = sorted({f"{r.node.name}.{r.text}" for r in rankings})[:20]
        value["next"] = f"nothing has these words; looked at {', '.join(asked) or 'no text at all'}"
    return Answer(value)


def _held(caller: Caller, cursor: Cursor, branch: str | None, moment: str | None) -> "At":
    if cursor.moments:
        return caller.graph.at(cursor.moments[0])
    if moment is not None:
        return caller.graph.at(moment, branch)
    assert branch is not None, "a call without a moment reads a branch"
    return caller.graph.snapshot(branch)


def _rankings(catalog: "Catalog", arguments: Arguments, mode: str) -> Iterable[Ranking]:
    made = [each for node in _nodes(catalog, arguments) for each in _of_node(node, arguments, mode)]
    if not made:
        what = "text" if mode in (TEXT, "fuzzy") else "vector that @embed makes of a text"
        rule = f"no type that is asked has a {what}"
        raise ArgumentInvalid("type", arguments.get("type"), rule, "`schema` shows the types")
    if len(made) > MAX_RANKINGS:
        rule = f"the schema has {len(made)} texts, too many to look at all of them"
        raise ArgumentInvalid("type", None, rule, "say which type, and which property of it")
    return made


def _nodes(catalog: "Catalog", arguments: Arguments) -> "Iterable[NodeType]":
    if (name := arguments.get("type")) is None:
        return catalog.nodes
    if (node := catalog.node_by_name.get(name)) is None:
        known = tuple(str(each) for each in catalog.node_by_name)
        raise NameMissing(what="node type", name=name, known=known)
    return (node,)


def _of_node(node: "NodeType", arguments: Arguments, mode: str) -> Iterator[Ranking]:
    wanted = arguments.get("property")
    if wanted is not None and wanted not in node.by_name:
        if arguments.get("type") is None:
            return
        known = tuple(str(name) for name in node.by_name)
        raise NameMissing(what=f"property of {node.name}", name=wanted, known=known)
    for property_ in node.properties:
        if mode in (TEXT, "fuzzy"):
            if property_.type is Scalar.STRING and wanted in (None, property_.name):
                yield Ranking(node, property_.name, _source(node, mode, text=property_.name))
        elif property_.embed is not None and property_.embed.source in node.by_name:
            text, vector = property_.embed.source, property_.name
            if wanted in (None, text, vector):
                yield Ranking(node, text, _source(node, mode, text=text, vector=vector))


def _source(node: "NodeType", mode: str, **names: str) -> str:
    head = f"query search($q: String) {{ match {{ $n: {node.name}"
    if mode == "fuzzy":
        test = f"fuzzy($n.{names['text']}, $q)"
        return f"{head}  {test} }} return {{ $n }} limit {MAX_FOUND} }}"
    ranking = RANKINGS[mode].format(**names)
    order = "asc" if mode == VECTOR else "desc"
    return (
        f"{head} }} return {{ $n, {ranking} as rank_value }} "
        f"order {{ rank_value {order} }} limit {MAX_FOUND} }}"
    )


def _fused(
    rankings: Iterable[Ranking], at: "At", caller: Caller, words: str
) -> list[dict[str, Any]]:
    """The best first: what stands high in many lists, and ids where there is a tie."""
    hits: dict[tuple[str, str], dict[str, Any]] = {}
    for ranking in rankings:
        for rank, node in enumerate(ranking.hits(at, caller, words), start=1):
            type_, id_ = str(ranking.node.name), node.pop("id")
            hit = hits.setdefault(
                (type_, id_),
                {
                    "type": type_,
                    "id": id_,
                    "score": 0.0,
                    "matched": [],
                    "properties": json_ready(node),
                },
            )
            hit["score"] += 1 / (RANK_CONSTANT + rank)
            hit["matched"].append(ranking.text)
    found = sorted(hits.values(), key=lambda hit: (-hit["score"], hit["type"], hit["id"]))
    for hit in found:
        hit["score"] = round(hit["score"], 6)
    return found
