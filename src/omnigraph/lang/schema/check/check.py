"""Syntax tree to catalog: every name resolved, every rule of the language checked.

`compile_schema` is the way in. All findings of a text come at once: a declaration that is wrong is
still known by its name, so it causes no second error where it is used.
"""

from collections.abc import Iterable, Mapping

from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import Cardinality, Catalog
from omnigraph.lang.schema.check.annotations import (
    CONSTRAINTS,
    USAGE,
    argument_error,
    metadata,
    only,
    rename_source,
)
from omnigraph.lang.schema.check.constraints import Rules
from omnigraph.lang.schema.check.draft import DraftEdge, DraftInterface, DraftNode
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.check.identity import accept
from omnigraph.lang.schema.check.properties import (
    Properties,
    check_embeds,
    check_name_length,
    declared,
    with_inherited,
)
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Body,
    Bounds,
    Declaration,
    EdgeDeclaration,
    InterfaceDeclaration,
    Name,
    NodeDeclaration,
    PropertyDeclaration,
    SchemaFile,
)
from omnigraph.lang.type_words import BUILT_IN_TYPES

__all__ = ["check_schema", "compile_schema"]


def compile_schema(source: SourceText, accepted: Catalog | None = None) -> Catalog:
    """The catalog of a text, as the successor of `accepted` where there is one.

    Raises ParseFailed or SchemaInvalid, with all findings at once.
    """
    # The parser's library takes a tenth of a second to import: only where a schema is read.
    from omnigraph.lang.schema.text.parser import parse

    return check_schema(parse(source), accepted)


def check_schema(file: SchemaFile, accepted: Catalog | None = None) -> Catalog:
    """Raises SchemaInvalid with all findings at once."""
    findings = Findings(file.source)
    named = _by_name(file.declarations, findings)
    declarations = named.values()
    interfaces = {
        d.name.text: _interface(d, findings)
        for d in declarations
        if isinstance(d, InterfaceDeclaration)
    }
    nodes = [_node(d, interfaces, findings) for d in declarations if isinstance(d, NodeDeclaration)]
    edges = [_edge(d, named, findings) for d in declarations if isinstance(d, EdgeDeclaration)]
    catalog = accept(interfaces.values(), nodes, edges, accepted=accepted, findings=findings)
    findings.raise_any()
    return catalog


def _by_name(declarations: Iterable[Declaration], findings: Findings) -> Mapping[str, Declaration]:
    """Each name's first declaration; the others are reported."""
    named: dict[str, Declaration] = {}
    folded_edges: dict[str, str] = {}
    for declaration in declarations:
        name, text = declaration.name, declaration.name.text
        _check_type_name(name, findings)
        if text in named:
            first = named[text].name.at.line
            message = f"{clipped(text)} is already declared in line {first}"
            findings.add("S001", name.at, message)
            continue
        named[text] = declaration
        if isinstance(declaration, EdgeDeclaration):
            twin = folded_edges.setdefault(text.casefold(), text)
            if twin != text:
                message = f"{clipped(text)} and {clipped(twin)} differ only in case"
                hint = "edges are matched without regard to case: choose another name"
                findings.add("S002", name.at, message, hint)
    return named


def _check_type_name(name: Name, findings: Findings) -> None:
    text = name.text
    check_name_length(name, findings)
    if text in BUILT_IN_TYPES:
        findings.add("S007", name.at, f"{text} is a built-in type")
    elif not text[0].isupper():
        capitalised = text.lstrip("_")[:1].upper() + text.lstrip("_")[1:]
        hint = f"write {clipped(capitalised)}" if capitalised[:1].isalpha() else None
        findings.add("S003", name.at, "a type starts with an upper-case letter", hint)


def _interface(declaration: InterfaceDeclaration, findings: Findings) -> DraftInterface:
    name = declaration.name.text
    properties = declared(declaration.body, is_edge=False, findings=findings)
    rules = Rules(
        name, properties.by_name, broken=properties.broken, is_edge=False, findings=findings
    )
    _check_body(declaration.body, properties, name, rules, findings)
    return DraftInterface(
        name=name,
        properties=properties.by_name,
        key=rules.key,
        constraints=rules.constraints,
        annotations=metadata(only(declaration.annotations, "interface", findings), findings),
        broken=properties.broken,
    )


