"""Every public method of a graph, called so that its answer can be compared.

READS ask the same graph by both handles. WRITES change twins, one by each handle. ERRORS are calls
that fail. LOCAL needs the storage: a connection says so. A new method belongs to one of them.
"""

import io
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from omnigraph import Graph
from omnigraph.results import At, Branch
from omnigraph.surfaces.crossing.values import encoded
from omnigraph.surfaces.wire import neighborhood_json

SCHEMA = """
node Person {
  name: String @key
  age: I32? @range(0..150)
  big: U64?
  height: F32?
  mood: enum(calm, cross)?
  born: DateTime?
  day: Date?
  tags: [String]?
  place: Vector(2)?
  avatar: Blob?
}
node Company { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge WorksAt: Person -> Company @card(0..1)
"""
ROWS: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {
            "name": "ada",
            "age": 36,
            "big": 2**63 + 5,
            "height": 1.7,
            "mood": "calm",
            "born": "1815-12-10T06:00:00Z",
            "day": "1815-12-10",
            "tags": ["x", "y/ü"],
            "place": [0.1, 2.0],
            "avatar": b"hello world",
        },
    },
    {"type": "Person", "data": {"name": "bob", "age": 41}},
    {"type": "Company", "data": {"name": "Analytical"}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": 1833}},
    {"edge": "WorksAt", "from": "ada", "to": "Analytical", "data": {}},
]
QUERIES = """
query everyone() {
  match { $p: Person }
  return { $p.name, $p.age, $p.big, $p.height, $p.mood, $p.born, $p.day, $p.tags, $p.place }
  order { $p.name }
}
query nobody() { match { $p: Person { name: "nobody" } } return { $p.name, $p.born } }
query born_on($day: Date, $born: DateTime?, $near: Vector(2)?) {
  match { $p: Person { day: $day } }
  return { $p.name, $day as day, $born as born }
}
query whole() {
  match { $p: Person $p $k:knows $q optional { $q worksAt $c } }
  return { $p, $q, $c, $k.since }
}
query friends($name: String) {
  match { $p: Person { name: $name } $p knows $q }
  return { $q.name }
}
"""
SET_AGE = """
query set_age($name: String, $age: I32?) { update Person set { age: $age } where name = $name }
query hire($name: String, $photo: Blob?) { insert Person { name: $name, avatar: $photo } }
query fire($name: String) { delete Person where name = $name }
"""
TEXT = io.StringIO()
BORN = datetime(1815, 12, 10, 6, tzinfo=UTC)
OTHER = SCHEMA.replace("age: I32? @range(0..150)", "age: I64?") + "node Place { name: String @key }"

Door = Callable[[Any], Any]


def lines(export: Callable[[io.BytesIO], Any]) -> Any:
    """What an export says, and what it writes."""
    written = io.BytesIO()
    return export(written), written.getvalue()


