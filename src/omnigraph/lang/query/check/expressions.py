"""Types of expressions and predicates, inside one region of a pattern.

Each check returns what the plan will hold, or None after it has reported what is wrong; a None is
never reported a second time.
"""

from collections.abc import Callable, Mapping
from functools import partial

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import VariableName
from omnigraph.base.nearest import did_you_mean, name_hint
from omnigraph.base.types import Scalar
from omnigraph.base.words import listed
from omnigraph.lang.query.check.compare import (
    Operand,
    compare,
    literal_operand,
    member,
    parameter_operand,
)
from omnigraph.lang.query.check.infer import Known
from omnigraph.lang.query.check.lists import item_type, list_operand
from omnigraph.lang.query.check.mentions import bound_in
from omnigraph.lang.query.check.regions import Region
from omnigraph.lang.query.check.typed import (
    Compare,
    EntityOf,
    IdentityOf,
    Literal,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    ScoreOf,
    TextMatch,
    TextMatchKind,
)
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.text.tokens import is_dated
from omnigraph.lang.schema.catalog import ID, Catalog, EntityType

__all__ = [
    "AGGREGATES",
    "FORMS",
    "RANKINGS",
    "TEXT_MATCHES",
    "Expressions",
    "check_text_match",
    "whole_number",
]

AGGREGATES = ("count", "sum", "avg", "min", "max", "collect")
RANKINGS = ("nearest", "bm25", "rrf")
TEXT_MATCHES = ("search", "fuzzy", "match_text")
FORMS = {
    "now": "now()",
    "id": "id($x)",
    "score": "score($x)",
    "date": 'date("2024-05-31")',
    "datetime": 'datetime("2024-05-31T12:00:00Z")',
}
"""How a function is written whose value is a plain one."""
FUNCTIONS = (*FORMS, *AGGREGATES, *RANKINGS, *TEXT_MATCHES)

MOST_EDITS = 2