def _node(
    declaration: NodeDeclaration, interfaces: Mapping[str, DraftInterface], findings: Findings
) -> DraftNode:
    name = declaration.name.text
    implemented = _implemented(declaration, interfaces, findings)
    own = declared(declaration.body, is_edge=False, findings=findings)
    properties = with_inherited(own, implemented, findings)
    rules = Rules(
        name, properties.by_name, broken=properties.broken, is_edge=False, findings=findings
    )
    for written, interface in implemented:
        rules.inherit(interface.key, interface.constraints, written.at)
    _check_body(declaration.body, properties, name, rules, findings)
    annotations = only(declaration.annotations, "node", findings)
    return DraftNode(
        name=name,
        properties=properties.by_name,
        key=rules.key,
        constraints=rules.constraints,
        interfaces=tuple(sorted(interface.name for _, interface in implemented)),
        annotations=metadata(annotations, findings),
        renamed_from=rename_source(annotations, name, findings),
    )


def _edge(
    declaration: EdgeDeclaration, named: Mapping[str, Declaration], findings: Findings
) -> DraftEdge:
    name = declaration.name.text
    for end in (declaration.source, declaration.target):
        _check_end(end, named, findings)
    properties = declared(declaration.body, is_edge=True, findings=findings)
    rules = Rules(
        name, properties.by_name, broken=properties.broken, is_edge=True, findings=findings
    )
    _check_body(declaration.body, properties, name, rules, findings)
    annotations = only(declaration.annotations, "edge", findings)
    return DraftEdge(
        name=name,
        source=declaration.source.text,
        target=declaration.target.text,
        properties=properties.by_name,
        cardinality=_cardinality(annotations, findings),
        key=rules.key,
        constraints=rules.constraints,
        annotations=metadata(annotations, findings),
        renamed_from=rename_source(annotations, name, findings),
    )


def _implemented(
    declaration: NodeDeclaration, interfaces: Mapping[str, DraftInterface], findings: Findings
) -> list[tuple[Name, DraftInterface]]:
    found: dict[str, tuple[Name, DraftInterface]] = {}
    for name in declaration.interfaces:
        if name.text in found:
            findings.add("S021", name.at, f"{clipped(name.text)} is implemented twice")
        elif name.text in interfaces:
            found[name.text] = (name, interfaces[name.text])
        else:
            hint = findings.suggest(name.text, interfaces)
            findings.add("S020", name.at, f"no interface {clipped(name.text)}", hint)
    return list(found.values())


def _check_end(end: Name, named: Mapping[str, Declaration], findings: Findings) -> None:
    match named.get(end.text):
        case NodeDeclaration():
            return
        case None:
            nodes = (n for n, d in named.items() if isinstance(d, NodeDeclaration))
            hint = findings.suggest(end.text, nodes)
            findings.add("S023", end.at, f"no node type {clipped(end.text)}", hint)
        case InterfaceDeclaration():
            message = f"{clipped(end.text)} is an interface: an edge joins node types"
            findings.add("S023", end.at, message, "declare an edge for each node type")
        case EdgeDeclaration():
            findings.add("S023", end.at, f"{clipped(end.text)} is an edge type itself")


def _check_body(
    body: Body | None, properties: Properties, type_name: str, rules: Rules, findings: Findings
) -> None:
    """The constraints of a body, and what its vectors are made from."""
    for member in body.members if body else ():
        if isinstance(member, PropertyDeclaration):
            for annotation in member.annotations:
                if annotation.name.text in CONSTRAINTS:
                    rules.on_property(member.name, annotation)
        elif member.name.text in CONSTRAINTS and member.arguments:
            rules.in_body(member)
        else:
            _misplaced(member, findings)
    check_embeds(body, properties, type_name, findings)


def _misplaced(annotation: Annotation, findings: Findings) -> None:
    name = annotation.name.text
    if name in CONSTRAINTS:
        message, hint = f"@{name} names no property here", f"write {USAGE[name]}"
    else:
        message = f"@{clipped(name)} is on no property here"
        hint = "write it right after a property, or before the '{' to speak of the type"
    findings.add("S030", annotation.at, message, hint)


def _cardinality(annotations: Iterable[Annotation], findings: Findings) -> Cardinality:
    for annotation in annotations:
        match annotation.name.text, annotation.arguments:
            case "card", (Bounds(low=int() as low, high=None | int() as high, at=at),):
                if low >= 0 and (high is None or (low <= high and high > 0)):
                    return Cardinality(low, high)
                findings.add("S049", at, "no number of edges is within these bounds")
            case "card", (Bounds(at=at),):
                findings.add("S049", at, "a cardinality starts at a whole number", "write 0..")
            case "card", _:
                argument_error(annotation, findings)
            case _:
                pass
    return Cardinality()
