"""The two things a parser can't settle: which `$_` is which, and whether a word is an edge.

`$a contains $b` is a traversal where the schema has an edge `Contains` and a filter where it has
not (or where both sides are parameters). After this step a clause is what it looks like, and every
variable has a name of its own.
"""

import dataclasses
import itertools
from collections.abc import Iterator

from omnigraph.base.frozen import frozen
from omnigraph.lang.query.check.mentions import bound_in
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["resolve_words"]


def resolve_words(query: ast.Read, catalog: Catalog) -> ast.Read:
    taken = {v.name for v in bound_in(query.match)}
    fresh = (name for i in itertools.count(1) if (name := f"_{i}") not in taken)
    resolver = _Resolver(
        catalog=catalog,
        parameters=frozenset(p.variable.name for p in query.header.parameters),
        fresh=fresh,
    )
    return dataclasses.replace(query, match=resolver.block(query.match))


@frozen(slots=False)
class _Resolver:
    catalog: Catalog
    parameters: frozenset[str]
    fresh: Iterator[str]

    def block(self, block: ast.Block) -> ast.Block:
        return dataclasses.replace(block, clauses=tuple(self.clause(c) for c in block.clauses))

    def clause(self, clause: ast.Clause) -> ast.Clause:
        match clause:
            case ast.Binding():
                return dataclasses.replace(clause, variable=self.named(clause.variable))
            case ast.Traversal():
                return self.traversal(clause)
            case ast.Comparison(left=ast.Variable() as left, right=ast.Variable() as right):
                is_edge = self.is_edge(clause.op, left, right)
                return (
                    self.traversal(ast.Traversal(left, (clause.op,), right)) if is_edge else clause
                )
            case ast.Membership(left=ast.Variable() as left, options=ast.Variable() as right):
                is_edge = self.is_edge(clause.op, left, right)
                return (
                    self.traversal(ast.Traversal(left, (clause.op,), right)) if is_edge else clause
                )
            case ast.SubPattern() | ast.CountTest():
                return dataclasses.replace(clause, block=self.block(clause.block))
            case ast.Alternatives():
                return dataclasses.replace(
                    clause, blocks=tuple(self.block(b) for b in clause.blocks)
                )
            case _:
                return clause

    def traversal(self, clause: ast.Traversal) -> ast.Traversal:
        edge = clause.edge_variable
        return dataclasses.replace(
            clause,
            left=self.named(clause.left),
            right=self.named(clause.right),
            edge_variable=self.named(edge) if edge else None,
        )

    def named(self, variable: ast.Variable) -> ast.Variable:
        if not variable.is_anonymous:
            return variable
        return ast.Variable(next(self.fresh), variable.span, is_fresh=True)

    def is_edge(self, op: ast.Word, left: ast.Variable, right: ast.Variable) -> bool:
        both_given = left.name in self.parameters and right.name in self.parameters
        return not both_given and op.text.casefold() in self.catalog.edge_by_folded_name