@frozen(slots=False)
class Expressions:
    """`ranked`: variables that a `top` clause has ranked; `pattern`: the whole of the match.

    A parameter is None where its declaration was refused; its uses are not reported again.
    """

    catalog: Catalog
    parameters: Mapping[str, Parameter | None]
    findings: Findings
    pattern: ast.Block
    ranked: frozenset[str] = frozenset()

    # Values -------------------------------------------------------------------------------------

    def operand(self, expression: ast.Expression, region: Region) -> Operand | None:
        match expression:
            case ast.Literal():
                return literal_operand(expression, self.findings)
            case ast.ListLiteral():
                return list_operand(expression, None, self.findings)
            case ast.Variable(name=name) if name in self.parameters:
                found = parameter_operand(expression, self.parameters[name])
                return self.not_a_blob(found) if found else None
            case ast.Variable():
                known = self.known(expression, region)
                if known is None:
                    return None
                is_nullable = expression.name in region.maybe
                whole = EntityOf(VariableName(expression.name))
                return Operand(whole, None, is_nullable, expression.span, expression.shown)
            case ast.Property():
                found = self.property_of(expression, region)
                return self.not_a_blob(found) if found else None
            case ast.Call():
                return self.call(expression, region)
            case ast.Reference(name=word):
                names = [f"${n}" for n in (*region.known, *self.parameters) if n == word.text]
                hint = f"write {names[0]}" if names else None
                self.findings.add("T6", f"{word.text} is no value here", word.span, hint)
                return None

    def known(self, variable: ast.Variable, region: Region) -> Known | None:
        """The node, edge or parameter of a variable; None, reported, if it is not bound here."""
        known = region.known.get(variable.name)
        if known is not None:
            return known if known.is_typed and known.types else None
        if variable.is_anonymous:
            self.findings.add("T6", "$_ has no name to be used by", variable.span)
        elif any(v.name == variable.name for v in bound_in(self.pattern)):
            message = f"${variable.name} is bound only inside a block and is not seen here"
            self.findings.add("T6", message, variable.span)
        else:
            names = [f"${n}" for n in (*region.known, *self.parameters) if not n.startswith("_")]
            hint = name_hint(f"${variable.name}", names)
            message = f"${variable.name} is neither bound nor a parameter"
            self.findings.add("T6", message, variable.span, hint)
        return None

    def property_of(self, expression: ast.Property, region: Region) -> Operand | None:
        variable, name = expression.variable, expression.name
        if variable.name in self.parameters:
            message = f"${variable.name} is a parameter and has no properties"
            self.findings.add("T6", message, expression.span)
            return None
        known = self.known(variable, region)
        if known is None:
            return None
        shown = f"${variable.name}.{name.text}"
        is_missing = variable.name in region.maybe
        owners = [self.entity(known, t) for t in sorted(known.types)]
        found = [p for owner in owners if (p := owner.by_name.get(name.text))]
        if name.text == ID and not found:
            identity = IdentityOf(VariableName(variable.name))
            return Operand(identity, Scalar.STRING, is_missing, expression.span, shown)
        if len(found) < len(owners):
            self.report_missing(known, name, owners)
            return None
        if len({p.type for p in found}) > 1:
            types = listed(
                (f"{p.type} in {o.name}" for p, o in zip(found, owners, strict=True)), "and"
            )
            self.findings.add("T6", f"{shown} has several types: {types}", name.span)
            return None
        is_nullable = is_missing or any(p.is_nullable for p in found)
        value = PropertyOf(VariableName(variable.name), name.text, found[0].type, is_nullable)
        return Operand(value, value.type, is_nullable, expression.span, shown)

    def entity(self, known: Known, name: str) -> EntityType:
        if known.is_edge:
            return self.catalog.edge_by_name[name]
        return self.catalog.node_by_name[name]

    def report_missing(self, known: Known, name: ast.Word, owners: list[EntityType]) -> None:
        lacking = [o.name for o in owners if name.text not in o.by_name]
        if name.text == ID:
            message = f"{known.shown}.id is not the identity of each of {known.shown_types}"
            self.findings.add("T6", message, name.span, f"write id({known.shown})")
            return
        everywhere = set.intersection(*(set(o.by_name) for o in owners)) | {ID}
        message = f"{listed(lacking, 'and')} has no property {name.text}"
        self.findings.add("T6", message, name.span, name_hint(name.text, everywhere))

    def not_a_blob(self, operand: Operand) -> Operand | None:
        if operand.type is not Scalar.BLOB:
            return operand
        message = f"{operand.shown} is a Blob, which a query can't read"
        self.findings.add("T24", message, operand.span)
        return None

    # Calls --------------------------------------------------------------------------------------

    def call(self, call: ast.Call, region: Region) -> Operand | None:
        """A function that is a plain value; others have their own places."""
        shown = ast.text_of(call)
        match call.function.text, call.arguments:
            case "now", ():
                return Operand(
                    Now(), Scalar.DATETIME, is_nullable=False, span=call.span, shown=shown
                )
            case "id", (ast.Variable() as variable,) if variable.name not in self.parameters:
                known = self.known(variable, region)
                if known is None:
                    return None
                identity = IdentityOf(VariableName(variable.name))
                is_missing = variable.name in region.maybe
                return Operand(identity, Scalar.STRING, is_missing, call.span, shown)
            case "score", (ast.Variable() as variable,) if variable.name not in self.parameters:
                return self.score(call, variable, region)
            case name, _ if name in FORMS:
                self.findings.add("T29", f"{name} is written {FORMS[name]}", call.span)
            case name, _ if name in AGGREGATES:
                message = f"{name} is an aggregate and belongs in return or order"
                hint = "count { … } >= 2 counts the rows of a pattern" if name == "count" else None
                self.findings.add("T29", message, call.function.span, hint)
            case name, _ if name in RANKINGS:
                message = f"{name} ranks rows and belongs in return, order or top"
                self.findings.add("T29", message, call.function.span)
            case name, _ if name in TEXT_MATCHES:
                message = f"{name} is a filter and stands by itself in match"
                self.findings.add("T29", message, call.function.span)
            case name, _:
                functions = f"the functions are {listed(sorted(FUNCTIONS), 'and')}"
                near = did_you_mean(name, FUNCTIONS)
                hint = f"{near} {functions}" if near else functions
                self.findings.add("T29", f"no function is called {name}", call.function.span, hint)
        return None

    def score(self, call: ast.Call, variable: ast.Variable, region: Region) -> Operand | None:
        if self.known(variable, region) is None:
            return None
        if variable.name not in self.ranked:
            message = f"{variable.shown} has no score: no top clause ranks it"
            hint = f"add top 10 {variable.shown} by …"
            self.findings.add("T30", message, call.span, hint)
            return None
        value = ScoreOf(VariableName(variable.name))
        return Operand(
            value, Scalar.F64, is_nullable=False, span=call.span, shown=ast.text_of(call)
        )

    # Predicates ---------------------------------------------------------------------------------

    def predicate(self, predicate: ast.Predicate, region: Region) -> Predicate | None:
        match predicate:
            case ast.Comparison(left=left, op=op, right=right):
                return self.comparison(left, op, right, region)
            case ast.Membership(left=left, op=op, options=options):
                operand = self.operand(left, region)
                if isinstance(options, ast.ListLiteral):
                    listed_ = list_operand(options, item_type(operand), self.findings)
                else:
                    listed_ = self.operand(options, region)
                return member(operand, op, listed_, self.findings) if operand and listed_ else None
            case ast.NullTest(operand=expression, is_negated=is_negated):
                return self.null_test(expression, region, is_negated=is_negated)
            case ast.Call() if predicate.function.text in TEXT_MATCHES:
                return self.text_match(predicate, region)
            case ast.Call():
                if is_dated(predicate) or self.call(predicate, region):
                    message = f"{ast.text_of(predicate)} is a value, not a condition"
                    self.findings.add("T29", message, predicate.span, "compare it with something")
                return None

    def comparison(
        self, left: ast.Expression, op: ast.Word, right: ast.Expression, region: Region
    ) -> Compare | None:
        first, second = self.operand(left, region), self.operand(right, region)
        if first is None or second is None:
            return None
        found = compare(first, op, second, self.findings)
        both = first.expression, second.expression
        if found and isinstance(both[0], EntityOf) and isinstance(both[1], EntityOf):
            one, other = region.known[both[0].variable], region.known[both[1].variable]
            if one.types != other.types or len(one.types) > 1 or one.is_edge != other.is_edge:
                message = f"{one.shown} and {other.shown} are not of one type"
                self.findings.add("T7", message, op.span, "compare nodes of the same single type")
                return None
        return found

    def null_test(
        self, expression: ast.Expression, region: Region, *, is_negated: bool
    ) -> NullTest | None:
        operand = self.operand(expression, region)
        if operand is None:
            return None
        if isinstance(operand.expression, EntityOf):
            # A node is missing where its id is.
            return NullTest(IdentityOf(operand.expression.variable), is_negated)
        return NullTest(operand.expression, is_negated)

    def text_match(self, call: ast.Call, region: Region) -> TextMatch | None:
        return check_text_match(call, partial(self.operand, region=region), self.findings)

    def text_field(
        self, expression: ast.Expression, region: Region, *, code: str, function: str
    ) -> PropertyOf | None:
        read = _TextArguments(code, function, partial(self.operand, region=region), self.findings)
        return read.field(expression)

    def text_query(
        self, expression: ast.Expression, region: Region, *, code: str, function: str
    ) -> Literal | Parameter | None:
        read = _TextArguments(code, function, partial(self.operand, region=region), self.findings)
        return read.query(expression)

    def count(
        self, expression: ast.Expression, region: Region, *, least: int, code: str
    ) -> Literal | Parameter | None:
        """A whole number from `least` up, or a parameter that is to hold one."""
        number = whole_number(expression)
        if number is not None and least <= number < 2**63:
            return Literal(number, Scalar.I64)
        if isinstance(expression, ast.Variable):
            operand = self.operand(expression, region)
            if operand is None:
                return None
            value = operand.expression
            is_integer = isinstance(operand.type, Scalar) and operand.type.is_integer
            if isinstance(value, Parameter) and is_integer:
                return value
        message = f"a whole number from {least} up, or an integer parameter, is needed here"
        self.findings.add(code, message, expression.span)
        return None


