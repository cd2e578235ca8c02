"""The public surface, pinned: names, signatures, words and fields. A change of it shows here.

`pytest --bless tests/house/test_surface.py` rewrites `surface.txt`; the difference is the change
that callers will meet.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest

import omnigraph
from omnigraph import AsyncGraph, Graph, OmnigraphError, Policy, Settings, errors, results
from omnigraph.base import errors as base_errors

PINNED = Path(__file__).with_name("surface.txt")


def surface() -> Iterator[str]:
    yield from ("omnigraph", *(f"    {name}" for name in sorted(omnigraph.__all__)))
    for shown in (AsyncGraph, Graph, Policy, Settings):
        yield from ("", *_class(shown))
    for module in (results, errors):
        yield from ("", module.__name__)
        for name in sorted(module.__all__):
            yield from (f"    {line}" for line in _named(module, name))


def _named(module: ModuleType, name: str) -> Iterator[str]:
    value = getattr(module, name)
    if get_origin(value) is Literal:
        yield f"{name} = {' | '.join(get_args(value))}"
    elif not isinstance(value, type):
        yield f"{name} = {_type(value)}"
    elif issubclass(value, OmnigraphError):
        yield f"{name}({value.__mro__[1].__name__}) {value.code}: {_fields(value)}"
    else:
        yield from _class(value)


def _class(shown: type) -> Iterator[str]:
    yield f"class {shown.__name__}"
    if is_dataclass(shown):
        for field in fields(shown):
            if not field.name.startswith("_"):
                yield f"    {field.name}: {_type(field.type)}"
    of_fields = {f.name for f in fields(shown)} if is_dataclass(shown) else set()
    for name in sorted(set(dir(shown)) - of_fields):
        member = inspect.getattr_static(shown, name)
        if name.startswith("_") or not _is_ours(shown, name):
            continue
        if isinstance(member, property):
            yield f"    {name} -> {_returned(member.fget)}"
        elif callable(getattr(shown, name)):
            yield f"    {name}{_signature(getattr(shown, name))}"


def _is_ours(shown: type, name: str) -> bool:
    owner = next(base for base in shown.__mro__ if name in vars(base))
    return owner.__module__.startswith("omnigraph")


def _fields(error: type[Any]) -> str:
    return ", ".join(f.name for f in fields(error)) if is_dataclass(error) else ""


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parts: list[str] = []
    is_starred = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not is_starred:
            parts, is_starred = [*parts, "*"], True
        if one.name != "self":
            parts.append(f"{one.name}: {_type(one.annotation)}{_default(one.default)}")
    return f"({', '.join(parts)}) -> {_type(signature.return_annotation)}"


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return f" = {value}" if value is None or isinstance(value, str | int | float) else " = …"


def _returned(function: Any) -> str:
    return _type(inspect.signature(function).return_annotation)


def _type(annotation: Any) -> str:
    """The same text in every Python, without the modules that things happen to live in."""
    arguments = get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_type(one) for one in arguments)
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(arguments)}]"
    if arguments:
        inside = ", ".join(_type(one) for one in arguments)
        return f"{_type(get_origin(annotation))}[{inside}]"
    if isinstance(annotation, list):
        return f"[{', '.join(_type(one) for one in annotation)}]"
    if annotation in (None, type(None)):
        return "None"
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "…")
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", name)


def test_the_public_surface_is_the_one_that_is_pinned(request: pytest.FixtureRequest) -> None:
    now = "\n".join(surface()) + "\n"
    if request.config.getoption("--bless"):
        PINNED.write_text(now)
    assert now == PINNED.read_text(), "a public name changed: bless it if that is meant"


@pytest.mark.parametrize("code", ["omnigraph", "omnigraph.errors"])
def test_an_import_of_names_loads_no_data_library(code: str) -> None:
    heavy = "{'pyarrow', 'lance', 'duckdb', 'numpy', 'pyspark', 'pandas', 'cedarpy'}"
    text = f"import sys, {code}; print(sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_is_imported_late_is_an_attribute_of_the_package() -> None:
    text = (
        "import omnigraph; print(omnigraph.results.LoadResult, omnigraph.Settings, "
        "omnigraph.errors.ReadOnly, omnigraph.results.Stream)"
    )
    subprocess.run([sys.executable, "-c", text], capture_output=True, check=True)


def test_the_public_errors_are_all_errors() -> None:
    assert errors.__all__ == base_errors.__all__