OF_A_PLACE: dict[str, Door] = {
    "query": lambda g: [
        g.query(QUERIES, "everyone"),
        g.query(QUERIES, "nobody"),
        g.query(QUERIES, "born_on", {"day": date(1815, 12, 10), "born": BORN}),
        g.query(QUERIES, "friends", {"name": "ada"}, timeout_s=60, memory_bytes=1 << 30),
        g.query(QUERIES, "whole"),
        g.query(QUERIES, "whole").graph(),
        g.query(QUERIES, "whole").graph()._repr_html_(),
    ],
    "explain": lambda g: str(g.explain(QUERIES, "friends")),
    "blob": lambda g: [
        blob := g.blob("node", "Person", "ada", "avatar"),
        blob.read(),
        blob.read(2, 5),
        blob.read(11, 11),
        b"".join(blob.chunks(3)),
    ],
    "export": lambda g: [
        lines(lambda out: g.export(out)),
        lines(lambda out: g.export(out, types=["Company"])),
    ],
    "schema": lambda g: [g.schema(), g.schema().catalog, g.schema()._repr_html_()],
    "stats": lambda g: g.stats(),
    "tables": lambda g: g.tables(),
    # As JSON: equal times may have zones of two classes.
    "neighborhood": lambda g: neighborhood_json(g.neighborhood("Person", "ada", depth=2, limit=2)),
    "find": lambda g: [g.find("a"), g.find("ada", types="Person"), g.find("nobody", limit=1)],
    # As JSON, too.
    "entity": lambda g: [
        encoded(g.entity("node", "Person", "ada")),
        encoded(g.entity("edge", "Knows", g.neighborhood("Person", "bob").edges[0].id)),
    ],
    "entity_history": lambda g: [
        encoded(page := g.entity_history("node", "Person", "ada", limit=1)),
        page.next_page_token
        and encoded(g.entity_history("node", "Person", "ada", page_token=page.next_page_token)),
    ],
    "lint": lambda g: [
        g.lint(QUERIES),
        g.lint("query q() { match { $p: Persn } retur"),
        g.lint(""),
    ],
    "indexes": lambda g: g.indexes(),
    "analytics": lambda g: [
        g.analytics.pagerank("Knows", sources={"ada": 2, ("Person", "bob"): 1}, timeout_s=60),
        g.analytics.connected_components(),
        g.analytics.strongly_connected_components(["Knows"]),
        g.analytics.label_propagation("Knows", directed=True, max_iterations=3),
        g.analytics.triangle_count("Knows"),
        g.analytics.degrees("Knows", weight="since"),
        g.analytics.k_core("Knows"),
        g.analytics.betweenness("Knows", samples=None),
        g.analytics.shortest_paths("Knows", source="ada", weight="since"),
        g.analytics.shortest_paths(pairs=[("ada", "Analytical"), ("bob", "ada")], directed=True),
    ],
}
"""Of a graph, a branch and a moment."""


def _at(g: Graph, moment: Any) -> Any:
    at = g.at(moment)
    return [repr(at), at.commit, at.branch, at.graph_commit_id, at.query(QUERIES, "everyone")]


def _pages(g: Graph) -> list[Any]:
    pages = [g.changes(start="beginning", limit=2)]
    while not pages[-1].caught_up:
        pages.append(g.changes(pages[-1].cursor, limit=2))
    return pages


READS: dict[str, Door] = {
    **OF_A_PLACE,
    "branch": lambda g: [g.branch("side/1").name, g.branch("side/1").query(QUERIES, "everyone")],
    "branches": lambda g: g.branches(),
    "commits": lambda g: [
        g.commits(),
        g.commits("side/1", limit=1),
        g.commits(actor="founder"),
        g.branch("side/1").commits(limit=2),
    ],
    "commit": lambda g: g.commit(g.commits("side/1")[0].graph_commit_id),
    "commit_changes": lambda g: [
        page := g.commit_changes(g.commits()[0], limit=3),
        g.commit_changes(g.commits()[0], page_token=page.next_page_token),
        g.commit_changes(g.commits()[0].graph_commit_id, types="Person", kinds=["node"]),
    ],
    "changes": _pages,
    "changes_baseline": lambda g: lines(lambda out: g.changes_baseline(out, types=["Person"])),
    "diff": lambda g: [
        g.diff("main", "side/1"),
        g.diff(g.commits()[-2], "main", ops="insert"),
        g.diff("main", "side/1", since_base=True, types=["Person"]),
        g.diff("main", "main"),
    ],
    "log": lambda g: [g.log(), g.log("side/1", limit=2)],
    "review": lambda g: [g.review("side/1"), g.review("main", into="side/1")],
    "snapshot": lambda g: [
        repr(g.snapshot("side/1")),
        g.snapshot().query(QUERIES, "everyone"),
        g.branch("side/1").snapshot().commit,
    ],
    "at": lambda g: [
        _at(g, g.commits()[0]),
        _at(g, 1),
        _at(g, g.commits()[-1].created_at),
        _at(g, g.commits()[0].created_at.isoformat()),
        g.query(QUERIES, "everyone", snapshot=g.at(1)),
        g.query(QUERIES, "everyone", branch="side/1", snapshot=g.commits("side/1")[0]),
        g.branch("side/1").at(g.commits("side/1")[1].graph_commit_id).commit,
    ],
    "schema_plan": lambda g: [
        g.schema_plan(OTHER),
        g.schema_plan(SCHEMA),
        str(g.schema_plan(OTHER)),
    ],
    "uri": lambda g: None,
    "close": lambda g: g.close(),
}

