"""Few rows of a matrix in which every pair of values of two columns stands side by side."""

from collections.abc import Sequence
from itertools import combinations, product


def every_pair(*columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Greedily: each next row brings the most pairs that no row before it had."""
    missing = {
        (i, j, a, b)
        for i, j in combinations(range(len(columns)), 2)
        for a, b in product(columns[i], columns[j])
    }
    rows = list(product(*columns))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(missing & _pairs(row)))
        chosen.append(best)
        missing -= _pairs(best)
    return chosen


def _pairs(row: tuple[str, ...]) -> set[tuple[int, int, str, str]]:
    return {(i, j, row[i], row[j]) for i, j in combinations(range(len(row)), 2)}
