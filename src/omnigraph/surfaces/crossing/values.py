"""Values as JSON and back: the frozen values that requests, results and errors are made of.

A value is read by the type that it must have, field by field, and is of that type or refused:
text from outside never chooses a class. What JSON lacks travels as an object with the member `~`:

    datetime(…)             {"~": "datetime", "of": "2026-03-01T12:00:00+00:00"}
    CommitInfo(kind="load") {"~": "CommitInfo", "kind": "load"}
    changed rows            {"~": "RowChanges", "of": an Arrow stream in base64}
    a table of Arrow        {"~": "Table", "of": the same}
"""

import base64
import binascii
import math
import numbers
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from omnigraph.base.words import clipped
from omnigraph.engine.change_results import Diff, EntityChanges, ReadChanges
from omnigraph.engine.drawable import Drawable
from omnigraph.engine.travel import Held
from omnigraph.store.changes import RowChanges

__all__ = ["TAG", "Unreadable", "decoded", "encoded", "read_value", "written_value"]

TAG, OF = "~", "of"
COLUMNS = ("id", "op", "before", "after")
T = TypeVar("T")
Form = Any
"""A type as annotations write it."""


class Unreadable(Exception):
    """The JSON is no value of the type; the text says where and why."""


def encoded(value: object) -> bytes:
    """The value as a JSON document; raises TypeError or ValueError for what can't travel."""
    return msgspec.json.encode(written_value(value))


def decoded(form: type[T], document: bytes, *, is_lenient: bool = False) -> T:
    """The value that a document has; raises Unreadable. A lenient reader passes over members that
    it does not know, as those of a newer server."""
    try:
        found = msgspec.json.decode(document)
        return cast(T, read_value(form, found, is_lenient=is_lenient))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


# Writing ------------------------------------------------------------------------------------------


