"""Texts as callers give them: the text itself, a path to it, or one already read; and which query
of a text is meant, with which parameters.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.span import SourceText
from omnigraph.lang.source import decode_source

__all__ = ["QUERY", "SCHEMA", "Text", "as_source", "named", "read_bytes", "read_source"]

Text = str | os.PathLike[str] | SourceText
"""A `str` is the text, unless it is one word that ends like a file of the language."""

SCHEMA = ".pg"
QUERY = ".gq"
WHAT = {SCHEMA: "a schema", QUERY: "queries"}
UNREADABLE = {SCHEMA: "S000", QUERY: "Q000"}


def as_source(text: object, language: str) -> SourceText:
    """A `Text`; anything else is refused."""
    match text:
        case SourceText():
            return text
        case str() if text.endswith(language) and not any(c.isspace() for c in text):
            return read_source(Path(text), language)
        case str():
            return SourceText(text, "<schema>" if language == SCHEMA else "<query>")
        case os.PathLike():
            return read_source(Path(text), language)
        case _:
            rule = f"pass the text of {WHAT[language]}, or the path of a {language} file"
            raise ArgumentInvalid(argument="source", value=str(text), rule=rule)


def named(name: object, params: object) -> tuple[str | None, Mapping[str, Any]]:
    """Which query, and its parameters: they may stand in the place of the name that is left out."""
    if isinstance(name, Mapping):
        if params is not None:
            rule = "the name must come before the parameters: (source, name, params)"
            raise ArgumentInvalid(argument="name", value=str(name), rule=rule)
        name, params = None, name
    if not (name is None or isinstance(name, str)):
        rule = "it must be the name of a query, as text; parameters are a dict"
        raise ArgumentInvalid(argument="name", value=str(name), rule=rule)
    if not (params is None or isinstance(params, Mapping)):
        rule = 'it must be a dict of values by name, such as {"name": "Ada"}'
        raise ArgumentInvalid(argument="params", value=str(params), rule=rule)
    return name, params or {}


def read_source(file: Path, language: str) -> SourceText:
    if file.suffix in UNREADABLE and file.suffix != language:
        given, wanted = (f"{WHAT[suffix]} ({suffix})" for suffix in (file.suffix, language))
        rule = f"a file of {wanted} is needed here, and this is a file of {given}"
        raise ArgumentInvalid(argument="file", value=str(file), rule=rule)
    return decode_source(read_bytes(file), str(file), code=UNREADABLE[language])


def read_bytes(file: Path) -> bytes:
    with reading_file(file):
        return file.read_bytes()
