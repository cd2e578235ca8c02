"""The clauses of a match, checked: regions in, a typed pattern out."""

from collections.abc import Iterator, Sequence

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.base.nearest import name_hint
from omnigraph.base.types import ListOf
from omnigraph.lang.query.check.compare import Kind, Operand, fit, kind_of
from omnigraph.lang.query.check.expressions import Expressions
from omnigraph.lang.query.check.infer import Known
from omnigraph.lang.query.check.mentions import mentioned_in
from omnigraph.lang.query.check.ranking import check_ranking, ranked_variable
from omnigraph.lang.query.check.regions import Region
from omnigraph.lang.query.check.typed import (
    Best,
    Bind,
    Clause,
    Compare,
    CompareOp,
    Counted,
    Either,
    IdentityOf,
    Literal,
    Maybe,
    Now,
    NullTest,
    Parameter,
    Pattern,
    Traverse,
    Variable,
    Where,
    With,
    Without,
)
from omnigraph.lang.query.check.uses import used_by
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import ID

__all__ = ["check_pattern", "ranked_by_top"]


def check_pattern(region: Region, expressions: Expressions) -> Pattern:
    """The pattern of a query's match."""
    return _Patterns(expressions, expressions.findings).pattern(region, is_whole=True)


def ranked_by_top(block: ast.Block) -> frozenset[str]:
    return frozenset(c.variable.name for c in block.clauses if isinstance(c, ast.Top))


