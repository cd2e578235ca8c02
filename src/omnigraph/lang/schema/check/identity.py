"""Which types and properties are old ones: their stable ids and their physical columns.

With an accepted catalog, a type or property of the same name is the same one, and so is one that
says `@rename_from` the name of one; everything else is new and takes the next ids in the order of
names, so that the order of the text never matters. A dropped id is never given again.

A column means one property of its table, of one type, for ever, dropped ones included: data of an
old version or branch can't be taken for a newer property that happens to have the old name, nor for
numbers of another width.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Protocol, TypeVar

from omnigraph.base.ids import PropertyId, TypeId, TypeName
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.types import EnumOf, Scalar, Value
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    Catalog,
    EdgeType,
    EntityType,
    InterfaceType,
    NodeType,
    Property,
)
from omnigraph.lang.schema.check.draft import DraftEdge, DraftInterface, DraftNode, DraftProperty
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.text.ast import Name

__all__ = ["VIRTUAL_COLUMNS", "accept"]

VIRTUAL_COLUMNS = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)
"""Columns that Lance makes up in every scan."""

# The search columns appear in the results of Lance's searches. Nodes avoid `src` and `dst` too:
# then those two names mean the same thing in every table.
TAKEN_COLUMNS = frozenset({ID, SRC, DST, *VIRTUAL_COLUMNS, "_distance", "_score"})

NOTHING = Catalog(nodes=(), edges=())


def accept(
    interfaces: Iterable[DraftInterface],
    nodes: Sequence[DraftNode],
    edges: Sequence[DraftEdge],
    *,
    accepted: Catalog | None,
    findings: Findings,
) -> Catalog:
    """The catalog of these drafts as the successor of `accepted`."""
    before = accepted or NOTHING
    old_nodes = _matched({n.name: n for n in nodes}, before.node_by_name, findings)
    # An edge type is the same one when only the case of its name changes.
    folded_edges = {e.name.casefold(): e for e in edges}
    old_edges = _matched(folded_edges, before.edge_by_folded_name, findings)
    fresh = count(before.next_id)
    return Catalog(
        nodes=tuple(
            _node(n, old_nodes.get(n.name), fresh, findings)
            for n in sorted(nodes, key=lambda n: n.name)
        ),
        edges=tuple(
            _edge(e, old_edges.get(e.name.casefold()), fresh, findings)
            for e in sorted(edges, key=lambda e: e.name)
        ),
        interfaces=tuple(_interface(i) for i in sorted(interfaces, key=lambda i: i.name)),
        next_id=next(fresh),
    )


def _node(
    draft: DraftNode, old: NodeType | None, fresh: Iterator[int], findings: Findings
) -> NodeType:
    type_id = old.id if old else TypeId(next(fresh))
    properties, retired = _properties(draft.properties, old, fresh, findings)
    return NodeType(
        id=type_id,
        name=TypeName(draft.name),
        properties=properties,
        key=_key(draft.key, properties, old),
        constraints=draft.constraints,
        interfaces=tuple(TypeName(name) for name in draft.interfaces),
        annotations=draft.annotations,
        retired=retired,
    )


def _edge(
    draft: DraftEdge, old: EdgeType | None, fresh: Iterator[int], findings: Findings
) -> EdgeType:
    type_id = old.id if old else TypeId(next(fresh))
    properties, retired = _properties(draft.properties, old, fresh, findings)
    return EdgeType(
        id=type_id,
        name=TypeName(draft.name),
        source=TypeName(draft.source),
        target=TypeName(draft.target),
        properties=properties,
        cardinality=draft.cardinality,
        key=_key(draft.key, properties, old),
        constraints=draft.constraints,
        annotations=draft.annotations,
        retired=retired,
    )


def _interface(draft: DraftInterface) -> InterfaceType:
    # An interface has no table: its properties have neither an id nor a column of their own.
    properties = (
        _property(draft.properties[name], PropertyId(0), name, None)
        for name in sorted(draft.properties)
    )
    return InterfaceType(TypeName(draft.name), tuple(properties), draft.annotations)


def _properties(
    drafts: Mapping[str, DraftProperty],
    old: EntityType | None,
    fresh: Iterator[int],
    findings: Findings,
) -> tuple[tuple[Property, ...], tuple[str, ...]]:
    """The properties by name, and the columns that no later property may take."""
    before = old.by_name if old else {}
    matched = _matched(drafts, before, findings)
    matched_columns = {
        name: known.column for name, known in matched.items() if _keeps_column(known, drafts[name])
    }
    kept = set(matched_columns.values())
    retired = {p.column for p in before.values()} - kept | set(old.retired if old else ())
    taken = {c.casefold() for c in (*TAKEN_COLUMNS, *kept, *retired)}
    properties = []
    for name in sorted(drafts):
        known = matched.get(name)
        number = known.id if known else PropertyId(next(fresh))
        column = matched_columns.get(name)
        if column is None:
            column = _free_column(name, number, taken)
            taken.add(column.casefold())
        properties.append(_property(drafts[name], number, column, known))
    return tuple(properties), tuple(sorted(retired))


def _keeps_column(known: Property, draft: DraftProperty) -> bool:
    """True if the values are stored as they were. The words of an enum are text in any case."""
    are_enums = isinstance(known.type, EnumOf) and isinstance(draft.type, EnumOf)
    return are_enums or known.type == draft.type


def _property(
    draft: DraftProperty, number: PropertyId, column: str, known: Property | None
) -> Property:
    return Property(
        id=number,
        name=draft.name,
        column=column,
        type=draft.type,
        is_nullable=draft.is_nullable,
        default=draft.default,
        fill=_fill(draft, known),
        embed=draft.embed,
        annotations=draft.annotations,
    )


def _fill(draft: DraftProperty, known: Property | None) -> Value:
    """What rows from before the property have in it."""
    if known is None:
        return draft.default
    if known.type is Scalar.F32 and draft.type is Scalar.F64 and isinstance(known.fill, float):
        # Rows hold it as they got it, with the precision of an F32.
        (stored,) = struct.unpack("f", struct.pack("f", known.fill))
        return float(stored)
    return known.fill


def _free_column(name: str, number: int, taken: set[str]) -> str:
    """The name itself, or with the property's id where the name is taken.

    Compared without case: DuckDB and Spark read `userId` and `userid` as one column.
    """
    column = name
    while column.casefold() in taken:
        column = f"{column}__{number}"
    return column


def _key(
    written: tuple[str, ...], properties: tuple[Property, ...], old: EntityType | None
) -> tuple[str, ...]:
    """The key in the order in which it was first written: the ids of all rows depend on it."""
    if old is None:
        return written
    names = {p.id: p.name for p in properties}
    first = tuple(_name_now(part, old, names) for part in old.key)
    return first if sorted(first) == sorted(written) else written


def _name_now(part: str, old: EntityType, names: Mapping[PropertyId, str]) -> str:
    known = old.by_name.get(part)
    return part if known is None else names.get(known.id, "")


class _Renamable(Protocol):
    @property
    def renamed_from(self) -> Name | None: ...


class _Named(Protocol):
    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=_Renamable)
Old = TypeVar("Old", bound=_Named)


def _matched(
    drafts: Mapping[str, D], before: Mapping[str, Old], findings: Findings
) -> dict[str, Old]:
    """The old one of each draft that has one: by its name, else by the name it had."""
    matched = {name: before[name] for name in drafts if name in before}
    claimed: dict[str, str] = {}
    for name, draft in sorted(drafts.items()):
        source = draft.renamed_from
        if name in before or source is None:
            continue
        was = _as_written_in(before, source.text)
        if was in claimed:
            message = f"{clipped(claimed[was])} is also renamed from {clipped(source.text)}"
            findings.add("S101", source.at, message, "only one of them can keep its rows")
        elif was in drafts and was in before:
            message = f"{clipped(source.text)} is still declared, so nothing is renamed"
            findings.add("S102", source.at, message, "remove the old declaration or the rename")
        elif was in before:
            claimed[was] = name
            matched[name] = before[was]
        else:
            dropped = before.keys() - drafts.keys()
            _suspect_slip(source, [before[key].name for key in dropped], findings)
    return matched


def _as_written_in(before: Mapping[str, object], name: str) -> str:
    return name if name in before else name.casefold()


def _suspect_slip(source: Name, dropped: Iterable[str], findings: Findings) -> None:
    """A rename from nothing is a leftover of an older migration, unless it looks like a slip.

    Otherwise a misspelt name would drop one type and add another, and lose the rows.
    """
    if hint := did_you_mean(source.text, dropped):
        message = f"the accepted schema has no {clipped(source.text)}"
        findings.add("S103", source.at, message, hint)
