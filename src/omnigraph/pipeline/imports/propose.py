"""The proposal: a schema and a mapping, made of what a survey has found.

It is a function of the survey alone: the same source gives the same proposal. Each type has one
table, named like the type, and the mapping says which column feeds which property. A person may
edit both texts; the tables stay as they are.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.types import Scalar, ValueType
from omnigraph.base.words import clipped, listed
from omnigraph.pipeline.imports.names import (
    Names,
    edge_name,
    edge_property_name,
    node_name,
    property_name,
)
from omnigraph.pipeline.imports.survey import (
    END_COLUMN,
    ID_COLUMN,
    LABELS,
    START_COLUMN,
    Draft,
    EdgeKey,
    Survey,
)
from omnigraph.pipeline.imports.values import literal_of

__all__ = ["Proposal", "ProposedColumn", "ProposedType", "propose"]


# A word that YAML reads as itself.
PLAIN_YAML = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
YAML_WORDS = frozenset(
    ("true", "false", "null", "yes", "no", "on", "off", "y", "n")  # whatever their case
)


@frozen
class ProposedColumn:
    column: str
    """As the source names it."""
    property: str
    type: ValueType
    is_optional: bool = False
    default: str | None = None


@frozen
class ProposedType:
    name: str
    properties: tuple[ProposedColumn, ...]
    """Of a node type the first is the key."""
    ends: tuple[str, str] | None = None
    """Of an edge type: the node types that it joins."""
    is_to_one: bool = False

    @property
    def table(self) -> str:
        return f"{self.name}.csv"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the type's table, in order."""
        ends = () if self.ends is None else (START_COLUMN, END_COLUMN)
        return (*ends, *(column.column for column in self.properties))


@frozen(eq=False)
class Proposal:
    nodes: dict[str, ProposedType]
    """By the label that their nodes have."""
    edges: dict[EdgeKey, ProposedType]
    notes: tuple[str, ...]

    @property
    def types(self) -> tuple[ProposedType, ...]:
        return (*self.nodes.values(), *self.edges.values())

    @property
    def schema(self) -> str:
        from omnigraph.lang.schema.text.format import format_schema

        text = "\n\n".join(_declaration(type_) for type_ in self.types)
        return format_schema(SourceText(text, "<proposal>"))

    @property
    def mapping(self) -> dict[str, Any]:
        return {type_.table: _rule(type_) for type_ in self.types}

    @property
    def mapping_text(self) -> str:
        """The mapping as YAML."""
        return "\n".join(line for type_ in self.types for line in _rule_lines(type_)) + "\n"


def propose(found: Survey, *, source: str, notes: Sequence[str] = ()) -> Proposal:
    if not found.nodes:
        raise SourceInvalid(file=source, reason="it has no nodes, so there is nothing to import")
    told = list(notes)
    names = Names(folds_case=True)
    nodes: dict[str, ProposedType] = {}
    for label in sorted(found.nodes):
        name = names.give(node_name(label))
        _tell_name(told, "label", label, name)
        _check_id(label, found.nodes[label], source)
        nodes[label] = _node(name, found.nodes[label], told)
        _tell_spaces(told, label, name, found)
    edges: dict[EdgeKey, ProposedType] = {}
    for key in sorted(found.edges):
        pairs = [other for other in found.edges if other.label == key.label]
        ends = (nodes[key.source].name, nodes[key.target].name)
        own = edge_name(key.label)
        name = names.give(own if len(pairs) == 1 else "_".join((own, *ends))[:120])
        if len(pairs) > 1:
            told.append(
                f"{clipped(key.label)} joins {len(pairs)} pairs of types: "
                f"edges from {ends[0]} to {ends[1]} are {name}"
            )
        else:
            _tell_name(told, "relationship type", key.label, name)
        edges[key] = _edge(name, ends, found.edges[key], told)
    return Proposal(nodes, edges, tuple(told))


def _check_id(label: str, draft: Draft, source: str) -> None:
    if both := sorted(draft.id_names & draft.types.keys()):
        raise SourceInvalid(
            file=source,
            column=clipped(both[0]),
            reason=f"it is the id of some nodes of {clipped(label)}, and a property of others",
            advice="give it another name in one of the headers",
        )


