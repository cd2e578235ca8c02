"""Expressions of Cedar that are about a row, read from its JSON.

Two kinds are read. A rule *as written* has variables for the actor and the request; what does not
look at the row is a value that is known only later (`Later`). A *residual* is what Cedar leaves of
a rule for one actor: there such parts are constants, and a variable that is left means that Cedar
could not work its part out, since it fails (`Fails`).

Constants are folded while reading, as Cedar would evaluate: the left side decides first.
"""

from omnigraph.base.frozen import frozen
from omnigraph.policy.cedar import Json
from omnigraph.policy.cedar_schema import GRAPH, ROOT

__all__ = [
    "FALSE",
    "TRUE",
    "Belongs",
    "Both",
    "Choice",
    "Constant",
    "Contains",
    "ContainsAll",
    "ContainsAny",
    "Either",
    "Equal",
    "Expression",
    "Fails",
    "FieldOf",
    "HasField",
    "IsEmptySet",
    "IsOfType",
    "Later",
    "Matches",
    "Negation",
    "Other",
    "Smaller",
    "TheRow",
    "Uid",
    "Value",
    "can_fail",
    "expression_of",
]


@frozen
class Uid:
    type: str
    id: str


Value = bool | int | str | Uid | tuple["Value", ...]
"""A tuple is a set."""


@frozen
class Constant:
    value: Value


@frozen
class Later:
    """A value that does not depend on the row."""


@frozen
class Fails:
    """Working this out is an error."""


@frozen
class TheRow:
    """The row itself, as an entity."""


@frozen
class FieldOf:
    name: str


@frozen
class HasField:
    name: str


@frozen
class IsOfType:
    type: str


@frozen
class Belongs:
    """`resource in …`: the row is one of these, or below one of them."""

    to: "Expression"


@frozen
class Both:
    left: "Expression"
    right: "Expression"


@frozen
class Either:
    left: "Expression"
    right: "Expression"


@frozen
class Negation:
    part: "Expression"


@frozen
class Choice:
    test: "Expression"
    then: "Expression"
    otherwise: "Expression"


@frozen
class Equal:
    left: "Expression"
    right: "Expression"


@frozen
class Smaller:
    left: "Expression"
    right: "Expression"
    or_equal: bool


@frozen
class Contains:
    set: "Expression"
    item: "Expression"


@frozen
class ContainsAll:
    set: "Expression"
    items: "Expression"


@frozen
class ContainsAny:
    set: "Expression"
    items: "Expression"


@frozen
class IsEmptySet:
    set: "Expression"


@frozen
class Matches:
    """`text like "a*b"`: the parts between the stars."""

    text: "Expression"
    parts: tuple[str, ...]


@frozen
class Other:
    """Something about the row that no condition can say; `word` is how Cedar calls it."""

    word: str


Expression = (
    Constant
    | Later
    | Fails
    | TheRow
    | FieldOf
    | HasField
    | IsOfType
    | Belongs
    | Both
    | Either
    | Negation
    | Choice
    | Equal
    | Smaller
    | Contains
    | ContainsAll
    | ContainsAny
    | IsEmptySet
    | Matches
    | Other
)

TRUE, FALSE = Constant(value=True), Constant(value=False)
CLOSED = Constant | Later | Fails

THE_GRAPH = Uid(GRAPH, ROOT)


def can_fail(expression: Expression) -> bool:
    """True if for some row the expression may be an error.

    Looking at a row is none: rules are checked against the schema before they are used.
    """
    match expression:
        case Fails():
            return True
        case Both(left=left, right=right) | Either(left=left, right=right):
            return can_fail(left) or can_fail(right)
        case Negation(part=part):
            return can_fail(part)
        case Choice(test=test, then=then, otherwise=otherwise):
            return can_fail(test) or can_fail(then) or can_fail(otherwise)
        case _:
            return False


def expression_of(node: Json, *, is_residual: bool) -> Expression:
    return _Reader(is_residual=is_residual).read(node)


