"""Blocks that ask whether some value is greater, or less, than one of the outer row.

`not { $b worksAt $c  $b.score > $a.score }` needs no pair of `$a` and `$b`: some score is greater
if the greatest score of the company is. That is found once for each company, whatever the number of
rows.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.lang.plan.chain import chain, mentions, outer_of
from omnigraph.lang.plan.ir import MIRRORED, Compare, CompareOp, Filter, Op
from omnigraph.read.context import Context
from omnigraph.read.demand import variables_in
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame
from omnigraph.read.operators.aggregate import Grouped
from omnigraph.read.values.ordering import Codes

__all__ = ["ExtremeTest", "extreme_by_outer", "extreme_test"]

BELOW = (CompareOp.LT, CompareOp.LE)
ABOVE = (CompareOp.GT, CompareOp.GE)


@frozen
class ExtremeTest:
    compare: Compare
    """The left side is about outer variables, the right side about those of the block."""
    rest: Op
    """The block without the comparison."""
    used: frozenset[VariableName]
    """The outer variables that the rest uses."""


def extreme_test(pattern: Op) -> ExtremeTest | None:
    """The comparison that a block ends in, if an extreme of the block decides it."""
    match pattern:
        case Filter(source=rest, predicate=Compare() as test) if test.op in (*BELOW, *ABOVE):
            outer = frozenset(outer_of(pattern))
        case _:
            return None
    used = outer.intersection(v for link in chain(rest)[1:] for v in mentions(link))
    for way in (test, Compare(MIRRORED[test.op], test.right, test.left)):
        here, there = variables_in(way.left), variables_in(way.right)
        # If the rest uses all outer variables anyway, there is nothing to gain.
        if here and here <= outer and there and there.isdisjoint(outer) and not here <= used:
            return ExtremeTest(way, rest, used)
    return None


def extreme_by_outer(matched: Frame, count: int, test: Compare, context: Context) -> pa.Array:
    """The value of the block that decides the test for each outer row; null without values."""
    assert matched.outer is not None
    rows = Grouped(matched, Codes(matched.outer, count))
    values = column(test.right, matched, context)
    if values.null_count:
        rows = rows.where(pc.is_valid(values).to_numpy(zero_copy_only=False))
        values = values.drop_null()
    return rows.extreme(values, is_greatest=test.op in BELOW)
