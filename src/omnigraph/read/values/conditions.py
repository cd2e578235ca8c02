"""Which rows meet a condition, judged by columns, all rows at once.

The condition speaks of physical columns: its properties are named as columns are.
"""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.types import ListOf
from omnigraph.lang.plan.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Field,
    HoldsAll,
    HoldsAny,
    IsEmpty,
    Like,
    Not,
    fields_in,
)
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    Expression,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    PropertyOf,
)
from omnigraph.lang.schema.catalog import ID
from omnigraph.read.values.compare import Mask, Values, compare, mask_of
from omnigraph.read.values.predicates import constant_of, holds
from omnigraph.store.arrow import arrow_type

__all__ = ["columns_judged", "meeting", "meets"]


def columns_judged(condition: Condition) -> list[str]:
    """The columns that the condition looks at, `id` first."""
    return list(dict.fromkeys([ID, *map(_column, fields_in(condition))]))


def meeting(condition: Condition, rows: pa.Table) -> pa.Table:
    """The rows that meet the condition."""
    return rows.filter(pa.array(meets(condition, rows)))


def meets(condition: Condition, rows: pa.Table) -> Mask:
    """True for each row that meets the condition."""
    count = rows.num_rows

    def value(expression: Expression) -> Values:
        match expression:
            case PropertyOf() | IdentityOf():
                return rows[_column(expression)].combine_chunks()
            case Literal():
                return constant_of(expression, {}, 0)
            case _:
                raise AssertionError(f"{type(expression).__name__} has no place in a condition")

    match condition:
        case AllOf(parts=parts):
            mask = np.ones(count, dtype=np.bool_)
            for part in parts:
                mask &= meets(part, rows)
            return mask
        case AnyOf(parts=parts):
            mask = np.zeros(count, dtype=np.bool_)
            for part in parts:
                mask |= meets(part, rows)
            return mask
        case Not(part=part):
            return ~meets(part, rows)
        case Compare() | Membership() | NullTest():
            return holds(condition, value, count)
        case Like(field=field, parts=parts):
            texts = value(field)
            if len(parts) == 1:
                return mask_of(pc.equal(texts, parts[0]))
            pattern = ".*".join(map(re.escape, parts))
            return mask_of(pc.match_substring_regex(texts, rf"(?s)\A{pattern}\z"))
        case HoldsAll() | HoldsAny() | IsEmpty():
            return _of_lists(condition, value, count)


def _of_lists(
    condition: HoldsAll | HoldsAny | IsEmpty, value: Callable[[Expression], Values], count: int
) -> Mask:
    lists = value(condition.field)
    match condition:
        case IsEmpty():
            return mask_of(pc.equal(pc.list_value_length(lists), 0))
        case HoldsAll(options=options):
            mask: Mask = pc.is_valid(lists).to_numpy(zero_copy_only=False)
            for option in _items(options):
                mask = mask & compare(CompareOp.CONTAINS, lists, option, count)
            return mask
        case HoldsAny(options=options):
            mask = np.zeros(count, dtype=np.bool_)
            for option in _items(options):
                mask |= compare(CompareOp.CONTAINS, lists, option, count)
            return mask


def _items(options: Literal) -> list[pa.Scalar]:
    assert isinstance(options.type, ListOf) and isinstance(options.value, tuple)
    return [pa.scalar(item, arrow_type(options.type.item)) for item in options.value]


def _column(field: Field) -> str:
    return ID if isinstance(field, IdentityOf) else field.name
