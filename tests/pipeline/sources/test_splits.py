import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import (
    ArgumentInvalid,
    FileMissing,
    LimitExceeded,
    OmnigraphError,
    StorageFailed,
    Unsupported,
)
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.sources import plan_splits
from omnigraph.pipeline.sources.files import find_files, stem_of
from omnigraph.pipeline.sources.lines import lines_before, read_range
from omnigraph.pipeline.sources.plan import pack
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.store.location import DiskLocation
from tests.pipeline.world import CATALOG, INPUT_LIMITS

BOM = b"\xef\xbb\xbf"
SPLITS = st.lists(
    st.one_of(st.just(b"\n"), st.just(b"\r\n"), st.just(BOM), st.binary(max_size=12)),
    max_size=30,
).map(b"".join)
ANY_FILE = st.one_of(SPLITS, SPLITS.map(lambda data: BOM + data))

in_one_place = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def ranges_of(path: Path, size: int) -> list[LineRange]:
    total = path.stat().st_size
    return [
        LineRange(path.name, DiskLocation(path), start, min(start + size, total))
        for start in range(0, total, size)
    ]


@in_one_place
@given(data=ANY_FILE, size=st.integers(1, 40))
def test_any_way_of_cutting_a_file_gives_the_same_lines_each_once(
    tmp_path: Path, data: bytes, size: int
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(data)
    read = b"".join(read_range(split, INPUT_LIMITS) for split in ranges_of(path, size))
    assert read == data.removeprefix(BOM)


@in_one_place
@given(data=ANY_FILE, size=st.integers(1, 40))
def test_every_split_knows_how_many_lines_come_before_it(
    tmp_path: Path, data: bytes, size: int
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(data)
    offset = 3 if data.startswith(BOM) else 0
    for split in ranges_of(path, size):
        lines = read_range(split, INPUT_LIMITS)
        if lines:
            assert lines_before(split) == data[:offset].count(b"\n")
        offset += len(lines)


def found(*sources: str) -> list[str]:
    return [file.file for file in find_files(sources)]


def test_directories_and_globs_name_their_ndjson_files_once_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.ndjson", "deep/c.json", "README.md", "_SUCCESS", ".a.jsonl.crc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [str(tmp_path / name) for name in ("a.ndjson", "b.jsonl", "deep/c.json")]
    assert found(str(tmp_path)) == names
    assert found(str(tmp_path / "*.*json*"), names[0]) == names[:2]
    assert found(names[1], str(tmp_path)) == [names[1], names[0], names[2]]


def test_a_file_is_read_once_however_it_is_spelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "e.jsonl").touch()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "other.jsonl").symlink_to("real/e.jsonl")
    spellings = ["real/e.jsonl", "./real/e.jsonl", str(tmp_path / "real" / "e.jsonl")]
    spellings += ["link/../real/e.jsonl", "link/e.jsonl", "other.jsonl", "real", "link", "."]
    for first in spellings[:6]:
        assert found(first, *spellings) == [first]


def test_a_table_with_two_names_is_two_tables(tmp_path: Path) -> None:
    (tmp_path / "Person.csv").touch()
    (tmp_path / "City.csv").symlink_to("Person.csv")
    names = [str(tmp_path / name) for name in ("City.csv", "Person.csv")]
    assert found(str(tmp_path), *names) == names


