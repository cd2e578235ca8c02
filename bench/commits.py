"""What a commit costs: ours beside the same Lance calls, puts and fsyncs in a straight line.

    python -m bench.commits                       at 10, 100 and 1,000 commits
    python -m bench.commits --commits 10,10000    after growing the history that far

A commit puts one row into each of two tables, durably. The floor looks the two ids up, writes and
syncs the same files in the same steps, those of a step at once, and does nothing else: no fence, no
note of what it saw, no check, no projection, no recovery. Both run in turns in one process, so that
noise hits them alike. Figures are medians.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
from lance.dataset import LanceDataset, LanceOperation, Transaction

from bench.measuring.worker import show
from omnigraph.base.failpoints import NEVER, Failpoint, Faults
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.store.arrow import table_schema
from omnigraph.store.branching import create_branch
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.limits import DEFAULT_LIMITS
from omnigraph.write.work import CommitNote, Replay, Target
from omnigraph.write.writer import write

SCHEMA = """
node Person { name: String @key  age: I32 }
edge Knows: Person -> Person { @key(src, dst) }
"""
ROUNDS = 40
STEPS = {
    Failpoint.AFTER_STAGE: "prepare, fence, stage",
    Failpoint.AFTER_ARM: "arm: the note",
    Failpoint.AFTER_LAND_ALL: "land: two tables",
    Failpoint.AFTER_PUBLISH: "publish: the manifest",
    Failpoint.AFTER_DISARM: "disarm",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commits", default="10,100,1000", help="lengths of history to measure at")
    chosen = parser.parse_args()
    lengths = [int(length) for length in chosen.commits.split(",")]
    with tempfile.TemporaryDirectory(prefix="ogcommits-") as directory:
        measure(Path(directory), lengths)


def measure(directory: Path, lengths: list[int]) -> None:
    ours, floor = Ours(directory / "ours"), Floor(directory / "floor")
    print(f"{'commits':>9}{'commit':>12}{'floor':>12}{'ratio':>8}{'open':>12}{'branch':>12}\n")
    for length in lengths:
        ours.grow(length)
        rounds: list[tuple[float, float, float, float]] = []
        for _ in range(ROUNDS + 1):
            taken = timed(ours.commit), timed(floor.commit), timed(ours.open), timed(ours.branch)
            rounds.append(taken)
        # The first round warms all alike.
        medians = [statistics.median(figures) for figures in zip(*rounds[1:], strict=True)]
        shown = [show(seconds) for seconds in medians]
        ratio = medians[0] / medians[1]
        print(f"{length:>9,}{shown[0]:>12}{shown[1]:>12}{ratio:>7.2f}×{shown[2]:>12}{shown[3]:>12}")
    print(f"\n{'where the time goes':26}{'ours':>12}{'floor':>12}")
    for point, step in STEPS.items():
        shown = [show(statistics.median(who.watch.times[point])) for who in (ours, floor)]
        print(f"  {step:24}{shown[0]:>12}{shown[1]:>12}")


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


class Stopwatch:
    """Notes when each step of a write was done."""

    def __init__(self) -> None:
        self.times: dict[Failpoint, list[float]] = {point: [] for point in STEPS}
        self.last = 0.0

    def reach(self, point: Failpoint) -> None:
        if point in STEPS:
            now = time.perf_counter()
            self.times[point].append(now - self.last)
            self.last = now


class Ours:
    def __init__(self, place: Path) -> None:
        catalog = compile_schema(SourceText(SCHEMA))
        self.person, self.knows = catalog.nodes[0], catalog.edges[0]
        self.place = place
        self.store = GraphStore.init(str(place), catalog, source=SCHEMA)
        self.relaxed = GraphStore.open(str(place), durability=Durability.RELAXED)
        self.watch = Stopwatch()
        self.number = 0

    def grow(self, commits: int) -> None:
        """Make history as long as that, without waiting for the disk."""
        while self.relaxed.snapshot().commit.seq < commits:
            self.write(self.relaxed, NEVER)
        # So fast a growth leaves thousands of the manifest's versions, which a minute would clear.
        # A handle that knew one of them would be misled, so we go on with a new one.
        self.relaxed.datasets.forget_old_versions(MANIFEST, None, older_than_s=1)
        self.relaxed = GraphStore.open(str(self.place), durability=Durability.RELAXED)
        self.store = GraphStore.open(str(self.place))

    def commit(self) -> None:
        self.watch.last = time.perf_counter()
        self.write(self.store, self.watch)

    def open(self) -> None:
        GraphStore.open(str(self.place)).snapshot()

    def branch(self) -> None:
        create_branch(self.store, BranchName(f"b/{uuid.uuid4().hex[:12]}"))

    def write(self, store: GraphStore, faults: Faults) -> None:
        self.number += 1
        name = f"p{self.number}"
        person = [{"id": name, "name": name, "age": 1}]
        edge = [{"id": f'["{name}","p1"]', "src": name, "dst": "p1"}]
        changes = Edits(
            {
                self.person.table_key: RowEdits(rows(person, table_schema(self.person))),
                self.knows.table_key: RowEdits(rows(edge, table_schema(self.knows))),
            },
            reads=frozenset(),
        )
        note = CommitNote(CommitKind.MUTATION)
        write(store, Replay(changes), to=Target(MAIN), note=note, faults=faults)


def rows(values: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(values, schema=schema)


class Floor:
    """Two tables and a manifest of the same shape, written by hand."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.watch = Stopwatch()
        graph = Ours(place / "shape")
        graph.grow(32)  # half full, as a manifest is on average
        state = graph.store.manifest.newest(None)
        shape = graph.store.datasets.open_newest(MANIFEST, None)
        hot = shape.scan(shape.column_names, fragment_ids=[state.hot])
        self.rows = {
            "nodes": rows([{"id": "x", "name": "x", "age": 1}], table_schema(graph.person)),
            "edges": rows([{"id": "x", "src": "x", "dst": "x"}], table_schema(graph.knows)),
            "manifest": hot,
        }
        self.heads = {name: self.create(name) for name in self.rows}
        (place / "notes").mkdir()
        self.note = json.dumps({"note": "x" * 3000}).encode()

    def commit(self) -> None:
        self.watch.last = time.perf_counter()
        for name in ("nodes", "edges"):
            self.look_up(name)
        staged = {name: self.stage(name) for name in ("nodes", "edges")}
        sync(
            *(path for name, fragments in staged.items() for path in self.written(name, fragments))
        )
        self.watch.reach(Failpoint.AFTER_STAGE)
        note = self.place / "notes" / "note.json"
        unfinished = note.with_suffix(".new")
        unfinished.write_bytes(self.note)
        sync(unfinished)
        unfinished.rename(note)
        sync(note.parent)
        self.watch.reach(Failpoint.AFTER_ARM)
        sync(*(p for name, f in staged.items() for p in self.land(name, LanceOperation.Append(f))))
        self.watch.reach(Failpoint.AFTER_LAND_ALL)
        fragments = self.stage("manifest")
        sync(*self.written("manifest", fragments))
        hot = [f.fragment_id for f in self.heads["manifest"].get_fragments()]
        update = LanceOperation.Update(
            removed_fragment_ids=hot, new_fragments=fragments, update_mode="rewrite_rows"
        )
        sync(*self.land("manifest", update))
        self.watch.reach(Failpoint.AFTER_PUBLISH)
        note.unlink()
        self.watch.reach(Failpoint.AFTER_DISARM)

    def create(self, name: str) -> LanceDataset:
        return lance.write_dataset(
            self.rows[name],
            str(self.place / name),
            mode="overwrite" if (self.place / name).exists() else "create",
            data_storage_version="2.2",
            enable_stable_row_ids=True,
        )

    def look_up(self, name: str) -> None:
        if len(self.heads[name].get_fragments()) > DEFAULT_LIMITS.max_small_fragments:
            self.heads[name] = self.create(name)  # where ours would have been compacted
        self.heads[name].scanner(
            columns=["id"], filter="id IN ('y')", with_row_id=True, with_row_address=True
        ).to_table()

    def stage(self, name: str) -> list[lance.FragmentMetadata]:
        return lance.fragment.write_fragments(
            self.rows[name], str(self.place / name), mode="append", data_storage_version="2.2"
        )

    def written(self, name: str, fragments: list[lance.FragmentMetadata]) -> list[Path]:
        data = self.place / name / "data"
        return [data, *(data / file.path for fragment in fragments for file in fragment.files)]

    def land(self, name: str, operation: LanceOperation.BaseOperation) -> list[Path]:
        head = self.heads[name]
        landed = LanceDataset.commit(head, Transaction(head.version, operation), max_retries=0)
        versions = self.place / name / "_versions"
        self.heads[name] = landed
        return [versions, versions / f"{2**64 - 1 - landed.version:020}.manifest"]


def sync(*paths: Path) -> None:
    list(POOL.map(sync_one, paths))


def sync_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


POOL = ThreadPoolExecutor(8)


if __name__ == "__main__":
    main()
