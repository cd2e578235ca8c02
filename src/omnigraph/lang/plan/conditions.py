"""Conditions: which rows of one type someone may see or write, as a tree of tests.

A test compares properties or the id of a row with literals, or with each other, and nothing else:
so a condition always says the same of the same row, and equal conditions can share what was worked
out for one of them. Logic has two values. A test that meets a null is false (`NullTest` asks for
it), and `Not` of it is true.

    AnyOf((Compare(CompareOp.EQ, PropertyOf(ROW, "team", …), Literal("red", …)), Not(…)))
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar
from omnigraph.lang.plan.explain import show_expression, show_predicate
from omnigraph.lang.plan.ir import (
    Compare,
    Expression,
    IdentityOf,
    Literal,
    Membership,
    NullTest,
    PropertyOf,
)

__all__ = [
    "ALWAYS",
    "NEVER",
    "AllOf",
    "AnyOf",
    "Condition",
    "Field",
    "HoldsAll",
    "HoldsAny",
    "IsEmpty",
    "Like",
    "Not",
    "Test",
    "check_condition",
    "fields_in",
    "renamed_fields",
    "show_condition",
    "simplify",
]

Field = PropertyOf | IdentityOf
"""Of the row in question: its variable is `ROW`. The ends of an edge are the properties `src` and
`dst`, which are texts."""

# Tests that the query language has no word for ---------------------------------------------------


@frozen
class Like:
    """The text is these parts, with anything between each two: `a*b*` is `("a", "b", "")`."""

    field: Field
    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        assert self.parts, "an empty pattern is one empty part"


@frozen
class HoldsAll:
    """Every option is an item of the list; of no options always true."""

    field: PropertyOf
    options: Literal


@frozen
class HoldsAny:
    """Some option is an item of the list; of no options never true."""

    field: PropertyOf
    options: Literal


@frozen
class IsEmpty:
    """The list is there and has no items."""

    field: PropertyOf


Test = Compare | Membership | NullTest | Like | HoldsAll | HoldsAny | IsEmpty
"""Whether a list has one item is a `Compare` by `contains`."""

# Trees -------------------------------------------------------------------------------------------


@frozen
class AllOf:
    """Every part holds; without parts it always does."""

    parts: "tuple[Condition, ...]"


@frozen
class AnyOf:
    """Some part holds; without parts it never does."""

    parts: "tuple[Condition, ...]"


@frozen
class Not:
    part: "Condition"


Condition = AllOf | AnyOf | Not | Test

ALWAYS: Condition = AllOf(())
NEVER: Condition = AnyOf(())


def simplify(condition: Condition) -> Condition:
    """The same condition in fewer words: constants are folded, parts are flat, sorted and unique.

    Conditions that differ only in the order and nesting of their parts become equal.
    """
    match condition:
        case Not(part=part):
            return _negated(simplify(part))
        case AllOf(parts=parts):
            return _joined(AllOf, parts, unit=ALWAYS, end=NEVER)
        case AnyOf(parts=parts):
            return _joined(AnyOf, parts, unit=NEVER, end=ALWAYS)
        case HoldsAny(options=Literal(value=())):
            return NEVER
        case _:
            return condition


def fields_in(condition: Condition) -> Iterator[Field]:
    """What the condition looks at, as often as it does."""
    match condition:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from fields_in(part)
        case Not(part=part):
            yield from fields_in(part)
        case Compare(left=left, right=right):
            yield from (side for side in (left, right) if isinstance(side, Field))
        case Membership(left=operand) | NullTest(operand=operand):
            if isinstance(operand, Field):
                yield operand
        case Like(field=field) | HoldsAll(field=field) | HoldsAny(field=field):
            yield field
        case IsEmpty(field=field):
            yield field


def renamed_fields(condition: Condition, name_of: Callable[[PropertyOf], str]) -> Condition:
    """The same condition on rows whose properties have these names, as columns do."""

    def named(field: PropertyOf) -> PropertyOf:
        return replace(field, name=name_of(field))

    def side(expression: Expression) -> Expression:
        return named(expression) if isinstance(expression, PropertyOf) else expression

    match condition:
        case AllOf(parts=parts):
            return AllOf(tuple(renamed_fields(part, name_of) for part in parts))
        case AnyOf(parts=parts):
            return AnyOf(tuple(renamed_fields(part, name_of) for part in parts))
        case Not(part=part):
            return Not(renamed_fields(part, name_of))
        case Compare(left=left, right=right):
            return replace(condition, left=side(left), right=side(right))
        case Membership(left=left):
            return replace(condition, left=side(left))
        case NullTest(operand=operand):
            return replace(condition, operand=side(operand))
        case Like(field=field):
            return (
                condition if isinstance(field, IdentityOf) else Like(named(field), condition.parts)
            )
        case HoldsAll(field=field) | HoldsAny(field=field) | IsEmpty(field=field):
            return replace(condition, field=named(field))


def check_condition(condition: Condition) -> None:
    """Assert that all tests compare properties or the id with literals or each other.

    Anything else would make two readers with equal conditions see different rows.
    """
    fixed = Literal | PropertyOf | IdentityOf
    match condition:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                check_condition(part)
        case Not(part=part):
            check_condition(part)
        case Compare(left=left, right=right):
            assert isinstance(left, fixed) and isinstance(right, fixed), _NOT_FIXED
        case Membership(left=left, options=options):
            assert isinstance(left, fixed) and isinstance(options, Literal), _NOT_FIXED
        case NullTest(operand=operand):
            assert isinstance(operand, fixed), _NOT_FIXED
        case HoldsAll(field=field, options=options) | HoldsAny(field=field, options=options):
            assert isinstance(field.type, ListOf), f"{field.name} is no list"
            assert isinstance(options.type, ListOf), "options are a list"
        case IsEmpty(field=field):
            assert isinstance(field.type, ListOf), f"{field.name} is no list"
        case Like(field=PropertyOf(type=ListOf() | Scalar() as type_)):
            assert type_ is Scalar.STRING, f"a pattern is for texts, not for {type_}"
        case Like():
            pass
        case _:
            raise AssertionError(_NOT_FIXED)


_NOT_FIXED = "a condition compares properties with literals"


def show_condition(condition: Condition) -> str:
    """For people: `team = "red" and (age is null or not (age < 3))`."""
    match condition:
        case AllOf(parts=()):
            return "always"
        case AnyOf(parts=()):
            return "never"
        case AllOf(parts=parts):
            return _shown(parts, " and ")
        case AnyOf(parts=parts):
            return _shown(parts, " or ")
        case Not(part=part):
            return f"not ({show_condition(part)})"
        case Compare() | Membership() | NullTest():
            return show_predicate(condition)
        case Like(field=field, parts=parts):
            pattern = "*".join(part.replace("*", r"\*") for part in parts)
            return f'{show_expression(field)} like "{pattern}"'
        case HoldsAll(field=field, options=options):
            return f"{show_expression(field)} contains all {show_expression(options)}"
        case HoldsAny(field=field, options=options):
            return f"{show_expression(field)} contains any {show_expression(options)}"
        case IsEmpty(field=field):
            return f"{show_expression(field)} is empty"


def _shown(parts: Iterable[Condition], word: str) -> str:
    shown = (
        f"({show_condition(part)})" if isinstance(part, AllOf | AnyOf) else show_condition(part)
        for part in parts
    )
    return word.join(shown)


def _negated(part: Condition) -> Condition:
    match part:
        case Not(part=inner):
            return inner
        case AllOf(parts=()):
            return NEVER
        case AnyOf(parts=()):
            return ALWAYS
        case NullTest(operand=operand, is_negated=is_negated):
            return NullTest(operand, is_negated=not is_negated)
        case _:
            return Not(part)


def _joined(
    kind: type[AllOf] | type[AnyOf],
    parts: Iterable[Condition],
    *,
    unit: Condition,
    end: Condition,
) -> Condition:
    """Parts under one word; `unit` says nothing there, and beside `end` no other part matters."""
    flat: set[Condition] = set()
    for part in map(simplify, parts):
        flat.update(part.parts if isinstance(part, kind) else (part,))
    flat.discard(unit)
    if end in flat or any(_negated(part) in flat for part in flat):
        return end
    if len(flat) == 1:
        return flat.pop()
    return kind(tuple(sorted(flat, key=repr)))