def written_value(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value.value if isinstance(value, Enum) else value
        case Enum():
            return value.value
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            number = float(value)
            return number if math.isfinite(number) else {TAG: "float", OF: repr(number)}
        case datetime():
            return {TAG: "datetime", OF: value.isoformat()}
        case date():
            return {TAG: "date", OF: value.isoformat()}
        case bytes() | bytearray() | memoryview():
            return {TAG: "bytes", OF: bytes(value)}
        case RowChanges():
            table = pa.table([getattr(value, name) for name in COLUMNS], COLUMNS)
            return {TAG: "RowChanges", OF: _stream_of(table)}
        case pa.Table():
            return {TAG: "Table", OF: _stream_of(value)}
        case Diff():
            return _members(replace(value, parts=tuple(value.tables()), comparison=None))
        case Held():
            return _members(replace(value, stored=None))
        case Mapping():
            return _mapping(value)
        case list() | tuple():
            return [written_value(member) for member in value]
        case set() | frozenset():
            return sorted(written_value(member) for member in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _members(value)
        case _ if callable(as_list := getattr(value, "tolist", None)):
            # Arrays of NumPy.
            return written_value(as_list())
        case _:
            raise TypeError(f"a value of type {type(value).__name__} can't be sent")


def _members(value: Any) -> dict[str, Any]:
    of_fields = {f.name: written_value(getattr(value, f.name)) for f in fields(value) if f.init}
    return {TAG: type(value).__name__, **of_fields}


def _mapping(value: Mapping[Any, Any]) -> Any:
    if TAG not in value and all(isinstance(key, str) for key in value):
        return {str(key): written_value(member) for key, member in value.items()}
    pairs = [[written_value(key), written_value(member)] for key, member in value.items()]
    return {TAG: "pairs", OF: pairs}


def _stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return cast(bytes, sink.getvalue().to_pybytes())


# Reading ------------------------------------------------------------------------------------------


def read_value(form: Form, found: Any, *, is_lenient: bool = False) -> Any:
    """The value of the type that the JSON stands for; raises Unreadable."""
    return _Reader(is_lenient=is_lenient).read(form, found)


class _Reader:
    def __init__(self, *, is_lenient: bool) -> None:
        self._is_lenient = is_lenient

    def read(self, form: Form, found: Any) -> Any:
        if isinstance(form, NewType):
            return self.read(form.__supertype__, found)
        origin: Any = get_origin(form)
        if form in (Any, object):
            return self._untyped(found)
        if origin is Literal:
            return found if found in get_args(form) else _refuse(form, found)
        if origin in (Union, types.UnionType):
            return self._one_of(get_args(form), found)
        if form is date and isinstance(found, dict) and found.get(TAG) == "datetime":
            return self.read(datetime, found)
        if form in _TAGGED:
            return _TAGGED[form](_tagged(form.__name__, found))
        if form is RowChanges:
            return _rows_of(_tagged("RowChanges", found))
        if form is pa.Table:
            return _table_of(_tagged("Table", found))
        if form is EntityChanges:
            return self.read(ReadChanges, found)
        if isinstance(form, type) and is_dataclass(form):
            return self._dataclass(form, found)
        if isinstance(form, type) and issubclass(form, Enum):
            return _member_of(form, found)
        return self._plain(origin or form, get_args(form), found)

    def _plain(self, kind: Any, inside: tuple[Form, ...], found: Any) -> Any:
        if kind in (tuple, list, frozenset) or kind is Iterable:
            items = found if isinstance(found, list) else _refuse(kind, found)
            if kind is Iterable:
                return self._items(tuple, (*inside, ...), items)
            return self._items(kind, inside, items)
        if kind is Mapping or kind is dict:
            key, member = inside or (Any, Any)
            pairs = _pairs(found)
            return {_key(self.read(key, k)): self.read(member, m) for k, m in pairs}
        if kind is types.NoneType and found is None:
            return None
        if kind is float and isinstance(found, dict):
            return _float(_tagged("float", found))
        is_fit = {
            str: isinstance(found, str),
            bool: isinstance(found, bool),
            int: isinstance(found, int) and not isinstance(found, bool),
            float: isinstance(found, int | float) and not isinstance(found, bool),
        }
        return found if is_fit.get(kind, False) else _refuse(kind, found)

    def _items(self, kind: Callable[..., Any], inside: tuple[Form, ...], found: list[Any]) -> Any:
        if kind is tuple and inside and inside[-1] is not Ellipsis:
            if len(inside) != len(found):
                raise Unreadable(f"there must be {len(inside)} members, not {len(found)}")
            return tuple(map(self.read, inside, found))
        of = inside[0] if inside else Any
        return kind(self.read(of, item) for item in found)

    def _one_of(self, forms: tuple[Form, ...], found: Any) -> Any:
        reasons = []
        for form in forms:
            if _is_foreign(form):
                continue
            try:
                return self.read(form, found)
            except Unreadable as error:
                reasons.append(str(error))
        raise Unreadable(reasons[0] if len(reasons) == 1 else f"{_shown(found)} does not fit")

    def _dataclass(self, form: type[Any], found: Any) -> Any:
        if not isinstance(found, dict) or found.get(TAG, form.__name__) != form.__name__:
            _refuse(form, found)
        hints, values = _hints(cast(Hashable, form)), {}
        for field in fields(form):
            if field.init and field.name in found:
                try:
                    values[field.name] = self.read(hints[field.name], found[field.name])
                except Unreadable as error:
                    raise Unreadable(f"{field.name}: {error}") from None
            elif field.init and field.default is MISSING and field.default_factory is MISSING:
                raise Unreadable(f"the member {field.name} is missing")
        if not self._is_lenient and (unknown := set(found) - {TAG, *hints}):
            raise Unreadable(f"there is no member {clipped(min(unknown))}")
        return form(**values)

    def _untyped(self, found: Any) -> Any:
        match found:
            case {"~": "datetime" | "date" | "bytes" | "float" as tag, **rest}:
                read = _UNTYPED[tag]
                return read(_tagged(tag, {TAG: tag, **rest}))
            case {"~": _}:
                return {_key(self._untyped(k)): self._untyped(m) for k, m in _pairs(found)}
            case dict():
                return {name: self._untyped(member) for name, member in found.items()}
            case list():
                return [self._untyped(member) for member in found]
            case _:
                return found


@cache
def _hints(form: Hashable) -> dict[str, Form]:
    # Results import Arrow for type checkers alone, so that a command without rows starts sooner.
    return get_type_hints(form, localns={"pa": pa, "Drawable": Drawable})


def _is_foreign(form: Form) -> bool:
    """True of what never travels: a snapshot, an event, an open file."""
    if not isinstance(form, type) or form in (types.NoneType, str, int, float, bool):
        return False
    is_known = is_dataclass(form) or form in _TAGGED or issubclass(form, Enum)
    return not is_known or form.__name__ == "Snapshot"


def _tagged(tag: str, found: Any) -> Any:
    if not isinstance(found, dict) or found.get(TAG) != tag or found.keys() != {TAG, OF}:
        _refuse(tag, found)
    return found[OF]


def _pairs(found: Any) -> Iterable[Any]:
    if isinstance(found, dict) and TAG not in found:
        return found.items()
    pairs = _tagged("pairs", found)
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        _refuse("pairs", found)
    return cast(Iterable[Any], pairs)


def _key(found: Any) -> Any:
    """The key of a mapping. A tuple travels as a list."""
    key = tuple(found) if isinstance(found, list) else found
    try:
        hash(key)
    except TypeError:
        _refuse("key", found)
    return key


def _member_of(form: type[Enum], found: Any) -> Enum:
    try:
        return form(found)
    except ValueError:
        return cast(Enum, _refuse(form, found))


def _rows_of(text: Any) -> RowChanges:
    try:
        table = _table_of(text)
        return RowChanges(*(table[name].combine_chunks() for name in COLUMNS))
    except (KeyError, AssertionError) as error:
        raise Unreadable(f"the changed rows are torn: {error}") from None


def _table_of(text: Any) -> pa.Table:
    try:
        return pa.ipc.open_stream(_bytes(text)).read_all()
    # Arrow tells of bytes that are cut off as an OSError.
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"the rows are torn: {error}") from None


def _time(text: Any) -> datetime:
    return _parsed(datetime.fromisoformat, text)


def _day(text: Any) -> date:
    return _parsed(date.fromisoformat, text)


def _bytes(text: Any) -> bytes:
    return _parsed(lambda t: base64.b64decode(t, validate=True), text)


def _float(text: Any) -> float:
    return _parsed(float, text)


def _parsed(parse: Callable[[str], T], text: Any) -> T:
    try:
        return parse(text)
    except (ValueError, TypeError, binascii.Error):
        return cast(T, _refuse(parse, text))


_TAGGED: dict[Form, Callable[[Any], Any]] = {datetime: _time, date: _day, bytes: _bytes}
_UNTYPED = {"datetime": _time, "date": _day, "bytes": _bytes, "float": _float}


def _refuse(form: Form, found: Any) -> Any:
    wanted = form if isinstance(form, str) else getattr(form, "__name__", str(form))
    raise Unreadable(f"{_shown(found)} is no {wanted}")


def _shown(found: Any) -> str:
    return clipped(str(found))
