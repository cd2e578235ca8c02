"""From a staged row back to the line that it came from.

Lines are not kept with rows: a load that breaks no rule never needs them. Where a rule is broken,
the splits of the few rows to be named are read once more.
"""

import itertools
from bisect import bisect_right

from omnigraph.base.ids import TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.load import StagedLoad
from omnigraph.pipeline.sources import Split, lines_before
from omnigraph.pipeline.stage import conform_split, in_input_order

__all__ = ["Locator"]


class Locator:
    def __init__(self, load: StagedLoad) -> None:
        self._load = load
        self._lines: dict[tuple[Split, TableKey], list[int]] = {}

    def place(self, entity: EntityType, place: int) -> tuple[str, int]:
        """The file and line of a row, by its place among the incoming rows of its type."""
        origins = self._load.tables[entity.table_key].origins
        ends = list(itertools.accumulate(origin.rows for origin in origins))
        split = origins[bisect_right(ends, place)].split
        # A split may give several runs of a type's rows: count from the first of them.
        first = next(i for i, origin in enumerate(origins) if origin.split == split)
        row = place - (ends[first - 1] if first else 0)
        return split.file, self._lines_of(split, entity.table_key)[row]

    def _lines_of(self, split: Split, key: TableKey) -> list[int]:
        if (split, key) not in self._lines:
            before = lines_before(split)
            conformed = conform_split(split, self._load.catalog, now_ms=0)
            self._lines[split, key] = [
                before + int(line) + 1
                for typed in in_input_order(conformed.rows)
                if typed.entity.table_key == key
                for line in typed.lines
            ]
        return self._lines[split, key]
