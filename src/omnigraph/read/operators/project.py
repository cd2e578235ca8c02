"""The rows as the answer shows them: values at last."""

import pyarrow as pa

from omnigraph.lang.plan.ir import Project
from omnigraph.read.context import Context
from omnigraph.read.expressions import column
from omnigraph.read.frame import Frame

__all__ = ["project"]


def project(frame: Frame, op: Project, context: Context) -> pa.Table:
    columns = {c.name: column(c.expression, frame, context) for c in op.columns}
    return pa.table(list(columns.values()), names=list(columns))
