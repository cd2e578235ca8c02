"""Which rows of a matrix run without `--deep`: few, with each value or pair of values in one.

On the disk all rows of a test run; in a bucket few do, with each value of its parameters in one,
and none if the test is marked `disk`. Of a test marked `values`, each value stands in one row that
runs; of one marked `pairs`, every two values that some row has together. The place is one of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeVar

import pytest

__all__ = ["chosen_rows", "covering", "rows_of_tests"]

Row = TypeVar("Row", bound=tuple[object, ...])


def covering(rows: Sequence[Row], size: int) -> list[Row]:
    """Few rows that have every combination of so many values that any row has.

    Each next one brings the most combinations that no row before it had.
    """
    held = {number: _combinations(row, size) for number, row in enumerate(rows)}
    missing = set().union(*held.values())
    chosen = []
    while missing:
        best = max(held, key=lambda number: len(missing & held[number]))
        chosen.append(best)
        missing -= held.pop(best)
    return [rows[number] for number in sorted(chosen)]


def _combinations(row: tuple[object, ...], size: int) -> set[tuple[tuple[int, object], ...]]:
    return set(combinations(enumerate(row), min(size, len(row))))


def chosen_rows(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """What runs of these tests without `--deep`, in their order."""
    chosen = {item for rows in rows_of_tests(items) for item in _chosen_of_test(rows)}
    return (item for item in items if item in chosen)


def rows_of_tests(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """The rows of each test as they are written, though tests come in a random order.

    A choice among them is the same one in every run.
    """
    tests = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    return [sorted(rows, key=_position) for rows in tests.values()]


def _position(row: pytest.Item) -> list[int]:
    return [*row.callspec.indices.values()] if hasattr(row, "callspec") else []


def _chosen_of_test(rows: list[pytest.Item]) -> list[pytest.Item]:
    in_bucket = [row for row in rows if _values(row).get("place") == "'s3'"]
    on_disk = [row for row in rows if row not in in_bucket]
    marked = rows[0].get_closest_marker
    if marked("disk"):
        rows, in_bucket = on_disk, []
    for marker, size in (("values", 1), ("pairs", 2)):
        if marked(marker):
            return _few(rows, size)
    return [*on_disk, *_few(in_bucket, 1)]


def _few(rows: list[pytest.Item], size: int) -> list[pytest.Item]:
    by_values = {tuple(_values(row).values()): row for row in rows}
    return [by_values[values] for values in covering(list(by_values), size)]


def _values(item: pytest.Item) -> dict[str, str]:
    """The parameters of a row by name, as texts: not every value can stand in a set."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return {name: repr(params[name]) for name in sorted(params)}
