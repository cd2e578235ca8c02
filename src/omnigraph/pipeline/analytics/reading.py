"""Inside a task: the nodes and edges of some fragments, as a view shows them."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.conditions import ALWAYS, Condition
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, NodeType
from omnigraph.pipeline.load.row_sources import CommittedRows, committed_rows
from omnigraph.read.values.conditions import columns_judged, meeting
from omnigraph.read.view import View

__all__ = [
    "EDGES",
    "NODES",
    "EdgeRows",
    "NodeRows",
    "edge_tasks",
    "node_tasks",
    "read_edges",
    "read_given",
    "read_nodes",
]

NODES = pa.schema([("type", pa.int32()), ("id", pa.string())])
EDGES = pa.schema(
    [
        ("edge", pa.int32()),
        ("source_type", pa.int32()),
        ("source", pa.string()),
        ("target_type", pa.int32()),
        ("target", pa.string()),
        ("weight", pa.float64()),
    ]
)
"""Types are numbers: their places among those of the run."""


@frozen
class NodeRows:
    rows: CommittedRows
    type: int
    condition: Condition


@frozen
class EdgeRows:
    """An edge with a hidden end is still there: it joins no node, and goes with that."""

    rows: CommittedRows
    edge: int
    source_type: int
    target_type: int
    weight: str | None
    condition: Condition


def node_tasks(view: View, nodes: Sequence[NodeType]) -> list[NodeRows]:
    return [
        NodeRows(rows, number, _condition(view, node))
        for number, node in enumerate(nodes)
        for rows in _parts(view, node)
    ]


def edge_tasks(
    view: View, edges: Sequence[EdgeType], nodes: Sequence[NodeType], weight: str | None
) -> list[EdgeRows]:
    """`weight` is a property of each of the edge types."""
    places = {node.name: place for place, node in enumerate(nodes)}
    return [
        EdgeRows(
            rows,
            number,
            places[edge.source],
            places[edge.target],
            None if weight is None else edge.by_name[weight].column,
            _condition(view, edge),
        )
        for number, edge in enumerate(edges)
        for rows in _parts(view, edge)
    ]


def _parts(view: View, entity: EntityType) -> list[CommittedRows]:
    return committed_rows(view.snapshot.root, view.snapshot.dataset(entity))


def _condition(view: View, entity: EntityType) -> Condition:
    restriction = view.restriction(entity)
    return ALWAYS if restriction is None else restriction.own


def read_nodes(task: NodeRows) -> Iterator[pa.RecordBatch]:
    rows = _read(task.rows, [ID], task.condition)
    type_ = pa.repeat(pa.scalar(task.type, pa.int32()), rows.num_rows)
    yield from pa.table([type_, rows[ID]], schema=NODES).to_batches()


def read_edges(task: EdgeRows) -> Iterator[pa.RecordBatch]:
    weight = [] if task.weight is None else [task.weight]
    rows = _read(task.rows, [SRC, DST, *weight], task.condition)

    def number(value: int) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.int32()), rows.num_rows)

    weights = pa.repeat(pa.scalar(1.0, pa.float64()), rows.num_rows)
    if task.weight is not None:
        weights = rows[task.weight].cast(pa.float64(), safe=False)
    columns = [
        number(task.edge),
        number(task.source_type),
        rows[SRC],
        number(task.target_type),
        rows[DST],
        weights,
    ]
    yield from pa.table(columns, schema=EDGES).to_batches()


def read_given(task: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows that the driver has: of any number, which an expression of Spark's could not hold."""
    yield from task.to_batches()


def _read(source: CommittedRows, columns: Sequence[str], condition: Condition) -> pa.Table:
    judged = [] if condition == ALWAYS else columns_judged(condition)
    needed = list(dict.fromkeys([*columns, *judged]))
    rows = source.open().scan(needed, fragment_ids=source.fragment_ids)
    return meeting(condition, rows) if judged else rows
