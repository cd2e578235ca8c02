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
from omnigraph.surfaces.mcp.reading import branch_at, moment_of
from omnigraph.surfaces.mcp.tool import Answer, Arguments

if TYPE_CHECKING:
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
class Place:
    """The moment that is searched."""

    branch: str | None
    """The branch whose head it is; None: it may be anywhere."""
    commit: str


@frozen
class Hit:
    id: str
    properties: dict[str, Any]


@frozen
class Ranking:
    """A property of a type, and how it is asked."""

    node: "NodeType"
    text: str
    """The property that has the text."""
    source: str

    def hits(self, caller: Caller, place: "Place", words: str) -> Iterator["Hit"]:
        result = caller.graph.query(
            SourceText(self.source, "<search>"),
            params={"q": words},
            branch=place.branch,
            snapshot=place.commit,
            timeout_s=caller.timeout_s,
            memory_bytes=caller.memory_bytes,
            cancel=caller.cancel,
        )
        hidden = {p.name for p in self.node.properties if isinstance(p.type, VectorOf)}
        # A type may have a property called id: the identity is a column of its own.
        if "id" not in self.node.by_name:
            hidden.add("id")
        for row in result.readable().to_pylist():
            yield Hit(row["node_id"], {n: v for n, v in row["n"].items() if n not in hidden})


def search(caller: Caller, arguments: Arguments) -> Answer:
    cursor = read_cursor("search", arguments, moments=1)
    branch, moment = moment_of(caller, arguments)
    place = _place(caller, cursor, branch, moment)
    catalog = caller.graph.schema(place.branch, snapshot=place.commit).catalog
    mode = arguments.get("mode", TEXT)
    rankings = list(_rankings(catalog, arguments, mode))
    words = arguments["text"]
    found = _fused(rankings, caller, place, words)
    is_near = False
    if not found and mode == TEXT:
        # A word may be misspelt, or inflected in a way that no stem tells.
        rankings = list(_rankings(catalog, arguments, "fuzzy"))
        found, is_near = _fused(rankings, caller, place, words), True
    limit = min(arguments.get("limit", FOUND), MAX_FOUND)
    page = page_of(
        found[cursor.offset :],
        cursor,
        (place.commit,),
        (place.branch,),
        found=len(found),
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    value = {
        "branch": branch,
        "graph_commit_id": place.commit,
        "mode": "fuzzy" if is_near and found else mode,
        "found": len(found),
        "hits": page.rows,
        **page.members("hits"),
    }
    if not found:
        asked = sorted({f"{r.node.name}.{r.text}" for r in rankings})[:20]
        value["next"] = f"nothing has these words; looked at {', '.join(asked) or 'no text at all'}"
    return Answer(value)


def _place(caller: Caller, cursor: Cursor, branch: str | None, moment: str | None) -> Place:
    if cursor.moments:
        return Place(branch_at(caller, cursor, 0), cursor.moments[0])
    if moment is not None:
        return Place(None, caller.graph.at(moment, branch).graph_commit_id)
    assert branch is not None, "a call without a moment reads a branch"
    return Place(branch, caller.graph.snapshot(branch).graph_commit_id)


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
    shown = "$n, id($n) as node_id"
    if mode == "fuzzy":
        test = f"fuzzy($n.{names['text']}, $q)"
        return f"{head}  {test} }} return {{ {shown} }} limit {MAX_FOUND} }}"
    ranking = RANKINGS[mode].format(**names)
    order = "asc" if mode == VECTOR else "desc"
    return (
        f"{head} }} return {{ {shown}, {ranking} as rank_value }} "
        f"order {{ rank_value {order} }} limit {MAX_FOUND} }}"
    )


def _fused(
    rankings: Iterable[Ranking], caller: Caller, place: Place, words: str
) -> list[dict[str, Any]]:
    """The best first: what stands high in many lists, and ids where there is a tie."""
    hits: dict[tuple[str, str], dict[str, Any]] = {}
    for ranking in rankings:
        type_ = str(ranking.node.name)
        for rank, node in enumerate(ranking.hits(caller, place, words), start=1):
            hit = hits.setdefault(
                (type_, node.id),
                {
                    "type": type_,
                    "id": node.id,
                    "score": 0.0,
                    "matched": [],
                    "properties": json_ready(node.properties),
                },
            )
            hit["score"] += 1 / (RANK_CONSTANT + rank)
            hit["matched"].append(ranking.text)
    found = sorted(hits.values(), key=lambda hit: (-hit["score"], hit["type"], hit["id"]))
    for hit in found:
        hit["score"] = round(hit["score"], 6)
    return found
