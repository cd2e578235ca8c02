"""From a staged row back to the place in the input that it came from.

Places are not kept with rows: a load that breaks no rule never needs them. Where a rule is broken,
the splits of the few rows to be named are read once more.
"""

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.load.load import LoadedTable, StagedLoad
from omnigraph.pipeline.rows.conform import conform_split
from omnigraph.pipeline.sources import Position, Split, position_in
from omnigraph.pipeline.staging.stage import in_input_order

__all__ = ["Locator", "row_numbers", "whereabouts"]


class Locator:
    def __init__(self, load: StagedLoad) -> None:
        self._load = load
        self._numbers: dict[int, dict[TableKey, np.ndarray]] = {}
        self._positions: dict[int, Position] = {}

    def place(self, entity: EntityType, place: int) -> tuple[str, int]:
        """The file and line of a row, by its place among the incoming rows of its type."""
        key = entity.table_key
        ((number, row),) = whereabouts(self._load.tables[key], np.array([place]))
        if number not in self._numbers:
            split, limits = self._load.splits[number], self._load.limits.input
            self._numbers[number] = row_numbers(split, self._load.catalog, limits)
            self._positions[number] = position_in(split, limits)
        return self._positions[number](int(self._numbers[number][key][row]))


def whereabouts(table: LoadedTable, places: np.ndarray) -> Iterator[tuple[int, int]]:
    """The number of the split that each of the rows came from, and its place among its rows."""
    ends = list(itertools.accumulate(origin.rows for origin in table.origins))
    # A split may give several runs of a type's rows: they are counted from the first of them.
    starts: dict[int, int] = {}
    for origin, end in zip(table.origins, ends, strict=True):
        starts.setdefault(origin.split, end - origin.rows)
    for staged in table.staged_places(places).tolist():
        split = table.origins[bisect_right(ends, staged)].split
        yield split, staged - starts[split]


def row_numbers(split: Split, catalog: Catalog, limits: InputLimits) -> dict[TableKey, np.ndarray]:
    """The number within the split of each of its good rows, in the order in which they are staged;
    by reading the split once more."""
    numbers: dict[TableKey, list[np.ndarray]] = defaultdict(list)
    for conformed in conform_split(split, catalog=catalog, now_ms=0, limits=limits):
        for typed in in_input_order(conformed.rows):
            numbers[typed.entity.table_key].append(typed.lines)
    return {key: np.concatenate(parts) for key, parts in numbers.items()}