@frozen
class _Reader:
    is_residual: bool

    def read(self, node: Json) -> Expression:
        ((word, parts),) = node.items()
        match word:
            case "Value":
                return _constant(parts)
            case "Var":
                return self._variable(parts)
            case "unknown":
                return TheRow() if parts == [{"Value": "resource"}] else Fails()
            case "Set":
                return self._set([self.read(part) for part in parts])
            case "." | "has":
                return self._attribute(word, self.read(parts["left"]), parts["attr"])
            case "is":
                return self._is(parts)
            case "like":
                text = self.read(parts["left"])
                if isinstance(text, CLOSED):
                    return self._closed(text)
                return Matches(text, _pattern(parts["pattern"]))
            case "!":
                return self._not(self.read(parts["arg"]))
            case "isEmpty":
                part = self.read(parts["arg"])
                return self._closed(part) if isinstance(part, CLOSED) else IsEmptySet(part)
            case "&&":
                return self._both(self.read(parts["left"]), self.read(parts["right"]))
            case "||":
                return self._either(self.read(parts["left"]), self.read(parts["right"]))
            case "if-then-else":
                return self._choice(*(self.read(parts[at]) for at in ("if", "then", "else")))
            case _:
                return self._operation(word, parts)

    def _operation(self, word: str, parts: Json) -> Expression:
        each = parts.values() if isinstance(parts, dict) else parts
        operands = [self.read(part) for part in each]
        if all(isinstance(operand, CLOSED) for operand in operands):
            return self._closed(*operands)
        if any(isinstance(operand, Fails) for operand in operands):
            return Fails()
        if len(operands) != 2:
            return Other(word)
        left, right = operands
        match word:
            case "==":
                return Equal(left, right)
            case "!=":
                return Negation(Equal(left, right))
            case "<" | "<=":
                return Smaller(left, right, or_equal=word == "<=")
            # Cedar has them so too: `a > b` is `!(a <= b)`.
            case ">" | ">=":
                return Negation(Smaller(left, right, or_equal=word == ">"))
            case "in":
                return self._in(left, right)
            case "contains":
                return Contains(left, right)
            case "containsAll":
                return ContainsAll(left, right)
            case "containsAny":
                return ContainsAny(left, right)
            case _:
                return Other(word)

    def _closed(self, *parts: Expression) -> Expression:
        """Of parts that don't look at the row: Cedar has worked them out, if it could."""
        return Fails() if self.is_residual else Later()

    def _variable(self, name: str) -> Expression:
        if self.is_residual:
            return Fails()
        return TheRow() if name == "resource" else Later()

    def _set(self, items: list[Expression]) -> Expression:
        if any(isinstance(item, Fails) for item in items):
            return Fails()
        if all(isinstance(item, Constant) for item in items):
            return Constant(tuple(item.value for item in items if isinstance(item, Constant)))
        return Later() if all(isinstance(item, CLOSED) for item in items) else Other("[…]")

    def _attribute(self, word: str, owner: Expression, name: str) -> Expression:
        if isinstance(owner, TheRow):
            return FieldOf(name) if word == "." else HasField(name)
        return self._closed(owner) if isinstance(owner, CLOSED) else Other(word)

    def _is(self, parts: Json) -> Expression:
        subject = self.read(parts["left"])
        if not isinstance(subject, TheRow):
            return self._closed(subject) if isinstance(subject, CLOSED) else Other("is")
        found: Expression = IsOfType(parts["entity_type"])
        if "in" in parts:
            return self._both(found, self._in(subject, self.read(parts["in"])))
        return found

    def _in(self, left: Expression, right: Expression) -> Expression:
        if not isinstance(left, TheRow):
            return Other("in")
        # Every row and every property is in the graph, so this needs no row.
        if isinstance(right, Constant) and THE_GRAPH in _members(right.value):
            return TRUE
        return Belongs(right)

    # As Cedar does, the right side is not looked at where the left side decides.

    def _both(self, left: Expression, right: Expression) -> Expression:
        if left == FALSE or right == TRUE or isinstance(left, Fails):
            return left
        if left == TRUE or (right == FALSE and not can_fail(left)):
            return right
        if isinstance(left, Later) and isinstance(right, CLOSED):
            return Later()
        return Both(left, right)

    def _either(self, left: Expression, right: Expression) -> Expression:
        if left == TRUE or right == FALSE or isinstance(left, Fails):
            return left
        if left == FALSE or (right == TRUE and not can_fail(left)):
            return right
        if isinstance(left, Later) and isinstance(right, CLOSED):
            return Later()
        return Either(left, right)

    def _not(self, part: Expression) -> Expression:
        match part:
            case Constant(value=bool() as value):
                return FALSE if value else TRUE
            case Later() | Fails():
                return part
            case Negation(part=inner):
                return inner
            case _:
                return Negation(part)

    def _choice(self, test: Expression, then: Expression, otherwise: Expression) -> Expression:
        if test == TRUE:
            return then
        if test == FALSE:
            return otherwise
        if isinstance(test, Fails):
            return test
        if all(isinstance(part, CLOSED) for part in (test, then, otherwise)):
            return self._closed(test)
        return Choice(test, then, otherwise)


def _constant(value: Json) -> Expression:
    match value:
        case bool() | int() | str():
            return Constant(value)
        case list():
            items = [_constant(item) for item in value]
            if all(isinstance(item, Constant) for item in items):
                return Constant(tuple(item.value for item in items if isinstance(item, Constant)))
            return Fails()
        case {"__entity": {"type": kind, "id": name}}:
            return Constant(Uid(kind, name))
        case _:
            # A record or a value of an extension: nothing that a row has compares with it.
            return Fails()


def _members(value: Value) -> tuple[Value, ...]:
    """The items of a set, or the value alone."""
    return value if isinstance(value, tuple) else (value,)


def _pattern(elements: Json) -> tuple[str, ...]:
    parts = [""]
    for element in elements:
        if element == "Wildcard":
            parts.append("")
        else:
            parts[-1] += element["Literal"]
    return tuple(parts)