@frozen(slots=False)
class _Patterns:
    expressions: Expressions
    findings: Findings

    def pattern(self, region: Region, *, is_whole: bool = False) -> Pattern:
        clauses = tuple(self.clauses(region, is_whole=is_whole))
        self.refuse_circle(region, [c for c in clauses if isinstance(c, Either)])
        used = dict.fromkeys(v for clause in clauses for v in used_by(clause))
        return Pattern(
            clauses,
            variables=tuple(_variable(k) for k in region.own.values()),
            outer=tuple(v for v in used if v not in region.own),
        )

    def clauses(self, region: Region, *, is_whole: bool) -> Iterator[Clause]:
        for position, clause in enumerate(region.block.clauses):
            match clause:
                case ast.Binding():
                    yield from self.binding(clause, region)
                case ast.Traversal():
                    yield from self.traversal(clause, region, position)
                case ast.SubPattern():
                    yield from self.sub_pattern(clause, region, position)
                case ast.CountTest():
                    yield from self.count_test(clause, region, position)
                case ast.Alternatives():
                    patterns = tuple(self.pattern(r) for r in region.inner[position])
                    shared = tuple(VariableName(n) for n in region.shared[position])
                    yield Either(patterns, shared)
                case ast.Top():
                    yield from self.top(clause, region, is_whole=is_whole)
                case _:
                    predicate = self.expressions.predicate(clause, region)
                    if predicate:
                        yield Where(predicate)

    # Bindings and traversals --------------------------------------------------------------------

    def binding(self, clause: ast.Binding, region: Region) -> Iterator[Clause]:
        name = VariableName(clause.variable.name)
        known = region.known.get(name)
        if known is None or known.is_edge or not known.is_typed or not known.types:
            return
        if name in region.refused:
            return
        if name in region.own:
            yield Bind(name)
        elif name in region.maybe:
            # A variable that an optional block did not find is no node of any type.
            yield Where(NullTest(IdentityOf(name), is_negated=True))
        seen: set[str] = set()
        for match in clause.matches:
            if match.name.text in seen:
                message = f"{match.name.text} is given twice"
                self.findings.add("T13", message, match.name.span)
            seen.add(match.name.text)
            predicate = self.property_match(match, known, region)
            if predicate:
                yield Where(predicate)

    def property_match(self, match: ast.Assignment, known: Known, region: Region) -> Compare | None:
        field = self.matched_field(match.name, known, region)
        if field is None:
            return None
        assert field.type
        if isinstance(match.value, ast.Property):
            message = "a binding is matched with a literal, a parameter or now()"
            hint = f"write a filter: {field.shown} = {ast.text_of(match.value)}"
            self.findings.add("T3", message, match.value.span, hint)
            return None
        value = self.expressions.operand(match.value, region)
        if value is None:
            return None
        if value.is_null:
            hint = f"write a filter: {field.shown} is null"
            self.findings.add("T3", "null equals nothing", value.span, hint)
            return None
        is_list = isinstance(field.type, ListOf)
        item = field.type.item if isinstance(field.type, ListOf) else field.type
        fitted = fit(value, item, self.findings)
        if fitted is None:
            return None
        is_value = isinstance(fitted.expression, Literal | Parameter | Now)
        kind = kind_of(item)
        if (
            not is_value
            or not fitted.type
            or kind_of(fitted.type) is not kind
            or kind is Kind.VECTOR
        ):
            holds = "holds" if is_list else "is"
            message = f"{field.shown} {holds} {item} and can't be matched with {value}"
            self.findings.add("T3", message, match.value.span)
            return None
        op = CompareOp.CONTAINS if is_list else CompareOp.EQ
        return Compare(op, field.expression, fitted.expression)

    def matched_field(self, name: ast.Word, known: Known, region: Region) -> Operand | None:
        owners = [self.expressions.entity(known, t) for t in sorted(known.types)]
        lacking = [o.name for o in owners if name.text not in o.by_name]
        is_identity = name.text == ID and len(lacking) == len(owners)
        if lacking and not is_identity:
            everywhere = set.intersection(*(set(o.by_name) for o in owners))
            message = f"{lacking[0]} has no property {name.text}"
            self.findings.add("T2", message, name.span, name_hint(name.text, everywhere))
            return None
        variable = ast.Variable(known.name, name.span, is_fresh=known.is_fresh)
        found = self.expressions.property_of(ast.Property(variable, name), region)
        return self.expressions.not_a_blob(found) if found else None

    def traversal(self, clause: ast.Traversal, region: Region, position: int) -> Iterator[Clause]:
        walk = region.walks.get(position)
        if walk is None or walk.is_failed:
            return
        edge = clause.edge_variable
        yield Traverse(
            left=VariableName(clause.left.name),
            right=VariableName(clause.right.name),
            steps=walk.steps,
            least_hops=walk.least,
            most_hops=walk.most,
            edge_variable=VariableName(edge.name) if edge else None,
        )

    # Blocks -------------------------------------------------------------------------------------

    def sub_pattern(
        self, clause: ast.SubPattern, region: Region, position: int
    ) -> Iterator[Clause]:
        (inner,) = region.inner[position]
        self.demand_outer_variable(clause.kind.value, clause, inner, region)
        pattern = self.pattern(inner)
        match clause.kind:
            case ast.BlockKind.NOT:
                yield Without(pattern)
            case ast.BlockKind.EXISTS:
                yield With(pattern)
            case ast.BlockKind.OPTIONAL:
                yield Maybe(pattern)

    def count_test(self, clause: ast.CountTest, region: Region, position: int) -> Iterator[Clause]:
        (inner,) = region.inner[position]
        self.demand_outer_variable("count", clause, inner, region)
        pattern = self.pattern(inner)
        bound = self.expressions.count(clause.bound, region, least=0, code="T7")
        op = CompareOp(clause.op.text)
        if op in (CompareOp.CONTAINS, CompareOp.STARTS_WITH):
            message = f"a count is a number and can't be compared by {clause.op.text}"
            self.findings.add("T7", message, clause.op.span)
        elif bound:
            yield Counted(pattern, op, bound)

    def demand_outer_variable(
        self, word: str, clause: ast.SubPattern | ast.CountTest, inner: Region, region: Region
    ) -> None:
        names = {v.name for v in mentioned_in(clause.block)}
        outer = names & (region.known.keys() - inner.own.keys())
        if not outer:
            message = f"this {word} block uses no variable from outside it"
            hint = "name a variable of the pattern around it"
            self.findings.add("T9", message, clause.span, hint)

    def refuse_circle(self, region: Region, eithers: Sequence[Either]) -> None:
        """Two `or` clauses can't each use a variable that only the other one binds."""
        texts = [c for c in region.block.clauses if isinstance(c, ast.Alternatives)]
        waiting = list(zip(texts, eithers, strict=True))
        while waiting:
            missing = {v for _, either in waiting for v in either.variables}
            left = [(t, e) for t, e in waiting if missing.intersection(_borrowed(e))]
            if len(left) == len(waiting):
                text, either = waiting[0]
                name = next(v for v in _borrowed(either) if v in missing)
                message = f"${name} is not bound here: the or that binds it uses what this or binds"
                self.findings.add("T6", message, text.span, f"bind ${name} outside of both")
                return
            waiting = left

    def top(self, clause: ast.Top, region: Region, *, is_whole: bool) -> Iterator[Clause]:
        if not is_whole:
            self.findings.add("T30", "top belongs directly in match, in no block", clause.span)
            return
        name = clause.variable.name
        tops = [
            c for c in region.block.clauses if isinstance(c, ast.Top) and c.variable.name == name
        ]
        if clause is not tops[0]:
            self.findings.add("T30", f"${name} is ranked twice", clause.variable.span)
            return
        k = self.expressions.count(clause.k, region, least=1, code="T30")
        known = self.expressions.known(clause.variable, region)
        ranking = check_ranking(clause.ranking, region, self.expressions)
        if known is None or ranking is None or k is None:
            return
        if known.is_edge or name in region.maybe:
            message = f"${name} is not a node of every row, and only such can be ranked"
            self.findings.add("T30", message, clause.variable.span)
        elif ranked_variable(ranking) != name:
            message = f"the ranking is of ${ranked_variable(ranking)}, and top keeps ${name}"
            self.findings.add("T30", message, clause.ranking.span)
        else:
            yield Best(VariableName(name), ranking, k)


def _borrowed(either: Either) -> Iterator[VariableName]:
    return (v for pattern in either.patterns for v in pattern.outer)


def _variable(known: Known) -> Variable:
    return Variable(
        VariableName(known.name),
        tuple(sorted(known.types)),
        is_edge=known.is_edge,
        is_anonymous=known.is_fresh,
    )
