"""Insert, update and delete, checked against the schema.

A statement speaks of one type and of the row it looks at; the only values from outside are
literals, parameters and the time.
"""

import datetime
from collections.abc import Mapping, Sequence
from functools import partial

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import looking
from omnigraph.base.nearest import name_hint
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import listed
from omnigraph.lang.query.check.compare import (
    Operand,
    compare,
    fit,
    kind_of,
    literal_operand,
    member,
    parameter_operand,
)
from omnigraph.lang.query.check.expressions import FORMS, TEXT_MATCHES, check_text_match
from omnigraph.lang.query.check.lists import item_type, list_operand
from omnigraph.lang.query.check.typed import (
    ROW,
    Assignment,
    Delete,
    IdentityOf,
    InsertEdge,
    InsertNode,
    Literal,
    Now,
    NullTest,
    Parameter,
    Predicate,
    PropertyOf,
    Statement,
    Update,
)
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.query.values import Unfit, convert
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    Catalog,
    EdgeType,
    EntityType,
    Property,
)

__all__ = ["check_mutation", "not_null"]

FROM, TO = "from", "to"
ENDS = {FROM: SRC, TO: DST, SRC: SRC, DST: DST}


def check_mutation(
    mutation: ast.Mutation,
    catalog: Catalog,
    parameters: Mapping[str, Parameter | None],
    findings: Findings,
) -> tuple[Statement, ...]:
    checker = _Mutations(catalog, parameters, findings)
    checker.refuse_mixture(mutation.statements)
    checked = [checker.statement(s) for s in looking(mutation.statements, findings.look)]
    return tuple(s for s in checked if s)


def not_null(shown: str) -> str:
    """What is said of a null for a property that needs a value."""
    return f"{shown} can't be null"


