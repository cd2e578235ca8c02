"""Random walks over several branches: a graph and a plain model of it agree after every step.

A walk that fails is told as a short program. `--deep` takes dozens of walks, `--soak` hundreds.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from itertools import count
from pathlib import Path

import pytest

from omnigraph.base.failpoints import Failpoint
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.store.limits import StoreLimits
from tests import processes
from tests.buckets import bucket_access, bucket_variables
from tests.model.failing import cut_down, retrace, told, wander
from tests.model.merge_steps import Merge, Revert
from tests.model.schema_steps import Evolve
from tests.model.statements import (
    AddNote,
    DropPeople,
    PutKnows,
    PutPerson,
    Rows,
    SetKnows,
    SetPerson,
    Where,
)
from tests.model.steps import (
    Clean,
    Crash,
    Diff,
    DropBranch,
    Elsewhere,
    Embed,
    Load,
    LookBack,
    MakeBranch,
    Mutate,
    Pin,
    Step,
    Tidy,
)
from tests.model.walk import Ground
from tests.model.wanderer import FOUNDING

WALKS, BUCKET_WALKS = (3, 36, 240), (1, 6, 24)
"""How many are taken in a quick run, in a deep one, and in a soak."""
LIMIT_CUTTING_S = 60

MODES = list(TraversalMode)


def seeds(quick: int, deep: int, soak: int) -> list[object]:
    """The numbers of walks: a few always, others with `--deep`, the rest with `--soak`."""
    later = (pytest.param(seed, marks=pytest.mark.deep) for seed in range(quick, deep))
    last = (pytest.param(seed, marks=pytest.mark.soak) for seed in range(deep, soak))
    return [*range(quick), *later, *last]


KEEP_ALL = ReadLimits(min_disk_entry_bytes=0)
"""Graphs of a few rows go through what otherwise only large ones meet."""


@pytest.fixture
def elsewhere() -> Iterator[Executor]:
    with processes.pool(1) as process:
        yield process


ADA = Where("name", "=", "a")
BOB = Where("name", "=", "b")

# Each of these has once led astray: short, so that every run goes there.
KNOWN: dict[str, list[Step]] = {
    "equally many rows are deleted on two branches": [
        MakeBranch("draft"),
        Mutate("draft", (DropPeople(BOB),)),
        Mutate("main", (DropPeople(ADA),)),
    ],
    "equally many edges are changed on two branches": [
        MakeBranch("draft"),
        Mutate("draft", (SetKnows(0, "from", "d"),)),
        Mutate("main", (SetKnows(0, "from", "g"),)),
        LookBack(1),
    ],
    "a branch is brought up to date and merged back": [
        MakeBranch("draft"),
        *(Mutate("main", (SetPerson("age", age, ADA),)) for age in (7, 8, 9)),
        Merge("main", "draft"),
        Mutate("draft", (AddNote("n100"), PutPerson("j", 1))),
        Merge("draft", "main"),
        Mutate("main", (DropPeople(BOB),)),
        Merge("main", "draft"),
    ],
    "a branch is deleted whose files were read last": [
        MakeBranch("team"),
        MakeBranch("draft"),
        Mutate("draft", (AddNote("n100"), AddNote("n102"), PutKnows("g", "h", 2))),
        DropBranch("draft"),
        Load("team", "append", Rows(notes=(("n101", 0),), wrote=((100, "g", "n3"),))),
    ],
    "two branches change the same people, and merge both ways": [
        MakeBranch("draft"),
        Mutate("draft", (SetPerson("age", 1, ADA), SetPerson("team", "t", BOB))),
        Mutate("draft", (DropPeople(Where("name", "=", "c")),)),
        Mutate("main", (SetPerson("age", 2, ADA), SetPerson("age", 2, BOB))),
        Mutate("main", (PutKnows("g", "c", 1),)),
        Merge("draft", "main"),
        Merge("draft", "main", is_preview=True),
        Crash(Merge("draft", "main", "theirs"), Failpoint.AFTER_STAGE),
        Merge("main", "draft", "ours", is_preview=True),
        Crash(Merge("main", "draft", "theirs"), Failpoint.AFTER_LAND_1),
        Merge("draft", "main", "ours"),
        Merge("draft", "main"),
        Diff(0, 5),
    ],
    "merges cross, and what they merged goes": [
        MakeBranch("draft"),
        MakeBranch("team"),
        Mutate("draft", (SetPerson("age", 1, ADA), AddNote("n100"))),
        Mutate("team", (SetPerson("age", 1, ADA), PutKnows("a", "h", 1))),
        Mutate("main", (DropPeople(BOB),)),
        Merge("draft", "main"),
        Merge("draft", "team", deletes=True),
        LookBack(5),
        MakeBranch("draft"),
        Merge("main", "team"),
        Merge("team", "main", deletes=True),
        LookBack(6),
    ],
    "a merge is undone, and what undid it too": [
        MakeBranch("draft"),
        Mutate("draft", (SetPerson("age", 1, ADA), AddNote("n100"))),
        Mutate("main", (SetPerson("age", 3, BOB),)),
        Merge("draft", "main"),
        Revert("main", 0),
        Crash(Revert("main", 0), Failpoint.AFTER_LAND_1),
        Mutate("main", (SetPerson("age", 5, ADA),)),
        Revert("main", 3),
        Revert("main", 3, "theirs"),
    ],
    "a branch is merged that has an older schema": [
        MakeBranch("draft"),
        Mutate("draft", (SetPerson("age", 1, ADA), AddNote("n100"))),
        Evolve("rename team"),
        Evolve("add rank"),
        Crash(Evolve("add mood"), Failpoint.AFTER_LAND_1),
        Merge("draft", "main"),
        Merge("main", "draft"),
        LookBack(3),
        Diff(0, 4),
        DropBranch("draft"),
        Evolve("rename team"),
        Crash(Evolve("widen since"), Failpoint.AFTER_LAND_ALL),
        MakeBranch("past", commits=6),
        Mutate("past", (SetPerson("team", "u", ADA),)),
        Merge("past", "main"),
    ],
    "vectors of two branches meet, and grow stale": [
        Mutate("main", (SetPerson("team", "t", Where("age", "<=", 4)),)),
        Embed("main"),
        MakeBranch("draft"),
        Mutate("draft", (SetPerson("team", "u", ADA), SetPerson("team", None, BOB))),
        Crash(Embed("draft", "stale"), Failpoint.AFTER_LAND_ALL),
        Mutate("main", (SetPerson("team", "u", Where("age", ">=", 3)),)),
        Embed("main", "stale"),
        Evolve("add mood"),
        Merge("draft", "main"),
        Tidy("main"),
        Embed("main", "all"),
        DropBranch("draft"),
        Evolve("rename team"),
        Mutate("main", (SetPerson("team", "t", ADA),)),
        Embed("main", "stale"),
        Revert("main", 0),
    ],
    "a cleanup leaves what branches, readers and cursors need": [
        Mutate("main", (SetPerson("age", 1, ADA),)),
        Pin(1),
        MakeBranch("draft"),
        *(Mutate("main", (SetPerson("age", age, ADA),)) for age in (7, 8, 9)),
        *(Mutate("draft", (SetPerson("age", age, BOB),)) for age in (7, 8, 9)),
        Clean(2),
        *(LookBack(commits) for commits in range(9)),
        Diff(0, 8),
        MakeBranch("past", commits=5),
        Merge("draft", "main", is_preview=True),
        Elsewhere(Merge("draft", "main")),
        Clean(1),
        DropBranch("draft"),
        Pin(0),
        Clean(1),
        *(LookBack(commits) for commits in range(9)),
    ],
    "a writer dies on a branch whose name begins like another's": [
        MakeBranch("main.x"),
        *(Crash(Mutate("main.x", (DropPeople(ADA),)), point) for point in Failpoint),
        Mutate("main", (DropPeople(BOB),)),
    ],
}


def check(ground: Callable[[], Ground], seed: int, steps: int) -> None:
    failure = wander(ground(), seed, steps)
    if failure is not None:
        short = cut_down(failure, lambda few: retrace(ground(), few), seconds=LIMIT_CUTTING_S)
        raise AssertionError(
            f"walk {seed} after {len(failure.steps)} steps; the same, shorter:\n\n" + told(short)
        )


@pytest.mark.parametrize("order", KNOWN)
def test_so_it_does_in_orders_that_led_astray(tmp_path: Path, order: str) -> None:
    settings = Settings(read_limits=KEEP_ALL, cache_directory=tmp_path / "cache")
    failure = retrace(Ground(str(tmp_path / "g"), settings), [FOUNDING, *KNOWN[order]])
    assert failure is None, told(failure)


@pytest.mark.parametrize("seed", seeds(*WALKS))
def test_a_graph_agrees_with_a_plain_model_whatever_is_done(
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    is_deep = request.config.getoption("--deep")
    has_cache, compacts_early, has_process = seed % 2 == 1, seed % 4 == 2, seed % 6 == 5
    limits = StoreLimits(max_small_fragments=3) if compacts_early else StoreLimits()
    process = request.getfixturevalue("elsewhere") if has_process else None
    numbers = count()

    def ground() -> Ground:
        place = tmp_path / str(next(numbers))
        return Ground(
            str(place / "g"),
            Settings(
                read_limits=KEEP_ALL,
                store_limits=limits,
                traversal_mode=MODES[seed % len(MODES)],
                cache_directory=place / "cache" if has_cache else None,
            ),
            elsewhere=process,
            looks_each_step=seed % 3 != 2,
        )

    check(ground, seed, 60 if is_deep else 24)


@pytest.mark.parametrize("seed", seeds(*BUCKET_WALKS))
def test_so_it_does_in_a_bucket(
    seed: int,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    is_deep = request.config.getoption("--deep")
    for name, value in bucket_variables(os.environ["OMNIGRAPH_TEST_S3"]).items():
        monkeypatch.setenv(name, value)
    process = request.getfixturevalue("elsewhere") if seed % 4 == 3 else None
    numbers = count()

    def ground() -> Ground:
        number = next(numbers)
        cache = tmp_path / f"cache {number}" if seed % 2 else None
        return Ground(
            f"{bucket}/{number}",
            Settings(bucket_access=bucket_access(), cache_directory=cache, read_limits=KEEP_ALL),
            elsewhere=process,
            looks_each_step=seed % 3 != 0,
        )

    check(ground, 1000 + seed, 40 if is_deep else 12)
