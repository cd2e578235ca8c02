"""Processes that mutate one branch at once: all succeed, keys stay unique, no change is lost."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ConstraintViolated, PreconditionFailed
from omnigraph.base.ids import CommitId
from tests import processes

SCHEMA = """
node Person { name: String @key  nick: String @unique }
node Tally { name: String @key  value: I32 }
edge Saw: Person -> Person { times: I32  @key(src, dst) }
"""
QUERIES = """
query meet($me: String, $name: String) {
    insert Person { name: $name, nick: $name }
    insert Saw { from: $me, to: $name, times: 1 }
}
query rival($name: String) { insert Person { name: $name, nick: "taken" } }
query value_of($name: String) {
    match { $t: Tally { name: $name } }
    return { $t.value as value }
}
query put($name: String, $value: I32) {
    update Tally set { value: $value } where name = $name
}
query raise($name: String, $old: I32, $new: I32) {
    update Tally set { value: $new } where value = $old and name = $name
}
query everyone() { match { $p: Person } return { $p.name as name, $p.nick as nick } }
query sightings() { match { $p: Person  $p $s:saw $q } return { $p.name as p, $q.name as q } }
query tallies() { match { $t: Tally } return { $t.name as name, $t.value as value } }
"""

COUNTED = ("shared", "judged")
"""Rows that processes raise by one, each round: all by what it was, two by what they have seen."""
JUDGES = ("w0", "w1")


def take_part(uri: str, me: str, rounds: int) -> int:
    """What each process does; gives how often it won the nick that all want."""
    graph = Graph.open(uri, durability="relaxed")

    def value_of(name: str) -> tuple[int, CommitId]:
        seen = graph.query(QUERIES, "value_of", {"name": name})
        return seen.to_pylist()[0]["value"], seen.graph_commit_id

    def has_raised(old: int) -> bool:
        """By the value that it had: if it has another by now, no row is found."""
        old_and_new = {"name": "shared", "old": old, "new": old + 1}
        return graph.mutate(QUERIES, "raise", old_and_new).commit is not None

    def has_put(old: int, seen: CommitId) -> bool:
        """By the commit that was seen: if there is another by now, it is refused."""
        try:
            graph.mutate(QUERIES, "put", {"name": "judged", "value": old + 1}, if_commit=seen)
        except PreconditionFailed:
            return False
        return True

    for number in range(rounds):
        # Everybody puts the same people, and a row of their own; nobody is ever turned away.
        graph.mutate(QUERIES, "meet", {"me": me, "name": f"p{number}"})
        own = graph.mutate(QUERIES, "put", {"name": me, "value": number + 1})
        assert own.affected_nodes == 1 and own.commit is not None
        while not has_raised(value_of("shared")[0]):
            pass
        while me in JUDGES and not has_put(*value_of("judged")):
            pass
    try:
        graph.mutate(QUERIES, "rival", {"name": f"rival of {me}"})
    except ConstraintViolated:
        return 0
    return 1


def test_processes_that_mutate_one_branch_lose_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    writers, rounds = (8, 25) if request.config.getoption("--deep") else (4, 2)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    names = [f"w{number}" for number in range(writers)]
    people = [f'insert Person {{ name: "{name}", nick: "{name}" }}' for name in names]
    tallies = [f'insert Tally {{ name: "{name}", value: 0 }}' for name in (*COUNTED, *names)]
    graph.mutate(f"query q() {{ {' '.join([*people, *tallies])} }}")
    with processes.pool(writers) as pool:
        parts = [pool.submit(take_part, graph.uri, name, rounds) for name in names]
        won = [part.result() for part in parts]

    met = [f"p{number}" for number in range(rounds)]
    everyone = graph.query(QUERIES, "everyone").to_pylist()
    (rival,) = (row["name"] for row in everyone if row["nick"] == "taken")
    assert sum(won) == 1
    assert sorted(row["name"] for row in everyone) == sorted([*names, *met, rival])
    sightings = graph.query(QUERIES, "sightings").to_pylist()
    seen = sorted((row["p"], row["q"]) for row in sightings)
    assert seen == sorted((name, other) for name in names for other in met)
    values = {row["name"]: row["value"] for row in graph.query(QUERIES, "tallies")}
    counted = {"shared": writers * rounds, "judged": len(JUDGES) * rounds}
    assert values == {**counted, **dict.fromkeys(names, rounds)}
