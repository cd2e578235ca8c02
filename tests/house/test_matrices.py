"""What runs without `--deep`: of a matrix few rows, with nothing left out of all of them."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.matrices import covering
from tests.processes import PATIENCE_S
from tests.quick import SLOW

Collected = Callable[[int], list[str]]
"""What would run, in the order of a seed."""

CONFTEST = """
from tests.matrices import chosen_rows

def pytest_collection_modifyitems(items):
    items[:] = chosen_rows(items)
"""
TESTS = """
import pytest

@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("name", ["x", {"unhashable": 1}])
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_rows(place, name, mode): ...

@pytest.mark.pairs
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("name", ["x", None])
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_pairs(place, name, mode): ...

@pytest.mark.values
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_values(place, mode): ...

@pytest.mark.parametrize("place", ["disk", "s3"])
def test_place(place): ...

@pytest.mark.disk
@pytest.mark.parametrize("mode", ["append", "merge"])
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_disk(place, mode): ...

@pytest.mark.disk
@pytest.mark.pairs
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_both(place, mode): ...

@pytest.mark.pairs
def test_alone(): ...
"""


def test_few_rows_have_every_value_or_every_pair() -> None:
    rows = list(product("abc", "de", "fgh"))
    values, pairs = covering(rows, 1), covering(rows, 2)
    assert len(values) == 3 and {*"".join(map("".join, values))} == {*"abcdefgh"}
    assert len(pairs) <= 10
    for one, other in ((0, 1), (0, 2), (1, 2)):
        together = {(row[one], row[other]) for row in rows}
        assert {(row[one], row[other]) for row in pairs} == together
    assert covering([], 2) == []


def test_pairs_that_no_row_has_are_not_asked_for() -> None:
    assert covering([("a", "b"), ("c", "d")], 2) == [("a", "b"), ("c", "d")]


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_rows.py").write_text(TESTS)

    def collect(seed: int) -> list[str]:
        options = ["--collect-only", "-q", "-c", "/dev/null", f"--rootdir={tmp_path}"]
        options += ["-p", "no:cacheprovider", f"--randomly-seed={seed}"]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, str(tmp_path)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return [line.partition("::")[2] for line in run.stdout.splitlines() if "::" in line]

    return collect


def test_of_rows_in_a_bucket_and_of_pairs_few_run_and_of_all_others_each(
    collected: Collected,
) -> None:
    rows = collected(0)
    expected = {
        "test_rows[disk": 6,
        "test_rows[s3": 3,
        "test_pairs": 6,
        "test_values": 3,
        "test_place": 2,
        "test_disk": 2,
        "test_both[disk": 3,
        "test_both[s3": 0,
        "test_alone": 1,
    }
    counted = {begin: sum(row.startswith(begin) for row in rows) for begin in expected}
    assert counted == expected, rows


def test_the_same_rows_run_in_any_order(collected: Collected) -> None:
    one, other = collected(1), collected(2)
    assert one != other and sorted(one) == sorted(other)


def test_what_a_quick_run_leaves_out_is_there() -> None:
    here = Path(__file__).parents[1]
    assert [name for name in SLOW if not (here / name).exists()] == []
