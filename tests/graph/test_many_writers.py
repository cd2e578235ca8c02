"""Processes that mutate one branch at once: keys stay unique, no change is lost, losers know."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ConflictError, ConstraintViolated
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
query count_own($name: String, $value: I32) {
    update Tally set { value: $value } where name = $name
}
query shared() { match { $t: Tally { name: "shared" } } return { $t.value as value } }
query set_shared($value: I32) { update Tally set { value: $value } where name = "shared" }
query everyone() { match { $p: Person } return { $p.name as name, $p.nick as nick } }
query sightings() { match { $p: Person  $p $s:saw $q } return { $p.name as p, $q.name as q } }
query tallies() { match { $t: Tally } return { $t.name as name, $t.value as value } }
"""


def take_part(uri: str, me: str, rounds: int) -> tuple[int, int]:
    """What each process does; gives how often it was turned away, and how often it won a nick."""
    graph = Graph.open(uri, durability="relaxed")
    conflicts = nicks = 0
    for number in range(rounds):
        # Inserts never lose to each other: everybody puts the same people.
        graph.mutate(QUERIES, "meet", {"me": me, "name": f"p{number}"})
        while True:
            try:
                graph.mutate(QUERIES, "count_own", {"name": me, "value": number + 1})
                break
            except ConflictError:
                conflicts += 1
        while True:
            # What was read counts only if nothing has happened since.
            seen = graph.query(QUERIES, "shared")
            value = seen.to_pylist()[0]["value"] + 1
            try:
                graph.mutate(
                    QUERIES, "set_shared", {"value": value}, if_commit=seen.graph_commit_id
                )
                break
            except ConflictError:
                conflicts += 1
    try:
        graph.mutate(QUERIES, "rival", {"name": f"rival of {me}"})
        nicks += 1
    except ConstraintViolated:
        pass
    return conflicts, nicks


def test_processes_that_mutate_one_branch_lose_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    writers, rounds = (8, 25) if request.config.getoption("--deep") else (8, 1)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    names = [f"w{number}" for number in range(writers)]
    people = [f'insert Person {{ name: "{name}", nick: "{name}" }}' for name in names]
    tallies = [f'insert Tally {{ name: "{name}", value: 0 }}' for name in ("shared", *names)]
    graph.mutate(f"query q() {{ {' '.join([*people, *tallies])} }}")
    with processes.pool(writers) as pool:
        parts = [pool.submit(take_part, graph.uri, name, rounds) for name in names]
        won = [part.result()[1] for part in parts]

    met = [f"p{number}" for number in range(rounds)]
    everyone = graph.query(QUERIES, "everyone").to_pylist()
    (rival,) = (row["name"] for row in everyone if row["nick"] == "taken")
    assert sum(won) == 1
    assert sorted(row["name"] for row in everyone) == sorted([*names, *met, rival])
    sightings = graph.query(QUERIES, "sightings").to_pylist()
    seen = sorted((row["p"], row["q"]) for row in sightings)
    assert seen == sorted((name, other) for name in names for other in met)
    values = {row["name"]: row["value"] for row in graph.query(QUERIES, "tallies")}
    assert values == {"shared": writers * rounds, **dict.fromkeys(names, rounds)}
