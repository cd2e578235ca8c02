"""From an expression of Cedar to a condition on rows of one type, exactly.

A row of our tables is an entity of Cedar: a null is an attribute that is not there, and looking at
such an attribute would be an error. Rules are checked so that they ask for it first (`has`). Under
this check our logic of two values, where a test that meets a null is false, says of every row what
Cedar says. `tests/policy/test_differential.py` holds the two against each other.

What can't be said is refused with a sentence, before a rule is used (`NotAPredicate`).
"""

from collections.abc import Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar
from omnigraph.lang.plan.conditions import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Condition,
    HoldsAll,
    HoldsAny,
    IsEmpty,
    Like,
    Not,
)
from omnigraph.lang.plan.ir import (
    ROW,
    Compare,
    CompareOp,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    PropertyOf,
)
from omnigraph.policy.cedar_schema import PROPERTY
from omnigraph.policy.expressions import (
    Belongs,
    Both,
    Choice,
    Constant,
    Contains,
    ContainsAll,
    ContainsAny,
    Either,
    Equal,
    Expression,
    Fails,
    FieldOf,
    HasField,
    IsEmptySet,
    IsOfType,
    Later,
    Matches,
    Negation,
    Other,
    Smaller,
    TheRow,
    Uid,
    Value,
)
from omnigraph.policy.row_fields import FieldKind, RowField

__all__ = [
    "Failing",
    "NotAPredicate",
    "Subject",
    "UnknownWord",
    "condition_for",
    "property_subject",
]

ID = IdentityOf(ROW)
# Stands for a part that is known only later: no constant, so nothing beside it is folded away.
SOME_DAY: Condition = Compare(CompareOp.EQ, ID, Literal("", Scalar.STRING))
BY_KIND = {
    FieldKind.TEXT: Scalar.STRING,
    FieldKind.NUMBER: Scalar.I64,
    FieldKind.BOOLEAN: Scalar.BOOL,
}


