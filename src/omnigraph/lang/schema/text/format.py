"""A schema in its canonical form: the same words, laid out in one way.

Order, blank lines between groups and every comment are the author's and stay; spaces, commas and
line breaks are ours. A comment at the end of an element's line stays there; any other comes to
stand above the element that it is in or that follows it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.text.ast import (
    Annotation,
    Body,
    Comment,
    Declaration,
    EdgeDeclaration,
    Extent,
    InterfaceDeclaration,
    NodeDeclaration,
    PropertyDeclaration,
    SchemaFile,
)
from omnigraph.lang.schema.text.written import annotation_text, type_lines

__all__ = ["format_schema", "format_tree"]

INDENT = "    "
MAX_LINE_CHARACTERS = 100


def format_schema(source: SourceText) -> str:
    """The canonical text. Raises ParseFailed where the text can't be read."""
    # As in check.py: the parser's library is slow to import.
    from omnigraph.lang.schema.text.parser import parse

    return format_tree(parse(source))


def format_tree(file: SchemaFile) -> str:
    lines: list[str] = []
    for item in _items(file):
        if item.is_apart:
            lines.append("")
        lines += item.lines
    return "".join(f"{line}\n" for line in lines)


@frozen
class _Piece:
    """A head, a member or a closing brace: what stands on lines of its own."""

    lines: tuple[str, ...]
    at: Extent
    indent: str = ""
    opens_body: bool = False
    closes_body: bool = False
    needs_blank: bool = False
    """Whether a blank line must precede it, whatever the author wrote."""


@frozen
class _Item:
    """A piece or a comment above it, ready to be written."""

    lines: tuple[str, ...]
    is_apart: bool


def _items(file: SchemaFile) -> Iterator[_Item]:
    pieces = [*_pieces(file), _Piece((), Extent(*END_OF_TEXT, *END_OF_TEXT))]
    above, behind = _placed(pieces, file.comments)
    previous: _Piece | Comment | None = None
    for i, piece in enumerate(pieces):
        group: list[_Piece | Comment] = [*above[i], piece] if piece.lines else [*above[i]]
        for element in group:
            if previous is None or _opens(previous) or (element is piece and piece.closes_body):
                is_apart = False
            elif element is group[0] and piece.needs_blank:
                is_apart = True
            else:
                is_apart = element.at.line - previous.at.end_line > 1
            indent = INDENT if piece.closes_body and element is not piece else piece.indent
            yield _Item(_laid_out(element, indent, behind[i]), is_apart)
            previous = element


def _opens(element: _Piece | Comment) -> bool:
    return isinstance(element, _Piece) and element.opens_body


def _laid_out(element: _Piece | Comment, indent: str, behind: Sequence[Comment]) -> tuple[str, ...]:
    if isinstance(element, Comment):
        first, *rest = element.text.replace("\r\n", "\n").split("\n")
        return (f"{indent}{first}", *rest)
    *lines, last = (f"{indent}{line}" for line in element.lines)
    return (*lines, " ".join((last, *(comment.text for comment in behind))))


END_OF_TEXT = (10**9, 1)


def _placed(
    pieces: Sequence[_Piece], comments: Sequence[Comment]
) -> tuple[list[list[Comment]], list[list[Comment]]]:
    """For each piece the comments above it and the comments behind it."""
    above: list[list[Comment]] = [[] for _ in pieces]
    behind: list[list[Comment]] = [[] for _ in pieces]
    i = -1
    for comment in comments:
        start = _start(comment)
        while _start(pieces[i + 1]) <= start:
            i += 1
        at = pieces[i].at
        if i >= 0 and start < (at.end_line, at.end_column):
            above[i].append(comment)
        elif i >= 0 and comment.at.line == comment.at.end_line == at.end_line:
            behind[i].append(comment)
        else:
            above[i + 1].append(comment)
    return above, behind


def _pieces(file: SchemaFile) -> Iterator[_Piece]:
    follows_body = False
    for declaration in file.declarations:
        body = declaration.body
        if body is None:
            yield _Piece(_head(declaration, ""), declaration.at, needs_blank=follows_body)
            follows_body = False
            continue
        if not body.members and not _has_comment(body, file.comments):
            yield _Piece(_head(declaration, "{}"), declaration.at, needs_blank=True)
        else:
            brace = Extent(body.at.line, body.at.column, body.at.line, body.at.column + 1)
            at = declaration.at.to(brace)
            yield _Piece(_head(declaration, "{"), at, opens_body=True, needs_blank=True)
            yield from _members(body)
            line, column = body.at.end_line, body.at.end_column
            yield _Piece(("}",), Extent(line, column - 1, line, column), closes_body=True)
        follows_body = True


def _members(body: Body) -> Iterator[_Piece]:
    for i, member in enumerate(body.members):
        if isinstance(member, PropertyDeclaration):
            # Without its comma the annotation that follows would be read as the property's own.
            following = body.members[i + 1 : i + 2]
            is_loose = any(isinstance(m, Annotation) and not m.names_properties for m in following)
            lines = _property(member, "," if is_loose else "")
        else:
            lines = (annotation_text(member),)
        yield _Piece(lines, member.at, indent=INDENT)


def _has_comment(body: Body, comments: Sequence[Comment]) -> bool:
    start, end = (body.at.line, body.at.column), (body.at.end_line, body.at.end_column)
    after = bisect_right(comments, start, key=_start)
    return after < len(comments) and _start(comments[after]) < end


def _start(element: _Piece | Comment) -> tuple[int, int]:
    return element.at.line, element.at.column


def _head(declaration: Declaration, brace: str) -> tuple[str, ...]:
    parts = [annotation_text(a) for a in declaration.annotations]
    match declaration:
        case InterfaceDeclaration(name=name):
            start = f"interface {name.text}"
        case NodeDeclaration(name=name, interfaces=interfaces):
            start = f"node {name.text}"
            if interfaces:
                parts.append(f"implements {', '.join(i.text for i in interfaces)}")
        case EdgeDeclaration(name=name, source=source, target=target):
            start = f"edge {name.text}: {source.text} -> {target.text}"
    line = " ".join(part for part in (start, *parts, brace) if part)
    if len(line) <= MAX_LINE_CHARACTERS or not parts:
        return (line,)
    return (start, *(f"{INDENT}{part}" for part in parts), *((brace,) if brace else ()))


def _property(member: PropertyDeclaration, ending: str) -> tuple[str, ...]:
    first, *rest = type_lines(
        member.type, MAX_LINE_CHARACTERS - len(INDENT) - len(member.name.text) - 3
    )
    lines = [f"{member.name.text}: {first}", *rest]
    lines[-1] += "?" * member.is_nullable
    parts = [annotation_text(a) for a in member.annotations]
    line = " ".join((lines[-1], *parts))
    if len(INDENT) + len(line) <= MAX_LINE_CHARACTERS:
        lines[-1] = line
    else:
        lines += [f"{INDENT}{part}" for part in parts]
    lines[-1] += ending
    return tuple(lines)
