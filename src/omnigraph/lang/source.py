"""Bytes of a `.pg` or `.gq` file to text, or an error that points at the byte.

Texts arrive from editors on every system: a byte order mark at the start is dropped here, and line
ends of any kind are left for the scanners, which take them all.
"""

import codecs

from omnigraph.base.errors import Diagnostic, LimitExceeded, ParseFailed
from omnigraph.base.span import SourceText, Span

__all__ = ["MAX_SOURCE_BYTES", "check_size", "decode_source"]

# A hundred times the largest schema we know of; reading more would take minutes, not seconds.
MAX_SOURCE_BYTES = 16 * 1024 * 1024

OTHER_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_source(data: bytes, name: str, *, code: str) -> SourceText:
    """The text of a file; `code` is the language's own for what can't be read (S000, Q000).

    Raises ParseFailed where the bytes are not UTF-8, LimitExceeded where they are too many.
    """
    _refuse_more(len(data), name)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return SourceText(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        is_wide = data.startswith(OTHER_MARKS)
        message = f"byte {error.start:,} is not UTF-8"
        hint = (
            "the file is in UTF-16 or UTF-32: save it as UTF-8" if is_wide else "save it as UTF-8"
        )
        finding = Diagnostic(code, message, Span(line, column), hint)
        shown = SourceText(data.decode("utf-8", errors="replace"), name)
        raise ParseFailed(source=shown, diagnostics=(finding,)) from error


def check_size(source: SourceText) -> None:
    """The same limit for a text that never was a file. Raises LimitExceeded."""
    _refuse_more(len(source.text), source.name)


def _refuse_more(size: int, name: str) -> None:
    if size > MAX_SOURCE_BYTES:
        raise LimitExceeded(what=f"the size of {name}", limit=MAX_SOURCE_BYTES, found=size)