class NotAPredicate(Exception):
    """The rule can't become a test of rows; the text says why."""

    def __init__(self, sentence: str, hint: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence, self.hint = sentence, hint


class Failing(Exception):
    """For this actor the rule is an error: it allows nothing, and what it denies is all denied."""


@frozen
class Subject:
    """What a rule is asked about: rows of a type, or one property, which has no fields."""

    type: str
    """As Cedar names it: `Row::Person`."""
    fields: Mapping[str, RowField]
    id: str | None = None
    """None for rows: each has its own."""
    unknown_fields: Mapping[str, str] | None = None
    """Properties that rules can't look at, and the type of each."""


def property_subject(name: str) -> Subject:
    return Subject(PROPERTY, {}, id=name)


def condition_for(
    expression: Expression, subject: Subject, *, as_written: bool = False
) -> Condition:
    """Raises NotAPredicate or Failing.

    Of a rule as written, words of enums are checked, and the condition says nothing yet.
    """
    return _Translator(subject, as_written).test(expression)


@frozen
class _Translator:
    subject: Subject
    as_written: bool

    def test(self, expression: Expression) -> Condition:
        """The condition that an expression is true; every part of a rule's logic comes here."""
        match expression:
            case Constant(value=bool() as value):
                return ALWAYS if value else NEVER
            case Later():
                return SOME_DAY
            case Fails():
                raise Failing
            case FieldOf(name=name):
                found = self._field(name)
                self._must_be(found.kind is FieldKind.BOOLEAN, f"resource.{name} is no boolean")
                return Compare(CompareOp.EQ, found.field, Literal(value=True, type=Scalar.BOOL))
            case HasField(name=name):
                return self._has(name)
            case IsOfType(type=name):
                return ALWAYS if name == self.subject.type else NEVER
            case Belongs(to=to):
                return self._is_one_of(to)
            case Both(left=left, right=right):
                first = self.test(left)
                return first if first == NEVER else _all(first, self.test(right))
            case Either(left=left, right=right):
                first = self.test(left)
                return first if first == ALWAYS else _any(first, self.test(right))
            case Negation(part=part):
                return _not(self.test(part))
            case Choice():
                return self._choice(expression)
            case Equal(left=left, right=right):
                return self._equal(left, right)
            case Smaller():
                return self._smaller(expression)
            case Contains() | ContainsAll() | ContainsAny() | IsEmptySet():
                return self._of_sets(expression)
            case Matches(text=FieldOf(name=name), parts=parts):
                return Like(self._field(name).field, parts)
            case Constant() | TheRow() | Matches() | Other():
                raise NotAPredicate(_too_much(expression))

    # Logic ---------------------------------------------------------------------------------------

    def _choice(self, choice: Choice) -> Condition:
        test = self.test(choice.test)
        if test == ALWAYS:
            return self.test(choice.then)
        if test == NEVER:
            return self.test(choice.otherwise)
        return _any(
            _all(test, self.test(choice.then)), _all(_not(test), self.test(choice.otherwise))
        )

    # Fields --------------------------------------------------------------------------------------

    def _field(self, name: str) -> RowField:
        found = self.subject.fields.get(name)
        if found is None:
            raise NotAPredicate(*self._missing(name))
        return found

    def _has(self, name: str) -> Condition:
        found = self.subject.fields.get(name)
        if found is None:
            if name in (self.subject.unknown_fields or {}):
                raise NotAPredicate(*self._missing(name))
            return NEVER
        return NullTest(found.field, is_negated=True) if found.is_optional else ALWAYS

    def _missing(self, name: str) -> tuple[str, str | None]:
        kind = (self.subject.unknown_fields or {}).get(name)
        if kind is not None:
            return (
                f"resource.{name} is {kind}, which rules can't look at",
                "rules look at texts, enums, booleans, I32, I64, U32 and lists of texts",
            )
        return f"{self.subject.type} has no {name}", f"ask first: resource has {name} && …"

    # Comparisons ---------------------------------------------------------------------------------

    def _equal(self, left: Expression, right: Expression) -> Condition:
        if isinstance(left, TheRow) or isinstance(right, TheRow):
            other = right if isinstance(left, TheRow) else left
            self._must_be(
                isinstance(other, Later) or _is_uid(other),
                'a row is compared with a row that is named, such as Person::"ada"',
            )
            return self._is_one_of(other)
        field, value = self._field_and_value(left, right, "==")
        found = self._field(field.name)
        self._must_be(
            found.kind is not FieldKind.TEXTS,
            f"resource.{field.name} is a list, and lists are not compared as a whole",
            "write containsAll, containsAny or contains",
        )
        return Compare(CompareOp.EQ, found.field, self._operand(value, found))

    def _smaller(self, smaller: Smaller) -> Condition:
        field, value = self._field_and_value(smaller.left, smaller.right, "<")
        found = self._field(field.name)
        self._must_be(
            found.kind is FieldKind.NUMBER,
            f"resource.{field.name} is no number, so it has no order",
        )
        if field is smaller.left:
            op = CompareOp.LE if smaller.or_equal else CompareOp.LT
        else:
            op = CompareOp.GE if smaller.or_equal else CompareOp.GT
        return Compare(op, found.field, self._operand(value, found))

    def _field_and_value(
        self, left: Expression, right: Expression, word: str
    ) -> tuple[FieldOf, Expression]:
        """A property of the row, and what it is compared with: a value or another property."""
        comparable = Constant | Later | FieldOf
        if isinstance(left, FieldOf) and isinstance(right, comparable):
            return left, right
        if isinstance(right, FieldOf) and isinstance(left, comparable):
            return right, left
        beside = left if not isinstance(left, comparable) else right
        raise NotAPredicate(
            f"{word} compares a property of a row with a value or with another property",
            _too_much(beside) if isinstance(beside, Other) else None,
        )

    def _operand(self, value: Expression, field: RowField) -> Literal | PropertyOf | IdentityOf:
        match value:
            case FieldOf(name=name):
                other = self._field(name)
                self._must_be(other.kind is field.kind, f"resource.{name} is of another type")
                return other.field
            case Later():
                return Literal(None, None)
            case Constant(value=bool() | int() | str() as constant):
                self._check_word(constant, field)
                return Literal(constant, BY_KIND[field.kind])
            case _:
                raise NotAPredicate(_too_much(value))

    def _check_word(self, value: Value, field: RowField) -> None:
        # A word that no row can have is a slip of the pen, and a deny that never applies. In the
        # attributes of an actor it is none: they are not written for one property.
        if self.as_written and field.words is not None and value not in field.words:
            raise UnknownWord(str(value), field)

    # Sets ----------------------------------------------------------------------------------------

    def _of_sets(self, asked: Contains | ContainsAll | ContainsAny | IsEmptySet) -> Condition:
        match asked:
            case IsEmptySet(set=FieldOf(name=name)):
                return IsEmpty(self._list(name))
            case Contains(set=FieldOf(name=name), item=item):
                return Compare(CompareOp.CONTAINS, self._list(name), self._item(item))
            case Contains(set=Constant() | Later() as options, item=FieldOf(name=name)):
                found = self._field(name)
                return Membership(found.field, self._options(options, found))
            case Contains(set=Constant() | Later() as options, item=TheRow()):
                return self._is_one_of(options)
            case ContainsAll(set=FieldOf(name=name), items=Constant() | Later() as options):
                return HoldsAll(self._list(name), self._options(options))
            case ContainsAny(set=FieldOf(name=name), items=Constant() | Later() as options):
                return HoldsAny(self._list(name), self._options(options))
            case ContainsAny(set=Constant() | Later() as options, items=FieldOf(name=name)):
                return HoldsAny(self._list(name), self._options(options))
            case _:
                raise NotAPredicate(
                    "a list of a row is asked whether it contains values that are known",
                    "write resource.list.containsAll([…]), with no property inside the brackets",
                )

    def _list(self, name: str) -> PropertyOf:
        found = self._field(name)
        self._must_be(found.kind is FieldKind.TEXTS, f"resource.{name} is no list")
        assert isinstance(found.field, PropertyOf), "the id is no list"
        return found.field

    def _item(self, item: Expression) -> Literal | PropertyOf | IdentityOf:
        as_text = RowField(ID, FieldKind.TEXT, is_optional=False)
        return self._operand(item, as_text)

    def _options(self, options: Constant | Later, field: RowField | None = None) -> Literal:
        item = Scalar.STRING if field is None else BY_KIND.get(field.kind)
        self._must_be(item is not None, "a list is not one of several")
        assert item is not None
        if isinstance(options, Later):
            return Literal((), ListOf(item))
        assert isinstance(options.value, tuple), "Cedar let something pass that is no set"
        plain: list[bool | int | str] = []
        for value in options.value:
            if isinstance(value, Uid | tuple):
                raise NotAPredicate("rows are compared with texts, numbers and booleans")
            if field is not None:
                self._check_word(value, field)
            plain.append(value)
        # Equal sets make equal conditions.
        return Literal(tuple(sorted(set(plain))), ListOf(item))

    # Rows by name --------------------------------------------------------------------------------

    def _is_one_of(self, named: Expression) -> Condition:
        """The row is among these entities; nothing is below a row or a property."""
        match named:
            case Later():
                return SOME_DAY
            case Constant(value=Uid() as uid):
                uids: tuple[object, ...] = (uid,)
            case Constant(value=tuple() as several):
                uids = several
            case _:
                raise NotAPredicate("the row is compared with rows that are named")
        ids = [u.id for u in uids if isinstance(u, Uid) and u.type == self.subject.type]
        if self.subject.id is not None:
            return ALWAYS if self.subject.id in ids else NEVER
        if not ids:
            return NEVER
        if len(ids) == 1:
            return Compare(CompareOp.EQ, ID, Literal(ids[0], Scalar.STRING))
        return Membership(ID, Literal(tuple(sorted(set(ids))), ListOf(Scalar.STRING)))

    @staticmethod
    def _must_be(is_so: bool, sentence: str, hint: str | None = None) -> None:  # noqa: FBT001
        if not is_so:
            raise NotAPredicate(sentence, hint)


class UnknownWord(NotAPredicate):
    """An enum is compared with a word that it can't be."""

    def __init__(self, word: str, field: RowField) -> None:
        assert isinstance(field.field, PropertyOf) and field.words is not None
        super().__init__(f"{field.field.name} is never {word!r}")
        self.word, self.words = word, field.words


def _is_uid(expression: Expression) -> bool:
    return isinstance(expression, Constant) and isinstance(expression.value, Uid)


def _too_much(expression: Expression) -> str:
    match expression:
        case Other(word=word):
            return f"{word} can't be asked of rows in columns"
        case TheRow():
            return "the row by itself is no condition: compare it, or one of its properties"
        case _:
            return "this can't be asked of rows in columns"


def _all(left: Condition, right: Condition) -> Condition:
    if left == ALWAYS or right == NEVER:
        return right
    return left if right == ALWAYS else AllOf((left, right))


def _any(left: Condition, right: Condition) -> Condition:
    if left == NEVER or right == ALWAYS:
        return right
    return left if right == NEVER else AnyOf((left, right))


def _not(part: Condition) -> Condition:
    if part == ALWAYS:
        return NEVER
    return ALWAYS if part == NEVER else Not(part)