Read = Callable[[ast.Expression], Operand | None]
"""What an expression stands for, in a pattern or in the row that a mutation looks at."""


def check_text_match(call: ast.Call, read: Read, findings: Findings) -> TextMatch | None:
    """`search`, `fuzzy` or `match_text`."""
    kind = TextMatchKind(call.function.text)
    code = "T20" if kind is TextMatchKind.PHRASE else "T19"
    takes_edits = kind is TextMatchKind.FUZZY
    form = f"{kind.value}($x.property, text{'[, max_edits]' if takes_edits else ''})"
    if len(call.arguments) not in ((2, 3) if takes_edits else (2,)):
        findings.add(code, f"{kind.value} is written {form}", call.span)
        return None
    arguments = _TextArguments(code, kind.value, read, findings)
    field, query = arguments.field(call.arguments[0]), arguments.query(call.arguments[1])
    edits = None
    if len(call.arguments) == 3:
        edits = whole_number(call.arguments[2])
        if edits is None or edits > MOST_EDITS:
            message = f"max_edits is a number from 0 to {MOST_EDITS}"
            findings.add(code, message, call.arguments[2].span)
            return None
    return TextMatch(kind, field, query, edits) if field and query else None


@frozen
class _TextArguments:
    """The property that a function looks into, and the text it looks for."""

    code: str
    function: str
    read: Read
    findings: Findings

    def field(self, expression: ast.Expression) -> PropertyOf | None:
        if not isinstance(expression, ast.Property | ast.Reference):
            message = f"{self.function} looks into a String property, such as $x.body"
            self.findings.add(self.code, message, expression.span)
            return None
        operand = self.read(expression)
        if operand is None:
            return None
        if isinstance(operand.expression, IdentityOf):
            message = f"{operand.shown} is the identity, and {self.function} looks into a property"
            self.findings.add(self.code, message, expression.span, "compare it: = or starts_with")
            return None
        if operand.type is not Scalar.STRING or not isinstance(operand.expression, PropertyOf):
            message = f"{self.function} looks into a String property, not {operand}"
            self.findings.add(self.code, message, expression.span)
            return None
        return operand.expression

    def query(self, expression: ast.Expression) -> Literal | Parameter | None:
        operand = self.read(expression)
        if operand is None:
            return None
        value = operand.expression
        if operand.type is not Scalar.STRING or not isinstance(value, Literal | Parameter):
            message = f"{self.function} looks for a text or a String parameter, not {operand}"
            self.findings.add(self.code, message, expression.span)
            return None
        return value


def whole_number(expression: ast.Expression) -> int | None:
    match expression:
        case ast.Literal(value=bool()):
            return None
        case ast.Literal(value=int() as number) if number >= 0:
            return number
        case _:
            return None
