"""Two catalogs to the steps between them. Pure: what it must know of the data is passed in.

Types and properties are compared by their stable ids, never by name, so `desired` must have been
compiled with `accepted` at hand: only then does a rename keep its id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import get_args

from omnigraph.base.ids import PropertyId
from omnigraph.base.types import EnumOf, Scalar, ValueType, VectorOf
from omnigraph.lang.schema.catalog import (
    Cardinality,
    Catalog,
    Check,
    Constraint,
    EdgeType,
    EntityType,
    Index,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.lang.schema.migrate.steps import (
    DropMode,
    Facts,
    MigrationPlan,
    Refusal,
    Step,
    StepKind,
)
from omnigraph.lang.schema.text.written import value_text

__all__ = ["null_questions", "plan_migration"]

WIDENINGS = {
    Scalar.I32: Scalar.I64,
    Scalar.U32: Scalar.U64,
    Scalar.F32: Scalar.F64,
}

Found = Iterator[Step | Refusal]


def plan_migration(
    accepted: Catalog, desired: Catalog, facts: Facts, *, allow_data_loss: bool = False
) -> MigrationPlan:
    """Everything that has to happen for `desired` to follow `accepted`, or why it can't."""
    mode: DropMode = "hard" if allow_data_loss else "soft"
    found = [
        *_interfaces(accepted, desired),
        *_added_types(accepted, desired),
        *_changed_types(accepted, desired, facts, mode),
        *_dropped_types(accepted, desired, mode),
    ]
    order = {kind: i for i, kind in enumerate(get_args(StepKind))}
    steps = sorted((f for f in found if isinstance(f, Step)), key=lambda s: order[s.kind])
    return MigrationPlan(tuple(steps), tuple(f for f in found if isinstance(f, Refusal)))


def null_questions(accepted: Catalog, desired: Catalog) -> tuple[tuple[EntityType, Property], ...]:
    """The accepted properties that become required: `Facts.with_nulls` is asked of these alone."""
    return tuple(
        (before, old)
        for before, after in _pairs(accepted, desired)
        for old, new in _property_pairs(before, after)
        if old.is_nullable and not new.is_nullable
    )


# Types ------------------------------------------------------------------------------------------


def _interfaces(accepted: Catalog, desired: Catalog) -> Found:
    before, after = accepted.interface_by_name, desired.interface_by_name
    for name in sorted(after.keys() - before.keys()):
        yield Step("add_type", name, "safe", f"add interface {name}")
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield Step("update_metadata", name, "safe", f"interface {name} changes")
    for name in sorted(before.keys() - after.keys()):
        message = f"drop interface {name}"
        yield Step("drop_type", name, "destructive", message, "soft", "OG-DS-101")


def _added_types(accepted: Catalog, desired: Catalog) -> Found:
    for entity in desired.entities:
        if entity.id not in accepted.by_id:
            message = f"add {_kind(entity)} type {entity.name}"
            yield Step("add_type", entity.name, "safe", message, type_id=entity.id)


def _dropped_types(accepted: Catalog, desired: Catalog, mode: DropMode) -> Found:
    # Edges first: an edge never outlives the node types it joins.
    before: tuple[EntityType, ...] = (*accepted.edges, *accepted.nodes)
    for entity in before:
        if entity.id not in desired.by_id:
            code = "OG-DS-102" if isinstance(entity, NodeType) else "OG-DS-103"
            message = f"drop {_kind(entity)} type {entity.name}{_kept(mode)}"
            yield Step(
                "drop_type", entity.name, "destructive", message, mode, code, type_id=entity.id
            )


def _changed_types(accepted: Catalog, desired: Catalog, facts: Facts, mode: DropMode) -> Found:
    for before, after in _pairs(accepted, desired):
        if before.name != after.name:
            message = f"rename {_kind(after)} type {before.name} to {after.name}"
            yield Step("rename_type", after.name, "safe", message, type_id=after.id)
        yield from _properties(before, after, facts, mode)
        yield from _key(before, after)
        yield from _constraints(before, after)
        if isinstance(before, EdgeType) and isinstance(after, EdgeType):
            yield from _ends(before, after, accepted, desired)
            yield from _cardinality(before, after)
        if _metadata(before) != _metadata(after):
            message = f"the annotations or interfaces of {after.name} change"
            yield Step("update_metadata", after.name, "safe", message, type_id=after.id)


def _key(before: EntityType, after: EntityType) -> Found:
    if _ids(before, before.key) != _ids(after, after.key):
        yield Refusal(
            "OG-MF-106",
            after.name,
            f"the key of {after.name} changes from {_shown_key(before)} to {_shown_key(after)}",
            "rows are named by their key: add a type with the new key, load it, drop this one",
        )


