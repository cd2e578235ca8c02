"""What a block of input holds before its rows are checked, whatever form it came in."""

from collections.abc import Callable

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation
from omnigraph.check.rows.validate import Rows
from omnigraph.lang.schema.catalog import EntityType

__all__ = ["Parsed", "ParsedRows", "ViolationsByRow"]

ViolationsByRow = dict[int, tuple[Violation, ...]]
"""By number: the lines or records that hold no row, and why."""


@frozen(slots=False)
class ParsedRows:
    """Rows of one type, and the number in the block of each."""

    entity: EntityType
    numbers: np.ndarray
    rows: Rows


@frozen(slots=False)
class Parsed:
    """Everything in the block is in one of the groups or is rejected."""

    count: int
    groups: tuple[ParsedRows, ...]
    violations: ViolationsByRow
    text: Callable[[int], str]
    """The input of a number, as it came."""
    decoded: int = 0
    """Lines that had to be decoded one by one, which takes far longer than to read columns."""

    def __post_init__(self) -> None:
        rows = sum(group.rows.count for group in self.groups)
        assert self.count == rows + len(self.violations), "everything is a row or is rejected"
