"""Queries in the one way we write them, comments kept.

What a block holds decides its shape: a single clause stays on the line if it fits, more go one per
line. Blank lines between clauses are kept, one at most.
"""

from collections.abc import Iterator, Mapping, Sequence

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText, Span
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.comments import Comment, Line, comments_in, woven
from omnigraph.lang.query.text.parser import parse

__all__ = ["format_source", "format_tree"]

INDENT = "    "
MAX_LINE_CHARACTERS = 100


def format_source(source: SourceText) -> str:
    """The formatted text; raises ParseFailed if it is none of ours."""
    return _format(parse(source), source.text)


def format_tree(file: ast.File) -> str:
    """The text of a tree that may have come from anywhere."""
    return _format(file, "")


def _format(file: ast.File, original: str) -> str:
    comments = comments_in(original)
    alone = [c for c in comments if not c.is_after_code]
    printer = _Printer(
        comments,
        original.split("\n") if original else [],
        {c.place[0] + c.text.count("\n"): c.place[0] for c in alone},
    )
    lines: list[Line] = []
    for query in file.queries:
        lines += printer.query(query, is_first=not lines)
    text = "\n".join(woven(lines, comments, INDENT))
    return f"{text}\n" if text else ""


@frozen(slots=False)
class _Printer:
    comments: tuple[Comment, ...]
    original: Sequence[str]
    alone: Mapping[int, int]
    """Comments on lines of their own: the last line of each, and its first."""

    def query(self, query: ast.Query, *, is_first: bool) -> Iterator[Line]:
        yield from self.header(query.header, is_first=is_first)
        match query:
            case ast.Read():
                yield from self.read(query)
            case ast.Mutation(statements=statements):
                for position, statement in enumerate(statements):
                    yield from self.statement(statement, is_first=position == 0)
        yield Line("}", _place(query.closing), 0, is_closing=True)

    def header(self, header: ast.Header, *, is_first: bool) -> Iterator[Line]:
        parameters = [f"${p.variable.name}: {_type(p.type)}" for p in header.parameters]
        name = f"query {header.name.text}"
        place = _place(header.span)
        start = f"{name}({', '.join(parameters)})"
        if len(start) + len(" {") <= MAX_LINE_CHARACTERS:
            head = [Line(start, place, 0, is_apart=not is_first)]
        else:
            head = [Line(f"{name}(", place, 0, is_apart=not is_first)]
            head += [
                Line(f"{text},", _place(p.variable.span), 1)
                for text, p in zip(parameters, header.parameters, strict=True)
            ]
            head.append(Line(")", head[-1].place, 0))
        if not header.annotations:
            *firsts, last = head
            opening = Line(f"{last.text} {{", last.place, 0, is_apart=last.is_apart)
            yield from (*firsts, opening)
            return
        yield from head
        for annotation in header.annotations:
            arguments = ", ".join(ast.text_of(a) for a in annotation.arguments)
            text = f"@{annotation.name.text}" + (f"({arguments})" if arguments else "")
            yield Line(text, _place(annotation.name.span), 1)
        yield Line("{", _place(header.annotations[-1].name.span), 0)

    def read(self, query: ast.Read) -> Iterator[Line]:
        yield Line("match {", _place(query.match.span), 1)
        yield from self.clauses(query.match, 2)
        yield Line("}", _place(query.match.closing), 1, is_closing=True)
        distinct = "distinct " if query.is_distinct else ""
        items = [(_item(i), i.span) for i in query.items]
        yield from self.listed(f"return {distinct}", items, 1)
        if query.order:
            yield from self.listed("order ", [(_order(o), o.span) for o in query.order], 1)
        if query.limit:
            yield Line(f"limit {ast.text_of(query.limit)}", _place(query.limit.span), 1)
        if query.offset:
            yield Line(f"offset {ast.text_of(query.offset)}", _place(query.offset.span), 1)

    def listed(
        self, head: str, items: Sequence[tuple[str, Span]], depth: int, tail: str = ""
    ) -> Iterator[Line]:
        """`head { a, b }tail` on one line, or one item a line: too long, or comments among them."""
        place, last = _place(items[0][1]), _place(items[-1][1])
        flat = f"{head}{{ {', '.join(text for text, _ in items)} }}{tail}"
        has_comment = any(place < c.place < last for c in self.comments)
        if len(flat) + depth * len(INDENT) <= MAX_LINE_CHARACTERS and not has_comment:
            yield Line(flat, place, depth)
            return
        yield Line(f"{head}{{", place, depth)
        for text, span in items:
            yield Line(f"{text},", _place(span), depth + 1)
        yield Line(f"}}{tail}", last, depth)

    # Clauses ------------------------------------------------------------------------------------

    def clauses(self, block: ast.Block, depth: int) -> Iterator[Line]:
        for position, clause in enumerate(block.clauses):
            lines = list(self.clause(clause, depth))
            first = lines[0]
            is_apart = position > 0 and self.begins_after_blank(first.place)
            yield Line(first.text, first.place, first.depth, is_apart=is_apart)
            yield from lines[1:]

    def clause(self, clause: ast.Clause, depth: int) -> Iterator[Line]:
        place = _place(clause.span)
        match clause:
            case ast.SubPattern(kind=kind, block=block):
                yield from self.blocks(f"{kind.value} ", (block,), "", place, depth)
            case ast.CountTest(block=block, op=op, bound=bound):
                tail = f" {op.text} {ast.text_of(bound)}"
                yield from self.blocks("count ", (block,), tail, place, depth)
            case ast.Alternatives(blocks=blocks):
                yield from self.blocks("or ", blocks, "", place, depth)
            case ast.Binding(variable=variable, type=type_, matches=matches) if matches:
                head = f"${variable.name}: {type_.text} "
                items = [(_assignment(m), m.name.span) for m in matches]
                first, *rest = self.listed(head, items, depth)
                yield from (Line(first.text, place, depth), *rest)
            case _:
                yield Line(_flat(clause), place, depth)

    def blocks(
        self, head: str, blocks: Sequence[ast.Block], tail: str, place: tuple[int, int], depth: int
    ) -> Iterator[Line]:
        flat = head + " ".join(f"{{ {_flat_block(b)} }}" for b in blocks) + tail
        is_short = all(len(b.clauses) == 1 for b in blocks)
        fits = len(flat) + depth * len(INDENT) <= MAX_LINE_CHARACTERS
        if is_short and fits and not any(self.has_comment(b) for b in blocks):
            yield Line(flat, place, depth)
            return
        for position, block in enumerate(blocks):
            text = f"{head}{{" if position == 0 else "} {"
            start = place if position == 0 else _place(blocks[position - 1].closing)
            yield Line(text, start, depth, is_closing=position > 0)
            yield from self.clauses(block, depth + 1)
        yield Line(f"}}{tail}", _place(blocks[-1].closing), depth, is_closing=True)

    def has_comment(self, block: ast.Block) -> bool:
        start, end = _place(block.span), _place(block.closing)
        return any(start < c.place < end for c in self.comments)

    def begins_after_blank(self, place: tuple[int, int]) -> bool:
        """Whether a blank line precedes the line that begins here, or the comments above it."""
        if not self.original:
            return False  # the places of a tree are of a text that is not here
        line, column = place
        if self.original[line - 1][: column - 1].strip():
            return False
        first = above = line
        while above > 1 and (above - 1 in self.alone or not self.original[above - 2].strip()):
            above -= 1
            if above in self.alone:
                first = above = self.alone[above]
        return first > 1 and not self.original[first - 2].strip()

    # Statements ---------------------------------------------------------------------------------

    def statement(self, statement: ast.Statement, *, is_first: bool) -> Iterator[Line]:
        lines = list(self.statement_lines(statement))
        is_apart = not is_first and self.begins_after_blank(_place(statement.span))
        yield Line(lines[0].text, _place(statement.span), 1, is_apart=is_apart)
        yield from lines[1:]

    def statement_lines(self, statement: ast.Statement) -> Iterator[Line]:
        place = _place(statement.span)
        match statement:
            case ast.Insert(type=type_, values=values):
                yield from self.assignments(f"insert {type_.text} ", values, "", place)
            case ast.Update(type=type_, values=values, where=where):
                head = f"update {type_.text} set "
                yield from self.assignments(head, values, f" where {_where(where)}", place)
            case ast.Delete(type=type_, where=where):
                yield Line(f"delete {type_.text} where {_where(where)}", place, 1)

    def assignments(
        self, head: str, values: Sequence[ast.Assignment], tail: str, place: tuple[int, int]
    ) -> Iterator[Line]:
        if not values:
            yield Line(f"{head}{{}}{tail}", place, 1)
            return
        yield from self.listed(head, [(_assignment(v), v.name.span) for v in values], 1, tail)