def _ends(before: EdgeType, after: EdgeType, accepted: Catalog, desired: Catalog) -> Found:
    old = [accepted.node_by_name[name].id for name in (before.source, before.target)]
    new = [desired.node_by_name[name].id for name in (after.source, after.target)]
    if old != new:
        yield Refusal(
            "OG-MF-106",
            after.name,
            f"{after.name} joined {before.source} -> {before.target} and would join "
            f"{after.source} -> {after.target}",
            "add an edge type with the new ends and drop this one",
        )


def _metadata(entity: EntityType) -> object:
    interfaces = entity.interfaces if isinstance(entity, NodeType) else ()
    return entity.annotations, interfaces


# Properties -------------------------------------------------------------------------------------


def _properties(before: EntityType, after: EntityType, facts: Facts, mode: DropMode) -> Found:
    old_ids = {p.id for p in before.properties}
    new_ids = {p.id for p in after.properties}
    for new in after.properties:
        if new.id not in old_ids:
            yield _added_property(after, new, facts)
    for old, new in _property_pairs(before, after):
        yield from _changed_property(after, _source_renamed(old, before, after), new, facts)
    for old in before.properties:
        if old.id not in new_ids:
            code = "OG-DS-105" if isinstance(old.type, VectorOf) else "OG-DS-104"
            name = f"{before.name}.{old.name}"
            message = f"drop property {name}{_kept(mode)}"
            yield Step("drop_property", name, "destructive", message, mode, code, before.id, old.id)


def _source_renamed(old: Property, before: EntityType, after: EntityType) -> Property:
    """The property with the text that its vectors are made of under the name it has afterwards."""
    if old.embed is None:
        return old
    source = before.by_name[old.embed.source]
    name = next((p.name for p in after.properties if p.id == source.id), source.name)
    return replace(old, embed=replace(old.embed, source=name))


def _added_property(entity: EntityType, new: Property, facts: Facts) -> Step | Refusal:
    name = f"{entity.name}.{new.name}"
    if new.is_required and facts.has_rows(entity.id):
        message = f"{name} is required and has no default, and {entity.name} has rows"
        return Refusal("OG-MF-103", name, message, f"make it {new.type}? or give it a @default")
    filled = "" if new.default is None else f", filled with {value_text(new.default)}"
    message = f"add property {name}: {_shown_type(new)}{filled}"
    return Step("add_property", name, "safe", message, type_id=entity.id, property_id=new.id)


def _changed_property(entity: EntityType, old: Property, new: Property, facts: Facts) -> Found:
    name = f"{entity.name}.{new.name}"

    def step(kind: StepKind, message: str) -> Step:
        return Step(kind, name, "safe", message, type_id=entity.id, property_id=new.id)

    if old.name != new.name:
        yield step("rename_property", f"rename property {entity.name}.{old.name} to {name}")
    if old.type != new.type:
        yield _changed_type(entity, old.type, new, name)
    if new.is_nullable and not old.is_nullable:
        yield step("make_nullable", f"{name} may be null")
    if old.is_nullable and not new.is_nullable:
        yield _made_required(entity, new, name, facts)
    if old.embed and new.embed and old.embed != new.embed and facts.has_rows(entity.id):
        message = (
            f"{name} would be made by {_shown_embed(new)} and holds vectors by {_shown_embed(old)}"
        )
        hint = "add a Vector property with the new @embed, fill it, then drop this one"
        yield Refusal("OG-VE-101", name, message, hint)
    elif _property_metadata(old) != _property_metadata(new):
        yield step("update_metadata", f"the default, @embed or annotations of {name} change")


def _changed_type(entity: EntityType, old: ValueType, new: Property, name: str) -> Step | Refusal:
    def step(kind: StepKind, message: str) -> Step:
        return Step(kind, name, "safe", message, type_id=entity.id, property_id=new.id)

    hint = f"add a property of type {new.type} under another name, fill it, drop this one"
    if isinstance(old, EnumOf) and isinstance(new.type, EnumOf):
        lost = [word for word in old.values if word not in new.type.values]
        if not lost:
            return step("extend_enum", f"{name} may hold more words: {new.type}")
        message = f"{name} can't lose {', '.join(lost)}: rows may hold it"
        return Refusal("OG-MF-106", name, message, hint)
    if isinstance(old, Scalar) and WIDENINGS.get(old) is new.type:
        # The text of a float is the shortest of its own width, so rows would change their names.
        if not (new.type is Scalar.F64 and new.name in entity.key):
            return step("change_type", f"{name} widens from {old} to {new.type}")
        message = f"{name} is part of the key, so it can't change from {old} to {new.type}"
        return Refusal("OG-MF-106", name, message, hint)
    return Refusal("OG-MF-106", name, f"{name} can't change from {old} to {new.type}", hint)


