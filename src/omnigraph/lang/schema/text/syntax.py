"""The grammar, built once and on first use, and the tree it makes.

Nodes of the tree are made while the parser reduces, so no visitor ever walks down into what the
user nested. An annotation in a body belongs to the property before it unless it is a constraint
that names its own properties, or a comma or such a constraint stands between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TypeVar

from lark import Lark, Token, Transformer
from lark.lexer import Lexer

from omnigraph.lang.schema.text.ast import (
    Annotation,
    Argument,
    Body,
    Bounds,
    Declaration,
    EdgeDeclaration,
    EnumExpression,
    InterfaceDeclaration,
    ListExpression,
    Literal,
    LiteralValue,
    Member,
    Name,
    NodeDeclaration,
    Option,
    PropertyDeclaration,
    TypeExpression,
    TypeName,
)
from omnigraph.lang.schema.text.scan import extent_of, unquoted

__all__ = ["grammar"]

T = TypeVar("T")
A = TypeVar("A", bound=Argument)
Children = Sequence[object]

# Bare words in these are properties, also where one is called `null`.
CONSTRAINTS = frozenset({"key", "unique", "index", "range", "check"})
WORD_VALUES: dict[str, LiteralValue] = {"true": True, "false": False, "null": None}


@cache
def grammar() -> Lark:
    text = files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text, parser="lalr", lexer=_Fed, transformer=_TreeBuilder(), maybe_placeholders=False
    )


class _Fed(Lexer):
    """Lark wants a lexer; ours has run before, and its tokens are fed to the parser one by one."""

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, _lexer_state: object, _parser_state: object) -> Iterator[Token]:
        return iter(())


class _TreeBuilder(Transformer[Token, tuple[Declaration, ...]]):
    """One method per rule of the grammar; Lark calls it with what the parts of the rule became."""

    def start(self, children: Sequence[Declaration]) -> tuple[Declaration, ...]:
        return tuple(children)

    def interface(self, children: Children) -> InterfaceDeclaration:
        (opening,), (name,) = _all(children, Token), _all(children, Name)
        (body,), annotations = _all(children, Body), _all(children, Annotation)
        return InterfaceDeclaration(name, tuple(annotations), body, extent_of(opening).to(body.at))

    def node(self, children: Children) -> NodeDeclaration:
        (opening,), (name,) = _all(children, Token), _all(children, Name)
        (body,), annotations = _all(children, Body), _all(children, Annotation)
        interfaces = tuple(name for names in _all(children, _Interfaces) for name in names)
        return NodeDeclaration(
            name, tuple(annotations), interfaces, body, extent_of(opening).to(body.at)
        )

    def edge(self, children: Children) -> EdgeDeclaration:
        (opening,), (name, source, target) = _all(children, Token), _all(children, Name)
        bodies, annotations = _all(children, Body), _all(children, Annotation)
        # `{}` after an edge says nothing, so the tree is the same without it.
        body = bodies[0] if bodies and bodies[0].members else None
        last = bodies[0].at if bodies else annotations[-1].at if annotations else target.at
        return EdgeDeclaration(
            name, source, target, tuple(annotations), body, extent_of(opening).to(last)
        )

    def implements(self, children: Sequence[Name]) -> "_Interfaces":
        return _Interfaces(children)

    def body(self, children: Children) -> Body:
        opening, closing = _all(children, Token)
        return Body(tuple(_members(children)), extent_of(opening).to(extent_of(closing)))

    def separator(self, _children: Children) -> "_Separator":
        return _Separator()

    def typed_property(
        self, children: tuple[Name, TypeExpression, *tuple[Token, ...]]
    ) -> PropertyDeclaration:
        name, expression, *question = children
        at = name.at.to(extent_of(question[0]) if question else expression.at)
        return PropertyDeclaration(name, expression, bool(question), (), at)

    def plain_type(self, children: tuple[Name]) -> TypeName:
        (name,) = children
        return TypeName(name, None, name.at)

    def sized_type(self, children: tuple[Name, Token, Token]) -> TypeName:
        name, size, closing = children
        return TypeName(name, int(size), name.at.to(extent_of(closing)))

    def list_type(self, children: tuple[Token, Name, Token]) -> ListExpression:
        opening, item, closing = children
        return ListExpression(item, extent_of(opening).to(extent_of(closing)))

    def enum_type(self, children: Children) -> EnumExpression:
        opening, closing = _all(children, Token)
        return EnumExpression(
            tuple(_all(children, Name)), extent_of(opening).to(extent_of(closing))
        )

    def annotation(self, children: Children) -> Annotation:
        (sign, *closing), (name, *_) = _all(children, Token), _all(children, Name)
        arguments = (c for c in children if isinstance(c, Name | Literal | Bounds | Option))
        at = extent_of(sign).to(extent_of(closing[0]) if closing else name.at)
        given = (a for a in arguments if a is not name)
        is_constraint = name.text in CONSTRAINTS
        return Annotation(name, tuple(given if is_constraint else map(_valued, given)), at)

    def option(self, children: tuple[Name, Name | Literal]) -> Option:
        name, value = children
        return Option(name, _valued(value), name.at.to(value.at))

    def bounds(self, children: tuple[Literal, *tuple[Literal | Token, ...]]) -> Bounds:
        low, *high = children
        end = high[0] if high else low
        at = low.at.to(extent_of(end) if isinstance(end, Token) else end.at)
        return Bounds(_number(low), _number(end) if high else None, at)

    def bounds_below(self, children: tuple[Literal]) -> Bounds:
        (high,) = children
        return Bounds(None, _number(high), high.at)

    def array(self, children: Children) -> Literal:
        opening, closing = _all(children, Token)
        items = (_valued(item) for item in children if isinstance(item, Name | Literal))
        values = tuple(i.text if isinstance(i, Name) else i.value for i in items)
        return Literal(values, extent_of(opening).to(extent_of(closing)))

    def name(self, children: tuple[Token]) -> Name:
        (token,) = children
        return Name(str(token), extent_of(token))

    word = name

    def string(self, children: tuple[Token]) -> Literal:
        (token,) = children
        return Literal(unquoted(token), extent_of(token))

    def integer(self, children: tuple[Token]) -> Literal:
        (token,) = children
        return Literal(int(token), extent_of(token))

    def decimal(self, children: tuple[Token]) -> Literal:
        (token,) = children
        return Literal(float(token), extent_of(token))


class _Interfaces(tuple[Name, ...]):
    """The names that follow `implements`."""


class _Separator:
    """A comma after a member."""


def _members(children: Children) -> Iterator[Member]:
    """Properties with the annotations that are theirs, and the constraints between them."""
    current: PropertyDeclaration | None = None
    own: list[Annotation] = []
    for child in children:
        if isinstance(child, Annotation) and current and not child.names_properties:
            own.append(child)
            continue
        if current:
            yield _with_annotations(current, own)
        current, own = child if isinstance(child, PropertyDeclaration) else None, []
        if isinstance(child, Annotation):
            yield child


def _with_annotations(
    declaration: PropertyDeclaration, own: Sequence[Annotation]
) -> PropertyDeclaration:
    if not own:
        return declaration
    return replace(declaration, annotations=tuple(own), at=declaration.at.to(own[-1].at))


def _valued(argument: A) -> A | Literal:
    """`true`, `false` and `null` are values; any other bare word stays a name."""
    if isinstance(argument, Name) and argument.text in WORD_VALUES:
        return Literal(WORD_VALUES[argument.text], argument.at)
    return argument


def _number(value: Literal | Token) -> int | float | None:
    """The number of an end of bounds; a `*` is an open end."""
    if isinstance(value, Token):
        return None
    assert isinstance(value.value, int | float)
    return value.value


def _all(children: Children, kind: type[T]) -> list[T]:
    return [child for child in children if isinstance(child, kind)]
