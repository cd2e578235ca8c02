"""All that a graph tells one who asks: a question for each door, and what it said."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from omnigraph import Graph
from omnigraph.errors import OmnigraphError

QUERIES = (
    "match { $p: Person } return { $p }",
    "match { $n: Note } return { $n.name, $n.team }",
    "match { $x: Named } return { $x.name as name, count($x) as n }",
    "match { $p: Person  $p knows $q } return { $p.key as p, $q.key as q }",
    "match { $p: Person  $p knows{1,3} $q } return { count($q) as n, collect($q.key) as keys }",
    "match { $p $e:knows $q } return { $e.since as since, count($e) as n }",
    "match { $p: Person  not { $p knows $_ } } return { $p.key, $p.badge }",
    "match { $p: Person  optional { $p in $t } } return { $p.key as p, $t.name as t }",
    "match { $p: Person  count { $p knows $_ } >= 1 } return { sum($p.pay) as s }",
    "match { $n: Note  $n about $p  exists { $p in $_ } } return { $n.team as t, $p.key as p }",
    "match { $p: Person  $n: Note  $p.team = $n.team } return { count($p) as n }",
    "match { $p: Person } return { $p.team as team, avg($p.pay) as mean, max($p.key) as hi }",
    "match { $p: Person } return { $p.key } order { $p.key } limit 2",
    "match { $p: Person  $p.pay >= 1 } return { count($p) as n, count($p.badge) as b }",
    'match { $p: Person  search($p.bio, "sea") } return { $p.key }',
    'match { $p: Person  top 2 $p by bm25($p.bio, "sea sky") } return { $p.key, score($p) as s }',
    "match { $p: Person  top 2 $p by nearest($p.vector, $v) } return { $p.key, score($p) as s }",
    'match { $p: Person } return { $p.key } order { bm25($p.bio, "sea sky") }',
    "match { $t: Tean } return { $t.name }",
    "match { $p: Person } return { $p.payy, $p.badges, $p.bi }",
    "match { $p: Person  $p know $q } return { $q.key }",
    "match { $t: Team } return { $t.name, $t.bio }",
)
VECTOR = [1.0, 0.0, 0.0, 0.0]


def text(body: str) -> str:
    given = "$v: Vector(4)" if "$v" in body else ""
    return f"query q({given}) {{ {body} }}"


class Refusal(NamedTuple):
    """All that an error says."""

    kind: str
    text: str
    hint: str | None
    details: str


def outcome(ask: Callable[[], Any]) -> Any:
    """The answer, or a `Refusal`."""
    try:
        return ask()
    except OmnigraphError as error:
        details = json.dumps(error.details, default=str, sort_keys=True)
        return Refusal(type(error).__name__, str(error), error.hint, details)


def asked(graph: Graph, body: str, **where: Any) -> Any:
    def ask() -> Any:
        given = {"v": VECTOR} if "$v" in body else None
        found = [repr(row) for row in graph.query(text(body), given, **where).to_pylist()]
        return found if "order" in body else sorted(found)

    return outcome(ask)


def asked_at(graph: Graph, body: str, commit: str) -> Any:
    return asked(graph, body, snapshot=commit)


def planned(graph: Graph, body: str, whole: Sequence[str], *, analyze: bool) -> Any:
    """A plan. Of types that are seen whole it also says which index it used: two graphs may have
    other ones, so that is left out."""
    stored = tuple(f"{name}: by the index" for name in whole)

    def ask() -> Any:
        given = {"v": VECTOR} if "$v" in body else None
        steps = graph.explain(text(body), given, analyze=analyze).steps
        notes = ([note for note in s.notes if not note.startswith(stored)] for s in steps)
        rows = ((s.depth, s.text, s.rows_expected, s.rows, s.rows_of_pattern) for s in steps)
        return [*zip(rows, notes, strict=True)]

    return outcome(ask)


def exported(graph: Graph, **where: Any) -> Any:
    def ask() -> Any:
        sink = io.BytesIO()
        told = graph.export(sink, **where)
        # Rows come in the order in which they lie, and a hidden change may have moved one.
        return sorted(sink.getvalue().splitlines()), dict(told.nodes), dict(told.edges)

    return outcome(ask)


def sizes(graph: Graph, branch: str = "main") -> Any:
    return (
        {key: table.row_count for key, table in graph.stats(branch).tables.items()},
        {each.type_name: each.entity_count for each in graph.tables(branch).datasets},
        [(i.table, i.column, i.kind, i.rows) for i in graph.indexes(branch) if i.declared],
        [(entity.name, sorted(entity.by_name)) for entity in graph.schema(branch).catalog.entities],
    )


def around(graph: Graph, type_: str, id_: str, **where: Any) -> Any:
    def ask() -> Any:
        found = graph.neighborhood(type_, id_, depth=2, **where)
        parts = found.counts, found.nodes, found.edges
        return repr(found.entity), found.node_count, [sorted(map(repr, part)) for part in parts]

    return outcome(ask)


def looked_at(graph: Graph, id_: str, **where: Any) -> Any:
    """A node whole, and what its id and a letter find."""

    def ask() -> Any:
        found = graph.entity("node", "Person", id_, **where)
        return found.properties, found.blobs, sorted(map(repr, found.counts))

    # Hits that are as good come in the order in which rows lie.
    hits = [graph.find(text, limit=200, **where).hits for text in (id_, "p")]
    return outcome(ask), [sorted(map(repr, each)) for each in hits]


def differences(graph: Graph, first: str, last: str) -> Any:
    def ask() -> Any:
        diff = graph.diff(first, last)
        counts = {name: (c.inserted, c.updated, c.deleted) for name, c in diff.counts.items()}
        return sorted(map(repr, diff.to_pylist())), counts

    return outcome(ask)


def fed(graph: Graph, after: str, limit: int | None) -> Any:
    """What the feed tells since a commit, in pages; commits that show nothing are left out."""

    def ask() -> Any:
        found: dict[Any, list[str]] = {}
        page = graph.changes(start=f"after:{after}", limit=limit)
        while True:
            for block in page.blocks:
                rows = found.setdefault(block.cause.graph_commit_id, [])
                rows += map(repr, block.changes.to_pylist())
            if page.caught_up:
                return [sorted(rows) for rows in found.values() if rows]
            page = graph.changes(page.cursor, limit=limit)

    return outcome(ask)