def _made_required(entity: EntityType, new: Property, name: str, facts: Facts) -> Step | Refusal:
    if new.id in facts.with_nulls:
        some = ", ".join(facts.with_nulls[new.id])
        message = f"{name} can't be required: rows hold null{f', such as {some}' if some else ''}"
        return Refusal("OG-MF-104", name, message, "set a value in those rows first")
    return Step(
        "make_required",
        name,
        "validated",
        f"{name} must have a value",
        code="OG-MF-104",
        type_id=entity.id,
        property_id=new.id,
    )


def _property_metadata(prop: Property) -> object:
    return prop.default, prop.embed, prop.annotations


# Constraints ------------------------------------------------------------------------------------


def _constraints(before: EntityType, after: EntityType) -> Found:
    old = {_by_ids(before, c): c for c in before.constraints}
    new = {_by_ids(after, c): c for c in after.constraints}
    for key, constraint in new.items():
        if key not in old:
            yield _add(
                after, constraint, _shown(constraint), is_checked=not isinstance(constraint, Index)
            )
    for key, constraint in old.items():
        if key not in new:
            yield _remove(after, constraint, _shown(constraint))


def _cardinality(before: EdgeType, after: EdgeType) -> Found:
    old, new = before.cardinality, after.cardinality
    if old == new:
        return
    is_looser = new.least <= old.least and _top(new) >= _top(old)
    if is_looser:
        yield _remove(after, old, _shown_card(old))
    if not is_looser:
        yield _add(after, new, _shown_card(new), is_checked=True)


def _add(
    entity: EntityType, constraint: Constraint | Cardinality, shown: str, *, is_checked: bool
) -> Step:
    return Step(
        "add_constraint",
        entity.name,
        "validated" if is_checked else "safe",
        f"add {shown} to {entity.name}",
        type_id=entity.id,
        constraint=constraint,
    )


def _remove(entity: EntityType, constraint: Constraint | Cardinality, shown: str) -> Step:
    return Step(
        "remove_constraint",
        entity.name,
        "safe",
        f"remove {shown} from {entity.name}",
        code="OG-CD-101",
        type_id=entity.id,
        constraint=constraint,
    )


def _by_ids(entity: EntityType, constraint: Constraint) -> object:
    """The constraint with ids for names, so that a rename doesn't change it."""
    match constraint:
        case Unique(properties=names):
            return "unique", frozenset(_ids(entity, names))
        case Index(properties=names, kind=kind):
            return "index", _ids(entity, names), kind
        case Range(property=name, low=low, high=high):
            return "range", _ids(entity, (name,)), low, high
        case Check(property=name, pattern=pattern):
            return "check", _ids(entity, (name,)), pattern


def _ids(entity: EntityType, names: Sequence[str]) -> tuple[PropertyId | str, ...]:
    """The ids of properties; the ends of an edge stay what they are called."""
    return tuple(entity.by_name[n].id if n in entity.by_name else n for n in names)


# Pairs and words --------------------------------------------------------------------------------


def _pairs(accepted: Catalog, desired: Catalog) -> Iterator[tuple[EntityType, EntityType]]:
    for after in desired.entities:
        before = accepted.by_id.get(after.id)
        if before is not None:
            yield before, after


def _property_pairs(before: EntityType, after: EntityType) -> Iterator[tuple[Property, Property]]:
    old = {p.id: p for p in before.properties}
    return ((old[new.id], new) for new in after.properties if new.id in old)


def _top(cardinality: Cardinality) -> float:
    return float("inf") if cardinality.most is None else cardinality.most


def _kind(entity: EntityType) -> str:
    return "node" if isinstance(entity, NodeType) else "edge"


def _kept(mode: DropMode) -> str:
    until = "" if mode == "soft" else " until a cleanup"
    return f" (older commits keep its data{until})"


def _shown_key(entity: EntityType) -> str:
    return f"({', '.join(entity.key)})" if entity.key else "none"


def _shown_type(prop: Property) -> str:
    return f"{prop.type}{'?' * prop.is_nullable}"


def _shown_embed(prop: Property) -> str:
    assert prop.embed
    return f"{prop.embed.model or 'the default model'} from {prop.embed.source}"


def _shown(constraint: Constraint) -> str:
    match constraint:
        case Unique(properties=names):
            return f"@unique({', '.join(names)})"
        case Index(properties=names, kind="ngram"):
            return f"@index(ngram) on {names[0]}"
        case Index(properties=names):
            return f"@index({', '.join(names)})"
        case Range(property=name, low=low, high=high):
            return f"@range({name}, {'' if low is None else low}..{'' if high is None else high})"
        case Check(property=name, pattern=pattern):
            return f'@check({name}, "{pattern}")'


def _shown_card(cardinality: Cardinality) -> str:
    most = "*" if cardinality.most is None else cardinality.most
    return f"@card({cardinality.least}..{most})"
