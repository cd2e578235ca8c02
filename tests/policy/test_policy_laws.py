"""Under a policy an actor has the graph from which all that is hidden was really removed.

Two graphs stand beside each other: one with a policy, and one that was made without the hidden
rows, types and properties. Every question has the same answer, down to the words of an error. A
write does the same to both, or is denied.
"""

import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.ids import MAIN, CommitId, TypeName
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.guard import Policy
from omnigraph.engine.settings import Settings
from omnigraph.errors import OmnigraphError, PolicyDenied, PolicyInvalid
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.lang.schema.text.part import text_of_part
from omnigraph.policy.policy import Policy as CedarPolicy
from omnigraph.read.scope import Scope
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.laws.test_read_laws import canonical
from tests.laws.test_view_laws import without_hidden
from tests.reference.naive import Entity, PlainGraph
from tests.reference.random_conditions import conditions
from tests.reference.random_plans import CATALOG, SCHEMA, graphs
from tests.reference.small_graph import plain_graph, table
from tests.reference.table_policy import Role, Sees, TablePolicy

FEW = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
    max_examples=max(1, settings().max_examples // 5),
    # An example takes a second: to shrink one would take an hour.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
BOSS, ACTOR, OTHER = "boss", "actor", "other"
NOTHING = plain_graph(CATALOG, {})

QUERIES = [
    "match { $a: A } return { $a.name, $a.n, $a.small }",
    "match { $a: A } return { $a }",
    "match { $x: Named } return { $x.name as name, count($x) as c }",
    "match { $a: A  $a aa $b } return { $a.name as a, $b.name as b }",
    "match { $a: A  $a aa{1,3} $b } return { count($b) as n, collect($b.name) as names }",
    "match { $a $e:aa $b } return { $e.w as w, count($e) as n }",
    "match { $b: B  $b ba $a  not { $a aa $_ } } return { $b.id, $a.name }",
    "match { $a: A  optional { $a ab $b } } return { $a.n as n, $b.name as name }",
    "match { $a: A  exists { $a ab $b  $b ba $_ } } return { count($a) as n }",
    "match { $a: A  count { $a aa $_ } >= 1 } return { sum($a.n) as s, avg($a.x) as m }",
    "match { $a: A  $b: B  $a.name = $b.name } return { $a.n as a, $b.id as b }",
    "match { $a: A } return { min($a.day) as d, max($a.at) as t, count($a.flag) as f }",
    'match { $a: A  $a.tags contains "a" } return { $a.tags }',
    "match { $b: B } return { $b.id, $b.big } order { $b.id } limit 2",
    'match { $a: A  search($a.name, "a") } return { count($a) as n }',
    'match { $a: A  top 2 $a by bm25($a.name, "ab b") } return { $a.name, score($a) as s }',
    "match { $a: Aaa } return { $a.name }",
    "match { $b: B } return { $b.nam }",
]

MUTATIONS = [
    'update A set { n: 7 } where name = "a"',
    'update B set { name: "zz" } where n > 0',
    "update Aa set { w: 5 } where w < 2",
    'delete A where name = "b"',
    "delete B where id = 1",
    "delete Ba where w = 1",
    'insert B { id: 0, name: "new" }',
    "insert B { id: 9, n: 1 }",
    'insert Ab { from: "0", to: "1" }',
    'insert Aa { from: "0", to: "3", w: 1 }',
    'insert B { id: 2 }  insert Ab { from: "1", to: "2" }  update B set { n: 3 } where id = 2',
    "update A set { x: 1.5 } where flag = true",
]


# Policies -----------------------------------------------------------------------------------------


@st.composite
def sights(draw: st.DrawFn) -> Sees:
    """Rows of some types, now and then without a type or some properties."""
    names = [entity.name for entity in CATALOG.entities]
    hidden = draw(st.sets(st.sampled_from(names), max_size=2)) if draw(st.booleans()) else set()
    properties: dict[TypeName, frozenset[str]] = {}
    if draw(st.booleans()):
        entity = draw(st.sampled_from([e for e in CATALOG.entities if e.properties]))
        own = [p.name for p in entity.properties]
        properties[entity.name] = frozenset(draw(st.sets(st.sampled_from(own), max_size=2)))
    return Sees(draw(conditions()), frozenset(hidden), properties)


WHENS = {
    "A": [
        'resource.name == "a"',
        'resource.name like "*b*"',
        "resource.n > 1",
        "resource.flag",
        'resource.tags.contains("a")',
        'resource.small <= 1 || resource.name == "b"',
        '!(resource.name == "ab") && resource.n < 3',
    ],
    "B": ["resource.n >= 0", 'resource.name == "é"', "resource.id == 1", "resource.id != 0"],
    "Aa": ["resource.w > 0", 'resource.from == "0"', "resource.w == 1"],
    "Ba": ["resource.w < 1"],
}


@st.composite
def bundles(draw: st.DrawFn) -> CedarPolicy:
    """A bundle that lets everyone read, write and see what its random denials leave."""
    rules = [
        "  - id: all\n    allow: {actors: everyone, actions: [read, export, change, branch_create]}"
    ]
    for number in range(draw(st.integers(0, 4))):
        type_ = draw(st.sampled_from([*WHENS]))
        word = draw(st.sampled_from(["when", "unless"]))
        text = draw(st.sampled_from(WHENS[type_]))
        actor = draw(st.sampled_from([ACTOR, OTHER]))
        rules.append(
            f"  - id: r{number}\n    deny:\n      actors: [{actor}]\n"
            f"      actions: [read, export]\n      types: [{type_}]\n      {word}: '{text}'"
        )
    if draw(st.booleans()):
        type_, hidden = draw(
            st.sampled_from([("A", "n"), ("A", "name"), ("B", "name"), ("Aa", "w")])
        )
        rules.append(
            f"  - id: p\n    deny:\n      actors: [{ACTOR}]\n      actions: [read, export]\n"
            f"      types: [{type_}]\n      properties: ['{hidden}']"
        )
    if draw(st.booleans()):
        type_ = draw(st.sampled_from(["B", "Aa"]))
        rules.append(
            f"  - id: t\n    deny:\n      actors: [{ACTOR}]\n      actions: [read, export]\n"
            f"      types: [{type_}]"
        )
    text = "version: 1\nrules:\n" + "\n".join(rules) + "\n"
    return CedarPolicy.of_text(SourceText(text, "policy.yaml"))


policies = st.one_of(
    st.builds(
        lambda one, other: TablePolicy({BOSS: Role(), ACTOR: Role(one), OTHER: Role(other)}),
        sights(),
        sights(),
    ),
    bundles(),
)


# Two graphs ---------------------------------------------------------------------------------------


def rows_of(graph: PlainGraph, entity: EntityType) -> dict[str, Entity]:
    return {row.id: row for row in {**graph.nodes, **graph.edges}.get(entity.name, [])}


def changed(catalog: Catalog, before: PlainGraph, after: PlainGraph) -> Edits:
    tables = {}
    for entity in catalog.entities:
        was, now = (
            {row["id"]: row for row in table(entity, [*rows_of(g, entity).values()]).to_pylist()}
            for g in (before, after)
        )
        kept = rows_of(after, entity)
        put = [kept[id_] for id_, row in now.items() if was.get(id_) != row]
        gone = [id_ for id_ in was if id_ not in now]
        tables[entity.table_key] = RowEdits(table(entity, put), pa.array(gone, pa.string()))
    return Edits(tables)


@dataclass(frozen=True)
class Made:
    uri: str
    heads: list[CommitId]
    """The commit of each state; one that changed nothing is that of the state before."""


def made(place: Path, catalog: Catalog, *states: PlainGraph) -> Made:
    """A graph that was in each of these states, one after another."""
    source = SCHEMA if catalog is CATALOG else text_of_part(SourceText(SCHEMA), catalog)
    store = GraphStore.init(str(place), catalog, source=source, durability=Durability.RELAXED)
    before, heads = NOTHING, []
    for state in states:
        edits = changed(catalog, before, state)
        write(store, Replay(edits), to=Target(MAIN), note=CommitNote(CommitKind.MUTATION))
        heads.append(store.snapshot().commit.id)
        before = state
    return Made(str(place), heads)


def reduced(graph: PlainGraph, scope: Scope, sees: Mapping[TypeName, Any]) -> PlainGraph:
    """The graph without hidden rows, types and properties."""
    left = without_hidden(graph, dict(sees))
    rows = {**left.nodes, **left.edges}
    catalog = scope.catalog
    kept = {
        str(entity.name): [
            Entity(
                e.type,
                e.id,
                {k: v for k, v in e.values.items() if k in entity.by_name},
                e.src,
                e.dst,
            )
            for e in rows[entity.name]
        ]
        for entity in catalog.entities
    }
    return plain_graph(catalog, kept)


@dataclass(frozen=True)
class Worlds:
    shared: Graph
    """With the policy, for the actor, over an engine that others have used."""
    fresh: Graph
    """The same, over an engine of its own."""
    removed: Graph
    """Without what is hidden, and without a policy."""
    catalog: Catalog
    heads: tuple[list[CommitId], list[CommitId]]
    """Of the two graphs, as `made` tells them."""


def worlds(root: Path, policy: Policy, *states: PlainGraph) -> Worlds:
    whole = made(root / "whole", CATALOG, *states)
    shared = opened(whole.uri, policy, OTHER)
    guard = shared.engine.gate.guard
    assert guard is not None
    snapshot = shared.engine.store.snapshot()
    sight = guard.first.sight(actor=ACTOR, action="read", branch=MAIN)
    scope = guard.scope(snapshot, ACTOR, "read", (MAIN,))
    left = [reduced(state, scope, visible_rows(sight, scope)) for state in states]
    removed = made(root / "removed", scope.catalog, *left)
    for question in QUERIES:  # caches are warm with what others see
        rows(shared, question)
        rows(shared.as_actor(BOSS), question)
    return Worlds(
        shared.as_actor(ACTOR),
        opened(whole.uri, policy, ACTOR),
        opened(removed.uri, None, None),
        scope.catalog,
        (whole.heads, removed.heads),
    )


def visible_rows(sight: Any, scope: Scope) -> dict[TypeName, Any]:
    known = {entity.name for entity in scope.catalog.entities}
    return {name: condition for name, condition in sight.rows.items() if name in known}


def opened(uri: str, policy: Policy | None, actor: str | None) -> Graph:
    engine = Engine.open(uri, durability="relaxed", settings=Settings(), policy=policy, actor=actor)
    return Graph(engine)


# Answers ------------------------------------------------------------------------------------------


def text(body: str) -> str:
    return f"query q() {{ {body} }}"


def outcome(ask: Callable[[], Any]) -> Any:
    """The answer, or all that an error says."""
    try:
        answer = ask()
    except OmnigraphError as error:
        return type(error).__name__, str(error), error.hint, json.dumps(error.details, default=str)
    return answer


def rows(graph: Graph, question: str) -> Any:
    def ask() -> Any:
        found = [canonical(row) for row in graph.query(text(question)).to_pylist()]
        return found if "order" in question else sorted(found, key=repr)

    return outcome(ask)


def plan(graph: Graph, question: str, *, analyze: bool) -> Any:
    def ask() -> Any:
        steps = graph.explain(text(question), analyze=analyze).steps
        return [(s.depth, s.text, s.rows_expected, s.rows, s.rows_of_pattern) for s in steps]

    return outcome(ask)


def exported(graph: Graph) -> Any:
    def ask() -> Any:
        sink = io.BytesIO()
        told = graph.export(sink)
        # Rows come in the order in which they lie, and a hidden change may have moved one.
        return sorted(sink.getvalue().splitlines()), dict(told.nodes), dict(told.edges)

    return outcome(ask)


def history(graph: Graph, heads: list[CommitId]) -> dict[str, Any]:
    """What every door tells of changes from the first state to the second."""
    first, last = heads
    page = graph.changes(start="beginning")
    feed = [block.changes.to_pylist() for block in page.blocks]
    small, cursor = [], graph.changes(start=f"after:{first}", limit=1)
    while True:
        small += [c for block in cursor.blocks for c in block.changes]
        if cursor.caught_up:
            break
        cursor = graph.changes(cursor.cursor, limit=1)
    of_commits = [] if first == last else graph.commit_changes(last).changes.to_pylist()
    diff = graph.diff(first, last)
    counts = {name: (c.inserted, c.updated, c.deleted) for name, c in diff.counts.items()}
    sink = io.BytesIO()
    graph.changes_baseline(sink)
    return {
        "feed": feed,
        "pages": small,
        "commit": of_commits,
        "diff": diff.to_pylist(),
        "counts": counts,
        "baseline": sorted(sink.getvalue().splitlines()),
    }


def sizes(graph: Graph) -> Any:
    return (
        {key: table.row_count for key, table in graph.stats().tables.items()},
        {each.type_name: each.entity_count for each in graph.tables().datasets},
        [entity.name for entity in graph.schema().catalog.entities],
    )


# Laws ---------------------------------------------------------------------------------------------


@given(policies, graphs(), graphs())
@FEW
def test_an_actor_has_the_graph_without_what_is_hidden(
    policy: Policy, before: PlainGraph, after: PlainGraph
) -> None:
    with tempfile.TemporaryDirectory() as root:
        world = worlds(Path(root), policy, before, after)
        for graph in (world.shared, world.fresh):
            for question in QUERIES:
                assert rows(graph, question) == rows(world.removed, question), question
                assert rows(graph, question) == rows(world.removed, question), question
            assert exported(graph) == exported(world.removed)
            assert sizes(graph) == sizes(world.removed)
            ours, theirs = (
                history(g, heads)
                for g, heads in zip((graph, world.removed), world.heads, strict=True)
            )
            for part in ours:
                assert ours[part] == theirs[part], part
            assert graph.schema().text == world.removed.schema().text or policy_is_whole(graph)
        # A guess about values is kept for a while: both begin with an empty cache.
        fresh, removed = world.fresh.as_actor(ACTOR), opened(world.removed.uri, None, None)
        for question in QUERIES:
            for analyze in (False, True):
                told = plan(fresh, question, analyze=analyze)
                assert told == plan(removed, question, analyze=analyze), question


def policy_is_whole(graph: Graph) -> bool:
    return graph.schema().text == SCHEMA


@given(policies, graphs(), st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=3))
@FEW
def test_a_write_does_what_it_would_without_the_hidden_or_is_denied(
    policy: Policy, state: PlainGraph, mutations: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        world = worlds(Path(root), policy, state)
        boss = world.shared.as_actor(BOSS)
        for mutation in mutations:
            all_before, seen_before = (
                lines(boss, world.catalog),
                lines(world.removed, world.catalog),
            )
            unknown = lines(boss, None) - all_before
            ours, theirs = (mutated(g, mutation) for g in (world.shared, world.removed))
            if isinstance(ours, tuple) and ours[0] == PolicyDenied.__name__:
                assert lines(boss, world.catalog) == all_before
                return  # the removed graph has gone on without us
            assert ours == theirs, mutation
            hidden = all_before - seen_before
            assert lines(boss, world.catalog) == hidden + lines(world.removed, world.catalog)
            assert lines(boss, None) - lines(boss, world.catalog) == unknown


def mutated(graph: Graph, mutation: str) -> Any:
    def ask() -> Any:
        done = graph.mutate(text(mutation))
        return done.affected_nodes, done.affected_edges, done.commit is not None

    return outcome(ask)


def lines(graph: Graph, catalog: Catalog | None) -> Counter[str]:
    """All rows, as far as a catalog knows them; edges without their ids, which are made up."""
    sink = io.BytesIO()
    graph.export(sink)
    found = Counter[str]()
    known = {e.name: e for e in (CATALOG if catalog is None else catalog).entities}
    for line in map(json.loads, sink.getvalue().splitlines()):
        entity = known.get(line.get("type") or line["edge"])
        if entity is None:
            continue
        if "edge" in line:
            line.pop("id", None)
        data = {k: v for k, v in line.get("data", {}).items() if k in entity.by_name}
        found[json.dumps({**line, "data": data}, sort_keys=True)] += 1
    return found


def test_the_bundles_of_these_laws_fit() -> None:
    """Most of what is drawn above would be lost on a policy that is refused."""
    for whens, type_ in ((w, t) for t, ws in WHENS.items() for w in ws):
        rule = (
            "version: 1\nrules:\n  - id: r\n    deny:\n      actors: everyone\n"
            f"      actions: [read]\n      types: [{type_}]\n      when: '{whens}'\n"
        )
        try:
            CedarPolicy.of_text(SourceText(rule, "p.yaml")).fitted(CATALOG, type_ + whens)
        except PolicyInvalid as invalid:
            raise AssertionError(f"{type_}: {whens}: {invalid}") from invalid
