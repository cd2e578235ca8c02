"""What Spark hands back of a value that it was given is that value, also of nulls alone."""

import datetime
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.base.types import ListOf, Scalar, ValueType, VectorOf
from omnigraph.pipeline.frames.carried import as_answered, as_carried
from omnigraph.store.arrow import arrow_type

FIRST, LAST = datetime.date.min, datetime.date.max
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, datetime.UTC)
VALUES: dict[Scalar, list[Any]] = {
    Scalar.STRING: ["", "é"],
    Scalar.BOOL: [True, False],
    Scalar.I32: [-(2**31), 2**31 - 1],
    Scalar.I64: [-(2**63), 2**63 - 1],
    Scalar.U32: [0, 2**32 - 1],
    Scalar.U64: [0, 2**64 - 1],
    Scalar.F32: [-0.0, 0.5],
    Scalar.F64: [5e-324, 1e308],
    Scalar.DATE: [FIRST, LAST],
    Scalar.DATETIME: [MOMENT],
    Scalar.BLOB: [b"", b"\x00"],
}
TYPES: list[tuple[ValueType, list[Any]]] = [
    *VALUES.items(),
    *((ListOf(item), [[], values]) for item, values in VALUES.items() if item is not Scalar.BLOB),
    (VectorOf(2), [[0.5, 1.0], [1.0, 0.0]]),
]


def sent(values: pa.Array) -> pa.ChunkedArray:
    """The values as Spark sends them: built anew, and of an empty buffer nothing is left."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([pa.array(values.to_pylist(), values.type)], ["v"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_all()["v"]


@pytest.mark.parametrize(("type_", "values"), TYPES, ids=lambda one: str(one)[:12])
def test_values_come_back_as_they_were_sent(type_: ValueType, values: list[Any]) -> None:
    kind = arrow_type(type_)
    for some in (values, [None, *values, None], [None], [None, None], []):
        ours = pa.array(some, kind)
        whole = pa.struct([("v", kind)])
        of_whole = pa.StructArray.from_arrays([ours], fields=list(whole))
        for array, as_type in ((ours, kind), (of_whole, whole)):
            back = as_answered(sent(as_carried(array)), as_type)
            assert back.equals(pa.chunked_array([array]))
