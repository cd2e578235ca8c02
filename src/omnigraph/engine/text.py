"""Texts as callers give them: the text itself, a path to it, or one already read."""

from pathlib import Path

from omnigraph.base.errors import FileMissing, StorageFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.source import decode_source

__all__ = ["QUERY", "SCHEMA", "Text", "as_source", "read_bytes", "read_source"]

Text = str | Path | SourceText
"""A `str` is the text, unless it is one word that ends like a file of the language."""

SCHEMA = ".pg"
QUERY = ".gq"
UNREADABLE = {SCHEMA: "S000", QUERY: "Q000"}


def as_source(text: Text, language: str) -> SourceText:
    match text:
        case SourceText():
            return text
        case Path():
            return read_source(text, language)
        case str() if text.endswith(language) and not any(c.isspace() for c in text):
            return read_source(Path(text), language)
        case str():
            return SourceText(text, "<schema>" if language == SCHEMA else "<query>")


def read_source(file: Path, language: str) -> SourceText:
    return decode_source(read_bytes(file), str(file), code=UNREADABLE[language])


def read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise FileMissing(path=str(file)) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(doing="read", path=str(file), reason=reason) from error
