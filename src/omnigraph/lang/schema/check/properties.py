"""The properties of one type: those of its body, and those its interfaces bring."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Scalar, Value, ValueType, VectorOf
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import DST, SRC, Embed
from omnigraph.lang.schema.check.annotations import (
    argument_error,
    metadata,
    only,
    rename_source,
    text_or_name,
)
from omnigraph.lang.schema.check.draft import DraftInterface, DraftProperty
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.check.identity import VIRTUAL_COLUMNS
from omnigraph.lang.schema.check.resolve import default_value, value_type
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Body,
    Literal,
    Name,
    Option,
    PropertyDeclaration,
)

__all__ = [
    "RESERVED_ON_EDGES",
    "Properties",
    "check_embeds",
    "check_name_length",
    "declared",
    "with_inherited",
]

RESERVED_ON_EDGES = frozenset({SRC, DST, "from", "to"})

# Far beyond any chosen name; what is longer was pasted, and would fill every message about it.
MAX_NAME_CHARACTERS = 128


@frozen
class Properties:
    by_name: Mapping[str, DraftProperty]
    broken: frozenset[str]
    """Names whose type is wrong: known, so that they are not reported as missing."""


def declared(body: Body | None, *, is_edge: bool, findings: Findings) -> Properties:
    """The properties that a body declares, each checked by itself."""
    by_name: dict[str, DraftProperty] = {}
    broken: set[str] = set()
    for member in body.members if body else ():
        if not isinstance(member, PropertyDeclaration):
            continue
        name = member.name.text
        if name in by_name or name in broken:
            findings.add("S005", member.name.at, f"{clipped(name)} is declared twice")
            continue
        _check_name(member.name, is_edge=is_edge, findings=findings)
        type_ = value_type(member.type, findings)
        if type_ is None:
            broken.add(name)
        else:
            by_name[name] = _draft(member, type_, findings)
    return Properties(by_name, frozenset(broken))


def with_inherited(
    own: Properties, interfaces: Iterable[tuple[Name, DraftInterface]], findings: Findings
) -> Properties:
    """The properties of a node: its own, completed by those of the interfaces it names."""
    broken = own.broken
    inherited: dict[str, DraftProperty] = {}
    givers: dict[str, str] = {}
    for written, interface in sorted(interfaces, key=lambda pair: pair[1].name):
        broken |= interface.broken
        for name, given in interface.properties.items():
            mine = own.by_name.get(name)
            if mine:
                _check_same_type(mine, given, interface.name, findings)
            completed = _completed(mine, given) if mine else given
            giver = givers.setdefault(name, interface.name)
            if not _agree(inherited.setdefault(name, completed), completed):
                message = f"{giver} and {interface.name} don't agree on {name}"
                hint = f"declare {name} in the node, or make the interfaces agree"
                findings.add("S022", written.at, message, hint)
    merged = {**own.by_name, **inherited}
    return Properties({n: p for n, p in merged.items() if n not in broken}, broken)


def check_embeds(
    body: Body | None, properties: Properties, type_name: str, findings: Findings
) -> None:
    """Each `@embed` of this body reads a text of the same type."""
    for member in body.members if body else ():
        known = properties.by_name.get(member.name.text)
        if not isinstance(member, PropertyDeclaration) or known is None or known.embed is None:
            continue
        source = known.embed.source
        found = properties.by_name.get(source)
        at = next((a.at for a in member.annotations if a.name.text == "embed"), member.at)
        if found is None and source not in properties.broken:
            message = f"{clipped(type_name)} has no property {clipped(source)} to embed"
            hint = findings.suggest(source, properties.by_name)
            findings.add("S071", at, message, hint)
        elif found is not None and found.type is not Scalar.STRING:
            message = f"{clipped(source)} is {clipped(str(found.type))}: only a String is embedded"
            findings.add("S071", at, message)


def check_name_length(name: Name, findings: Findings) -> None:
    if len(name.text) > MAX_NAME_CHARACTERS:
        length = f"{len(name.text):,}"
        message = f"a name has at most {MAX_NAME_CHARACTERS} characters, and this name has {length}"
        findings.add("S008", name.at, message)


def _check_name(name: Name, *, is_edge: bool, findings: Findings) -> None:
    text = name.text
    check_name_length(name, findings)
    if text[0].isupper():
        hint = f"write {clipped(text[0].lower() + text[1:])}"
        findings.add("S004", name.at, "a property starts with a lower-case letter or _", hint)
    elif text in VIRTUAL_COLUMNS:
        findings.add("S006", name.at, f"{text} is a name that the storage uses")
    elif is_edge and text in RESERVED_ON_EDGES:
        message = f"{text} means an end of the edge, so no property can have this name"
        findings.add("S006", name.at, message)


def _draft(member: PropertyDeclaration, type_: ValueType, findings: Findings) -> DraftProperty:
    annotations = only(member.annotations, "property", findings)
    name = member.name.text
    return DraftProperty(
        name=name,
        type=type_,
        is_nullable=member.is_nullable,
        default=_default(annotations, name, type_, findings),
        embed=_embed(annotations, name, type_, findings),
        annotations=metadata(annotations, findings),
        renamed_from=rename_source(annotations, name, findings),
        at=member.at,
    )


def _default(
    annotations: Iterable[Annotation], name: str, type_: ValueType, findings: Findings
) -> Value:
    for annotation in annotations:
        match annotation.name.text, annotation.arguments:
            case "default", (Name() | Literal() as written,):
                try:
                    return default_value(written, type_)
                except ValueError as expected:
                    message = f"the default of {clipped(name)} must be {expected}"
                    findings.add("S060", written.at, message)
            case "default", _:
                argument_error(annotation, findings)
            case _:
                pass
    return None


def _embed(
    annotations: Iterable[Annotation], name: str, type_: ValueType, findings: Findings
) -> Embed | None:
    for annotation in annotations:
        if annotation.name.text != "embed":
            continue
        if not isinstance(type_, VectorOf):
            message = f"{clipped(name)} is {clipped(str(type_))}: only a Vector is made by @embed"
            findings.add("S070", annotation.at, message)
            continue
        source = text_or_name(annotation.arguments[:1])
        match annotation.arguments[1:]:
            case () if source:
                return Embed(source.text, None)
            case (Option(name=Name(text="model"), value=Literal(value=str() as model)),) if source:
                return Embed(source.text, model)
            case _:
                argument_error(annotation, findings)
    return None


def _check_same_type(
    own: DraftProperty, inherited: DraftProperty, interface: str, findings: Findings
) -> None:
    if (own.type, own.is_nullable) != (inherited.type, inherited.is_nullable):
        message = (
            f"{clipped(own.name)} is {_shown(own)} here and {_shown(inherited)} in {interface}"
        )
        hint = f"write {_shown(inherited)}, or leave the property to the interface"
        findings.add("S022", own.at, message, hint)


def _completed(own: DraftProperty, inherited: DraftProperty) -> DraftProperty:
    """The node's own words, and the interface's where the node says nothing."""
    return replace(
        own,
        default=inherited.default if own.default is None else own.default,
        embed=own.embed or inherited.embed,
        annotations={**inherited.annotations, **own.annotations},
        renamed_from=own.renamed_from or inherited.renamed_from,
    )


def _agree(one: DraftProperty, other: DraftProperty) -> bool:
    return replace(one, at=other.at) == other


def _shown(property_: DraftProperty) -> str:
    return clipped(f"{property_.type}{'?' * property_.is_nullable}")
