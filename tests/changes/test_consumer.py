"""A consumer that applies the feed to nothing ends with what the source holds.

Through restarts, pages of any length, merges of both kinds, compactions and deletions; and where it
loses a cursor after it has applied the page, by applying the page again.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import MergeConflicts
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.engine.change_values import json_ready
from omnigraph.engine.merge import merge
from omnigraph.engine.requests import Merge
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.graph_store import GraphStore
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write
from tests.changes.people import SCHEMA, add, age, knows, lives, made, person, remove
from tests.graph.read.town import link
from tests.laws.lines import ACTS, CATALOG, Act, Lines, Step, Tables, stored
from tests.reference.naive import Entity
from tests.store_contract.builders import Prepared

Images = dict[tuple[str, str], Any]


class Source(Lines):
    """Branches that also merge where both have moved: the source's rows win."""

    def merge(self, source: BranchName, *, into: BranchName) -> None:
        if source == into:
            return
        try:
            merged = merge(self.engine, Merge(source=source, branch=into, resolve="theirs"))
        except MergeConflicts:
            return
        if merged.commit is not None:
            self.lines[into].rows = self.rows_of(into)
            self._seen(into)

    def rows_of(self, branch: BranchName) -> Tables:
        contents = stored(self.store.snapshot(branch))
        nodes: Tables = {
            node.name: {
                id_: Entity(node.name, id_, {"email": row["email"], "name": row["name"]})
                for id_, row in contents[node.name].items()
            }
            for node in CATALOG.nodes
        }
        return nodes | {
            edge.name: {
                id_: link(edge.name, id_, row["src"], row["dst"])
                for id_, row in contents[edge.name].items()
            }
            for edge in CATALOG.edges
        }

    def images(self, branch: BranchName) -> Images:
        found: Images = {}
        for entity in CATALOG.entities:
            for id_, row in stored(self.store.snapshot(branch))[entity.name].items():
                image = {"properties": {p.name: row[p.column] for p in entity.properties}}
                if entity in CATALOG.edges:
                    image["endpoints"] = {"from": row["src"], "to": row["dst"]}
                found[entity.name, id_] = image
        return found


class Consumer:
    """Keeps images by type and id, and its cursor as text."""

    def __init__(self, place: str, branch: str = MAIN) -> None:
        self.place, self.branch = place, branch
        self.images: Images = {}
        self.cursor: str | None = None
        self.ahead = 0
        """How many changes after its cursor it has applied already."""

    def poll(self, graph: Graph, limit: int, *, loses_cursor: bool = False) -> bool:
        """Apply a page. True if there was nothing after it."""
        start = "now" if self.cursor else "beginning"
        page = graph.changes(self.cursor, start=start, branch=self.branch, limit=limit)
        assert len(page) <= limit
        for block in page.blocks:
            assert len(block.changes)
        changes = [change for block in page.blocks for change in block.changes]
        for number, change in enumerate(json.loads(json.dumps(json_ready(changes)))):
            self.apply(change, is_first_time=number >= self.ahead)
        if loses_cursor:
            self.ahead = max(self.ahead, len(page))
            return False
        self.ahead = max(0, self.ahead - len(page))
        self.cursor = page.cursor
        return page.caught_up

    def apply(self, change: dict[str, Any], *, is_first_time: bool) -> None:
        key = change["type"]["name"], change["id"]
        if is_first_time:
            # Exactly what it holds is what was before: nothing was missed, nothing came twice.
            assert change["before"] == self.images.get(key)
        if change["after"] is None:
            self.images.pop(key, None)
        else:
            self.images[key] = change["after"]

    def catch_up(self, graph: Graph, limit: int) -> None:
        while not self.poll(graph, limit):
            pass


Polls = tuple[int, bool, bool]
"""How long the page is, whether the handle is new, and whether the cursor is lost after it."""

POLLS = st.tuples(st.sampled_from([1, 2, 5, 100]), st.booleans(), st.booleans())


