"""A graph whose merges all go by way of files, and what lies in its folders."""

from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, MergeConflicts, OmnigraphError
from omnigraph.base.failpoints import NEVER, Faults
from omnigraph.base.ids import BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.arrow import table_schema
from omnigraph.store.durability import Durability
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import Objects
from tests.buckets import bucket_access, location_of
from tests.store_contract.builders import open_store

SCHEMA = """
node Person { name: String @key  age: I32?  phone: String?  photo: Blob?  @unique(phone) }
node City { code: String @key }
edge LivesIn: Person -> City @card(0..1)
edge Owns: Person -> City { price: I32? }
edge Likes: Person -> Person { since: I32?  @key(src, dst) }
"""

START = [
    *(f'insert Person {{ name: "{name}", age: 1, phone: "{name}" }}' for name in "abcd"),
    *(f'insert City {{ code: "{code}" }}' for code in "xy"),
    'insert LivesIn { from: "a", to: "x" }',
    'insert Owns { from: "b", to: "y", price: 1 }',
    'insert Likes { from: "a", to: "b", since: 1 }',
    'insert Likes { from: "c", to: "d", since: 1 }',
]

# Of either side, after the start.
CHANGES = [
    *(f'update Person set {{ age: {n} }} where name = "{p}"' for p in "abc" for n in (2, 3)),
    *(f'update Person set {{ phone: "{n}" }} where name = "{p}"' for p in "ad" for n in "zb"),
    'update Person set { phone: "was" } where name = "b"',
    *(f'insert Person {{ name: "{p}", age: {n} }}' for p in "ef" for n in (1, 2)),
    *(f'insert Person {{ name: "{p}", phone: "new" }}' for p in "gh"),
    *(f'delete Person where name = "{p}"' for p in "abd"),
    *(f'delete City where code = "{c}"' for c in "xy"),
    *(f'insert LivesIn {{ from: "{p}", to: "{c}" }}' for p in "bc" for c in "xy"),
    *(f'delete LivesIn where from = "{p}"' for p in "ab"),
    'update Owns set { price: 2 } where from = "b"',
    'update Owns set { price: 3 } where from = "b"',
    *(f'insert Likes {{ from: "b", to: "{p}", since: {n} }}' for p in "ac" for n in (1, 2)),
    'update Likes set { since: 2 } where from = "a"',
    'delete Likes where from = "c"',
]


def new_graph(place: Path | str, schema: str = SCHEMA) -> Graph:
    settings, source = Settings(bucket_access=bucket_access()), SourceText(schema, "merge.pg")
    engine = Engine.init(f"{place}/g", source, durability="relaxed", settings=settings)
    graph = Graph(engine)
    change(graph, "main", *START)
    return graph


def change(graph: Graph, branch: str, *changes: str) -> None:
    """Make the changes that the rules allow there."""
    for text in changes:
        try:
            graph.mutate(f"query q() {{ {text} }}", branch=branch)
        except OmnigraphError as refused:
            assert refused.code == "constraint_violation", (text, refused)


def in_files(
    graph: Graph,
    *,
    engine: Any = "local",
    task_bytes: int = 400,
    faults: Faults = NEVER,
    max_conflicts: int = 1_000,
) -> Graph:
    """The same graph, all merges of which are large ones."""
    chosen = LoadLimits(
        max_merged_bytes=-1,
        max_compared_bytes=task_bytes,
        max_matched_rows=max(4, task_bytes // 40),
        max_conflicts=max_conflicts,
    )
    settings = Settings(load_engine=engine, load_limits=chosen, bucket_access=bucket_access())
    uri = graph.uri
    return Graph(Engine.open(uri, durability="relaxed", settings=settings, faults=faults))


def rows(graph: Graph, branch: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of a branch, by type and id."""
    snapshot = open_store(graph.uri).snapshot(BranchName(branch))
    found = {}
    for entity in snapshot.catalog.entities:
        table = snapshot.dataset(entity).scan(table_schema(entity).names).sort_by("id")
        assert table.num_rows == snapshot.tables[entity.table_key].row_count
        found[str(entity.name)] = table.to_pylist()
    return found


def told(graph: Graph, source: str, target: str, **options: Any) -> Any:
    """What a merge comes to: its outcome and counts, or its conflicts."""
    try:
        result = graph.branch_merge(source, target, **options)
    except ArgumentInvalid as refused:
        return refused.message
    except MergeConflicts as refused:
        assert not refused.more
        conflicts = [conflict.to_json() for conflict in refused.conflicts]
        return [{k: v for k, v in c.items() if k != "message"} for c in conflicts]
    return result.outcome, result.counts, result.left_out


def chosen(conflicts: list[dict[str, Any]], chance: Random) -> list[dict[str, Any]]:
    """A side for most of the conflicts that were told."""
    return [
        {
            "type": each["type_name"],
            "id": each["entity_id"],
            "property": each["property"],
            "take": chance.choice(["ours", "theirs"]),
        }
        for each in conflicts
        if chance.random() < 0.9
    ]


def data_files(graph: Graph) -> set[str]:
    """The files that hold rows of nodes and edges."""
    walked = (name for folder in ("nodes", "edges") for name in _objects(graph).walk(folder))
    paths = map(PurePosixPath, walked)
    return {path.name for path in paths if path.suffix == ".lance" and path.parent.name == "data"}


def named_files(graph: Graph, branch: str) -> set[str]:
    """Those of them that the head of a branch names."""
    snapshot = open_store(graph.uri).snapshot(BranchName(branch))
    return {
        file.path
        for entity in snapshot.catalog.entities
        for fragment in snapshot.dataset(entity).fragments
        for file in fragment.files
    }


def staging(graph: Graph) -> list[str]:
    return [*_objects(graph).walk(STAGING)]


def _objects(graph: Graph) -> Objects:
    return location_of(graph.uri).objects(Durability.RELAXED)
