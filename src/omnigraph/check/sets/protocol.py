"""One protocol for set checks, wherever the rows are.

`in_memory.RowsInMemory` looks up the rows that a small write is about;
`pipeline.load.sets_in_files.RowsInFiles` reads the keys of whole tables. Both ask the questions of
`questions`, so that a rule is written once.
"""

from typing import Protocol

from omnigraph.base.ids import TableKey
from omnigraph.check.sets.rules import NO_TYPES, TypeNames
from omnigraph.check.sets.violations import SetViolation

__all__ = ["SetChecks"]


class SetChecks(Protocol):
    """The rules over many rows, put to one write at one snapshot. Row checks have passed."""

    @property
    def reads(self) -> frozenset[TableKey]:
        """The tables whose kept rows decide: the write depends on them."""

    def violations(self, *, rejected: TypeNames = NO_TYPES) -> list[SetViolation]:
        """Of each broken rule the first few violations, and how many there are.

        `rejected` are the types of rows that came and were left out. Rules that such a row might
        have satisfied are skipped.
        """

    def at_fault(self, *, limit_rows: int) -> list[SetViolation]:
        """All incoming rows at fault for the first thing that is wrong, or at least so many.

        The list is empty only if no rule is broken. To take these rows out may break another rule:
        check what is left once more.
        """
