"""Rows of a query as an answer: JSON, or Arrow for those who ask for it.

JSON is made a batch at a time, in the thread that asks for the next piece: its cost is Python's
objects, of which there are never more than a batch. Arrow costs next to nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from omnigraph.base.errors import LimitExceeded
from omnigraph.surfaces.server.calls import ARROW, JSON, Call, Pulled, Reply, Whole

if TYPE_CHECKING:
    from omnigraph.engine.results import QueryResult

__all__ = ["SNAPSHOT_ID", "arrow_pieces", "refuse_too_large", "rows_reply"]

BATCH_ROWS = 10_000
PIECE_BYTES = 1 << 18
SNAPSHOT_ID = "Omnigraph-Snapshot-Id"


def rows_reply(
    call: Call, result: "QueryResult", *, branch: str | None, is_legacy: bool = False
) -> Reply:
    """The answer to a query, in the form that the client asks for."""
    refuse_too_large(call, result.to_arrow())
    call.notes.update({"query": result.query_name, "rows": len(result)})
    if ARROW in call.headers.get("accept", ""):
        return Pulled(
            arrow_pieces(result.to_arrow()),
            ARROW,
            headers={SNAPSHOT_ID: result.graph_commit_id},
        )
    head: dict[str, Any] = {
        "query_name": result.query_name,
        "target": {"branch": branch, "snapshot": None if branch else result.graph_commit_id},
        "row_count": len(result),
        "columns": result.columns,
    }
    if not is_legacy:
        head["graph_commit_id"] = result.graph_commit_id
    pieces = _json(result, head)
    if len(result) <= BATCH_ROWS:
        return Whole(b"".join(pieces))
    return Pulled(pieces, JSON)


def refuse_too_large(call: Call, rows: pa.Table) -> None:
    """Raise unless the rows of a query are within the limits of an answer."""
    advice = (
        "ask for a page: add limit and offset to the query, with an order; "
        "all rows of a type are an export"
    )
    for what, found, limit in (
        ("the number of rows of the answer", rows.num_rows, call.limits.max_answer_rows),
        ("the number of bytes of the answer", rows.nbytes, call.limits.max_answer_bytes),
    ):
        if found > limit:
            raise LimitExceeded(what, limit, found, advice)


def _json(result: "QueryResult", head: dict[str, Any]) -> Iterator[bytes]:
    """The members of the head, and the rows as the last one."""
    encode = msgspec.json.encode
    piece = encode(head)[:-1] + b',"rows":['
    comma = b""
    for batch in result.readable().to_arrow().to_batches(max_chunksize=BATCH_ROWS):
        if batch.num_rows:
            piece += comma + encode(batch.to_pylist())[1:-1]
            comma = b","
        if len(piece) > PIECE_BYTES:
            yield piece
            piece = b""
    yield piece + b"]}"


def arrow_pieces(table: pa.Table) -> Iterator[bytes]:
    sink = _Parts()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        for batch in table.to_batches():
            stream.write_batch(batch)
            yield sink.taken()
    yield sink.taken()


class _Parts:
    """A file that gives back what was written since it was asked last."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        return

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
