"""One handle, many threads: every call answers or refuses in our words, whatever the others do."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from omnigraph import Graph
from omnigraph.base.errors import ReadSetMoved

SCHEMA = """
node City { name: String @key  pop: I32? }
edge Road: City -> City
"""
CITIES = "query q() { match { $c: City } return { $c.name as n, $c.pop as p } order { n } }"
ROADS = "query q() { match { $a: City $a road $b } return { $a.name as a, $b.name as b } }"
BRANCHES, READERS = 8, 3
PAUSE_S = 0.01  # so that those who wait for a fence get a turn too


def test_readers_writers_makers_of_branches_and_upkeep_share_a_handle(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g", SCHEMA, durability="relaxed")
    graph.mutate('query q() { insert City { name: "root" } }')
    is_over = threading.Event()

    def make_branches() -> None:
        for number in range(BRANCHES):
            name = f"b{number}"
            graph.branch_create(name)
            graph.mutate('query q() { insert City { name: "x" } }', branch=name)
            assert [row["n"] for row in graph.query(CITIES, branch=name).to_pylist()][-1] == "x"
            graph.branch_delete(name)

    def write() -> None:
        for number in range(BRANCHES):
            insert = f'insert City {{ name: "c{number}" }} '
            road = f'insert Road {{ from: "root", to: "c{number}" }}'
            graph.mutate(f"query q() {{ {insert} {road} }}")

    def look_after() -> None:
        while not is_over.wait(PAUSE_S):
            try:
                graph.optimize()
            except ReadSetMoved:
                continue  # a write was first

    def read() -> int:
        answers = 0
        while not is_over.wait(PAUSE_S):
            cities = graph.query(CITIES)
            roads = graph.query(ROADS, snapshot=cities.graph_commit_id)
            assert len(roads) == len(cities) - 1
            assert graph.stats() is not None
            assert "main" in graph.branches()
            answers += 1
        return answers

    with ThreadPoolExecutor(READERS + 3) as pool:
        background: list[Callable[[], object]] = [look_after, *([read] * READERS)]
        running = [pool.submit(work) for work in background]
        foreground = [pool.submit(work) for work in (make_branches, write)]
        try:
            for work in foreground:
                work.result()
        finally:
            is_over.set()
        assert all(isinstance(work.result(), int) for work in running[1:])
        running[0].result()
    assert len(graph.query(CITIES)) == BRANCHES + 1
    assert len(Graph.open(graph.uri).query(ROADS)) == BRANCHES