@frozen(slots=False)
class _Mutations:
    catalog: Catalog
    parameters: Mapping[str, Parameter | None]
    findings: Findings

    def refuse_mixture(self, statements: Sequence[ast.Statement]) -> None:
        deletes = [s for s in statements if isinstance(s, ast.Delete)]
        others = [s for s in statements if not isinstance(s, ast.Delete)]
        if deletes and others:
            message = "one query either inserts and updates, or deletes"
            hint = (
                f"split it: one query with {_counted(others, 'insert or update')}, "
                f"one with {_counted(deletes, 'delete')}"
            )
            later = deletes[0] if statements[0] is others[0] else others[0]
            self.findings.add("T31", message, later.span, hint)

    def statement(self, statement: ast.Statement) -> Statement | None:
        entity = self.entity(statement.type)
        if entity is None:
            return None
        match statement:
            case ast.Insert():
                return self.insert(statement, entity)
            case ast.Update():
                return self.update(statement, entity)
            case ast.Delete():
                where = self.where(statement.where, entity)
                return Delete(entity.name, isinstance(entity, EdgeType), where)

    def entity(self, word: ast.Word) -> EntityType | None:
        if word.text in self.catalog.node_by_name:
            return self.catalog.node_by_name[word.text]
        edge = self.catalog.edge_by_folded_name.get(word.text.casefold())
        if edge:
            return edge
        if word.text in self.catalog.interface_by_name:
            names = [n.name for n in self.catalog.implementers(word.text)]
            hint = f"name one of its node types: {', '.join(names)}" if names else None
            message = f"{word.text} is an interface, and rows belong to node types"
            self.findings.add("T10", message, word.span, hint)
            return None
        known = [*self.catalog.node_by_name, *self.catalog.edge_by_name]
        message = f"no type is called {word.text}"
        self.findings.add("T10", message, word.span, name_hint(word.text, known))
        return None

    # Insert -------------------------------------------------------------------------------------

    def insert(self, statement: ast.Insert, entity: EntityType) -> Statement | None:
        self.refuse_repeats(statement.values)
        if isinstance(entity, EdgeType):
            return self.insert_edge(statement, entity)
        if not statement.values and entity.properties:
            self.findings.add("T10", "the insert sets no property", statement.type.span)
            return None
        values = self.assignments(statement.values, entity, of_new_row=True)
        self.demand(statement, _required(entity), entity)
        return InsertNode(entity.name, values)

    def insert_edge(self, statement: ast.Insert, edge: EdgeType) -> InsertEdge | None:
        given = {a.name.text: a for a in statement.values}
        self.demand(statement, (FROM, TO, *_required(edge)), edge)
        ends = [
            self.endpoint(given[end].value, node) if end in given else None
            for end, node in ((FROM, edge.source), (TO, edge.target))
        ]
        rest = tuple(a for a in statement.values if a.name.text not in (FROM, TO))
        values = self.assignments(rest, edge, of_new_row=True)
        source, target = ends
        return InsertEdge(edge.name, source, target, values) if source and target else None

    def demand(self, statement: ast.Insert, names: Sequence[str], entity: EntityType) -> None:
        given = {a.name.text for a in statement.values}
        missing = [n for n in names if n not in given]
        if missing:
            message = f"an insert of {entity.name} must give {listed(missing, 'and')}"
            hint = None
            if isinstance(entity, EdgeType):
                hint = f"{FROM}: the id of a {entity.source}, {TO}: the id of a {entity.target}"
            self.findings.add("T12", message, statement.type.span, hint)

    def endpoint(self, expression: ast.Expression, node: str) -> Literal | Parameter | None:
        """A node's id, or the value of its key where that is one property."""
        operand = self.constant(expression)
        if operand is None:
            return None
        key_type = self.key_type(node)
        value = operand.expression
        is_day = operand.type is Scalar.DATE and key_type is Scalar.DATETIME
        if isinstance(value, Literal) and key_type and operand.type and not is_day:
            try:
                return Literal(convert(value.value, key_type), key_type)
            except Unfit:
                pass
        is_id = operand.type is Scalar.STRING
        is_key = key_type and operand.type and _can_hold(key_type, operand.type)
        if isinstance(value, Literal | Parameter) and (is_id or is_key):
            return value
        wanted = f"{key_type} key" if key_type else "id"
        message = f"an endpoint is the {wanted} of a {node}, not {operand}"
        self.findings.add("T3", message, expression.span)
        return None

    def key_type(self, node: str) -> ValueType | None:
        found = self.catalog.node_by_name.get(node)
        if found is None or len(found.key) != 1:
            return None
        return found.by_name[found.key[0]].type

    # Update -------------------------------------------------------------------------------------

    def update(self, statement: ast.Update, entity: EntityType) -> Update:
        if not statement.values:
            self.findings.add("T10", "the update sets no property", statement.type.span)
        self.refuse_repeats(statement.values)
        free = []
        for assignment in statement.values:
            name = assignment.name.text
            if name in entity.key:
                message = f"{name} is part of the key of {entity.name} and can't be changed"
                hint = "delete the row and insert another"
                self.findings.add("T16", message, assignment.name.span, hint)
            elif isinstance(entity, EdgeType) and name in ENDS:
                message = f"the ends of {entity.name} can't be changed"
                hint = "delete the edge and insert another"
                self.findings.add("T16", message, assignment.name.span, hint)
            elif name == ID and ID not in entity.by_name:
                self.findings.add("T16", "an id can't be changed", assignment.name.span)
            else:
                free.append(assignment)
        return Update(
            entity.name,
            isinstance(entity, EdgeType),
            self.assignments(free, entity, of_new_row=False),
            self.where(statement.where, entity),
        )

    # Values -------------------------------------------------------------------------------------

    def refuse_repeats(self, values: Sequence[ast.Assignment]) -> None:
        seen: set[str] = set()
        for assignment in values:
            if assignment.name.text in seen:
                message = f"{assignment.name.text} is given twice"
                self.findings.add("T13", message, assignment.name.span)
            seen.add(assignment.name.text)

    def assignments(
        self, values: Sequence[ast.Assignment], entity: EntityType, *, of_new_row: bool
    ) -> tuple[Assignment, ...]:
        """The values of properties. `of_new_row`: a null stands for the default, if there is one,
        as it does in rows that are loaded."""
        found = []
        for assignment in values:
            known = self.property(assignment.name, entity)
            if known is None:
                continue
            takes_null = known.is_nullable or (of_new_row and known.default is not None)
            value = self.assigned(assignment, known, entity, takes_null=takes_null)
            if value:
                found.append(Assignment(known.name, value, assignment.value.span))
        return tuple(found)

    def property(self, word: ast.Word, entity: EntityType) -> Property | None:
        known = entity.by_name.get(word.text)
        if known:
            return known
        if word.text == ID:
            hint: str | None = "ids are made from the key, or by themselves"
        elif isinstance(entity, EdgeType) and word.text in (SRC, DST):
            hint = f"write {FROM} and {TO}"
        else:
            hint = name_hint(word.text, entity.by_name)
        message = f"{entity.name} has no property {word.text}"
        self.findings.add("T11", message, word.span, hint)
        return None

    def assigned(
        self, assignment: ast.Assignment, known: Property, entity: EntityType, *, takes_null: bool
    ) -> Literal | Parameter | Now | None:
        expression = assignment.value
        shown = f"{entity.name}.{known.name}"
        if isinstance(expression, ast.Literal | ast.ListLiteral):
            return self.assigned_literal(expression, known, shown, takes_null=takes_null)
        operand = self.constant(expression)
        if operand is None:
            return None
        fitted = fit(operand, known.type, self.findings)
        if fitted is None or fitted.type is None:
            return None
        value = fitted.expression
        assert isinstance(value, Literal | Parameter | Now)
        if not _can_hold(known.type, fitted.type):
            message = f"{shown} is {known.type}, and {operand} does not fit"
            hint = (
                f"declare {operand.shown}: {known.type}" if isinstance(value, Parameter) else None
            )
            self.findings.add("T3", message, expression.span, hint)
            return None
        return value

    def assigned_literal(
        self,
        expression: ast.Literal | ast.ListLiteral,
        known: Property,
        shown: str,
        *,
        takes_null: bool,
    ) -> Literal | None:
        if isinstance(expression, ast.Literal) and expression.value is None:
            if takes_null:
                return Literal(None, None)
            self.findings.add("T3", not_null(shown), expression.span)
            return None
        if isinstance(expression, ast.Literal):
            literals: tuple[ast.Literal, ...] = (expression,)
            item: ValueType = known.type
            raw: object = expression.value
        else:
            literals = expression.items
            item = known.type.item if isinstance(known.type, ListOf) else known.type
            raw = [i.value for i in literals]
        for literal in literals:
            if _is_day(literal.value) and item is Scalar.DATETIME:
                message = f"{shown} is {known.type}, and {ast.text_of(literal)} is a Date"
                self.findings.add("T3", message, literal.span, f"write {FORMS['datetime']}")
                return None
        try:
            return Literal(convert(raw, known.type), known.type)
        except Unfit as error:
            message = f"{shown} is {known.type}: {error}"
            self.findings.add("T3", message, expression.span)
            return None

    def constant(self, expression: ast.Expression) -> Operand | None:
        """A literal, a parameter or the time: what a mutation can say without a row."""
        match expression:
            case ast.Literal():
                return literal_operand(expression, self.findings)
            case ast.ListLiteral():
                return list_operand(expression, None, self.findings)
            case ast.Variable(name=name) if name in self.parameters:
                return parameter_operand(expression, self.parameters[name])
            case ast.Variable() | ast.Property():
                shown = ast.text_of(expression)
                names = [f"${n}" for n in self.parameters]
                message = f"{shown} is not a parameter of this query"
                self.findings.add("T14", message, expression.span, name_hint(shown, names))
            case ast.Call(function=ast.Word(text="now"), arguments=()):
                return Operand(
                    Now(), Scalar.DATETIME, is_nullable=False, span=expression.span, shown="now()"
                )
            case ast.Call(function=ast.Word(text="date" | "datetime" as name)):
                self.findings.add("T29", f"{name} is written {FORMS[name]}", expression.span)
            case ast.Call(function=word):
                message = f"{word.text} can't be used in a mutation"
                self.findings.add("T29", message, word.span, "only now() can")
            case ast.Reference():
                raise AssertionError("a bare name is a property, and was looked up")
        return None

    # Where --------------------------------------------------------------------------------------

    def where(
        self, predicates: Sequence[ast.Predicate], entity: EntityType
    ) -> tuple[Predicate, ...]:
        checked = [self.condition(p, entity) for p in predicates]
        return tuple(p for p in checked if p)

    def condition(self, predicate: ast.Predicate, entity: EntityType) -> Predicate | None:
        match predicate:
            case ast.Comparison(left=left, op=op, right=right):
                first = self.row_operand(_as_property(left, entity), entity)
                second = self.row_operand(right, entity)
                return compare(first, op, second, self.findings) if first and second else None
            case ast.Membership(left=left, op=op, options=options):
                operand = self.row_operand(_as_property(left, entity), entity)
                if isinstance(options, ast.ListLiteral):
                    values = list_operand(options, item_type(operand), self.findings)
                else:
                    values = self.row_operand(options, entity)
                return member(operand, op, values, self.findings) if operand and values else None
            case ast.NullTest(operand=expression, is_negated=is_negated):
                operand = self.row_operand(_as_property(expression, entity), entity)
                return NullTest(operand.expression, is_negated) if operand else None
            case ast.Call() if predicate.function.text in TEXT_MATCHES:
                read = partial(self.row_operand, entity=entity)
                return check_text_match(predicate, read, self.findings)
            case ast.Call():
                message = f"{ast.text_of(predicate)} is a value, not a condition"
                self.findings.add("T29", message, predicate.span, "compare it with something")
                return None

    def row_operand(self, expression: ast.Expression, entity: EntityType) -> Operand | None:
        if not isinstance(expression, ast.Reference):
            return self.constant(expression)
        word = expression.name
        if word.text == ID and ID not in entity.by_name:
            return Operand(
                IdentityOf(ROW), Scalar.STRING, is_nullable=False, span=word.span, shown=ID
            )
        if isinstance(entity, EdgeType) and word.text in ENDS:
            end = PropertyOf(ROW, ENDS[word.text], Scalar.STRING, is_nullable=False)
            return Operand(end, end.type, is_nullable=False, span=word.span, shown=word.text)
        known = self.property(word, entity)
        if known is None:
            return None
        if known.type is Scalar.BLOB:
            message = f"{word.text} is a Blob, and rows can't be chosen by a Blob"
            self.findings.add("T11", message, word.span)
            return None
        value = PropertyOf(ROW, known.name, known.type, known.is_nullable)
        return Operand(value, known.type, known.is_nullable, word.span, word.text)


