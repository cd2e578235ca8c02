"""Two graphs that differ only in what is hidden from an actor give that actor the same answers.

Each case makes both graphs with the same commits and asks every door of the list. Answers are
compared as text, in which the ids of commits are numbered in the order of the log, and times,
versions of manifests and milliseconds are left out.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import MAIN
from omnigraph.engine.analytics_results import AnalyticsResult
from omnigraph.engine.backend import engine_of
from omnigraph.engine.cursor import packed, unpacked
from omnigraph.engine.explore_requests import LoadsRead
from omnigraph.engine.export_parts import export_size
from omnigraph.engine.loads import loads
from omnigraph.engine.requests import Export
from omnigraph.engine.settings import Settings
from omnigraph.engine.travel import view_for
from omnigraph.errors import ArgumentInvalid, EntityMissing, OmnigraphError
from omnigraph.read.limits import ReadLimits

SCHEMA = """
node Person { key: String @key  team: String @index  bio: String?  pay: I64? }
node Secret { code: String @key }
edge Knows: Person -> Person { since: I32? }
edge Holds: Person -> Secret
"""
POLICY = """
version: 1
rules:
  - id: boss
    allow: {actors: [boss], actions: [read, export, change, branch_create, branch_delete,
            branch_merge, schema_apply, admin]}
  - {id: ann, allow: {actors: [ann], actions: [read, export]}}
  - {id: team, deny: {actors: [ann], actions: [read], types: [Person],
     unless: 'resource.team == "red"'}}
  - {id: secret, deny: {actors: [ann], actions: [read], types: [Secret]}}
  - {id: hush, deny: {actors: [ann], actions: [read], when: 'context.branch like "hush*"'}}
"""
COMMITS = 5
"""A page of a history looks at so many commits."""
RED = [
    {"type": "Person", "data": {"key": f"r{i}", "team": "red", "bio": f"b{i}"}} for i in range(8)
]
KNOWS = [
    {"edge": "Knows", "from": f"r{i}", "to": f"r{(i * 3 + 1) % 8}", "data": {"id": f"k{i}"}}
    for i in range(7)
]


@dataclass(frozen=True)
class Hidden:
    """What a graph has that `ann` doesn't see."""

    people: int = 0
    later: str = "Secret"
    """The type that later commits write to."""
    branch: str = "hush"
    load_id: str = "one"
    message: str | None = None


PLAIN = Hidden()
EVERYTHING = Hidden(40, "Person", "hush/x", "three", "secret")
OTHERS = {
    "rows beside those in sight": replace(PLAIN, people=40),
    "commits to a type in sight": replace(PLAIN, later="Person"),
    "another branch": replace(PLAIN, branch="hush-acquisition"),
    "another name of a load": replace(PLAIN, load_id="two"),
    "another message": replace(PLAIN, message="we buy them"),
    "everything": EVERYTHING,
}


def make(place: Path, hidden: Hidden) -> Graph:
    """The graph for its owner. The order and the kinds of its commits are always the same."""
    (place / "schema.pg").write_text(SCHEMA)
    (place / "policy.yaml").write_text(POLICY)
    limits = ReadLimits(max_history_commits=COMMITS)
    Graph.init(place / "g.omni", place / "schema.pg", durability="relaxed", actor="boss")
    boss = Graph.open(
        place / "g.omni",
        policy=place / "policy.yaml",
        actor="boss",
        durability="relaxed",
        settings=Settings(read_limits=limits),
    )
    blue = [
        {"type": "Person", "data": {"key": f"b{i}", "team": "blue", "bio": "x" * 100}}
        for i in range(hidden.people)
    ]
    between = [
        {"edge": "Knows", "from": f"r{i % 8}", "to": f"b{i}", "data": {"id": f"h{i}"}}
        for i in range(hidden.people)
    ]
    secret = [{"type": "Secret", "data": {"code": "s0"}}]
    boss.load([*blue, *RED, *secret, *KNOWS, *between], mode="append", engine="local")
    for number in range(2 * COMMITS + 1):
        row = (
            {"key": f"z{number}", "team": "blue"}
            if hidden.later == "Person"
            else {"code": f"z{number}"}
        )
        boss.load([{"type": hidden.later, "data": row}], mode="append", engine="local")
    boss.mutate('query q() { update Person set { bio: "new" } where key = "r0" }')
    boss.branch_create(hidden.branch)
    boss.load(
        [{"type": "Person", "data": {"key": "r9", "team": "red"}}],
        mode="append",
        branch=hidden.branch,
        load_id=hidden.load_id,
        message=hidden.message,
        engine="local",
    )
    boss.mutate('query q() { insert Secret { code: "m" } }')
    boss.branch_merge(hidden.branch)
    # A commit of the hidden branch that is undone on main, and the merge of it.
    boss.revert(boss.commits()[0].graph_commit_id)
    boss.branch_create("open", hidden.branch)
    boss.mutate(
        'query q() { update Person set { bio: "on open" } where key = "r1" }', branch="open"
    )
    return boss


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Hidden], Graph]:
    made: dict[Hidden, Graph] = {}

    def graph_of(hidden: Hidden) -> Graph:
        if hidden not in made:
            made[hidden] = make(tmp_path_factory.mktemp("graph"), hidden)
        return made[hidden]

    return graph_of


