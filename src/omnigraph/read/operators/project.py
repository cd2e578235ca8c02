"""The rows as the answer shows them: values at last."""

import pyarrow as pa

from omnigraph.lang.plan.ir import Project
from omnigraph.read.context import Context
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame

__all__ = ["project"]


def project(frame: Frame, op: Project, context: Context) -> pa.Table:
    columns = [column(c.expression, frame, context) for c in op.columns]
    # A null that nothing gives a type is announced as a text.
    columns = [c.cast(pa.string()) if pa.types.is_null(c.type) else c for c in columns]
    return pa.table(columns, names=[c.name for c in op.columns])
