"""The syntax tree of a `.pg` text: what was written, and where, with nothing resolved.

Two trees are equal when they say the same thing: places don't take part in the comparison, so that
`parse(format(x)) == x` can be asked. Comments lie beside the tree, not in it; the formatter finds
the element each one belongs to by its place.
"""

from dataclasses import field

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText, Span

__all__ = [
    "Annotation",
    "Argument",
    "Body",
    "Bounds",
    "Comment",
    "Declaration",
    "EdgeDeclaration",
    "EnumExpression",
    "Extent",
    "InterfaceDeclaration",
    "ListExpression",
    "Literal",
    "LiteralValue",
    "Member",
    "Name",
    "NodeDeclaration",
    "Option",
    "PropertyDeclaration",
    "SchemaFile",
    "TypeExpression",
    "TypeName",
]

LiteralValue = None | bool | int | float | str | tuple["LiteralValue", ...]


@frozen
class Extent:
    """From the first character of an element to just after its last."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def span(self) -> Span:
        """The part on the first line: carets can't point around a corner."""
        length = self.end_column - self.column if self.end_line == self.line else 1
        return Span(self.line, self.column, max(1, length))

    def to(self, end: "Extent") -> "Extent":
        return Extent(self.line, self.column, end.end_line, end.end_column)


@frozen
class Name:
    text: str
    at: Extent = field(compare=False)


@frozen
class Literal:
    value: LiteralValue
    at: Extent = field(compare=False)


@frozen
class Bounds:
    """`low..high`; None is an open end, written as nothing or `*`."""

    low: int | float | None
    high: int | float | None
    at: Extent = field(compare=False)


@frozen
class Option:
    """`model="all-minilm-l6-v2"`"""

    name: Name
    value: Name | Literal
    at: Extent = field(compare=False)


Argument = Name | Literal | Bounds | Option


@frozen
class Annotation:
    """`@name` or `@name(arguments)`; in a body, a constraint."""

    name: Name
    arguments: tuple[Argument, ...]
    at: Extent = field(compare=False)

    @property
    def names_properties(self) -> bool:
        """Whether this is a constraint that says by itself which properties it is about."""
        match self.name.text, self.arguments:
            case "index", (Name(text="ngram"),):
                return False
            case "key" | "unique" | "index", (_, *_):
                return True
            case "range" | "check", (Name(), *_):
                return True
            case _:
                return False


@frozen
class TypeName:
    """`String`, or with a size `Vector(384)`."""

    name: Name
    size: int | None
    at: Extent = field(compare=False)


@frozen
class ListExpression:
    item: Name
    at: Extent = field(compare=False)


@frozen
class EnumExpression:
    words: tuple[Name, ...]
    at: Extent = field(compare=False)


TypeExpression = TypeName | ListExpression | EnumExpression


@frozen
class PropertyDeclaration:
    name: Name
    type: TypeExpression
    is_nullable: bool
    annotations: tuple[Annotation, ...]
    at: Extent = field(compare=False)


Member = PropertyDeclaration | Annotation


@frozen
class Body:
    members: tuple[Member, ...]
    at: Extent = field(compare=False)
    """From `{` to `}`."""


@frozen
class InterfaceDeclaration:
    name: Name
    annotations: tuple[Annotation, ...]
    body: Body
    at: Extent = field(compare=False)


@frozen
class NodeDeclaration:
    name: Name
    annotations: tuple[Annotation, ...]
    interfaces: tuple[Name, ...]
    body: Body
    at: Extent = field(compare=False)


@frozen
class EdgeDeclaration:
    name: Name
    source: Name
    target: Name
    annotations: tuple[Annotation, ...]
    body: Body | None
    at: Extent = field(compare=False)


Declaration = InterfaceDeclaration | NodeDeclaration | EdgeDeclaration


@frozen
class Comment:
    text: str
    """With its `//` or `/* */`."""
    at: Extent = field(compare=False)


@frozen
class SchemaFile:
    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(compare=False)
    source: SourceText = field(compare=False)