def test_in_a_directory_case_and_links_hide_no_data(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    (place / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    names = ("Event.CSV", "a.JSONL.Gz", "b.Parquet", "deep/c.NDJSON", "deep/d.tsv.ZST")
    for name in names:
        (place / name).touch()
    (elsewhere / "z.jsonl").touch()
    (elsewhere / "back").symlink_to(place)
    (place / "deep" / "up").symlink_to(place)
    (place / "more").symlink_to(elsewhere)
    wanted = sorted((*names, "more/z.jsonl"))
    assert found(str(place)) == [str(place / name) for name in wanted]
    assert {stem_of(name) for name in wanted} == {"Event", *"abcdz"}


ODD_FILES: dict[str, tuple[Callable[[Path], None], type[OmnigraphError], str]] = {
    "gone.jsonl": (lambda path: path.symlink_to("nowhere"), FileMissing, "gone"),
    "loop": (lambda path: path.symlink_to(path), FileMissing, "loop"),
    "pipe.jsonl": (os.mkfifo, Unsupported, "pipe"),
    "tools.XLSX": (Path.touch, Unsupported, "tools"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_what_can_not_be_read_is_refused_by_its_name_and_from_a_directory(
    tmp_path: Path, name: str
) -> None:
    make, error, named = ODD_FILES[name]
    (tmp_path / "a.jsonl").touch()
    make(tmp_path / name)
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(error, match=named):
            find_files([str(source)])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("x" * 5_000, StorageFailed),
        ("a\0b", FileMissing),
        ("\ud800", FileMissing),
        ("", ArgumentInvalid),
    ],
    ids=["too long", "a zero", "half a character", "nothing"],
)
def test_a_name_that_no_file_can_have_is_a_typed_error(
    name: str, error: type[OmnigraphError]
) -> None:
    with pytest.raises(error) as caught:
        find_files([name])
    assert caught.value.render().encode()


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").touch()
    assert found(str(tmp_path / "a[1].jsonl")) == [str(tmp_path / "a[1].jsonl")]


@pytest.mark.parametrize("name", ["none.jsonl", "none/*.jsonl", "empty"])
def test_a_source_that_names_no_file_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileMissing, match=r"none|empty"):
        find_files([str(tmp_path / name)])


@pytest.mark.parametrize("name", ["a.xlsx", "a.jsonl.bz2", "a.gz", "."])
def test_data_that_can_not_be_read_yet_is_refused_and_never_passed_over(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.jsonl").touch()
    for other in ("a.xlsx", "a.jsonl.bz2", "a.gz"):
        (tmp_path / other).touch()
    with pytest.raises(Unsupported):
        find_files([str(tmp_path / name)])


def test_an_address_is_not_a_path() -> None:
    with pytest.raises(Unsupported, match=r"hdfs://host/a\.jsonl"):
        find_files(["hdfs://host/a.jsonl"])


@given(sizes=st.lists(st.integers(0, 300), max_size=12), task_bytes=st.integers(1, 200))
def test_tasks_hold_every_split_once_in_order_and_about_as_much_as_asked(
    sizes: list[int], task_bytes: int
) -> None:
    splits = [
        LineRange(f"{number}.jsonl", DiskLocation(Path()), start, min(start + task_bytes, size))
        for number, size in enumerate(sizes)
        for start in range(0, size, task_bytes)
    ]
    tasks = pack(splits, task_bytes=task_bytes)
    assert all(sum(split.size for split in task) <= task_bytes for task in tasks)
    assert [split for task in tasks for split in task] == splits
    assert all(
        a[0].size + sum(p.size for p in b) > task_bytes for b, a in itertools.pairwise(tasks)
    )


@given(
    size=st.integers(1, 400),
    least=st.integers(1, 50),
    workers=st.lists(st.integers(1, 40), max_size=3),
)
def test_an_input_that_is_dealt_again_is_the_same_in_as_many_tasks_as_suit(
    size: int, least: int, workers: list[int]
) -> None:
    limits = LoadLimits(min_task_bytes=least)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "in.jsonl").write_bytes(b" " * size)
        planned = plan_splits(f"{place}/in.jsonl", catalog=CATALOG, parallelism=1, limits=limits)
        for parallelism in workers:
            planned = planned.dealt(parallelism)
            ranges = [split for task in planned.tasks for split in task]
            assert all(isinstance(split, LineRange) for split in ranges)
            assert all(len(task) == 1 for task in planned.tasks), "neighbours are joined"
            assert [(p.start, p.end) for p in ranges if isinstance(p, LineRange)] == [
                *itertools.pairwise([0, *itertools.accumulate(p.size for p in ranges)])
            ]
            assert sum(p.size for p in ranges) == size
            wanted = min(size // least, limits.tasks_per_core * parallelism)
            assert len(planned.tasks) >= wanted // 2


def test_a_file_that_vanished_or_can_not_be_read_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        read_range(LineRange("in.jsonl", DiskLocation(tmp_path / "gone"), 0, 10), INPUT_LIMITS)
    with pytest.raises(StorageFailed, match="directory"):
        read_range(LineRange("in.jsonl", DiskLocation(tmp_path), 0, 10), INPUT_LIMITS)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    limits = InputLimits(max_line_bytes=100)
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"x" * 500)
    with pytest.raises(LimitExceeded, match=r"in\.jsonl"):
        read_range(LineRange("in.jsonl", DiskLocation(path), 0, 10), limits)
    assert read_range(LineRange("in.jsonl", DiskLocation(path), 10, 500), limits) == b""
