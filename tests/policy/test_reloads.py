"""Another policy takes effect at once: for whatever is asked after it, whoever has asked before."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import EntityMissing, PolicyDenied
from tests.policy.firm import NO_PAY, PERSON, RED, equals, make, opened
from tests.reference.table_policy import EVERYTHING, Role, Sees, TablePolicy

BLUE = Sees({PERSON: equals("team", "blue")})
EVERYBODY = "query q() { match { $p: Person } return { $p.email as e } order { $p.email } }"
COUNT = (
    "query q() { match { $p: Person  $p knows $q } return { count($q) as n, sum($p.salary) as s } }"
)
FOUND = """query q() {
    match { $p: Person  top 4 $p by bm25($p.name, "ada bo cy di") } return { $p.email as e }
}"""
ALL, REDS, BLUES = ["ada", "bo", "cy", "di"], ["ada", "bo"], ["cy", "di"]


def policy(reads: Sees, changes: Sees = EVERYTHING, **more: Any) -> TablePolicy:
    return TablePolicy({"ann": Role(reads, changes, **more), "boss": Role()})


@pytest.fixture
def boss(tmp_path: Path) -> Graph:
    return opened(make(tmp_path), {"ann": Role()}, "boss")


def emails(graph: Graph, **where: Any) -> list[str]:
    return [row["e"] for row in graph.query(EVERYBODY, **where).to_pylist()]


def exported(graph: Graph) -> list[str]:
    sink = io.BytesIO()
    graph.export(sink, types=["Person"])
    return sorted(line.split(b'"')[7].decode() for line in sink.getvalue().splitlines())


def told(graph: Graph) -> dict[str, Any]:
    """What every door tells of people."""
    first = graph.commits()[-1]
    feed = graph.changes(start="beginning", types=["Person"])
    diff = graph.diff(first, "main", types=["Person"])
    plan = graph.explain(EVERYBODY, analyze=True)
    (count,) = graph.query(COUNT).to_pylist()
    return {
        "query": emails(graph),
        "then": emails(graph, snapshot=graph.commits()[0]),
        "search": sorted(row["e"] for row in graph.query(FOUND).to_pylist()),
        "export": exported(graph),
        "feed": sorted(c["id"] for block in feed.blocks for c in block.changes),
        "diff": sorted(c["id"] for c in diff),
        "size": sum(table.row_count for table in graph.stats().tables.values()),
        "plan": max(step.rows or 0 for step in plan.steps),
        "around": [node.id for node in graph.neighborhood("Team", "red").nodes],
        "count": count,
    }


def test_no_actor_has_what_another_left_in_a_cache(boss: Graph) -> None:
    """Actors take turns, each with another sight, over one engine; then the policy changes too."""
    sights = {"ann": RED, "ben": BLUE, "cat": NO_PAY, "dan": Sees()}
    graph = boss.under_policy(TablePolicy({name: Role(sees) for name, sees in sights.items()}))
    alone = {
        name: told(Graph.open(boss.uri, policy=policy(sees), actor="ann"))
        for name, sees in sights.items()
        if name != "cat"
    }
    assert [alone[name]["query"] for name in alone] == [REDS, BLUES, ALL]
    for names in (("dan", "ann", "ben"), ("ben", "dan", "ann"), ("ann", "ben", "dan")):
        for name in names:
            assert told(graph.as_actor(name)) == alone[name], name
    turned = {"ann": BLUE, "ben": Sees(), "dan": RED}
    graph = graph.under_policy(TablePolicy({name: Role(sees) for name, sees in turned.items()}))
    for name, as_was in (("ann", "ben"), ("ben", "dan"), ("dan", "ann")):
        assert told(graph.as_actor(name)) == alone[as_was], name


def test_cursors_and_pages_go_on_by_the_new_policy(boss: Graph) -> None:
    wide = boss.under_policy(policy(Sees())).as_actor("ann")
    load = wide.commits()[0]
    first = wide.changes(start="beginning", types=["Person"], limit=1)
    page = wide.commit_changes(load, types=["Person"], limit=1)
    around = wide.neighborhood("Team", "blue", limit=1)
    assert page.next_page_token is not None and around.next_page_token is not None
    assert [c["id"] for c in page.changes] == ["ada"]
    narrow = boss.under_policy(policy(RED)).as_actor("ann")
    rest = narrow.changes(first.cursor, types=["Person"])
    assert [c["id"] for block in rest.blocks for c in block.changes] == ["bo"]
    more = narrow.commit_changes(load, types=["Person"], page_token=page.next_page_token)
    assert [c["id"] for c in more.changes] == ["bo"]
    others = narrow.neighborhood("Team", "blue", limit=1, page_token=around.next_page_token)
    assert (others.node_count, others.nodes) == (0, ())
    boss.mutate('query a() { update Person set { salary: 99 } where email = "cy" }')
    boss.mutate('query a() { update Person set { salary: 98 } where email = "bo" }')
    later = narrow.changes(rest.cursor, types=["Person"])
    assert [c["id"] for block in later.blocks for c in block.changes] == ["bo"]
    shut = boss.under_policy(policy(Sees(), denied=frozenset({"read"}))).as_actor("ann")
    with pytest.raises(PolicyDenied):
        shut.changes(later.cursor, types=["Person"])


def test_a_commit_that_was_held_before_is_read_by_the_new_policy(boss: Graph) -> None:
    held = boss.under_policy(policy(Sees())).as_actor("ann").snapshot()
    assert [row["e"] for row in held.query(EVERYBODY).to_pylist()] == ALL
    narrow = boss.under_policy(policy(RED)).as_actor("ann")
    assert emails(narrow, snapshot=held) == REDS
    with pytest.raises(EntityMissing):
        narrow.neighborhood("Person", "cy", snapshot=held)


WRITES: dict[str, Callable[[Graph], object]] = {
    "mutate": lambda g: g.mutate(
        'query a() { insert Person { email: "x", name: "X", team: "blue" } }'
    ),
    "load": lambda g: g.load(
        [{"type": "Person", "data": {"email": "y", "name": "Y", "team": "blue"}}], mode="append"
    ),
    "merge": lambda g: g.branch_merge("side"),
}
CAREFUL = Sees({PERSON: equals("team", "red")})
RIGHTS: dict[str, Any] = {name: {"changes": CAREFUL} for name in WRITES} | {
    "merge": {"merges": CAREFUL}
}


@pytest.mark.parametrize("write", WRITES)
def test_what_may_be_written_is_asked_of_the_new_policy(boss: Graph, write: str) -> None:
    boss.branch_create("side")
    text = 'query a() { update Person set { name: "C" } where email = "cy" }'
    boss.mutate(text, branch="side")
    narrow = boss.under_policy(policy(Sees(), **RIGHTS[write])).as_actor("ann")
    with pytest.raises(PolicyDenied):
        WRITES[write](narrow)
    WRITES[write](boss.under_policy(policy(Sees())).as_actor("ann"))


def test_rows_of_a_stream_are_judged_by_the_policy_that_it_began_with(boss: Graph) -> None:
    """A source that is read while a policy changes belongs to a load that has begun."""
    careful = Sees({PERSON: equals("team", "red")})
    wide = boss.under_policy(policy(Sees())).as_actor("ann")
    later: list[Graph] = []

    def rows(email: str) -> Iterator[dict[str, Any]]:
        later.append(boss.under_policy(policy(Sees(), careful)).as_actor("ann"))
        yield {"type": "Person", "data": {"email": email, "name": "Z", "team": "blue"}}

    assert wide.load(rows("y"), mode="append").total_entities == 1
    with pytest.raises(PolicyDenied):
        later[0].load(rows("z"), mode="append")