@given(ACTS, st.lists(POLLS, min_size=1, max_size=6))
@settings(
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
    max_examples=max(4, settings().max_examples // 5),
)
def test_a_consumer_of_the_feed_ends_with_what_the_branch_holds(
    acts: list[Act], polls: list[Polls]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        source = Source(Path(root))
        staying = Graph(source.engine)
        consumer = Consumer(source.place)
        waiting = list(polls)
        for act in acts:
            source.act(act)
            if waiting:
                limit, is_new, loses = waiting.pop()
                graph = Graph.open(source.place, read_only=True) if is_new else staying
                consumer.poll(graph, limit, loses_cursor=loses)
        consumer.catch_up(staying, polls[0][0])
        assert consumer.images == source.images(MAIN)
        for branch in source.lines:
            other = Consumer(source.place, branch)
            other.catch_up(staying, 3)
            assert other.images == source.images(branch)


def test_a_merge_where_both_moved_comes_as_one_block(tmp_path: Path) -> None:
    source = Source(tmp_path)
    consumer = Consumer(source.place)
    graph = Graph(source.engine)
    consumer.catch_up(graph, 2)
    steps: dict[str, list[Step]] = {
        "x": [("Person", "p0", "Bob"), ("Person", "q", "New"), ("Knows", "p1", None)],
        MAIN: [("Person", "p2", None), ("City", "x", "Ann")],
    }
    source.fork(MAIN, BranchName("x"))
    for branch, changed in steps.items():
        source.change(BranchName(branch), changed)
    consumer.catch_up(graph, 100)
    source.merge(BranchName("x"), into=MAIN)
    assert graph.commits()[0].kind == "merge"
    page = graph.changes(consumer.cursor)
    (block,) = page.blocks
    assert block.cause.merged_parent_commit_id is not None
    ops = {(c["type"]["name"], c["id"]): c["op"] for c in block.changes}
    assert ops == {("Person", "p0"): "update", ("Person", "q"): "insert", ("Knows", "p1"): "delete"}
    consumer.catch_up(graph, 1)
    assert consumer.images == source.images(MAIN)


# Into another graph -------------------------------------------------------------------------------


def applied(copy: Graph, graph: Graph, cursor: str | None, limit: int) -> str:
    """Apply the feed to a graph of the same schema; gives the cursor to go on with."""
    while True:
        start = "now" if cursor else "beginning"
        page = Graph.open(graph.uri, read_only=True).changes(cursor, start=start, limit=limit)
        for block in page.blocks:
            tables = {
                entity.table_key: RowEdits(rows.edits.upserts, rows.edits.deletes)
                for entity, rows in block.changes.tables()
            }
            put(copy.engine.store, Edits(tables))
        cursor = page.cursor
        if page.caught_up:
            return cursor


def put(store: GraphStore, edits: Edits) -> None:
    writer = Prepared(Replay(edits).prepare)
    write(store, writer, to=Target(MAIN), note=CommitNote(CommitKind.MUTATION))


@pytest.mark.parametrize("limit", [1, 100])
def test_a_graph_that_applies_the_feed_is_exported_as_its_source(
    tmp_path: Path, limit: int
) -> None:
    """Values of all types, edges with and without a key, and a baseline in between."""
    graph = made(tmp_path / "g")
    copy = Graph.init(tmp_path / "copy", SCHEMA, durability="relaxed")
    cursor = applied(copy, graph, None, limit)
    add(graph, [person("grace", tags=[], height=0.1), knows("grace", "ada")])
    remove(graph, "alan")
    add(graph, [person("alan", photo="base64:"), lives("alan", "london")])
    graph.branch_create("x")
    age(graph, "ada", 50, "x")
    age(graph, "grace", 60)
    graph.branch_merge("x", delete=True)
    graph.optimize()
    applied(copy, graph, cursor, limit)
    lines = []
    for one in (graph, copy):
        one.export(tmp_path / "all.jsonl", overwrite=True)
        lines.append(sorted((tmp_path / "all.jsonl").read_text().splitlines()))
    assert lines[0] == lines[1] and len(lines[0]) == 7

    late = Graph.init(tmp_path / "late", SCHEMA, durability="relaxed")
    start = graph.changes_baseline(tmp_path / "start.jsonl")
    late.load(tmp_path / "start.jsonl", mode="append", engine="local")
    remove(graph, "ada")
    applied(late, graph, start.resume_cursor, limit)
    rows = {str(key): table.row_count for key, table in late.stats().tables.items()}
    assert (rows["edge:Lives"], rows["node:Person"]) == (1, 2)
