"""Where a query mentions variables, in the order of the text.

Binding is one thing and mentioning another: `$f worksAt $_` binds, `$f.age > 3` only mentions.
"""

from collections.abc import Iterator

from omnigraph.lang.query.text import ast

__all__ = ["bound_in", "edges_in", "mentioned_by", "mentioned_in"]


def bound_in(block: ast.Block) -> Iterator[ast.Variable]:
    """Every variable that a binding or a traversal of the block names, at any depth."""
    for clause in block.clauses:
        match clause:
            case ast.Binding(variable=variable):
                yield variable
            case ast.Traversal(left=left, right=right, edge_variable=edge):
                yield from (left, right) if edge is None else (left, edge, right)
            case ast.SubPattern(block=inner) | ast.CountTest(block=inner):
                yield from bound_in(inner)
            case ast.Alternatives(blocks=blocks):
                for inner in blocks:
                    yield from bound_in(inner)
            case ast.Comparison() | ast.Membership() | ast.NullTest() | ast.Call() | ast.Top():
                pass


def edges_in(block: ast.Block) -> set[str]:
    """Names of the edge variables of the block, at any depth."""
    names: set[str] = set()
    for clause in block.clauses:
        match clause:
            case ast.Traversal(edge_variable=ast.Variable(name=name)):
                names.add(name)
            case ast.SubPattern(block=inner) | ast.CountTest(block=inner):
                names |= edges_in(inner)
            case ast.Alternatives(blocks=blocks):
                names = names.union(*(edges_in(b) for b in blocks))
            case _:
                pass
    return names


def mentioned_by(query: ast.Query) -> Iterator[ast.Variable]:
    """Every mention of a variable or parameter; their declarations don't count."""
    match query:
        case ast.Read(match=block, items=items, order=order, limit=limit, offset=offset):
            yield from mentioned_in(block)
            for expression in [*(i.expression for i in items), *(o.expression for o in order)]:
                yield from _in_expression(expression)
            yield from (cut for cut in (limit, offset) if isinstance(cut, ast.Variable))
        case ast.Mutation(statements=statements):
            for statement in statements:
                yield from _in_statement(statement)


def mentioned_in(block: ast.Block) -> Iterator[ast.Variable]:
    for clause in block.clauses:
        match clause:
            case ast.Binding(variable=variable, matches=matches):
                yield variable
                yield from _in_assignments(matches)
            case ast.Traversal(left=left, right=right, edge_variable=edge):
                yield from (left, right) if edge is None else (left, edge, right)
            case ast.SubPattern(block=inner):
                yield from mentioned_in(inner)
            case ast.CountTest(block=inner, bound=bound):
                yield from mentioned_in(inner)
                yield from _in_expression(bound)
            case ast.Alternatives(blocks=blocks):
                for inner in blocks:
                    yield from mentioned_in(inner)
            case ast.Top(k=k, variable=variable, ranking=ranking):
                yield from _in_expression(k)
                yield variable
                yield from _in_expression(ranking)
            case ast.Comparison() | ast.Membership() | ast.NullTest() | ast.Call():
                yield from _in_predicate(clause)


def _in_statement(statement: ast.Statement) -> Iterator[ast.Variable]:
    if not isinstance(statement, ast.Delete):
        yield from _in_assignments(statement.values)
    if not isinstance(statement, ast.Insert):
        for predicate in statement.where:
            yield from _in_predicate(predicate)


def _in_assignments(assignments: tuple[ast.Assignment, ...]) -> Iterator[ast.Variable]:
    for assignment in assignments:
        yield from _in_expression(assignment.value)


def _in_predicate(predicate: ast.Predicate) -> Iterator[ast.Variable]:
    match predicate:
        case ast.Comparison(left=left, right=right) | ast.Membership(left=left, options=right):
            yield from _in_expression(left)
            yield from _in_expression(right)
        case ast.NullTest(operand=operand):
            yield from _in_expression(operand)
        case ast.Call():
            yield from _in_expression(predicate)


def _in_expression(expression: ast.Expression) -> Iterator[ast.Variable]:
    match expression:
        case ast.Variable():
            yield expression
        case ast.Property(variable=variable):
            yield variable
        case ast.Call(arguments=arguments):
            for argument in arguments:
                yield from _in_expression(argument)
        case ast.Literal() | ast.ListLiteral() | ast.Reference():
            pass
