"""An answer as a picture.

Nodes are those of the columns that `return` names by a variable alone. Edges are those that the
pattern walks between two such variables; none is looked up, so a picture shows what the answer says
and nothing else. The same node in several rows or columns is one node of the picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.engine.drawable import Drawable
from omnigraph.engine.labels import LABELS, label_of
from omnigraph.engine.notebook.drawing import Drawing, DrawnEdge, DrawnNode
from omnigraph.lang.plan.ir import Direction
from omnigraph.lang.plan.links import Link
from omnigraph.lang.schema.catalog import ID
from omnigraph.store.arrays import with_short_floats

__all__ = ["MOST_NODES", "drawing_of", "drawn"]

# A picture of more can't be read, and takes seconds to lay out.
MOST_NODES = 300
MOST_EDGES = 1_000
# Edges that tell properties are looked at one by one.
MOST_EDGE_ROWS = 10_000

SEPARATOR = pa.scalar("\x1f", pa.large_string())
"""Between the type and the id of a node; no type has it in its name."""

Numbers = NDArray[np.int64]


def drawing_of(
    table: pa.Table, drawable: Drawable | None, *, label: str | None, limit: int
) -> Drawing:
    """The picture of the first `limit` nodes, in the order of the rows."""
    if not 1 <= limit <= MOST_NODES:
        rule = f"it must be a number from 1 to {MOST_NODES}"
        raise ArgumentInvalid("limit", str(limit), rule)
    if drawable is None:
        raise ArgumentInvalid(
            argument="return",
            value=None,
            rule="the answer has no whole nodes, and a picture is made of nodes",
            advice="name variables in return, without a property: return { $p, $f }",
        )
    columns = drawable.entities.column_names
    if label is not None:
        _check_label(label, table, columns)
    return drawn(table, drawable, label=label, most_nodes=limit, most_edges=MOST_EDGES)


def drawn(
    table: pa.Table,
    drawable: Drawable,
    *,
    label: str | None = None,
    most_nodes: int,
    most_edges: int,
) -> Drawing:
    """The first nodes and edges of an answer, in the order of its rows; nothing is laid out."""
    columns = drawable.entities.column_names
    numbers, count = _numbered(table, drawable)
    places = _first_places(numbers, most_nodes)
    nodes = tuple(_node(found, label) for found in _found(table, drawable, places))
    shown = np.full(count, -1, dtype=np.int64)
    shown[numbers.ravel()[places]] = np.arange(len(places))
    # The last of `shown` is for -1, the number of no node.
    shown = np.append(shown, -1)
    ends = {name: shown[numbers[:, i]] for i, name in enumerate(columns)}
    edges: dict[tuple[Any, ...], DrawnEdge] = {}
    has_more = False
    for link in drawable.links:
        for edge in _edges(table, link, ends, nodes):
            told = edge.label, edge.is_directed, str(edge.properties)
            edges.setdefault((*_ends(edge), *told), edge)
            has_more = has_more or len(edges) > most_edges
            if has_more:
                break
    return Drawing(nodes, tuple(edges.values())[:most_edges], count, has_more)


def _check_label(label: str, table: pa.Table, columns: list[str]) -> None:
    known = {field.name for name in columns for field in table.schema.field(name).type}
    if label not in known:
        raise NameMissing(what="property of the nodes", name=label, known=tuple(sorted(known)))


def _numbered(table: pa.Table, drawable: Drawable) -> tuple[Numbers, int]:
    """For each row and column of nodes the number of the node, -1 where there is none; and how many
    nodes there are."""
    keys = [
        pc.binary_join_element_wise(
            _text(pc.struct_field(what, "type")), _text(_ids(table[name], what)), SEPARATOR
        )
        for name, what in zip(drawable.entities.column_names, drawable.entities, strict=True)
    ]
    chunks = [chunk for key in keys for chunk in _chunks(key)]
    coded = pa.chunked_array(chunks, pa.large_string()).combine_chunks().dictionary_encode()
    numbers = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return numbers.reshape(len(keys), table.num_rows).T, len(coded.dictionary)


def _ids(nodes: pa.ChunkedArray, what: pa.ChunkedArray) -> pa.ChunkedArray:
    has_own = what.type.get_field_index("id") >= 0
    return pc.struct_field(what if has_own else nodes, ID)


def _text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.string()).cast(pa.large_string())


def _chunks(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _first_places(numbers: Numbers, limit: int) -> Numbers:
    """Where each of the first nodes is met first, counting through rows and columns."""
    flat = numbers.ravel()
    found, first = np.unique(flat, return_index=True)
    places: Numbers = np.sort(first[found >= 0])[:limit]
    return places


def _found(
    table: pa.Table, drawable: Drawable, places: Numbers
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Type, id and properties of the nodes at these places."""
    columns = drawable.entities.column_names
    rows, at = places // len(columns), places % len(columns)
    taken = with_short_floats(table.select(columns).take(rows)).to_pylist()
    kinds = drawable.entities.take(rows).to_pylist()
    for node, what, column in zip(taken, kinds, (columns[i] for i in at), strict=True):
        type_name, properties = what[column]["type"], node[column]
        id_ = what[column].get("id", properties[ID])
        yield type_name, id_, properties


def _node(found: tuple[str, str, dict[str, Any]], label: str | None) -> DrawnNode:
    type_name, id_, properties = found
    names = LABELS if label is None else (label,)
    said = label_of(properties, id_, names)
    # A property that the node's type lacks is null in a column of several types.
    told = {n: v for n, v in properties.items() if v is not None and (n, v) != (ID, id_)}
    return DrawnNode(type_name, str(id_), said, told)


def _edges(
    table: pa.Table, link: Link, ends: Mapping[str, Numbers], nodes: Sequence[DrawnNode]
) -> Iterator[DrawnEdge]:
    """The edges of a link between drawn nodes, each as often as rows tell something else of it."""
    origins, targets = ends[link.origin], ends[link.target]
    rows = np.flatnonzero((origins >= 0) & (targets >= 0))
    if link.properties:
        names, columns = zip(*link.properties, strict=True)
        told = with_short_floats(table.select(columns).take(rows[:MOST_EDGE_ROWS]))
        for row, values in zip(rows, told.to_pylist(), strict=False):
            properties = dict(zip(names, values.values(), strict=True))
            yield _edge(link, int(origins[row]), int(targets[row]), nodes, properties)
        return
    for origin, target in np.unique(np.c_[origins[rows], targets[rows]], axis=0):
        yield _edge(link, int(origin), int(target), nodes, {})


def _edge(
    link: Link, origin: int, target: int, nodes: Sequence[DrawnNode], properties: dict[str, Any]
) -> DrawnEdge:
    ends = nodes[origin].type_name, nodes[target].type_name
    ways = [
        way
        for way in link.ways
        if way.origin_type in (None, ends[0]) and way.target_type in (None, ends[1])
    ]
    directions = {way.direction for way in ways}
    source, target = (target, origin) if directions == {Direction.IN} else (origin, target)
    return DrawnEdge(
        source,
        target,
        label="|".join(dict.fromkeys(way.label for way in ways)),
        is_directed=len(directions) == 1 and Direction.BOTH not in directions,
        is_path=link.is_path,
        properties=properties,
    )


def _ends(edge: DrawnEdge) -> tuple[int, int]:
    """Of an edge without a direction in one order, so that both ways are one edge."""
    if edge.is_directed:
        return edge.source, edge.target
    return min(edge.source, edge.target), max(edge.source, edge.target)
