"""The rows as the answer shows them: values at last."""

import pyarrow as pa

from omnigraph.lang.plan.ir import ColumnOf, EntityOf, Expression, Project
from omnigraph.read.answer import Answer, identified
from omnigraph.read.context import Context
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame

__all__ = ["project"]


def project(frame: Frame, op: Project, context: Context) -> Answer:
    columns = []
    for shown in op.columns:
        context.budget.check(f"`{shown.name}`")
        columns.append(column(shown.expression, frame, context))
    # A null that nothing gives a type is announced as a text.
    columns = [c.cast(pa.string()) if pa.types.is_null(c.type) else c for c in columns]
    whole = {
        c.name: identified(frame.bindings[expression.variable], context.columns)
        for c in op.columns
        if isinstance(expression := _made_of(c.expression, frame), EntityOf)
    }
    return Answer(pa.table(columns, names=[c.name for c in op.columns]), pa.table(whole))


def _made_of(expression: Expression, frame: Frame) -> Expression | pa.Array:
    """The expression behind a column that Aggregate or Distinct has made, or its values."""
    made: Expression | pa.Array = expression
    while isinstance(made, ColumnOf):
        made = frame.made[made.name]
    return made