def _as_property(left: ast.Expression, entity: EntityType) -> ast.Expression:
    """A name that is also a property's is that property: a test of two constants makes no sense."""
    if isinstance(left, ast.Literal) and ast.text_of(left) in entity.by_name:
        return ast.Reference(ast.Word(ast.text_of(left), left.span))
    return left


def _is_day(value: object) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _required(entity: EntityType) -> tuple[str, ...]:
    """A vector that is made from a text need not be given."""
    return tuple(p.name for p in entity.properties if p.is_required and p.embed is None)


def _can_hold(property_type: ValueType, given: ValueType) -> bool:
    """Whether a parameter's values can be the property's; ranges are checked with the value."""
    match property_type, given:
        case Scalar() as wanted, Scalar() as found if wanted.is_integer:
            return found.is_integer
        case VectorOf(), _:
            return property_type == given
        case ListOf(item=wanted_item), ListOf(item=found_item):
            return _can_hold(wanted_item, found_item)
        case EnumOf(values=words), EnumOf(values=found_words):
            return set(found_words) <= set(words)
        case _:
            return kind_of(property_type) is kind_of(given)


def _counted(statements: Sequence[ast.Statement], word: str) -> str:
    return f"the {word}" if len(statements) == 1 else f"the {len(statements)} {word} statements"