WRITES: dict[str, Door] = {
    "mutate": lambda g: [
        g.mutate(SET_AGE, "set_age", {"name": "bob", "age": 42}, message="a birthday"),
        g.mutate(SET_AGE, "set_age", {"name": "bob", "age": 42}),
        g.mutate(
            SET_AGE,
            "hire",
            {"name": "cleo", "photo": b"\x00\xff"},
            if_commit=g.commits()[0].graph_commit_id,
        ),
    ],
    "load": lambda g: [
        g.load([{"type": "Person", "data": {"name": "dan", "avatar": b"\x01"}}], mode="append"),
        g.load(b'{"type": "Company", "data": {"name": "B"}}\n', mode="merge", message="why"),
        g.load(io.BytesIO(b""), mode="merge"),
        g.load(ROWS[:1], mode="merge", dry_run=True),
        g.load(ROWS[1:2], mode="merge", load_id="monday"),
        g.load(ROWS[1:2], mode="merge", load_id="monday"),
        g.load(ROWS, mode="overwrite", branch="made", from_="main"),
    ],
    "branch_create": lambda g: [
        g.branch_create("agent/1", message="to try"),
        g.branch_create("past", g.commits()[-1]),
        g.branch_create("held", g.at(1)),
        g.branches(),
    ],
    "branch_delete": lambda g: [g.branch_delete("past", message="done"), g.branches()],
    "branch_merge": lambda g: [
        g.mutate(SET_AGE, "set_age", {"name": "ada", "age": 50}, branch="agent/1"),
        preview := g.branch_merge("agent/1", preview=True),
        g.branch_merge("agent/1", if_commit=preview.target_commit_id, message="reviewed"),
        g.branch_merge("agent/1"),
        g.mutate(SET_AGE, "set_age", {"name": "ada", "age": 1}, branch="agent/1"),
        g.mutate(SET_AGE, "set_age", {"name": "ada", "age": 2}),
        g.branch_merge("agent/1", preview=True),
        g.branch_merge(
            "agent/1",
            resolve=[{"type": "Person", "id": "ada", "property": "age", "take": "theirs"}],
            delete=True,
        ),
    ],
    "analytics": lambda g: [
        g.analytics.pagerank("Knows", write_to="height", message="ranks"),
        g.analytics.degrees(write_to={"age": "degree"}),
        g.branch("side/1").analytics.degrees("Knows", write_to={"age": "in_degree"}),
        g.at(2).analytics.k_core("Knows", write_to="age", write_branch="side/1"),
    ],
    "revert": lambda g: [
        g.revert(g.commits()[0], preview=True),
        g.revert(g.commits()[0].graph_commit_id, message="no"),
    ],
    "schema_apply": lambda g: [
        g.branch_delete("made"),
        g.branch_delete("held"),
        g.branch_delete("side/1"),
        g.branch_delete("clash"),
        g.schema_apply(OTHER, message="wider"),
        g.schema(),
    ],
}
"""In this order, on one graph."""

