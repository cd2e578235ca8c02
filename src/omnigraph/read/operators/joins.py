"""Rows and the sub-patterns that extend them: exists, not, count, optional, or.

A sub-pattern begins with the rows of the enclosing one. It is worked out once for each distinct
combination of the variables it uses, not once per row; `Begun.rows` says which combination a row of
the enclosing pattern has.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.ir import CompareOp
from omnigraph.read.context import Context
from omnigraph.read.frame import Binding, Frame
from omnigraph.read.space import NULL, Space
from omnigraph.read.topology.csr import Ordinals, Ranges
from omnigraph.read.topology.sorting import stable_order
from omnigraph.read.values.compare import Values, compare
from omnigraph.read.values.ordering import Codes, combined, first_rows
from omnigraph.read.values.sums import count_by_group, multiplied

__all__ = [
    "Begun",
    "begin",
    "begin_each",
    "count_join",
    "left_join",
    "match_counts",
    "stacked",
    "union",
]


@frozen
class Begun:
    """Where a sub-pattern begins: its first frame, and the row of it that each outer row is."""

    frame: Frame
    rows: Ordinals


def begin(frame: Frame, variables: frozenset[VariableName], context: Context) -> Begun:
    """One row per distinct combination of the variables."""
    pace = context.pace("a sub-pattern")
    bindings = {v: b for v, b in frame.bindings.items() if v in variables}
    codes = combined([binding.codes for binding in bindings.values()], frame.count, pace)
    first = first_rows(codes, pace)
    started = Frame(
        count=len(first),
        bindings={variable: binding.take(first) for variable, binding in bindings.items()},
        outer=np.arange(len(first)),
    )
    return Begun(started, codes.numbers)


def begin_each(frame: Frame) -> Frame:
    """One row per row."""
    return Frame(frame.count, frame.bindings, outer=np.arange(frame.count))


def match_counts(begun: Frame, matched: Frame) -> Ordinals:
    """How many rows of the sub-pattern each row that it began with has."""
    groups = Codes(_outer(matched), begun.count)
    return count_by_group(matched.weights, groups, what="the number of rows of a counted pattern")


def stacked(batches: Iterable[tuple[int, Frame]], context: Context, step: str) -> Frame:
    """The rows that batches of a block gave; each comes with the first outer row of its batch."""
    found: list[tuple[int, Frame]] = []
    for start, matched in batches:
        found.append((start, matched))
        if len(found) > 1:
            rows = sum(frame.count for _, frame in found)
            context.budget.admit(rows=rows, columns=matched.columns, step=step)
    if len(found) == 1:
        return found[0][1]
    frames = [frame for _, frame in found]
    outer = np.concatenate([_outer(frame) + start for start, frame in found])
    bindings = {v: _one_below_other([f.bindings[v] for f in frames]) for v in frames[0].bindings}
    weights = None
    if any(frame.weights is not None for frame in frames):
        ones = (
            np.ones(f.count, dtype=np.int64) if f.weights is None else f.weights for f in frames
        )
        weights = np.concatenate(list(ones))
    return Frame(len(outer), bindings, weights, outer)


def count_join(frame: Frame, counts: Ordinals, op: CompareOp, bound: Values) -> Frame:
    return frame.filter(compare(op, pa.array(counts), bound, frame.count))


def left_join(
    frame: Frame,
    begun: Begun,
    matched: Frame,
    variables: Sequence[VariableName],
    context: Context,
) -> Frame:
    """Each row with each of its matches, or once with NULL in the variables."""
    assert matched.outer is not None
    look = partial(context.budget.check, "optional")
    order = stable_order(matched.outer, look)
    look()
    counts = np.bincount(matched.outer, minlength=begun.frame.count)
    starts = (np.cumsum(counts) - counts)[begun.rows]
    counts = counts[begun.rows]
    ranges = Ranges(starts, np.maximum(counts, 1))
    columns = frame.columns + len(variables)
    context.budget.admit(rows=ranges.total, columns=columns, step="optional", beside=matched)
    rows = ranges.rows()
    look()
    is_unmatched = (counts == 0)[rows]
    positions = ranges.positions()
    positions[is_unmatched] = 0
    look()
    joined = frame.take(rows)
    for variable in variables:
        look()
        binding = matched.bindings.get(variable)
        if binding is not None:
            ordinals = _padded(binding.rows[order])[positions]
            ordinals[is_unmatched] = NULL
            joined = joined.bind(variable, Binding(binding.space, ordinals, is_optional=True))
    if matched.weights is None:
        return joined
    weights = _padded(matched.weights[order])[positions]
    weights[is_unmatched] = 1
    product = multiplied(joined.weights, weights, what="the number of rows of `optional`")
    return Frame(joined.count, joined.bindings, product, joined.outer)


def union(
    frame: Frame, blocks: Sequence[Frame], variables: Sequence[VariableName], context: Context
) -> Frame:
    """Each row with each distinct combination of the variables that any block gives it."""
    pace = context.pace("or")
    outer = np.concatenate([_outer(block) for block in blocks])
    bindings: dict[VariableName, Binding] = {}
    for variable in variables:
        pace.check()
        bindings[variable] = _one_below_other([block.bindings[variable] for block in blocks])
    codes = [Codes(outer, frame.count), *(binding.codes for binding in bindings.values())]
    first = first_rows(combined(codes, len(outer), pace), pace)
    joined = frame.take(outer[first])
    for variable, binding in bindings.items():
        pace.check()
        joined = joined.bind(variable, binding.take(first))
    return joined


def _outer(block: Frame) -> Ordinals:
    assert block.outer is not None
    return block.outer


def _one_below_other(bindings: Sequence[Binding]) -> Binding:
    """One column below the other, in a space that holds the tables of all."""
    tables = {
        part.entity.table_key: (part.entity, part.size)
        for binding in bindings
        for part in binding.space.parts
    }
    space = Space.of([tables[key] for key in sorted(tables)])
    return Binding(
        space,
        np.concatenate([b.space.translate(b.rows, space) for b in bindings]),
        is_optional=any(b.is_optional for b in bindings),
    )


def _padded(values: Ordinals) -> Ordinals:
    """With something at position 0 even where nothing matched at all."""
    return values if len(values) else np.zeros(1, dtype=np.int64)
