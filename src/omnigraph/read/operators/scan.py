"""Every node of some types, for every row there is."""

import numpy as np

from omnigraph.lang.plan.ir import NodeScan
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand
from omnigraph.read.frame import Binding, Frame
from omnigraph.read.operators.count_paths import weigh

__all__ = ["scan"]


def scan(frame: Frame, op: NodeScan, demand: Demand, context: Context) -> Frame:
    space = context.columns.nodes(op.types)
    step = f"${op.variable}: {'|'.join(op.types)}"
    if demand.allows_weights and op.variable not in demand.live:
        return weigh(frame, np.full(frame.count, space.size), step=step)
    if frame.count == 1 and frame.columns == 0:
        return Frame(count=space.size, bindings={op.variable: Binding(space, None)})
    if frame.count == 0:
        return frame.only(demand.live).bind(op.variable, Binding.none(space))
    rows = frame.count * space.size
    context.budget.admit(rows=rows, columns=frame.columns + 1, step=step, beside=frame)
    if frame.count == 1:
        # All of the table, once: what is asked of its key next need not look at every row.
        once = frame.only(demand.live).take(np.zeros(space.size, dtype=np.int64))
        return once.bind(op.variable, Binding(space, None))
    repeated = frame.only(demand.live).take(np.repeat(np.arange(frame.count), space.size))
    return repeated.bind(op.variable, Binding(space, np.tile(np.arange(space.size), frame.count)))
