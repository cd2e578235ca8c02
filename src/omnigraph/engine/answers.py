"""An answer to look at: the first rows of a query, and what of them is a graph. One run gives the
table, the picture and the JSON of it.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import AnswerRead
from omnigraph.engine.query import ask
from omnigraph.engine.requests import Ask

if TYPE_CHECKING:
    from omnigraph.engine.notebook.drawing import Drawing

__all__ = ["ShownAnswer", "ShownColumn", "answer"]

MAX_EDGES_PER_NODE = 4
"""A picture with more of them shows nothing."""


@frozen
class ShownColumn:
    name: str
    type: str
    """Of a column of whole nodes `node`, otherwise as Arrow calls it."""


@frozen
class ShownAnswer:
    query_name: str
    graph_commit_id: CommitId
    columns: tuple[ShownColumn, ...]
    rows: tuple[Mapping[str, Any], ...]
    row_count: int
    """All rows of the answer, shown or not."""
    ms: float
    graph: "Drawing | None"
    """None where no column holds whole nodes."""


def answer(engine: Engine, request: AnswerRead) -> ShownAnswer:
    """Run a query that reads, and keep of its answer what a page can show."""
    # Pictures are for few processes, and commands that ask nothing of a graph start without Arrow.
    from omnigraph.engine.notebook.answer import drawn
    from omnigraph.store.arrays import with_short_floats

    began_s = time.perf_counter()
    found = ask(engine, _asked(request))
    spent_ms = (time.perf_counter() - began_s) * 1000
    drawable, table = found.drawable, found.table
    graph = None
    if drawable is not None:
        graph = drawn(
            table,
            drawable,
            most_nodes=request.limit_nodes,
            most_edges=request.limit_nodes * MAX_EDGES_PER_NODE,
        )
    whole = () if drawable is None else drawable.entities.column_names
    shown = with_short_floats(table.slice(0, request.limit_rows))
    return ShownAnswer(
        query_name=found.query_name,
        graph_commit_id=found.graph_commit_id,
        columns=tuple(
            ShownColumn(field.name, "node" if field.name in whole else str(field.type))
            for field in table.schema
        ),
        rows=tuple(shown.to_pylist()),
        row_count=len(found),
        ms=round(spent_ms, 3),
        graph=graph,
    )


def _asked(request: AnswerRead) -> Ask:
    return Ask(
        source=request.source,
        name=request.name,
        params=request.params,
        branch=request.branch,
        is_branch_named=request.is_branch_named,
        moment=request.moment,
        actor=request.actor,
        timeout_s=request.timeout_s,
        memory_bytes=request.memory_bytes,
        cancel=request.cancel,
    )