LOCAL: dict[str, Door] = {
    "optimize": lambda g: g.optimize(),
    "cleanup": lambda g: g.cleanup(confirm=True),
    "repair": lambda g: g.repair(),
    "embed": lambda g: g.embed(),
    "a session of Spark": lambda g: g.analytics.degrees("Knows", spark=object()),
    "import_": lambda g: g.import_("nowhere"),
    "under_policy": lambda g: g.under_policy("policy.yaml"),
    "stream": lambda g: g.stream(object(), mode="append", checkpoint="here"),
    "export": lambda g: g.export("here", format="parquet"),
    "spark": lambda g: g.spark("Person"),
    "query on Spark": lambda g: g.query(QUERIES, "everyone", engine="spark"),
    "explain for Spark": lambda g: g.explain(QUERIES, "everyone", engine="spark"),
    "load": lambda g: g.load(ROWS, mode="append", spark=object()),
    "load of a bad row kept": lambda g: g.load(ROWS, mode="append", on_error="quarantine"),
    "load of a bucket": lambda g: g.load("s3://bucket/x.jsonl", mode="append"),
}

ELSEWHERE = {
    "init": "it makes a graph",
    "open": "it opens a graph",
    "connect": "it makes the connection",
    "as_actor": "a server knows the actor by the token",
    "engine": "for the package's own use",
}

ERRORS: dict[str, Door] = {
    "a type": lambda g: g.query("query q() { match { $p: Persn } return { $p.name } }"),
    "a syntax": lambda g: g.query("query q( { }"),
    "a parameter": lambda g: g.query(QUERIES, "friends", {"name": 3}),
    "a query": lambda g: g.query(QUERIES, "freinds"),
    "a mutation read": lambda g: g.query(SET_AGE, "fire", {"name": "x"}),
    "a branch": lambda g: g.query(QUERIES, "everyone", branch="nowhere"),
    "no handle": lambda g: g.branch("nowhere"),
    "a commit": lambda g: g.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "a moment": lambda g: g.at("1999-01-01"),
    "no moment": lambda g: g.at(None),
    "another branch": lambda g: g.query(
        QUERIES, "everyone", branch="main", snapshot=g.commits("side/1")[0].graph_commit_id
    ),
    "a key": lambda g: g.load(ROWS[:1], mode="append"),
    "a rule": lambda g: g.load(
        [{"type": "Person", "data": {"name": "x", "age": 900 + n}} for n in range(3)],
        mode="append",
    ),
    "a line": lambda g: g.load(b'{"type": "Person"\n{}', mode="merge"),
    "an end": lambda g: g.load([{"edge": "Knows", "from": "ada", "to": "who"}], mode="append"),
    "a mode": lambda g: g.load([], mode="upsert"),
    "a condition": lambda g: g.mutate(
        SET_AGE,
        "set_age",
        {"name": "bob", "age": 7},
        if_commit="01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
    "a branch twice": lambda g: g.branch_create("side/1"),
    "main": lambda g: g.branch_delete("main"),
    "a blob": lambda g: g.blob("node", "Person", "bob", "avatar"),
    "bytes": lambda g: g.blob("node", "Person", "ada", "avatar").read(5, 100),
    "a property": lambda g: g.blob("node", "Person", "ada", "age"),
    "a cursor": lambda g: g.changes("torn"),
    "a first commit": lambda g: g.commit_changes(g.commits()[-1]),
    "a schema": lambda g: g.schema_plan("node Person { name: Strin }"),
    "another schema": lambda g: g.schema_apply(SCHEMA.replace("name: String @key", "name: I32")),
    "a changed type": lambda g: g.diff("main", "side/1", types=["Persn"]),
    "a choice": lambda g: g.branch_merge("side/1", resolve="both"),
    "a merge": lambda g: g.branch_merge("clash"),
    "an export": lambda g: g.export(io.BytesIO(), types=["Persn"]),
    "text": lambda g: g.export(TEXT),
    "an edge": lambda g: g.analytics.degrees("Knwos"),
    "a weight": lambda g: g.analytics.degrees("Knows", weight="until"),
    "a source": lambda g: g.analytics.shortest_paths("Knows", source="nobody"),
    "a written property": lambda g: g.analytics.degrees("Knows", write_to="degree"),
    "an algorithm's time": lambda g: g.analytics.degrees("Knows", timeout_s=-1),
}

HANDLES = (Graph, Branch, At)
