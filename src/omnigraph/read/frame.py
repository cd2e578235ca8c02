"""The rows that flow between operators: for each variable a column of row numbers, not of values.

Properties are read when an expression asks for them, for the rows that are left by then. Three
things ride along: `weights`, how many equal rows a row stands for (only below an aggregate, where
nothing can tell the difference); `outer`, in a sub-pattern, the row of the enclosing pattern that a
row extends; and `made`, the columns of an Aggregate or Distinct, each either an array or an
expression still to be read from the row that represents its group.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.ir import Expression
from omnigraph.read.space import NULL, Space
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.ordering import Codes

__all__ = ["Binding", "Frame"]

CODE_OF_FIRST_ROW = -NULL
"""Codes begin at 0, and that one is for NULL."""


@frozen
class Binding:
    """The rows that one variable is bound to."""

    space: Space
    ordinals: Ordinals | None
    """None: every row of the space, in order. It saves making, and gathering by, 0, 1, 2, …"""
    is_optional: bool = False
    """Some rows may bind nothing."""

    @classmethod
    def none(cls, space: Space) -> "Binding":
        """Of no rows at all."""
        return cls(space, np.empty(0, dtype=np.int64))

    @property
    def is_whole(self) -> bool:
        return self.ordinals is None

    @property
    def rows(self) -> Ordinals:
        return np.arange(self.space.size) if self.ordinals is None else self.ordinals

    @property
    def codes(self) -> Codes:
        """A code for each row, equal where the same entity is bound: 0 is NULL, and the others
        are their row numbers and 1.
        """
        return Codes(self.rows + CODE_OF_FIRST_ROW, self.space.size + CODE_OF_FIRST_ROW)

    def with_codes(self, codes: Ordinals) -> "Binding":
        """The entities that have these codes."""
        return Binding(self.space, codes - CODE_OF_FIRST_ROW, self.is_optional)

    def take(self, index: Ordinals) -> "Binding":
        ordinals = index if self.ordinals is None else self.ordinals[index]
        return Binding(self.space, ordinals, self.is_optional)

    def bound(self) -> NDArray[np.bool_] | None:
        """Which rows bind something; None if all do."""
        return self.rows != NULL if self.is_optional else None


@frozen
class Frame:
    count: int
    bindings: Mapping[VariableName, Binding] = field(default_factory=dict)
    weights: Ordinals | None = None
    outer: Ordinals | None = None
    made: Mapping[str, pa.Array | Expression] = field(default_factory=dict)

    def take(self, index: Ordinals) -> "Frame":
        """The rows at these positions, in this order."""
        return Frame(
            count=len(index),
            bindings={name: binding.take(index) for name, binding in self.bindings.items()},
            weights=None if self.weights is None else self.weights[index],
            outer=None if self.outer is None else self.outer[index],
            made={
                name: column.take(pa.array(index)) if isinstance(column, pa.Array) else column
                for name, column in self.made.items()
            },
        )

    def filter(self, mask: NDArray[np.bool_]) -> "Frame":
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def only(self, variables: Iterable[VariableName]) -> "Frame":
        """Without the columns that nobody above looks at."""
        kept = frozenset(variables)
        if kept.issuperset(self.bindings):
            return self
        return self._with({v: b for v, b in self.bindings.items() if v in kept})

    def bind(self, variable: VariableName, binding: Binding) -> "Frame":
        return self._with({**self.bindings, variable: binding})

    def _with(self, bindings: Mapping[VariableName, Binding]) -> "Frame":
        # As `dataclasses.replace`, which takes a good part of the time of a small query.
        return Frame(self.count, bindings, self.weights, self.outer, self.made)

    @property
    def nbytes(self) -> int:
        """Of the numbers; arrays that were made already are left out, they are the answer."""
        arrays = [self.weights, self.outer, *(b.ordinals for b in self.bindings.values())]
        return sum(a.nbytes for a in arrays if a is not None)

    @property
    def columns(self) -> int:
        """How many arrays a row costs."""
        extra = (self.weights is not None) + (self.outer is not None)
        return len(self.bindings) + len(self.made) + extra
