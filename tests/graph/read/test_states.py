"""An answer depends on the commit and on nothing else: not on caches, indexes, branches or threads.

The same questions are asked of one graph in many states. What they must give is what a reader gives
that shares nothing with any other and walks the plan as written.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import ReadQuery
from omnigraph.read.run import run
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.read.view import View
from omnigraph.store.snapshot import Snapshot

SCHEMA = """
interface Named { name: String? }
node Person implements Named { email: String @key  name: String?  age: I32? }
node City implements Named { code: String @key  name: String? }
edge Knows: Person -> Person { since: Date? }
edge Lives: Person -> City
"""

QUESTIONS = [
    'match { $p: Person { email: "p1" } } return { $p.name, $p.age }',
    "match { $p: Person  $p.age != 30 } return { $p.email } order { $p.email }",
    'match { $p: Person { email: "p0" }  $p knows $f } return { $f.email as f } order { f }',
    'match { $f: Person { email: "p1" }  $p knows $f } return { $p.email } order { $p.email }',
    'match { $p: Person { email: "p0" }  $p knows{1,3} $f } return { $f.email as f } order { f }',
    'match { $p: Person { email: "p1" }  $p <knows>{2,2} $f } return { $f.email as f } order { f }',
    "match { $p: Person  $p $e:knows $f  $e.since is null } return { $p.email, $f.email }"
    " order { $p.email, $f.email }",
    'match { $p: Person { email: "p2" }  $p $e:<knows> $f } return { $f.email as f } order { f }',
    "match { $p: Person  not { $p knows $_ } } return { $p.email } order { $p.email }",
    "match { $p: Person  optional { $p lives $c } } return { $p.email as p, $c.code } order { p }",
    "match { $p: Person  $p knows $f  $f knows $g } return { count($g) as n }",
    "match { $x: Named  $x knows|lives $y } return { $y.name as y, count($x) as n } order { n, y }",
    "match { $p: Person } return { sum($p.age) as s, avg($p.age) as a, min($p.name) as m }",
    "match { $p: Person  $q: Person  $p.name = $q.name  $p.age < $q.age } return { $p.email as p }"
    " order { p }",
    "match { $p: Person  $p knows $f  $p.age > 30  $p.age < 30 } return { $p.email, $f.name }",
    "match { $p knows $f  $f knows $g  $p <knows> $h  $h knows $i } return distinct { $p.email }"
    " order { $p.email }",
    "match { $p knows $f  $f.age > 0 } return { $p.email, $f.email } limit 3",
    "match { $p: Person  $p knows{1,2} $f } return { $f.name as f, count($p) as n } limit 2",
    "match { $x: Named  optional { $x lives $c } } return distinct { $c.code, $x.name } limit 3",
    "match { $p $e:knows $f } return { $p.email } limit 99 offset 2",
    # The fine print: cycles and loops, bounds below the minimum, chains of types, bound targets.
    'match { $p: Person { email: "p0" }  $p knows{3,3} $f } return { $f.email as f } order { f }',
    'match { $p: Person { email: "p2" }  $p knows{1,3} $f } return { $f.email as f } order { f }',
    "match { $p: Person  $p lives{1,2} $c } return { $p.email as p, $c.code as c } order { p, c }",
    'match { $f: Person { email: "p2" }  $p knows{1,2} $f  $p knows $f } return { $p.email as p }'
    " order { p }",
    # Null, fractions, texts and dates.
    'match { $p: Person  $p.name != "P0" } return { $p.email as p } order { p }',
    "match { $p: Person  not { $p knows $f  $f.age > 29 } } return { $p.email as p } order { p }",
    "match { $p: Person  $p.age > 28.5  $p.age < 30.5 } return { $p.email as p } order { p }",
    'match { $p: Person  $p.name contains ""  $p.name starts_with "P" } return { $p.email as p }'
    " order { p }",
    'match { $p $e:knows $f  $e.since >= "2020-06-01" } return { $f.email as f } order { f }',
    # Answers: nulls sort first, ties go by id, null is a group, no rows make no group.
    "match { $p: Person } return { $p.age, $p.email } order { $p.age desc } limit 4",
    "match { $p: Person } return { $p.name as n, count($p.age) as c, sum($p.age) as s }"
    " order { n }",
    "match { $p: Person  $p.age > 1000 } return { $p.name, count($p) as n }",
    "match { $p: Person  $p.age > 1000 } return { count($p) as n, max($p.age) as m }",
    "match { $p: Person } return { $p.email } limit 0",
]

CHANGES = """
query person($e: String, $n: String?, $a: I32?) { insert Person { email: $e, name: $n, age: $a } }
query know($a: String, $b: String, $d: Date?) { insert Knows { from: $a, to: $b, since: $d } }
query birthday($e: String, $a: I32?) { update Person set { age: $a } where email = $e }
query leave($e: String) { delete Person where email = $e }
"""


def text(question: str) -> SourceText:
    return SourceText(f"query q() {{ {question} }}")


def plainly(
    snapshot: Snapshot, question: str, cache: RuntimeCache | None = None
) -> list[dict[str, Any]]:
    """The answer of a reader of this commit alone that takes the plan as it is written."""
    query = compile_query(text(question), snapshot.catalog)
    assert isinstance(query, ReadQuery)
    mode = TraversalMode.CSR
    rows: list[dict[str, Any]] = run(
        query, View(snapshot), {}, cache=cache or RuntimeCache(), now_ms=0, mode=mode
    ).table.to_pylist()
    return rows


GROW = """
query grow() {
    insert Person { email: "p0", name: "P0", age: 28 }
    insert Person { email: "p1", name: "P1", age: 29 }
    insert Person { email: "p2", name: "P2", age: 30 }
    insert Person { email: "p3", name: "P0" }
    insert Person { email: "p4", name: "P1", age: 32 }
    insert Person { email: "p5", age: 33 }
    insert City { code: "oslo", name: "Oslo" }
    insert Knows { from: "p0", to: "p1", since: "2020-01-01" }
    insert Knows { from: "p0", to: "p1" }
    insert Knows { from: "p1", to: "p2" }
    insert Knows { from: "p2", to: "p0" }
    insert Knows { from: "p2", to: "p2", since: "2021-01-01" }
    insert Knows { from: "p3", to: "p4" }
    insert Lives { from: "p0", to: "oslo" }
}
"""


def update_and_delete(graph: Graph) -> None:
    graph.mutate(CHANGES, "birthday", {"e": "p1", "a": 77})
    graph.mutate(CHANGES, "leave", {"e": "p4"})
    graph.mutate(CHANGES, "know", {"a": "p5", "b": "p0", "d": None})


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph.init(str(tmp_path / "graph"), SCHEMA, durability="relaxed") as graph:
        graph.mutate(GROW)
        yield graph


def check(graph: Graph, **where: Any) -> None:
    """Every question, asked twice of the graph, gives what a plain reader of its commit gives."""
    expected: dict[str, list[list[dict[str, Any]]]] = {}
    for question in QUESTIONS:
        for _ in range(2):
            answer = graph.query(text(question), **where)
            commit = answer.graph_commit_id
            if commit not in expected:
                snapshot, cache = graph.at(commit).stored, RuntimeCache()
                expected[commit] = [plainly(snapshot, q, cache) for q in QUESTIONS]
            assert answer.to_pylist() == expected[commit][QUESTIONS.index(question)], question


def forced(graph: Graph, mode: TraversalMode) -> Graph:
    """Another handle of the same graph, cold, that finds edges one way only."""
    settings = replace(Settings.from_environment(), traversal_mode=mode)
    return Graph(Engine.over(graph.engine.store, settings))


def nothing(graph: Graph) -> None:
    """As it was loaded."""


def index_all(graph: Graph) -> None:
    graph.optimize()


def index_a_part(graph: Graph) -> None:
    graph.optimize()
    graph.mutate(CHANGES, "know", {"a": "p4", "b": "p1", "d": None})
    graph.mutate(CHANGES, "person", {"e": "p9", "n": None, "a": 1})


@pytest.mark.values
@pytest.mark.parametrize("mode", TraversalMode)
@pytest.mark.parametrize("state", [nothing, index_all, index_a_part, update_and_delete])
def test_the_same_rows_in_every_state(
    graph: Graph, state: Callable[[Graph], None], mode: TraversalMode
) -> None:
    check(graph)
    state(graph)
    check(graph)
    check(forced(graph, mode))


def test_the_same_rows_on_a_fork_and_at_an_old_commit(graph: Graph) -> None:
    before = graph.commits()[0].graph_commit_id
    answers = [graph.query(text(q)).to_pylist() for q in QUESTIONS]
    graph.branch_create("work")
    check(graph, branch="work")
    graph.mutate(CHANGES, "leave", {"e": "p2"}, branch="work")
    update_and_delete(graph)
    for mode in TraversalMode:
        check(forced(graph, mode), branch="work")
        check(forced(graph, mode))
    check(graph, branch="work")
    check(graph)
    assert [graph.query(text(q), snapshot=before).to_pylist() for q in QUESTIONS] == answers


def test_a_reader_loads_nothing_that_only_writers_need(graph: Graph) -> None:
    asked = f"""
