"""The text of a schema with its keys in the order that the ids of rows have.

That order is the one in which a key was first written, whatever order a later text has. Without
this, a graph that is made of the text would give the same rows other ids.
"""

from collections.abc import Iterator

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Declaration,
    EdgeDeclaration,
    InterfaceDeclaration,
    Name,
    NodeDeclaration,
)

__all__ = ["with_key_order"]

Key = tuple[str, ...]


def with_key_order(source: SourceText, catalog: Catalog) -> str:
    """The text that declares the catalog, with each key in the catalog's order. All else stays."""
    # The parser's library is slow to import.
    from omnigraph.lang.schema.text.parser import parse

    lines = source.text.split("\n")
    changes = [
        change
        for declaration in parse(source).declarations
        for change in _changes(declaration, _keys(declaration, catalog))
    ]
    # From the last to the first: those before it keep their places.
    for name, text in sorted(changes, key=lambda one: (-one[0].at.line, -one[0].at.column)):
        line, at = lines[name.at.line - 1], name.at
        lines[at.line - 1] = line[: at.column - 1] + text + line[at.end_column - 1 :]
    return "\n".join(lines)


def _keys(declaration: Declaration, catalog: Catalog) -> set[Key]:
    """The keys of the types that the declaration is for."""
    name = declaration.name.text
    match declaration:
        case NodeDeclaration():
            return {catalog.node_by_name[name].key}
        case EdgeDeclaration():
            return {catalog.edge_by_name[name].key}
        case InterfaceDeclaration():
            return {node.key for node in catalog.nodes if name in node.interfaces}


def _changes(declaration: Declaration, keys: set[Key]) -> Iterator[tuple[Name, str]]:
    """The names that stand in another place than in the key, and the names that belong there."""
    body = declaration.body
    for member in () if body is None else body.members:
        if isinstance(member, Annotation) and member.name.text == "key":
            names = [each for each in member.arguments if isinstance(each, Name)]
            written = tuple(each.text for each in names)
            same = {key for key in keys if sorted(key) == sorted(written)}
            # Of an interface whose types differ no order is right.
            if len(same) == 1:
                yield from zip(names, same.pop(), strict=True)