def _node(name: str, draft: Draft, told: list[str]) -> ProposedType:
    given = Names()
    id_column = draft.id_name or ID_COLUMN
    # The columns come first: an id without a name makes way for a property that is called id.
    names = {column: given.give(_node_property(column)) for column in _columns(draft)}
    if draft.id_name is None:
        free = "id" if "id" not in names.values() else "node_id"
        names[id_column] = given.give(free)
    key = ProposedColumn(id_column, names[id_column], draft.id_type or Scalar.STRING)
    others = [_column(column, names[column], draft) for column in _columns(draft, but=id_column)]
    _tell_columns(told, name, (key, *others), draft)
    told += [f"{name}.{key.property} holds {clipped(one)} too" for one in _other_ids(draft)]
    return ProposedType(name, (key, *others))


def _other_ids(draft: Draft) -> list[str]:
    return sorted(draft.id_names - {draft.id_name or ""})


def _edge(name: str, ends: tuple[str, str], draft: Draft, told: list[str]) -> ProposedType:
    given = Names()
    columns = [
        _column(column, given.give(edge_property_name(column)), draft) for column in _columns(draft)
    ]
    _tell_columns(told, name, columns, draft)
    return ProposedType(name, tuple(columns), ends, draft.is_to_one)


def _columns(draft: Draft, but: str | None = None) -> list[str]:
    """Those whose names need no change first: they keep them."""
    own = [draft.id_name] if draft.id_name is not None else []
    every = dict.fromkeys([*own, *draft.types])
    kept = sorted(every, key=lambda column: property_name(column) != column)
    return [column for column in kept if column != but]


def _node_property(column: str) -> str:
    return "labels" if column == LABELS else property_name(column)


def _column(column: str, name: str, draft: Draft) -> ProposedColumn:
    type_, default = draft.type_of(column), draft.defaults.get(column)
    return ProposedColumn(
        column,
        name,
        type_,
        draft.is_optional(column),
        # The type may have become wider than the one that the source declares.
        None if default is None else literal_of(default, type_),
    )


# What a person is told ----------------------------------------------------------------------------


def _tell_name(told: list[str], what: str, label: str, name: str) -> None:
    if name != label:
        told.append(f"the {what} {clipped(label)!r} is called {name}")


def _tell_spaces(told: list[str], label: str, name: str, found: Survey) -> None:
    """A type has one key, and spaces of ids may have an id in common."""
    spaces = sorted(space for space, types in found.types_of_space.items() if label in types)
    if len(spaces) > 1:
        named = listed([clipped(space) if space else "without a name" for space in spaces], "and")
        told.append(f"{name} has nodes of the id spaces {named}: no two of them can share an id")


def _tell_columns(
    told: list[str], type_name: str, columns: Sequence[ProposedColumn], draft: Draft
) -> None:
    for column in columns:
        if column.column not in (column.property, ID_COLUMN):
            source = "the labels of a node" if column.column == LABELS else clipped(column.column)
            told.append(f"{type_name}.{column.property} holds {source}")
        if (words := draft.mixed.get(column.column)) is not None:
            mixed = listed(sorted(words), "and")
            told.append(
                f"{type_name}.{column.property} has values of {mixed}, so it is {column.type}"
            )


# Texts --------------------------------------------------------------------------------------------


def _declaration(type_: ProposedType) -> str:
    head = f"node {type_.name}"
    if type_.ends is not None:
        source, target = type_.ends
        head = f"edge {type_.name}: {source} -> {target}" + " @card(0..1)" * type_.is_to_one
    lines = [f"{head} {{"]
    for number, column in enumerate(type_.properties):
        is_key = type_.ends is None and number == 0
        default = f" @default({column.default})" if column.default is not None else ""
        optional = "?" * (column.is_optional and not is_key)
        lines.append(f"{column.property}: {column.type}{optional}{' @key' * is_key}{default}")
    return "\n".join([*lines, "}"]) if type_.properties else head


def _rule(type_: ProposedType) -> dict[str, Any]:
    word = "node" if type_.ends is None else "edge"
    ends = {} if type_.ends is None else {"from": START_COLUMN, "to": END_COLUMN}
    properties = {column.property: column.column for column in type_.properties}
    return {word: type_.name, **ends, **({"properties": properties} if properties else {})}


def _rule_lines(type_: ProposedType) -> Iterator[str]:
    yield f"{_yaml(type_.table)}:"
    for word, value in _rule(type_).items():
        if isinstance(value, str):
            yield f"  {word}: {_yaml(value)}"
            continue
        yield f"  {word}:"
        yield from (f"    {_yaml(name)}: {_yaml(column)}" for name, column in value.items())


def _yaml(text: str) -> str:
    if PLAIN_YAML.fullmatch(text) and text.lower() not in YAML_WORDS:
        return text
    shown = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in shown)