def _place(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _type(type_: ast.ParameterType) -> str:
    return f"{type_.text}{'?' if type_.is_nullable else ''}"


def _item(item: ast.Item) -> str:
    alias = f" as {item.alias.text}" if item.alias else ""
    return f"{ast.text_of(item.expression)}{alias}"


def _order(item: ast.OrderItem) -> str:
    direction = f" {item.direction.text}" if item.direction else ""
    return f"{ast.text_of(item.expression)}{direction}"


def _assignment(assignment: ast.Assignment) -> str:
    return f"{assignment.name.text}: {ast.text_of(assignment.value)}"


def _where(predicates: Sequence[ast.Predicate]) -> str:
    return " and ".join(_flat(p) for p in predicates)


def _flat_block(block: ast.Block) -> str:
    return " ".join(_flat(c) for c in block.clauses)


def _flat(clause: ast.Clause) -> str:
    match clause:
        case ast.Binding(variable=variable, type=type_, matches=matches):
            inside = ", ".join(_assignment(m) for m in matches)
            return f"${variable.name}: {type_.text}" + (f" {{ {inside} }}" if inside else "")
        case ast.Traversal():
            return _traversal(clause)
        case ast.Comparison(left=left, op=op, right=right):
            return f"{ast.text_of(left)} {op.text} {ast.text_of(right)}"
        case ast.Membership(left=left, options=options):
            return f"{ast.text_of(left)} in {ast.text_of(options)}"
        case ast.NullTest(operand=operand, is_negated=is_negated):
            return f"{ast.text_of(operand)} is {'not ' if is_negated else ''}null"
        case ast.Call():
            return ast.text_of(clause)
        case ast.SubPattern(kind=kind, block=block):
            return f"{kind.value} {{ {_flat_block(block)} }}"
        case ast.CountTest(block=block, op=op, bound=bound):
            return f"count {{ {_flat_block(block)} }} {op.text} {ast.text_of(bound)}"
        case ast.Alternatives(blocks=blocks):
            return "or " + " ".join(f"{{ {_flat_block(b)} }}" for b in blocks)
        case ast.Top(k=k, variable=variable, ranking=ranking):
            return f"top {ast.text_of(k)} ${variable.name} by {ast.text_of(ranking)}"


def _traversal(clause: ast.Traversal) -> str:
    edges = "|".join(e.text for e in clause.edges)
    if clause.is_undirected:
        edges = f"<{edges}>"
    if clause.edge_variable:
        edges = f"${clause.edge_variable.name}:{edges}"
    hops = ""
    if clause.hops:
        most = "" if clause.hops.most is None else f",{clause.hops.most}"
        hops = f"{{{clause.hops.least}{most}}}"
    return f"${clause.left.name} {edges}{hops} ${clause.right.name}"
