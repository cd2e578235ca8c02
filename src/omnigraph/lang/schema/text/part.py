"""The text of a part of a schema: what a catalog that lacks types or properties has, and no more.

Comments are left out, since nobody knows what they are about, and so are earlier names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Body,
    Declaration,
    EdgeDeclaration,
    InterfaceDeclaration,
    Member,
    Name,
    NodeDeclaration,
    PropertyDeclaration,
    SchemaFile,
)
from omnigraph.lang.schema.text.format import format_tree

__all__ = ["text_of_part"]

EARLIER_NAME = "rename_from"

D = TypeVar("D", InterfaceDeclaration, NodeDeclaration, EdgeDeclaration)

Properties = Mapping[str, PropertyDeclaration]


def text_of_part(source: SourceText, catalog: Catalog) -> str:
    """The schema that the text declares, as far as it is in the catalog."""
    # The parser's library is slow to import.
    from omnigraph.lang.schema.text.parser import parse

    file = parse(source)
    part = _Part(file, catalog)
    kept = tuple(part.declarations())
    text = format_tree(SchemaFile(kept, (), source))
    return _evenly_spaced(text)


class _Part:
    def __init__(self, file: SchemaFile, catalog: Catalog) -> None:
        self._file = file
        self._catalog = catalog
        self._shared: dict[str, Properties] = {
            each.name.text: _declared(each.body)
            for each in file.declarations
            if isinstance(each, InterfaceDeclaration)
        }

    def declarations(self) -> Iterator[Declaration]:
        catalog = self._catalog
        for each in self._file.declarations:
            name = each.name.text
            match each:
                case InterfaceDeclaration() if name in catalog.interface_by_name:
                    yield self._only(each, {*catalog.interface_by_name[name].by_name}, {})
                case NodeDeclaration() if name in catalog.node_by_name:
                    yield self._node(each)
                case EdgeDeclaration() if name in catalog.edge_by_name:
                    yield self._only(each, {*catalog.edge_by_name[name].by_name}, {})
                case _:
                    pass

    def _node(self, node: NodeDeclaration) -> NodeDeclaration:
        there = {*self._catalog.node_by_name[node.name.text].by_name}
        interfaces = [name.text for name in node.interfaces]
        inherited = {k: v for name in interfaces for k, v in self._shared.get(name, {}).items()}
        kept = tuple(i for i in node.interfaces if i.text in self._catalog.interface_by_name)
        still = {p for i in kept for p in self._catalog.interface_by_name[i.text].by_name}
        # What an interface has no more, since another type lacks it, the type says by itself.
        own = {k: v for k, v in inherited.items() if k in there - still}
        return replace(self._only(node, there, own, inherited), interfaces=kept)

    def _only(
        self,
        declaration: D,
        there: set[str],
        added: Properties,
        inherited: Properties | None = None,
    ) -> D:
        body: Body | None = declaration.body
        annotations = _without_earlier_names(declaration.annotations)
        if body is None:
            return replace(declaration, annotations=annotations)
        gone = {*_declared(body), *(inherited or {})} - there
        members = [m for m in map(_plain, body.members) if not _names(m, gone)]
        own = _declared(body)
        members += [_plain(p) for name, p in added.items() if name not in own]
        return replace(
            declaration, annotations=annotations, body=replace(body, members=tuple(members))
        )


def _declared(body: Body | None) -> dict[str, PropertyDeclaration]:
    members = () if body is None else body.members
    return {m.name.text: m for m in members if isinstance(m, PropertyDeclaration)}


def _plain(member: Member) -> Member:
    if isinstance(member, Annotation):
        return member
    return replace(member, annotations=_without_earlier_names(member.annotations))


def _names(member: Member, gone: set[str]) -> bool:
    """True if the member is or is about a property that is gone."""
    if isinstance(member, PropertyDeclaration):
        return member.name.text in gone
    return any(isinstance(each, Name) and each.text in gone for each in member.arguments)


def _without_earlier_names(annotations: tuple[Annotation, ...]) -> tuple[Annotation, ...]:
    return tuple(each for each in annotations if each.name.text != EARLIER_NAME)


def _evenly_spaced(text: str) -> str:
    """Without the gaps that declarations have left."""
    lines: list[str] = []
    for line in filter(None, text.split("\n")):
        if lines and (line.endswith("{") or lines[-1] == "}") and not line.startswith((" ", "}")):
            lines.append("")
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)