def pages(graph: Graph, id_: str, **more: Any) -> list[str]:
    """Every page of a history, in order."""
    found, token = [], None
    while True:
        page = graph.entity_history("node", "Person", id_, page_token=token, **more)
        found.append(repr(replace(page, next_page_token=None)))
        token = page.next_page_token
        if token is None:
            return found


def analysed(result: AnalyticsResult) -> object:
    rows = sorted(map(repr, result.table.to_pylist()))
    return result.engine, result.node_count, result.edge_count, result.iterations, rows


def exported(graph: Graph) -> list[bytes]:
    out = io.BytesIO()
    graph.export(out)
    return sorted(out.getvalue().splitlines())


def export_sizes(graph: Graph) -> list[object]:
    """What decides whether an export runs on Spark, for each type."""
    engine = engine_of(graph.backend)
    request = Export(target="", branch=MAIN, actor=graph.backend.actor)
    with view_for(engine, request) as view:
        entities = view.catalog.entities
        return [export_size(engine, view, [each]) for each in entities]


def explained(text: str) -> Callable[[Graph], object]:
    return lambda graph: str(graph.explain(f"query q() {{ {text} }}", analyze=True).steps)


def feed(graph: Graph, branch: str) -> Iterator[object]:
    cursor = None
    while True:
        at: dict[str, Any] = {"cursor": cursor} if cursor else {"start": "beginning"}
        page = graph.changes(branch=branch, limit=2, **at)
        yield [(block.cause, block.changes.to_pylist()) for block in page.blocks]
        cursor = page.cursor
        if page.caught_up:
            return


DOORS: dict[str, Callable[[Graph], object]] = {
    "degrees": lambda g: analysed(g.analytics.degrees("Knows")),
    "degrees in little memory": lambda g: analysed(
        g.analytics.degrees("Knows", memory_bytes=4_000)
    ),
    "components in little memory": lambda g: analysed(
        g.analytics.connected_components("Knows", memory_bytes=4_000)
    ),
    "explain a scan": explained("match { $p: Person } return { $p }"),
    "explain a search": explained('match { $p: Person { team: "red" } } return { $p.bio, $p.pay }'),
    "explain a walk": explained(
        "match { $p: Person  $p knows $q } return { $q.key, count($p) as n }"
    ),
    "history, all at once": lambda g: pages(g, "r0"),
    "history, one by one": lambda g: pages(g, "r0", limit=1),
    "history on a branch": lambda g: pages(g, "r1", branch="open"),
    "history of an entity that others changed": lambda g: pages(g, "r3", limit=2),
    "history of a missing id": lambda g: pages(g, "nobody"),
    "history of a hidden id": lambda g: pages(g, "z0"),
    "log": lambda g: (g.log().commits, g.log().heads),
    "commits": lambda g: g.commits(),
    "commits of a branch": lambda g: g.commits("open"),
    "branches": lambda g: g.branches(),
    "feed": lambda g: [*feed(g, "main")],
    "loads": lambda g: g.backend.run(loads, LoadsRead(actor=g.backend.actor)),
    "changes of each commit": lambda g: [
        (page.cause, page.changes.to_pylist())
        for page in (g.commit_changes(c.graph_commit_id) for c in g.commits()[:-1])
    ],
    "stats": lambda g: dict(g.stats().tables),
    "entity": lambda g: g.entity("node", "Person", "r0"),
    "neighborhood": lambda g: g.neighborhood("Person", "r0"),
    "find": lambda g: g.find("b"),
    "export": exported,
    "where an export in parts runs": export_sizes,
}


