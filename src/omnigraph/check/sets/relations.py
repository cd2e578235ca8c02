"""Rows as keys: the relations that the questions of set checks are asked of.

| relation | a row says |
|---|---|
| claims | this row claims this term (an id, the text of a unique tuple) for itself alone |
| ends | these edges need a node with this id |
| ids | there is a node with this id |
| degrees | this node is the source of so many edges, or is a source at all |

`place` is the position of an incoming row among the incoming rows of its type, and null for a row
that the graph already has.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.check.sets.rules import (
    CLAIMS,
    DEGREES,
    ENDS,
    IDS,
    Claim,
    Degree,
    End,
    Part,
    Reading,
)
from omnigraph.lang.schema.catalog import ID, SRC, NodeType
from omnigraph.store.identity import tuple_texts

__all__ = ["RELATIONS", "extract", "terms_of"]

RELATIONS: Mapping[str, pa.Schema] = {
    CLAIMS: pa.schema([("rule", pa.int32()), ("term", pa.string()), ("place", pa.int64())]),
    ENDS: pa.schema(
        [
            ("rule", pa.int32()),
            ("kind", pa.int32()),
            ("term", pa.string()),
            ("edges", pa.int64()),
            ("place", pa.int64()),
        ]
    ),
    IDS: pa.schema([("kind", pa.int32()), ("term", pa.string())]),
    DEGREES: pa.schema(
        [
            ("rule", pa.int32()),
            ("term", pa.string()),
            ("edges", pa.int64()),
            ("place", pa.int64()),
            ("sources", pa.int64()),
            ("source_place", pa.int64()),
        ]
    ),
}


def extract(
    reading: Reading, rows: pa.Table, places: np.ndarray, *, one_by_one: bool = False
) -> pa.Table:
    """The keys of rows at these places, in the schema of the reading's relation.

    Edges with the same end share a row of the relation, unless they are wanted `one_by_one`.
    """
    is_kept = np.full(rows.num_rows, reading.part is Part.KEPT)
    rows = rows.append_column("place", pa.array(places, pa.int64(), mask=is_kept))
    schema = RELATIONS[reading.relation]
    keys = _keys(reading, rows, _one_by_one if one_by_one else _counted)
    count = len(keys["term"])
    columns = [keys.get(f.name, pa.scalar(None, f.type)) for f in schema]
    return pa.table(
        [c if isinstance(c, pa.Array | pa.ChunkedArray) else pa.repeat(c, count) for c in columns],
        schema=schema,
    )


def terms_of(reading: Reading, rows: pa.Table) -> pa.Array | pa.ChunkedArray:
    """The term of each row; null where the row is exempt."""
    match reading.rule:
        case Claim(entity=entity, properties=properties) if properties:
            return tuple_texts(entity, properties, {name: rows[name] for name in rows.column_names})
        case Claim():
            return rows[ID]
        case End(column=column):
            return rows[column]
        case Degree():
            return rows[SRC]


def _keys(
    reading: Reading, rows: pa.Table, count: Callable[[pa.Table, str], tuple[Any, Any, Any]]
) -> dict[str, Any]:
    rule = reading.rule
    number = pa.scalar(rule.number, pa.int32())
    match rule:
        case Claim(properties=()):
            return {"rule": number, "term": rows[ID], "place": rows["place"]}
        case Claim(entity=entity, properties=properties):
            columns = {name: rows[name] for name in rows.column_names}
            tuples = tuple_texts(entity, properties, columns)
            # A null in the tuple exempts the row.
            there = tuples.is_valid()
            place = rows["place"].filter(there)
            return {"rule": number, "term": tuples.filter(there), "place": place}
        case End(column=column, node=node):
            kind = pa.scalar(node.id, pa.int32())
            if reading.relation == IDS:
                return {"kind": kind, "term": rows[ID]}
            term, edges, place = count(rows, column)
            return {"rule": number, "kind": kind, "term": term, "edges": edges, "place": place}
        case Degree():
            one, none = pa.scalar(1, pa.int64()), pa.scalar(0, pa.int64())
            if isinstance(reading.entity, NodeType):
                place = {"source_place": rows["place"]}
                return {"rule": number, "term": rows[ID], "edges": none, "sources": one, **place}
            term, edges, place = count(rows, SRC)
            return {"rule": number, "term": term, "edges": edges, "sources": none, "place": place}


def _counted(rows: pa.Table, column: str) -> tuple[Any, Any, Any]:
    """Each value once, how often it comes, and where last: fewer rows to send around."""
    every = pc.CountOptions(mode="all")
    counted = rows.group_by(column).aggregate([("place", "count", every), ("place", "max")])
    return counted[column], counted["place_count"], counted["place_max"]


def _one_by_one(rows: pa.Table, column: str) -> tuple[Any, Any, Any]:
    return rows[column], pa.scalar(1, pa.int64()), rows["place"]
