"""Files that are incomplete: no transaction may name one, and recovery finishes no write with one.

Lance can report success although the last write to a file has failed. Each kind of write is stopped
when its files are written; then each file that its transactions name is damaged in turn.
"""

import json
import resource
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.errors import EarlierWritePublished, OutcomePending, StorageFailed
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import BranchName
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.transactions import (
    Append,
    CreateIndex,
    Operation,
    Overwrite,
    Reshape,
    Rewrite,
    StagedTransaction,
    Update,
)
from omnigraph.write.recover import recover_all
from omnigraph.write.sidecar import sidecars
from tests.crash.dying import OLD, SCENARIOS
from tests.store_contract.builders import contents, open_store

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "all but one byte": lambda data: data[:-1],
    "one byte more": lambda data: data + b"\0",
    "zeros": lambda data: bytes(len(data)),
}


def stopped(place: Path, scenario: str, point: Failpoint) -> tuple[GraphStore, list[Path]]:
    """A write that was stopped there, and the files below the graph that it has written."""
    store = SCENARIOS[scenario].graph(place)
    before = {*place.rglob("*")}
    with pytest.raises(Crash):
        SCENARIOS[scenario].write(store, CrashAt(point))
    return open_store(place), [path for path in place.rglob("*") if path not in before]


def transactions(store: GraphStore, branch: str) -> Iterator[StagedTransaction]:
    with store.fence(BranchName(branch)) as fenced:
        for sidecar in sidecars(store, fenced):
            for table in sidecar.tables:
                yield from table.transactions


def brought_by(operation: Operation) -> str:
    """The text of the fragments, files and index segments that an operation adds or changes."""
    match operation:
        case Append(fragments) | Overwrite(fragments):
            return repr(fragments)
        case Update(_, updated, new):
            # Of a fragment that loses rows only the deletion file is new.
            return repr(new) + repr([json.loads(text)["deletion_file"] for text in updated])
        case Rewrite(groups):
            return repr([new for _, new in groups])
        case CreateIndex(new, _):
            return repr(new)
        case Reshape(_, files):
            return repr(files)
        case _:
            return ""


def named(transaction: StagedTransaction, files: list[Path]) -> list[Path]:
    """The files that a transaction brings, found by the unique parts of their names."""
    text = brought_by(transaction.operation)
    mark_of = {
        "data": lambda file: file.name,
        "_deletions": lambda file: file.stem.rpartition("-")[2],
    }
    return [
        file
        for file in files
        if transaction.base.path in str(file)
        and file.is_file()
        and mark_of.get(file.parent.name, lambda file: file.parent.name)(file) in text
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_transaction_names_an_incomplete_file(tmp_path: Path, scenario: str) -> None:
    store, files = stopped(tmp_path, scenario, Failpoint.AFTER_ARM)
    for transaction in transactions(store, SCENARIOS[scenario].branch):
        brought = named(transaction, files)
        operation = transaction.operation
        for file in brought:
            whole = file.read_bytes()
            for how, damaged in DAMAGE.items():
                file.write_bytes(damaged(whole))
                with pytest.raises(StorageFailed, match=file.name):
                    store.datasets.stage(transaction.base, operation, {})
                assert not store.datasets.has_files_of(transaction), (file, how)
            file.write_bytes(whole)
        store.datasets.stage(transaction.base, operation, {})
        assert store.datasets.has_files_of(transaction)


@pytest.mark.parametrize("how", DAMAGE)
def test_recovery_undoes_a_write_of_which_a_file_is_incomplete(tmp_path: Path, how: str) -> None:
    store, files = stopped(tmp_path, "an edit of main", Failpoint.AFTER_LAND_1)
    _, second = transactions(store, "main")
    [file, *_] = named(second, files)
    file.write_bytes(DAMAGE[how](file.read_bytes()))
    recover_all(store)
    assert [record.action for record in store.audit.records()] == [RecoveryAction.ROLLED_BACK]
    assert contents(store) == contents(open_store(tmp_path)) == OLD


# A limit for the size of each file, as `ulimit -f` sets it ----------------------------------------

NUMBERS = "node Number { number: I64 @key  is_odd: Bool?  text: String? }"
WIDENED = "node Number { number: I64 @key  is_odd: Bool?  text: String?  seen: I64 @default(7) }"
COUNT = 100_000
UNDER_LIMITS: dict[str, Callable[[Graph], object]] = {
    "a delete": lambda graph: graph.mutate("query q() { delete Number where is_odd = true }"),
    "a new column": lambda graph: graph.schema_apply(WIDENED),
}


def with_numbers(place: str) -> None:
    graph = Graph.init(place, NUMBERS, durability="relaxed")
    generator = np.random.default_rng(7)
    rows = pa.table(
        {"number": pa.array(range(COUNT)), "is_odd": pa.array(generator.random(COUNT) < 0.4)}
    )
    graph.load({"Number": rows}, mode="append", engine="local")


def write_under_limits(place: str, how: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    graph = Graph.open(place, durability="relaxed")
    before = len(graph.query(ALL))
    outcomes = set()
    for limit in range(1_000, 16_000, 1_500):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            UNDER_LIMITS[how](graph)
            outcomes.add("written")
        except EarlierWritePublished:
            outcomes.add("written")
        except (StorageFailed, OutcomePending):
            outcomes.add("refused")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        found = len(Graph.open(place, read_only=True).query(ALL))
        if "written" in outcomes:
            break
        assert found == before, limit
    assert "refused" in outcomes
    UNDER_LIMITS[how](graph)
    assert Graph.open(place).repair().findings == ()


ALL = "query q() { match { $n: Number } return { $n.number as number, $n.is_odd as odd } }"


@pytest.mark.parametrize("how", UNDER_LIMITS)
def test_a_file_that_can_not_grow_is_never_acknowledged(tmp_path: Path, how: str) -> None:
    place = str(tmp_path / "g")
    with_numbers(place)
    child = get_context("spawn").Process(target=write_under_limits, args=(place, how))
    child.start()
    child.join()
    assert child.exitcode == 0
