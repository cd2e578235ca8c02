"""A branch made from a past commit is written as if main had kept the schema of that commit.

The branch has not written its tables yet: their files lie with those of main, whose newest version
has other columns. What each kind of writer leaves is compared with what it leaves on a branch of
a graph whose main has changed nothing.
"""

import io
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.embed.provider import EmbedConfig
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits

SCHEMA = """
node Person { name: String @key  age: I32?  note: String?  vector: Vector(4)? @embed("note") }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
"""
LATER = {
    "properties dropped": SCHEMA.replace("age: I32?  ", "").replace("since: I32?  ", ""),
    "properties widened": SCHEMA.replace("I32", "I64"),
    "properties renamed and added": SCHEMA.replace(
        "since: I32?", 'place: String?  from_year: I32? @rename_from("since")'
    ).replace("age: I32?", "rank: I32 @default(5)  age: I32?"),
    "vectors dropped": SCHEMA.replace('  vector: Vector(4)? @embed("note")', ""),
    "type dropped": SCHEMA.splitlines()[1],
}
START: list[dict[str, Any]] = [
    *(
        {"type": "Person", "data": {"name": name, "age": age, "note": f"about {name}"}}
        for age, name in enumerate("abcd")
    ),
    {"edge": "Knows", "from": "a", "to": "b", "data": {"since": 1}},
    {"edge": "Knows", "from": "c", "to": "d", "data": {"since": 2}},
]
MORE: list[dict[str, Any]] = [
    {"type": "Person", "data": {"name": "n", "age": 9, "note": "new"}},
    {"edge": "Knows", "from": "n", "to": "n", "data": {"since": 9}},
]
CHANGED: list[dict[str, Any]] = [
    *MORE,
    {"type": "Person", "data": {"name": "a", "age": 8}},
    {"edge": "Knows", "from": "a", "to": "b", "data": {"since": 8}},
]

IN_MEMORY = LoadLimits()
BY_TASKS = LoadLimits(
    max_lookup_bytes=0, max_held_bytes=10, max_merged_bytes=-1, max_compared_bytes=1
)

Write = Callable[[Graph], Any]


def changes(*texts: str, branch: str = "past") -> Write:
    def write(graph: Graph) -> None:
        for text in texts:
            graph.mutate(f"query q() {{ {text} }}", branch=branch)

    return write


def loads(rows: list[dict[str, Any]], mode: Any, **options: Any) -> Write:
    return lambda graph: graph.load(rows, mode=mode, branch="past", engine="local", **options)


def rejects(graph: Graph) -> None:
    bad = {"type": "Person", "data": {"name": "bad", "age": "many"}}
    orphan = {"edge": "Knows", "from": "a", "to": "nobody"}
    rows = [*MORE, bad, orphan]
    folder = Path(graph.uri).parent / "rejected"
    graph.load(
        rows, mode="append", branch="past", on_error="quarantine", quarantine=folder, engine="local"
    )


def merges(graph: Graph) -> None:
    """Bring the work of another such branch, which has written its tables."""
    graph.branch_create("side", from_="past")
    changes(
        'update Person set { age: 7 } where name = "b"',
        'update Knows set { since: 7 } where from = "a"',
        'insert Person { name: "n", age: 9 }',
        'insert Knows { from: "b", to: "n", since: 9 }',
        'delete Person where name = "d"',
        branch="side",
    )(graph)
    changes('update Person set { age: 6 } where name = "c"')(graph)
    assert graph.branch_merge("side", "past").outcome == "merged"


def forwards(graph: Graph) -> None:
    graph.branch_create("side", from_="past")
    graph.load(CHANGED, mode="merge", branch="side", engine="local")
    assert graph.branch_merge("side", "past").outcome == "fast_forward"


def reverts(graph: Graph) -> None:
    graph.revert(graph.commits("past")[0], branch="past")


def exports(graph: Graph) -> None:
    graph.export(Path(graph.uri).parent / "exported", branch="past", format="parquet")


WRITERS: dict[str, Write] = {
    "insert": changes('insert Person { name: "n" }', 'insert Knows { from: "a", to: "c" }'),
    "update": changes(
        "update Person set { age: 7 } where age >= 1",
        "update Knows set { since: 7 } where since >= 1",
    ),
    "delete": changes('delete Person where name = "a"'),
    "append": loads(MORE, "append"),
    "append embedded": loads(MORE, "append", embed=True),
    "merge load": loads(CHANGED, "merge"),
    "overwrite": loads(MORE, "overwrite"),
    "reject": rejects,
    "merge": merges,
    "fast-forward": forwards,
    "revert": reverts,
    "embed": lambda graph: graph.embed(branch="past", engine="local"),
    "optimize": lambda graph: graph.optimize(branch="past"),
    "export": exports,
}


@pytest.fixture
def graphs(tmp_path: Path, limits: LoadLimits) -> Iterator[tuple[Graph, Graph]]:
    settings = Settings(embed=EmbedConfig("mock"), load_limits=limits, load_engine="local")
    made = []
    for name in ("other", "same"):
        (folder := tmp_path / name).mkdir()
        graph = Graph.init(folder / "g", SCHEMA, durability="relaxed", settings=settings)
        for rows in (START[:-1], START[-1:]):
            graph.load(rows, mode="append", engine="local")
        made.append(graph)
    yield made[0], made[1]


def content(graph: Graph, branch: str) -> list[Any]:
    held = io.BytesIO()
    graph.export(held, branch=branch)
    return [json.loads(line) for line in held.getvalue().splitlines()]


@pytest.mark.pairs
@pytest.mark.parametrize("limits", [IN_MEMORY, BY_TASKS], ids=["in memory", "by tasks"])
@pytest.mark.parametrize(("later", "writer"), list(product(LATER, WRITERS)))
def test_a_branch_from_the_past_is_written_as_if_main_had_its_schema(
    graphs: tuple[Graph, Graph], later: str, writer: str
) -> None:
    contents = []
    for graph in graphs:
        before = graph.commits()[0].graph_commit_id
        if graph is graphs[0]:
            graph.schema_apply(LATER[later], allow_data_loss=True)
        graph.branch_create("past", from_=before)
        on_main = content(graph, "main")
        WRITERS[writer](graph)
        assert content(graph, "main") == on_main
        fresh = Graph.open(graph.uri)
        assert content(fresh, "past") == content(graph, "past")
        contents.append(content(graph, "past"))
    assert contents[0] == contents[1]
    assert contents[0]
