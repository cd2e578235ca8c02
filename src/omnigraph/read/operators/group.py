"""Which rows are equal in some columns: what Aggregate, Distinct and distinct counts stand on.

A column that tells entities apart (the entity, its id, its key) makes all other columns of the same
variable superfluous, and the values of a property are told apart once per table and kept.
"""

from collections.abc import Sequence

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.ir import (
    Column,
    EntityOf,
    Expression,
    IdentityOf,
    Literal,
    Now,
    Parameter,
    PropertyOf,
)
from omnigraph.lang.schema.catalog import NodeType
from omnigraph.read.context import Context
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.pace import Pace
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.ordering import Codes, encode, first_rows_of, loosely_combined

__all__ = ["Groups", "codes_of", "distinct_rows", "group_rows"]

# From one row in this many, telling all values of a table apart, once and for all, is worth it.
MAX_ROWS_PER_CODED_ROW = 4


@frozen
class Groups:
    """A number for each row, equal where all columns are; some numbers may not occur."""

    codes: Codes
    entities: VariableName | None
    """The variable whose entities are the groups: each by its number, where NULL is 0."""

    def representatives(
        self, frame: Frame, present: Ordinals, columns: Sequence[Column], pace: Pace
    ) -> Frame:
        """A row for each of the numbers that occur, with the columns they are grouped by."""
        if self.entities is not None:
            binding = frame.bindings[self.entities].with_codes(present)
            kept = Frame(len(present), {self.entities: binding})
        else:
            kept = frame.take(first_rows_of(self.codes, present, pace))
        return Frame(kept.count, kept.bindings, made={c.name: c.expression for c in columns})


def group_rows(columns: Sequence[Column], frame: Frame, context: Context) -> Groups:
    expressions = [column_.expression for column_ in columns]
    # A dict and not a set: groups come in the same order in every process.
    told = {
        variable: None
        for expression in expressions
        if (variable := _tells_apart(expression, frame)) is not None
    }
    codes = [frame.bindings[variable].codes for variable in told]
    pace = context.pace("the groups")
    for expression in expressions:
        is_told = isinstance(expression, _OF_VARIABLE) and expression.variable in told
        if not is_told and not isinstance(expression, Literal | Parameter | Now):
            pace.check()
            codes.append(codes_of(expression, frame, context))
    pace.check()
    combined = loosely_combined(codes, frame.count, pace)
    is_entity = len(told) == len(codes) == 1 and combined is codes[0]
    return Groups(combined, next(iter(told)) if is_entity else None)


def distinct_rows(columns: Sequence[Column], frame: Frame, context: Context) -> Frame:
    """One row per distinct combination; the columns are read later, from the row that is kept."""
    groups = group_rows(columns, frame, context)
    occurs = np.zeros(groups.codes.size, dtype=np.bool_)
    occurs[groups.codes.numbers] = True
    context.budget.check("the groups")
    pace = context.pace("the groups")
    return groups.representatives(frame, np.flatnonzero(occurs), columns, pace)


def codes_of(expression: Expression, frame: Frame, context: Context) -> Codes:
    """Equal numbers for equal values of one expression."""
    if isinstance(expression, EntityOf):
        return frame.bindings[expression.variable].codes
    if isinstance(expression, PropertyOf):
        binding = frame.bindings[expression.variable]
        is_one_table = len(binding.space.parts) == 1 and not binding.is_optional
        if is_one_table and frame.count * MAX_ROWS_PER_CODED_ROW >= binding.space.size:
            codes = context.columns.codes(binding.space.parts[0].entity, expression.name)
            if binding.ordinals is None:
                return codes
            return Codes(codes.numbers[binding.ordinals], codes.size)
    return encode(column(expression, frame, context), context.pace("the groups"))


_OF_VARIABLE = (EntityOf, IdentityOf, PropertyOf)


def _tells_apart(expression: Expression, frame: Frame) -> VariableName | None:
    """The variable whose entities differ in this expression, if no two agree."""
    match expression:
        case EntityOf(variable=variable):
            return variable
        case IdentityOf(variable=variable):
            is_one_type = len(frame.bindings[variable].space.parts) == 1
            return variable if is_one_type else None
        case PropertyOf(variable=variable, name=name):
            parts = frame.bindings[variable].space.parts
            entity = parts[0].entity
            is_key = isinstance(entity, NodeType) and entity.key == (name,)
            return variable if len(parts) == 1 and is_key else None
        case _:
            return None