import sys
from omnigraph import Graph
Graph.open({graph.uri!r}).query("query q() {{ {QUESTIONS[-1]} }}")
names = ("pyspark", "duckdb", "omnigraph.engine.mutate", "omnigraph.lang.schema.text.parser")
sys.exit([name for name in names if name in sys.modules] or 0)
"""
    subprocess.run([sys.executable, "-c", asked], check=True)


def test_branches_that_share_a_table_share_what_was_built_of_it(graph: Graph) -> None:
    walk = text(QUESTIONS[10])
    graph.query(walk)
    graph.branch_create("work")
    held = graph.engine.cache.nbytes
    graph.query(walk, branch="work")
    assert graph.engine.cache.nbytes == held


def test_readers_beside_a_writer_see_whole_commits(graph: Graph) -> None:
    """Eight threads ask while a ninth writes; each answer is the one of the commit it names."""
    done = threading.Event()
    seen: list[tuple[str, str, list[dict[str, Any]]]] = []
    failures: list[BaseException] = []

    def read(number: int) -> None:
        asked = 0
        while not done.is_set() or asked < 3:
            question = QUESTIONS[(number + asked) % len(QUESTIONS)]
            try:
                answer = graph.query(text(question))
            except BaseException as error:  # noqa: BLE001  # reported by the test's own thread
                failures.append(error)
                return
            seen.append((question, answer.graph_commit_id, answer.to_pylist()))
            asked += 1

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    for round_ in range(4):
        graph.mutate(CHANGES, "birthday", {"e": "p0", "a": 50 + round_})
        graph.mutate(CHANGES, "know", {"a": "p5", "b": f"p{round_}", "d": None})
    graph.mutate(CHANGES, "leave", {"e": "p1"})
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert len({commit for _, commit, _ in seen}) > 1
    caches = {commit: RuntimeCache() for _, commit, _ in seen}
    for question, commit in {(question, commit) for question, commit, _ in seen}:
        expected = plainly(graph.at(commit).stored, question, caches[commit])
        assert all(r == expected for q, c, r in seen if (q, c) == (question, commit)), question
