"""From a staged row back to the place in the input that it came from.

Places are not kept with rows: a load that breaks no rule never needs them. Where a rule is broken,
the pieces of the few rows to be named are read once more.
"""

import itertools
from bisect import bisect_right

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.conform import conform_piece
from omnigraph.pipeline.load import StagedLoad
from omnigraph.pipeline.sources import Piece, Place, place_in
from omnigraph.pipeline.stage import in_input_order

__all__ = ["Locator"]


class Locator:
    def __init__(self, load: StagedLoad) -> None:
        self._load = load
        self._numbers: dict[tuple[Piece, TableKey], list[int]] = {}
        self._places: dict[Piece, Place] = {}

    def place(self, entity: EntityType, place: int) -> tuple[str, int]:
        """The file and line of a row, by its place among the incoming rows of its type."""
        origins = self._load.tables[entity.table_key].origins
        ends = list(itertools.accumulate(origin.rows for origin in origins))
        piece = origins[bisect_right(ends, place)].piece
        # A piece may give several runs of a type's rows: count from the first of them.
        first = next(i for i, origin in enumerate(origins) if origin.piece == piece)
        row = place - (ends[first - 1] if first else 0)
        if piece not in self._places:
            self._places[piece] = place_in(piece)
        return self._places[piece](self._numbers_of(piece, entity.table_key)[row])

    def _numbers_of(self, piece: Piece, key: TableKey) -> list[int]:
        if (piece, key) not in self._numbers:
            self._numbers[piece, key] = [
                int(number)
                for conformed in conform_piece(piece, catalog=self._load.catalog, now_ms=0)
                for typed in in_input_order(conformed.rows)
                if typed.entity.table_key == key
                for number in typed.lines
            ]
        return self._numbers[piece, key]