def answer(graph: Graph, door: str, actor: str = "ann") -> str:
    """What an actor is told, with the ids of this graph's commits as numbers."""
    try:
        text = repr(DOORS[door](graph.as_actor(actor)))
    except OmnigraphError as error:
        text = repr(error.to_json())
    for number, commit in enumerate(graph.log().commits):
        text = text.replace(commit.graph_commit_id, f"commit-{number}")
    text = re.sub(r"datetime\.datetime\([^)]*\)", "time", text)
    text = re.sub(r"manifest_version=\d+", "manifest_version", text)
    return re.sub(r"\b(ms|created_at|created_at_ms)=[0-9.e-]+", r"\1", text)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_hidden_changes_no_answer(
    graphs: Callable[[Hidden], Graph], other: str, door: str
) -> None:
    expected, found = (answer(graphs(each), door) for each in (PLAIN, OTHERS[other]))
    assert found == expected
    for word in ("hush", "blue", "acquisition", "we buy", "secret", "'one'", "'two'", "'three'"):
        assert word not in found, word


SAME_FOR_THE_OWNER = {
    "history, all at once",
    "history, one by one",
    "history on a branch",
    "history of an entity that others changed",
    "history of a missing id",
}
"""Doors that say the same of both graphs to one who sees everything, for whom no door is closed."""
STARTS_SPARK = {"degrees in little memory", "components in little memory"}
"""What the owner asks there doesn't fit in memory."""


@pytest.mark.parametrize("door", [door for door in DOORS if door not in STARTS_SPARK])
def test_every_door_tells_the_graphs_apart_for_the_owner(
    graphs: Callable[[Hidden], Graph], door: str
) -> None:
    """Without this, doors that say nothing would pass."""
    plain, other = (answer(graphs(each), door, "boss") for each in (PLAIN, EVERYTHING))
    assert (plain == other) == (door in SAME_FOR_THE_OWNER)


def test_an_owner_reads_names_and_sizes_that_others_do_not(
    graphs: Callable[[Hidden], Graph],
) -> None:
    boss = graphs(EVERYTHING)
    messages = [commit.message for commit in boss.log().commits]
    assert "merge hush/x" in messages and "revert merge hush/x" in messages
    ann = [commit.message for commit in boss.as_actor("ann").log().commits]
    assert "merge" in ann and "revert merge" in ann
    assert any(
        load.load_ids == ("three",) for load in boss.backend.run(loads, LoadsRead(actor="boss"))
    )
    for actor, is_told in (("boss", True), ("ann", False)):
        plan = boss.as_actor(actor).explain(
            "query q() { match { $p: Person } return { $p } }", analyze=True
        )
        assert all((step.bytes is not None) == is_told for step in plan.steps)
        assert ("B  " in str(plan)) == is_told


# Histories ----------------------------------------------------------------------------------------


def test_a_history_that_leads_to_a_hidden_branch_says_so(
    graphs: Callable[[Hidden], Graph],
) -> None:
    ann = graphs(PLAIN).as_actor("ann")
    page = ann.entity_history("node", "Person", "r1", branch="open")
    assert (page.ends, page.next_page_token) == ("hidden", None)


def test_a_token_of_one_history_begins_no_other(graphs: Callable[[Hidden], Graph]) -> None:
    boss = graphs(PLAIN)
    ann = boss.as_actor("ann")
    token = ann.entity_history("node", "Person", "r0", limit=1).next_page_token
    assert token is not None
    parts = unpacked("ogh1_", token, tuple[str, str, str, str])
    for stranger in (boss.commits("open")[0], boss.commits("hush")[0]):
        forged = packed("ogh1_", [stranger.graph_commit_id, *parts[1:]])
        with pytest.raises(ArgumentInvalid, match="another history"):
            ann.entity_history("node", "Person", "r0", page_token=forged)
    with pytest.raises(ArgumentInvalid, match="another entity"):
        ann.entity_history("node", "Person", "r1", page_token=token)


def test_a_missing_id_is_missing_where_a_page_holds_the_whole_history(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed", actor="boss")
    for number in range(COMMITS):
        graph.mutate(f'query q() {{ insert Person {{ key: "z{number}", team: "blue" }} }}')
    ann = Graph.open(tmp_path / "g.omni", policy=tmp_path / "policy.yaml", actor="ann")
    for missing in ("nobody", "z0"):
        with pytest.raises(EntityMissing):
            ann.entity_history("node", "Person", missing)
