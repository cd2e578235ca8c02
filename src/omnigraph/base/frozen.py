"""`@frozen`: a dataclass that never changes, has slots, and costs nothing before it is used.

It is what `@dataclass(frozen=True, slots=True)` makes, fields, `replace` and `match` included. That
writes six methods as source text and compiles them, for each class, when the class is made: half a
millisecond, and a process that asks one query makes hundreds of classes and uses few of them. Here
`__init__`, `__eq__` and `__hash__` are compiled by the first call of each, and no other is.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["frozen"]

T = TypeVar("T")


@overload
def frozen(cls: type[T]) -> type[T]: ...
@overload
def frozen(
    *,
    slots: bool = True,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(
    cls: type[Any] | None = None,
    *,
    slots: bool = True,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,
) -> Any:
    def make(cls: type[Any]) -> type[Any]:
        # A class without a docstring would get its signature as one, which takes long to find out.
        has_doc = cls.__doc__ is not None
        cls.__doc__ = cls.__doc__ or "to be written"
        own = {name for name in vars(cls) if name != "__hash__" or vars(cls)[name] is not None}
        made = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        if not has_doc:
            made.__doc__ = None
        methods = {**_kept(made, slots=slots), "__init__": _first_init(made)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _compared(made)
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    return make if cls is None else make(cls)


def _first_init(cls: type[Any]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        cls.__init__ = written = _written_init(cls)
        written(self, *args, **named)

    return __init__


def _written_init(cls: type[Any]) -> Callable[..., None]:
    """What the fields say of `__init__`, as a function."""
    known: dict[str, Any] = {"__set": object.__setattr__, "__left_out": object()}
    positional, by_name, body = ["self"], list[str](), ["pass"]
    for each in fields(cls):
        name = value = each.name
        parameter = name
        if each.default_factory is not MISSING:
            known[f"__make_{name}"] = each.default_factory
            parameter = f"{name}=__left_out"
            made = f"__make_{name}()"
            value = f"{made} if {name} is __left_out else {name}" if each.init else made
        elif each.default is not MISSING:
            known[f"__default_{name}"] = each.default
            parameter = f"{name}=__default_{name}"
            value = name if each.init else f"__default_{name}"
        elif not each.init:
            continue
        if each.init:
            (by_name if each.kw_only else positional).append(parameter)
        body.append(f"__set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *by_name] if by_name else [])])
    written = _compiled(cls, f"__init__({parameters})", body, known)
    written.__annotations__ = {each.name: each.type for each in fields(cls) if each.init}
    return written


def _kept(cls: type[Any], *, slots: bool) -> dict[str, Any]:
    """What keeps a value as it was made, also where it is sent to another process."""
    names = frozenset(each.name for each in fields(cls))

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    state = {"__getstate__": _state, "__setstate__": _set_state} if slots else {}
    return {"__setattr__": __setattr__, "__delattr__": __delattr__, **state}


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(
        f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr
    )
    return f"{type(self).__qualname__}({shown})"


def _compared(cls: type[Any]) -> dict[str, Any]:
    """Equality by the fields, for two values of the same class, and the hash that goes with it."""

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        names = [each.name for each in fields(cls) if each.compare]
        body = (
            "if other.__class__ is self.__class__:",
            f" return {_tuple('self', names)} == {_tuple('other', names)}",
            "return NotImplemented",
        )
        cls.__eq__ = written = _compiled(cls, "__eq__(self, other)", body)
        return written(self, other)

    def __hash__(self: Any) -> Any:  # noqa: N807
        names = [
            each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)
        ]
        body = (f"return hash({_tuple('self', names)})",)
        cls.__hash__ = written = _compiled(cls, "__hash__(self)", body)
        return written(self)

    return {"__eq__": __eq__, "__hash__": __hash__}


def _tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


def _compiled(
    cls: type[Any], head: str, body: Iterable[str], known: dict[str, Any] | None = None
) -> Callable[..., Any]:
    known = known or {}
    exec(f"def {head}:\n " + "\n ".join(body), known)
    name = head.partition("(")[0]
    written: Callable[..., Any] = known[name]
    written.__qualname__ = f"{cls.__qualname__}.{name}"
    return written
