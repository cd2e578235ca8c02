"""From a staged row back to the place in the input that it came from.

Places are not kept with rows: a load that breaks no rule never needs them. Where a rule is broken,
the pieces of the few rows to be named are read once more.
"""

import itertools
from bisect import bisect_right
from collections import defaultdict

import numpy as np

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.conform import conform_piece
from omnigraph.pipeline.load import LoadedTable, StagedLoad
from omnigraph.pipeline.sources import Piece, place_in
from omnigraph.pipeline.stage import in_input_order

__all__ = ["Locator", "Whereabouts", "row_numbers"]


class Locator:
    def __init__(self, load: StagedLoad) -> None:
        self._load = load
        self._numbers: dict[Piece, dict[TableKey, np.ndarray]] = {}

    def place(self, entity: EntityType, place: int) -> tuple[str, int]:
        """The file and line of a row, by its place among the incoming rows of its type."""
        key = entity.table_key
        piece, row = Whereabouts(self._load.tables[key]).of(place)
        if piece not in self._numbers:
            self._numbers[piece] = row_numbers(piece, self._load.catalog)
        return place_in(piece)(int(self._numbers[piece][key][row]))


class Whereabouts:
    """The piece that each row of a table came from, and its place among the piece's rows."""

    def __init__(self, table: LoadedTable) -> None:
        self._table = table
        self._ends = list(itertools.accumulate(origin.rows for origin in table.origins))
        # A piece may give several runs of a type's rows: they are counted from the first of them.
        self._starts: dict[Piece, int] = {}
        for origin, end in zip(table.origins, self._ends, strict=True):
            self._starts.setdefault(origin.piece, end - origin.rows)

    def of(self, place: int) -> tuple[Piece, int]:
        staged = self._table.staged_place(place)
        piece = self._table.origins[bisect_right(self._ends, staged)].piece
        return piece, staged - self._starts[piece]


def row_numbers(piece: Piece, catalog: Catalog) -> dict[TableKey, np.ndarray]:
    """The number within the piece of each of its good rows, in the order in which they are staged;
    by reading the piece once more."""
    numbers: dict[TableKey, list[np.ndarray]] = defaultdict(list)
    for conformed in conform_piece(piece, catalog=catalog, now_ms=0):
        for typed in in_input_order(conformed.rows):
            numbers[typed.entity.table_key].append(typed.lines)
    return {key: np.concatenate(parts) for key, parts in numbers.items()}
