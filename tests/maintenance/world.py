"""A small graph with a history, what each of its commits shows, and the files that it has."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lance

from omnigraph import Graph
from omnigraph.base.errors import CommitReclaimed
from omnigraph.engine.settings import Settings
from omnigraph.store.durability import Durability
from tests.buckets import bucket_access, location_of

SCHEMA = """
node Person  { name: String @key  age: I32?  photo: Blob? }
node City    { name: String @key @index }
edge Knows: Person -> Person { since: I32? }
edge Lives: Person -> City { @key(src, dst) }
"""
PUT = """
query put($name: String, $age: I32) { insert Person { name: $name, age: $age } }
query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query meet($one: String, $other: String) { insert Knows { from: $one, to: $other } }
query drop($name: String) { delete Person where name = $name }
query found($name: String) { insert City { name: $name } }
"""
ASK = """
query people() { match { $p: Person } return { $p.name as name, $p.age as age } order { name } }
query friends() {
    match { $p: Person  $p knows $q } return { $p.name as a, $q.name as b } order { a, b }
}
"""

DATASET = re.compile("/(?:tree|_versions|data)/")
HINT = "latest_version_hint.json"

Shown = Mapping[str, list[dict[str, Any]]]


def made(place: Path | str) -> Graph:
    return Graph.init(place, SCHEMA, durability="relaxed", settings=_settings(place))


def opened(place: Path | str, *, read_only: bool = False) -> Graph:
    """The graph by a handle of its own."""
    settings = _settings(place)
    return Graph.open(place, read_only=read_only, durability="relaxed", settings=settings)


def _settings(place: Path | str) -> Settings | None:
    return Settings(bucket_access=bucket_access()) if str(place).startswith("s3://") else None


def grow(graph: Graph, names: str, branch: str = "main", age: int = 1) -> None:
    """A commit for each name."""
    for name in names.split():
        graph.mutate(PUT, "put", {"name": name, "age": age}, branch=branch)


def shown(graph: Graph, branch: str | None = None, snapshot: str | None = None) -> Shown:
    """What the rows of a moment are."""
    return {
        name: graph.query(ASK, name, branch=branch, snapshot=snapshot).to_pylist()
        for name in ("people", "friends")
    }


def readable(graph: Graph) -> dict[str, Shown]:
    """Every commit of a living branch that can be read, and what it shows."""
    found = dict[str, Shown]()
    for branch in graph.branches():
        for commit in graph.commits(branch):
            try:
                found[commit.graph_commit_id] = shown(graph, snapshot=commit.graph_commit_id)
            except CommitReclaimed:
                continue
    return found


def files(place: Path | str) -> dict[str, int]:
    """All that is stored, and its size."""
    objects = location_of(place).objects(Durability.RELAXED)
    return {stored.name: stored.size for stored in objects.survey("")}


def age_files(place: Path | str, *, by_s: float) -> None:
    """Make everything on a disk as if it had been written earlier."""
    for folder, _, names in os.walk(place):
        for name in names:
            path = Path(folder) / name
            then_ns = path.stat().st_mtime_ns - round(by_s * 10**9)
            os.utime(path, ns=(then_ns, then_ns))


def named_by_nobody(place: Path | str) -> set[str]:
    """The files of datasets that no version names, found by other means than a cleanup's."""
    found = set[str]()
    for path in {name[: end.start()] for name in files(place) if (end := DATASET.search(name))}:
        root = f"{location_of(place)}/{path}"
        options = location_of(place).options
        main = lance.dataset(root, storage_options=options)
        there = {f"{root}/{file}" for file in main.all_files().read_all()["path"].to_pylist()}
        named = {name for name in there if name.endswith(HINT) or "/_refs/" in name}
        for line in ("", *(f"/tree/{fork}" for fork in main.branches.list())):
            newest = lance.dataset(f"{root}{line}", storage_options=options)
            named |= {
                f"{row['base_uri']}/{row['path']}"
                for row in newest.tracked_files().read_all().to_pylist()
            }
            for version in newest.versions():
                for index in newest.checkout_version(version["version"]).describe_indices():
                    folders = {f"/_indices/{segment.uuid}/" for segment in index.segments}
                    named |= {name for name in there if any(f in name for f in folders)}
        blobs = {name.removesuffix(".lance") for name in named}
        found |= {name for name in there - named if name.rpartition("/")[0] not in blobs}
    return found
