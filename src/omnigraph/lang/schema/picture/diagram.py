"""A schema in Mermaid's language, for the pages and editors that draw it.

It is made from the catalog, so it is the same however the text was written. drawing.py makes a
picture without any other program.
"""

from collections.abc import Iterator

from omnigraph.base.types import EnumOf, ListOf, ValueType
from omnigraph.lang.schema.catalog import Catalog, EdgeType, NodeType, Property, Unique

__all__ = ["cardinality_text", "key_first", "schema_mermaid"]

# How many edges of the type a source may have: at least one or none, at most one or many.
CROWS_FEET = {(False, False): "o{", (False, True): "o|", (True, False): "|{", (True, True): "||"}


def schema_mermaid(catalog: Catalog) -> str:
    """An entity-relationship diagram."""
    lines = ["erDiagram"]
    for node in catalog.nodes:
        shown = f'["{node.name} ({", ".join(node.interfaces)})"]' if node.interfaces else ""
        rows = [f"        {_row(node, prop)}" for prop in key_first(node)]
        lines += [f"    {node.name}{shown} {{", *rows, "    }"]
    for edge in catalog.edges:
        cardinality = edge.cardinality
        foot = CROWS_FEET[cardinality.least > 0, cardinality.most == 1]
        label = " ".join(_label(edge))
        lines.append(f'    {edge.source} }}o--{foot} {edge.target} : "{label}"')
    return "".join(f"{line}\n" for line in lines)


def key_first(entity: NodeType | EdgeType) -> tuple[Property, ...]:
    """The properties of the key in its order, then the others by name."""
    key = [entity.by_name[name] for name in entity.key if name in entity.by_name]
    return (*key, *(p for p in entity.properties if p.name not in entity.key))


def cardinality_text(edge: EdgeType) -> str:
    most = "*" if edge.cardinality.most is None else edge.cardinality.most
    return f"{edge.cardinality.least}..{most}"


def _row(node: NodeType, prop: Property) -> str:
    is_key = prop.name in node.key
    is_unique = Unique((prop.name,)) in node.constraints
    mark = " PK" if is_key else " UK" if is_unique else ""
    notes = "; ".join(_notes(prop))
    return f"{_type(prop.type)} {prop.name}{mark}" + (f' "{notes}"' if notes else "")


def _notes(prop: Property) -> Iterator[str]:
    if isinstance(prop.type, EnumOf):
        yield " | ".join(prop.type.values)
    if prop.is_nullable:
        yield "nullable"


def _type(type_: ValueType) -> str:
    # Mermaid takes brackets only behind a word, and an enum's words only as a comment.
    match type_:
        case ListOf(item=item):
            return f"{item}[]"
        case EnumOf():
            return "enum"
        case _:
            return str(type_)


def _label(edge: EdgeType) -> Iterator[str]:
    yield edge.name
    if not edge.cardinality.is_free:
        yield cardinality_text(edge)
    if edge.properties:
        yield f"({', '.join(p.name for p in edge.properties)})"
