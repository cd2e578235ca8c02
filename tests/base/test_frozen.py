"""`@frozen` makes what `@dataclass(frozen=True, slots=True)` makes."""

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from omnigraph.base.frozen import frozen


@frozen
class Point:
    """A place."""

    dimensions: ClassVar[int] = 2
    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list, compare=False)
    size: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", abs(self.x) + abs(self.y))


@frozen(kw_only=True)
class Named(Point):
    name: str


@frozen
class Alone:
    only: tuple[int, ...]


@frozen
class Nothing:
    pass


@frozen(eq=False, repr=False)
class Itself:
    x: int

    def __repr__(self) -> str:
        return "itself"


@frozen(slots=False)
class Open:
    x: int


@dataclass(frozen=True, slots=True)
class Usual:
    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class UsualAlone:
    only: tuple[int, ...]


def test_a_value_is_made_from_its_fields_and_their_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(1).notes, Point(3, y=-4).size) == (1, 0, [], 7)
    assert Point(1).notes is not Point(1).notes
    named = Named(2, name="here")
    assert (named.x, named.name, named.size) == (2, "here", 2)
    assert Point.dimensions == 2 and [f.name for f in fields(Named)][-1] == "name"


@pytest.mark.parametrize(
    ("cls", "given"), [(Point, ()), (Point, (1, 2, [], 4)), (Named, (1, "here")), (Alone, ())]
)
def test_wrong_arguments_are_refused_as_by_any_function(
    cls: type[Any], given: tuple[object, ...]
) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) (missing|takes)"):
        cls(*given)


def test_the_first_wrong_call_of_a_class_leaves_it_as_it_should_be() -> None:
    @frozen
    class Fresh:
        x: int

    with pytest.raises(TypeError, match=r"Fresh\.__init__\(\) missing 1 required"):
        Fresh()  # type: ignore[call-arg]
    assert Fresh(1).x == 1
    assert list(inspect.signature(Fresh).parameters) == ["x"]


@pytest.mark.parametrize("value", [Point(1), Named(1, name="a"), Open(1), Nothing(), Itself(1)])
def test_nothing_of_a_value_can_be_changed(value: Any) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del value.x
    with pytest.raises(FrozenInstanceError):
        value.other = 2


def test_values_are_equal_by_their_fields_within_one_class() -> None:
    assert Point(1, notes=["a"]) == Point(1) and hash(Point(1, notes=["a"])) == hash(Point(1))
    others: list[object] = [Point(2), Named(1, name="a"), Open(1), 1]
    assert Point(1) not in others
    assert (
        Alone((1,)) == Alone((1,)) and Nothing() == Nothing() and len({Nothing(), Nothing()}) == 1
    )
    assert Itself(1) != Itself(1) and len({Itself(1), Itself(1)}) == 2
    # The same numbers as ever: a hash decides the order of a set.
    assert hash(Usual(1, 2)) == hash((1, 2)) and hash(Alone((1,))) == hash(UsualAlone((1,)))


def test_a_value_shows_its_fields() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0, notes=[])"
    assert repr(Named(1, name="a")) == "Named(x=1, y=0, notes=[], name='a')"
    assert (repr(Nothing()), repr(Itself(1))) == ("Nothing()", "itself")


@pytest.mark.parametrize(
    "send", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_a_value_arrives_as_it_was_sent(send: Callable[[Any], Any]) -> None:
    for value in (Point(1, 2, ["a"]), Named(1, name="a"), Alone((1, 2)), Nothing(), Open(3)):
        arrived = send(value)
        assert arrived == value and asdict(arrived) == asdict(value)


def test_replace_and_match_know_the_fields() -> None:
    assert replace(Point(1), y=5).size == 6
    match Named(1, 2, name="a"):
        case Named(x, y, name=name):
            assert (x, y, name) == (1, 2, "a")


def test_a_value_has_slots_and_its_class_the_words_that_were_written() -> None:
    assert not hasattr(Point(1), "__dict__") and hasattr(Open(1), "__dict__")
    assert (Point.__doc__, Alone.__doc__) == ("A place.", None)
